"""Operations: schemas, plans, definitions, the dispatch pipeline and differentiation control.

The carriers' modules use the plans and capabilities of this package while the rest of it uses the
carriers, so its public names are imported when they are first asked for.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
else:
    _HOMES = {
        "definition": (
            "OperationDefinition",
            "define_operation",
            "operation_definition",
            "operation_definitions",
        ),
        "dispatch": ("bind_kernel", "bind_view"),
        "explanation": ("DispatchExplanation", "explain"),
        "grad_mode": ("is_grad_enabled", "no_grad", "set_grad_enabled"),
        "invocation": ("BoundOperationCall", "ResolvedInvocation", "ResultSpec", "VJPContext"),
        "operation": ("Operation",),
        "publication": ("ProviderContractError",),
        "schema": (
            "NON_DIFFERENTIABLE",
            "REQUIRED",
            "OperandKind",
            "OperandSpec",
            "OperationSchema",
            "OptionSpec",
        ),
    }
    _FUNCTIONS = (  # all of strideweave.functional, which builds on this package
        "abs add argmax argmin as_strided broadcast_in_dim broadcast_to cast ceil clamp cos "
        "cumsum div elementwise_mul elu eq erf exp exp2 flip floor gather ge gelu gt le "
        "leaky_relu log log2 log_softmax logical_and logical_not logical_or logical_xor "
        "logsumexp lt matmul maximum mean minimum mul ne neg permute pow rearrange recip "
        "reduce_max reduce_min reduce_prod reduce_sum relu rem reshape round rsqrt scatter "
        "scatter_add select sigmoid sign silu sin softmax softplus sqrt squeeze sub tanh "
        "unsqueeze "
    )
    _MODULES = {
        name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names
    } | dict.fromkeys(_FUNCTIONS.split(), "strideweave.functional")

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_MODULES})
