"""The public names, exactly: whoever adds or drops one decides so here."""

import importlib
import subprocess
import sys

import pytest

import strideweave

LAYOUT = "IndexMap Layout Node Permutation Product Shape Stride Swizzle SwizzleStage Tiler Tree"
DTYPES = """
    BlockScaledDType CompoundDType DType DTypeCategory Level LevelExtent RepresentationRule
    RepresentationValidationContext SimpleDType SymbolicBits Whole WholeExtent
"""
CAPABILITY_TYPES = """
    DependentCarrier OperandCapability OperationCapability UnsupportedOperationPlan
"""
AUTHORING = """
    CarrierDefinition CarrierFacet CompositeProvider KernelExecutionInterface KernelPack
    KernelPattern KernelProvider StorageProvider TransferRoute Unsupported
    register_carrier_definition register_kernel_pack
"""
PROFILING = "Profiler ProfilerAggregate ProfilerEvent profile"
MOVEMENT = """
    AwaitMove AwaitResult ElementwiseMoveOperation MoveOperation copy_async move_async
"""
GRAD_MODE = "is_grad_enabled no_grad set_grad_enabled"
FUNCTIONS = """
    SortResult TopKResult abs add argmax argmin as_strided broadcast_in_dim broadcast_to cast ceil
    clamp concat conv_general cos cumsum div einsum elementwise_mul elu eq erf exp exp2 flip floor
    gather ge gelu gt le leaky_relu log log2 log_softmax logical_and logical_not logical_or
    logical_xor logsumexp lt matmul maximum mean minimum mul ne neg pad permute pow rearrange recip
    reduce_max reduce_min reduce_prod reduce_sum relu rem reshape round rsqrt scatter scatter_add
    select sigmoid sign silu sin softmax softplus sort sqrt squeeze stack sub tanh topk unsqueeze
"""
OPERATIONS = """
    DispatchExplanation NON_DIFFERENTIABLE OperandKind OperandSpec Operation OperationDefinition
    OperationSchema OptionSpec ProviderContractError REQUIRED ResultSpec define_operation explain
"""

EXPORTS = {
    "strideweave": " ".join(
        (LAYOUT, DTYPES, CAPABILITY_TYPES, AUTHORING, FUNCTIONS, GRAD_MODE, OPERATIONS, PROFILING)
    )
    + MOVEMENT
    + " MoveExplanation copy explain_move move"
    + " Carrier Module Parameter Tensor from_dlpack from_numpy grad",
    "strideweave.autograd": "grad",
    "strideweave.carriers": DTYPES
    + CAPABILITY_TYPES
    + """
        CLOSED_CARRIER_MESSAGE Carrier InstalledCarrier carrier_names installed load_carrier
        reject_carrier_subclass
    """,
    "strideweave.carriers.block_device": "BlockDevice BlockDeviceCarrier",
    "strideweave.carriers.cpu": "CPU",
    "strideweave.carriers.dtype": DTYPES
    + "accepts_storage_dtype storage_zero validate_storage_dtype",
    "strideweave.carriers.extension": AUTHORING
    + """
        PreparedComposite PreparedKernel PreparedTransfer ProviderCompletion ProviderResult
        TransferProvider TransferRequest reference_pattern
    """,
    "strideweave.carriers.evictable": "Evictable",
    "strideweave.carriers.file_backed": "FileBacked",
    "strideweave.carriers.generic": "Generic",
    "strideweave.carriers.metal": "Metal",
    "strideweave.carriers.move": MOVEMENT
    + "dispatch_move register_move_operation registered_move_operation unregister_move_operation",
    "strideweave.carriers.operation_capability": CAPABILITY_TYPES
    + """
        capabilities_for_carrier_class matching_capability register_operation_capabilities
        require_capability supports_operation_plan unsupported_plan_reason
    """,
    "strideweave.carriers.operation_policy": """
        ACCUMULATOR_CONFIGURABLE_OPERATIONS Accumulation Arithmetic INT32_MAX INT32_MIN OperandPlan
        OperandRole OperationExecutionOptions OperationOverload OperationPlan OperationSpec
        POW_INTEGER_EXPONENT_MAX SUPPORTED_ACCUMULATOR_DTYPES SUPPORTED_TENSOR_DTYPES
        WEAK_SCALAR_PROBES WeakScalarKind operation_execution_options plan_accumulator_variants
        registered_operations resolvable_plans resolve_operation_plan
    """,
    "strideweave.carriers.tiled_evictable": """
        AwaitProjection AwaitResidency ResidencyPlan ResidencyPolicy TileSelection TileSet
        TiledEvictable TiledResidencyFacet
    """,
    "strideweave.einops": """
        EinsumSpec LayoutReference RearrangeSpec ReduceSpec Token TokenKind einsum lex parse_einsum
        parse_layout_ref parse_rearrange parse_reduce rearrange reduce
    """,
    "strideweave.friendly": """
        arange column_major full item mean ones rand randn row_major sum tensor to_list zeros
    """,
    "strideweave.functional": FUNCTIONS + GRAD_MODE,
    "strideweave.layout": LAYOUT,
    "strideweave.module": "LoadStateResult Module Parameter",
    "strideweave.nn": """
        Adam CrossEntropyLoss ELU Embedding GELU LeakyReLU Linear MSELoss ReLU SGD Sequential SiLU
        Sigmoid Softplus Tanh
    """,
    "strideweave.nn.init": "fill_ kaiming_uniform_",
    "strideweave.profiling": PROFILING,
    "strideweave.tensor": "Tensor",
    "strideweave.testing": "ArrayCarrier",
    "strideweave.testing.conformance": """
        Ability CHECKS CONFORMANCE_VERSION CarrierAdapter CarrierConformance Check
        ConformanceFailure Peer applicable_checks
    """,
}
MOVE_OPERATIONS = [
    *("BlockDeviceToCpuMoveOperation", "CpuToBlockDeviceMoveOperation"),
    *("CpuToFileBackedMoveOperation", "FileBackedToCpuMoveOperation"),
    *("CpuToMetalMoveOperation", "MetalToCpuMoveOperation", "MetalToMetalMoveOperation"),
]
OTHER_LAYERS = [
    *("BlockDevice", "BlockDeviceCarrier", "CPU", "Evictable", "FileBacked", "Generic"),
    "Metal",
    *("AwaitProjection", "AwaitResidency", "ResidencyPlan", "ResidencyPolicy", "TileSelection"),
    *("TileSet", "TiledEvictable", "TiledResidencyFacet"),
    *MOVE_OPERATIONS,
]


@pytest.mark.rule("L-1", "T-1", "D-1", "O-1", "F-1", "R-1", "R-2")
@pytest.mark.parametrize("name", EXPORTS)
def test_module_exports_exactly(name: str) -> None:
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(EXPORTS[name].split())
    assert [export for export in module.__all__ if not hasattr(module, export)] == []


@pytest.mark.rule("O-1", "F-1")
def test_operation_reaches_its_own_names_and_every_function() -> None:
    own = "BoundOperationCall ResolvedInvocation VJPContext bind_kernel operation_definition"
    names = f"{OPERATIONS} {FUNCTIONS} {GRAD_MODE} {PROFILING} {own} operation_definitions".split()
    operation = importlib.import_module("strideweave.operation")
    assert [name for name in names if not hasattr(operation, name)] == []


@pytest.mark.rule("C-1")
def test_names_of_other_layers_are_listed_but_not_star_imported() -> None:
    assert not {*OTHER_LAYERS} & {*strideweave.__all__}
    assert {*OTHER_LAYERS, "__version__"} <= {*dir(strideweave)}


@pytest.mark.rule("L-1", "T-1", "D-1", "O-1", "F-1", "C-1", "R-2", "R-3")
def test_a_name_is_one_object_wherever_it_is_public() -> None:
    facade = {name: getattr(strideweave, name) for name in [*strideweave.__all__, *OTHER_LAYERS]}
    paths = {
        **EXPORTS,
        "strideweave.operation": f"{OPERATIONS} {FUNCTIONS} {GRAD_MODE} {PROFILING}",
    }
    differing = [
        (path, name)
        for path, names in paths.items()
        for name in {*names.split()} & {*facade}
        if getattr(importlib.import_module(path), name) is not facade[name]
    ]
    assert differing == [("strideweave.friendly", "mean")]  # of all elements, N-55


@pytest.mark.rule("M-1", "C-1")
@pytest.mark.parametrize("path", ["strideweave.operation", "strideweave.carriers.move"])
def test_move_operations_of_other_layers_are_reached_by_three_paths(path: str) -> None:
    module = importlib.import_module(path)
    for name in MOVE_OPERATIONS:
        assert getattr(module, name) is getattr(strideweave, name) and name in dir(module)


@pytest.mark.rule("O-1")
def test_modules_are_attributes_after_importing_the_package() -> None:
    program = """
import strideweave as sw
sw.autograd, sw.einops, sw.friendly, sw.functional, sw.layout, sw.module, sw.nn.init, sw.operation
sw.carriers.dtype, sw.carriers.extension
sw.carriers.operation_capability, sw.carriers.operation_policy
"""
    subprocess.run([sys.executable, "-c", program], check=True)
