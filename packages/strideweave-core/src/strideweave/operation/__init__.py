"""Operations: schemas, plans, definitions, the dispatch pipeline and differentiation control.

The carriers' modules use the plans and capabilities of this package while the rest of it uses the
carriers, so its public names are imported when they are first asked for.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from strideweave._optional import MOVE_OPERATIONS, load_optional, present_names

if TYPE_CHECKING:
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        BlockDeviceToCpuMoveOperation as BlockDeviceToCpuMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToBlockDeviceMoveOperation as CpuToBlockDeviceMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToFileBackedMoveOperation as CpuToFileBackedMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        FileBackedToCpuMoveOperation as FileBackedToCpuMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToMetalMoveOperation as CpuToMetalMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToCpuMoveOperation as MetalToCpuMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToMetalMoveOperation as MetalToMetalMoveOperation,
    )
    from strideweave.carriers.move.entry import copy as copy
    from strideweave.carriers.move.entry import move as move
    from strideweave.carriers.move.operations import (
        ElementwiseMoveOperation as ElementwiseMoveOperation,
    )
    from strideweave.carriers.move.operations import MoveOperation as MoveOperation
    from strideweave.functional import *  # noqa: F403  # every public function
    from strideweave.operation.definition import OperationDefinition as OperationDefinition
    from strideweave.operation.definition import define_operation as define_operation
    from strideweave.operation.definition import operation_definition as operation_definition
    from strideweave.operation.definition import operation_definitions as operation_definitions
    from strideweave.operation.dispatch import bind_kernel as bind_kernel
    from strideweave.operation.dispatch import bind_view as bind_view
    from strideweave.operation.explanation import DispatchExplanation as DispatchExplanation
    from strideweave.operation.explanation import explain as explain
    from strideweave.operation.grad_mode import is_grad_enabled as is_grad_enabled
    from strideweave.operation.grad_mode import no_grad as no_grad
    from strideweave.operation.grad_mode import set_grad_enabled as set_grad_enabled
    from strideweave.operation.invocation import BoundOperationCall as BoundOperationCall
    from strideweave.operation.invocation import ResolvedInvocation as ResolvedInvocation
    from strideweave.operation.invocation import ResultSpec as ResultSpec
    from strideweave.operation.invocation import VJPContext as VJPContext
    from strideweave.operation.operation import Operation as Operation
    from strideweave.operation.publication import ProviderContractError as ProviderContractError
    from strideweave.operation.schema import NON_DIFFERENTIABLE as NON_DIFFERENTIABLE
    from strideweave.operation.schema import REQUIRED as REQUIRED
    from strideweave.operation.schema import OperandKind as OperandKind
    from strideweave.operation.schema import OperandSpec as OperandSpec
    from strideweave.operation.schema import OperationSchema as OperationSchema
    from strideweave.operation.schema import OptionSpec as OptionSpec
    from strideweave.profiling import Profiler as Profiler
    from strideweave.profiling import ProfilerAggregate as ProfilerAggregate
    from strideweave.profiling import ProfilerEvent as ProfilerEvent
    from strideweave.profiling import profile as profile
else:
    _HOMES = {
        "carriers.move.entry": ("copy", "move"),
        "carriers.move.operations": ("ElementwiseMoveOperation", "MoveOperation"),
        "operation.definition": (
            "OperationDefinition",
            "define_operation",
            "operation_definition",
            "operation_definitions",
        ),
        "operation.dispatch": ("bind_kernel", "bind_view"),
        "operation.explanation": ("DispatchExplanation", "explain"),
        "operation.grad_mode": ("is_grad_enabled", "no_grad", "set_grad_enabled"),
        "operation.invocation": (
            "BoundOperationCall",
            "ResolvedInvocation",
            "ResultSpec",
            "VJPContext",
        ),
        "operation.operation": ("Operation",),
        "operation.publication": ("ProviderContractError",),
        "operation.schema": (
            "NON_DIFFERENTIABLE",
            "REQUIRED",
            "OperandKind",
            "OperandSpec",
            "OperationSchema",
            "OptionSpec",
        ),
        "profiling": ("Profiler", "ProfilerAggregate", "ProfilerEvent", "profile"),
    }
    _MODULES = {name: f"strideweave.{home}" for home, names in _HOMES.items() for name in names}

    def __getattr__(name):
        if name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name in _functions():
            value = getattr(sys.modules[_FUNCTIONAL], name)
        elif name in MOVE_OPERATIONS:
            value = load_optional(__name__, name, MOVE_OPERATIONS)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_MODULES, *_functions(), *present_names(MOVE_OPERATIONS)})

    def _functions():
        # Loaded by the time `import strideweave` is done; asked for earlier, it is a submodule.
        return getattr(sys.modules.get(_FUNCTIONAL), "__all__", ())

    _FUNCTIONAL = "strideweave.functional"
