"""Public names of all layers. Only strideweave-core ships this file."""

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING

__path__ = extend_path(__path__, __name__)  # editable layers live in other folders

from strideweave import einops as einops
from strideweave._optional import load_optional, present_names
from strideweave.autograd import (
    grad,
)
from strideweave.carriers import (
    BlockScaledDType,
    Carrier,
    CompoundDType,
    DependentCarrier,
    DType,
    DTypeCategory,
    Level,
    LevelExtent,
    OperandCapability,
    OperationCapability,
    RepresentationRule,
    RepresentationValidationContext,
    SimpleDType,
    SymbolicBits,
    UnsupportedOperationPlan,
    Whole,
    WholeExtent,
)
from strideweave.carriers.extension import (
    CarrierDefinition,
    CarrierFacet,
    CompositeProvider,
    KernelExecutionInterface,
    KernelPack,
    KernelPattern,
    KernelProvider,
    StorageProvider,
    TransferRoute,
    Unsupported,
    register_carrier_definition,
    register_kernel_pack,
)
from strideweave.carriers.move import (
    AwaitMove,
    AwaitResult,
    ElementwiseMoveOperation,
    MoveOperation,
    copy_async,
    move_async,
)
from strideweave.carriers.move.entry import (
    copy,
    move,
)
from strideweave.functional import (
    SortResult,
    TopKResult,
    abs,
    add,
    argmax,
    argmin,
    as_strided,
    broadcast_in_dim,
    broadcast_to,
    cast,
    ceil,
    clamp,
    concat,
    conv_general,
    cos,
    cumsum,
    div,
    einsum,
    elementwise_mul,
    elu,
    eq,
    erf,
    exp,
    exp2,
    flip,
    floor,
    gather,
    ge,
    gelu,
    gt,
    is_grad_enabled,
    le,
    leaky_relu,
    log,
    log2,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    logsumexp,
    lt,
    matmul,
    maximum,
    mean,
    minimum,
    mul,
    ne,
    neg,
    no_grad,
    pad,
    permute,
    pow,
    rearrange,
    recip,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    relu,
    rem,
    reshape,
    round,
    rsqrt,
    scatter,
    scatter_add,
    select,
    set_grad_enabled,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    softplus,
    sort,
    sqrt,
    squeeze,
    stack,
    sub,
    tanh,
    topk,
    unsqueeze,
)
from strideweave.layout import (
    IndexMap,
    Layout,
    Node,
    Permutation,
    Product,
    Shape,
    Stride,
    Swizzle,
    SwizzleStage,
    Tiler,
    Tree,
)
from strideweave.operation import (
    NON_DIFFERENTIABLE,
    REQUIRED,
    DispatchExplanation,
    OperandKind,
    OperandSpec,
    Operation,
    OperationDefinition,
    OperationSchema,
    OptionSpec,
    ProviderContractError,
    ResultSpec,
    define_operation,
    explain,
)
from strideweave.tensor import (
    Tensor,
)
from strideweave.tensor.interchange import (
    from_dlpack,
    from_numpy,
)

__all__ = [
    "NON_DIFFERENTIABLE",
    "REQUIRED",
    "AwaitMove",
    "AwaitResult",
    "BlockScaledDType",
    "Carrier",
    "CarrierDefinition",
    "CarrierFacet",
    "CompositeProvider",
    "CompoundDType",
    "DType",
    "DTypeCategory",
    "DependentCarrier",
    "DispatchExplanation",
    "ElementwiseMoveOperation",
    "IndexMap",
    "KernelExecutionInterface",
    "KernelPack",
    "KernelPattern",
    "KernelProvider",
    "Layout",
    "Level",
    "LevelExtent",
    "Module",
    "MoveExplanation",
    "MoveOperation",
    "Node",
    "OperandCapability",
    "OperandKind",
    "OperandSpec",
    "Operation",
    "OperationCapability",
    "OperationDefinition",
    "OperationSchema",
    "OptionSpec",
    "Parameter",
    "Permutation",
    "Product",
    "Profiler",
    "ProfilerAggregate",
    "ProfilerEvent",
    "ProviderContractError",
    "RepresentationRule",
    "RepresentationValidationContext",
    "ResultSpec",
    "Shape",
    "SimpleDType",
    "SortResult",
    "StorageProvider",
    "Stride",
    "Swizzle",
    "SwizzleStage",
    "SymbolicBits",
    "Tensor",
    "Tiler",
    "TopKResult",
    "TransferRoute",
    "Tree",
    "Unsupported",
    "UnsupportedOperationPlan",
    "Whole",
    "WholeExtent",
    "abs",
    "add",
    "argmax",
    "argmin",
    "as_strided",
    "broadcast_in_dim",
    "broadcast_to",
    "cast",
    "ceil",
    "clamp",
    "concat",
    "conv_general",
    "copy",
    "copy_async",
    "cos",
    "cumsum",
    "define_operation",
    "div",
    "einsum",
    "elementwise_mul",
    "elu",
    "eq",
    "erf",
    "exp",
    "exp2",
    "explain",
    "explain_move",
    "flip",
    "floor",
    "from_dlpack",
    "from_numpy",
    "gather",
    "ge",
    "gelu",
    "grad",
    "gt",
    "is_grad_enabled",
    "le",
    "leaky_relu",
    "log",
    "log2",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "move",
    "move_async",
    "mul",
    "ne",
    "neg",
    "no_grad",
    "pad",
    "permute",
    "pow",
    "profile",
    "rearrange",
    "recip",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "register_carrier_definition",
    "register_kernel_pack",
    "relu",
    "rem",
    "reshape",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "select",
    "set_grad_enabled",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "sort",
    "sqrt",
    "squeeze",
    "stack",
    "sub",
    "tanh",
    "topk",
    "unsqueeze",
]
if TYPE_CHECKING:
    from strideweave import friendly as friendly
    from strideweave import module as module
    from strideweave import nn as nn
    from strideweave import profiling as profiling
    from strideweave.carriers.block_device import BlockDevice as BlockDevice  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.block_device import BlockDeviceCarrier as BlockDeviceCarrier  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.cpu import CPU as CPU  # type: ignore[import-not-found,import-untyped,unused-ignore]
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
    from strideweave.carriers.evictable import Evictable as Evictable  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.file_backed import FileBacked as FileBacked  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.generic import Generic as Generic  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToMetalMoveOperation as CpuToMetalMoveOperation,
    )
    from strideweave.carriers.metal import Metal as Metal  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToCpuMoveOperation as MetalToCpuMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToMetalMoveOperation as MetalToMetalMoveOperation,
    )
    from strideweave.carriers.move.explanation import MoveExplanation, explain_move
    from strideweave.carriers.tiled_evictable import AwaitProjection as AwaitProjection  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import AwaitResidency as AwaitResidency  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import ResidencyPlan as ResidencyPlan  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import ResidencyPolicy as ResidencyPolicy  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import TiledEvictable as TiledEvictable  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import TiledResidencyFacet as TiledResidencyFacet  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import TileSelection as TileSelection  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.tiled_evictable import TileSet as TileSet  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.module import Module, Parameter
    from strideweave.profiling import Profiler, ProfilerAggregate, ProfilerEvent, profile

    __version__: str
else:
    _OPTIONAL = {  # name: (module that defines it, distribution that ships the module)
        "AwaitProjection": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "AwaitResidency": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "BlockDevice": ("strideweave.carriers.block_device", "strideweave-storage"),
        "BlockDeviceCarrier": ("strideweave.carriers.block_device", "strideweave-storage"),
        "BlockDeviceToCpuMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
        "CPU": ("strideweave.carriers.cpu", "strideweave-compute"),
        "CpuToBlockDeviceMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
        "CpuToFileBackedMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
        "CpuToMetalMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
        "Evictable": ("strideweave.carriers.evictable", "strideweave-storage"),
        "FileBacked": ("strideweave.carriers.file_backed", "strideweave-storage"),
        "FileBackedToCpuMoveOperation": ("strideweave.carriers.cpu", "strideweave-compute"),
        "Generic": ("strideweave.carriers.generic", "strideweave-storage"),
        "Metal": ("strideweave.carriers.metal", "strideweave-compute"),
        "MetalToCpuMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
        "MetalToMetalMoveOperation": ("strideweave.carriers.metal", "strideweave-compute"),
        "ResidencyPlan": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "ResidencyPolicy": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "TileSelection": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "TileSet": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "TiledEvictable": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
        "TiledResidencyFacet": ("strideweave.carriers.tiled_evictable", "strideweave-tiered"),
    }

    _DEFERRED = {  # name: module; computing needs none of them, and importing them takes time
        "Module": "strideweave.module",
        "MoveExplanation": "strideweave.carriers.move.explanation",
        "Parameter": "strideweave.module",
        "Profiler": "strideweave.profiling",
        "ProfilerAggregate": "strideweave.profiling",
        "ProfilerEvent": "strideweave.profiling",
        "explain_move": "strideweave.carriers.move.explanation",
        "profile": "strideweave.profiling",
    }
    _DEFERRED_MODULES = ("friendly", "module", "nn", "profiling")

    def __getattr__(name):
        if name == "__version__":
            value = import_module("importlib.metadata").version("strideweave-core")
        elif name in _DEFERRED_MODULES:
            value = import_module(f"{__name__}.{name}")
        elif name in _DEFERRED:
            value = getattr(import_module(_DEFERRED[name]), name)
        else:
            value = load_optional(__name__, name, _OPTIONAL)
        globals()[name] = value
        return value

    def __dir__():
        deferred = {*_DEFERRED, *_DEFERRED_MODULES, "__version__"}
        return sorted({*globals(), *present_names(_OPTIONAL), *deferred})
