"""The definitions as data: schemas, roles, saved operands, tolerances, resolution."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.extension import KernelPattern
from strideweave.carriers.operation_policy import registered_operations, resolvable_plans
from strideweave.operation import ResolvedInvocation, operation_definition, operation_definitions

Make = Callable[..., Any]

DEFINED = [spec.name for spec in registered_operations()]
PAIRS = "add sub elementwise_mul div maximum minimum rem".split()
PREDICATES = "eq ne lt le logical_and logical_or logical_xor".split()
UNARY = (
    "relu elu exp gelu leaky_relu sigmoid silu softplus tanh abs ceil cos erf exp2 floor log log2 "
    "neg recip round rsqrt sign sin sqrt"
).split()
SCHEMAS = {  # operand names; * differentiable, (W) weak scalar, (S) structural
    **dict.fromkeys(PAIRS, "lhs* rhs*"),
    **dict.fromkeys(PREDICATES, "lhs rhs"),
    **dict.fromkeys(UNARY, "tensor*"),
    **dict.fromkeys(["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"], "tensor*"),
    **dict.fromkeys(["argmax", "argmin", "logical_not", "_cast_int32", "_cast_bool"], "tensor"),
    "_cast_float32": "tensor*",
    "mul": "lhs* rhs* | tensor* scalar(W)",
    "pow": "base* exponent* | tensor* exponent(W) | base(W) exponent*",
    "cumsum": "tensor* dimension(S)",
    "matmul": "lhs* rhs*",
    "_batched_matmul": "lhs* rhs*",
    "gather": "tensor* indices axis(S)",
    "scatter": "base* indices updates* axis(S)",
    "scatter_add": "base* indices updates* axis(S)",
    "select": "condition on_true* on_false*",
    "clamp": "tensor* lower* upper* | tensor* lower* upper(W) | tensor* lower(W) upper* | "
    "tensor* lower(W) upper(W)",
    "flip": "tensor* axis(S)",
    "conv_general": "lhs* kernel* strides(S) padding(S) lhs_dilation(S) kernel_dilation(S) "
    "feature_groups(S)",
    "concat": "lhs* rhs* axis(S)",
    "pad": "tensor* padding(S) value(S)",
    "_sort_values": "tensor* axis(S) descending(S)",
    "_sort_indices": "tensor axis(S) descending(S)",
    "_topk_values": "tensor* k(S) axis(S) largest(S)",
    "_topk_indices": "tensor k(S) axis(S) largest(S)",
}
KINDS = {"TENSOR": "", "WEAK_SCALAR": "(W)", "STRUCTURAL": "(S)"}


@pytest.mark.rule("O-53", "O-60")
def test_every_operation_of_the_policy_is_defined_once() -> None:
    names = [definition.name for definition in operation_definitions()]
    assert [name for name in names if "." not in name] == sorted(DEFINED)
    assert set(DEFINED) == set(SCHEMAS)


@pytest.mark.rule("O-57", "O-60", "O-68", "F-1")
@pytest.mark.parametrize("name", DEFINED)
def test_schemas(name: str) -> None:
    definition = operation_definition(name)
    described = " | ".join(
        " ".join(
            spec.name + "*" * spec.differentiable + KINDS[spec.kind.name]
            for spec in schema.operands
        )
        for schema in definition.overloads
    )
    assert described == SCHEMAS[name]
    assert definition.schema is definition.overloads[0]
    options = [(option.name, option.default) for option in definition.schema.options]
    accumulates = name in {"reduce_sum", "matmul"}
    assert options == ([("accumulator_dtype", None)] if accumulates else [])
    is_differentiable = "*" in SCHEMAS[name]
    assert (definition.vjp is not sw.NON_DIFFERENTIABLE) is is_differentiable
    assert callable(definition.reference)


SAVED = {
    **dict.fromkeys(["add", "sub", "neg", "sign", "floor", "ceil", "round", "cumsum"], ()),
    **dict.fromkeys(["elementwise_mul", "div", "maximum", "minimum", "rem"], (0, 1)),
    **dict.fromkeys(["matmul", "_batched_matmul", "conv_general"], (0, 1)),
    **dict.fromkeys(["exp", "relu", "abs", "tanh", "reduce_prod", "reduce_max"], (0,)),
    **dict.fromkeys(["reduce_sum", "argmax", "lt", "logical_not", "flip", "concat", "pad"], ()),
    **dict.fromkeys(["_sort_values", "_topk_values"], (0,)),
    **dict.fromkeys(["_sort_indices", "_topk_indices"], ()),
    **dict.fromkeys(["gather", "scatter", "scatter_add"], (1,)),
    "mul": (0, 1),
    "pow": (0, 1),
    "select": (0,),
    "clamp": (0, 1, 2),
}


@pytest.fixture
def resolved(workshop: Any) -> Callable[..., ResolvedInvocation]:
    """``resolved(name, *operands)``: what a pattern of that operation is asked to prepare."""

    def resolve(name: str, *operands: Any) -> ResolvedInvocation:
        seen: list[ResolvedInvocation] = []

        def prepare(invocation: ResolvedInvocation, interface: Any) -> sw.Unsupported:
            seen.append(invocation)
            return sw.Unsupported("only looks")

        plans = [plan for plan in resolvable_plans() if plan.operation == name]
        capabilities = list(map(sw.OperationCapability.from_plan, plans))
        pattern = KernelPattern(operation_definition(name), capabilities, "look", prepare)
        carrier_class = workshop.defined([pattern])
        moved = [
            sw.Tensor(
                carrier_class(operand.layout.cosize, dtype=operand.dtype()), 0, operand.layout
            )
            if isinstance(operand, sw.Tensor)
            else operand
            for operand in operands
        ]
        with pytest.raises(sw.UnsupportedOperationPlan, match="only looks"):
            operation_definition(name)(*moved)
        return seen[0]

    return resolve


RANKS = {
    **dict.fromkeys(["gather", "scatter", "scatter_add"], (1,)),
    **dict.fromkeys(["_batched_matmul", "conv_general"], (1, 1, 1)),
}
STRUCTURAL: dict[str, tuple[Any, ...]] = {  # where it is not one zero
    "pad": (((0, 0), (0, 0)), 0),
    "conv_general": ((1,), ((0, 0),), None, None, 1),
    **dict.fromkeys(["_sort_values", "_sort_indices"], (0, False)),
    **dict.fromkeys(["_topk_values", "_topk_indices"], (1, 0, True)),
}


def operands_for(name: str, f: Make, i: Make, b: Make) -> list[Any]:
    """All-tensor operands of two modes, and structural values."""
    plan = next(plan for plan in resolvable_plans() if plan.operation == name)
    makers = {sw.DType.Float32: (f, 0.0), sw.DType.Int32: (i, 0), sw.DType.Bool: (b, False)}
    operands = []
    for entry in plan.operands:
        make, zero = makers[entry.dtype or sw.DType.Float32]
        shape = RANKS.get(name, (1, 1))
        operands.append(make([zero], *shape))
    structural = operation_definition(name).schema.operands[-1].kind is sw.OperandKind.STRUCTURAL
    return [*operands, *STRUCTURAL.get(name, (0,))] if structural else operands


@pytest.mark.rule("A-7", "O-62", "O-63")
@pytest.mark.parametrize("name", SAVED)
def test_saved_operands(
    name: str, resolved: Callable[..., ResolvedInvocation], f: Make, i: Make, b: Make
) -> None:
    invocation = resolved(name, *operands_for(name, f, i, b))
    assert invocation.saved_operands == SAVED[name]


@pytest.mark.rule("A-6", "F-25")
def test_numbers_are_never_saved(resolved: Callable[..., ResolvedInvocation], f: Make) -> None:
    assert resolved("mul", f([1.0]), 2.0).saved_operands == ()
    assert resolved("pow", 2.0, f([1.0])).saved_operands == (1,)
    assert resolved("clamp", f([1.0]), 0.0, f([1.0])).saved_operands == (0, 2)


TOLERANT = {
    *("exp", "exp2", "log", "log2", "sin", "cos", "erf", "sigmoid", "tanh", "gelu", "silu"),
    *("softplus", "elu", "pow"),
}


SUMS = {"reduce_sum", "matmul", "_batched_matmul", "conv_general"}


@pytest.mark.rule("O-69", "F-12", "O-62", "O-63", "F-3")
@pytest.mark.parametrize("name", DEFINED)
def test_results(
    name: str, resolved: Callable[..., ResolvedInvocation], f: Make, i: Make, b: Make
) -> None:
    invocation = resolved(name, *operands_for(name, f, i, b))
    (result,) = invocation.results
    assert result.dtype is invocation.plan.output and result.alias_of is None
    assert invocation.mutated_operands == () and invocation.kernel_id == name
    sums = name in SUMS and invocation.plan.output is sw.DType.Float32
    expected = (1e-6, 1e-5) if name in TOLERANT or sums else (0.0, 0.0)
    assert (result.atol, result.rtol) == expected


@pytest.mark.rule("O-69", "F-10")
def test_integer_sums_are_exact(resolved: Callable[..., ResolvedInvocation], i: Make) -> None:
    x = i([1, 2], 1, 2)
    for invocation in (resolved("reduce_sum", x), resolved("matmul", x, x)):
        assert (invocation.results[0].atol, invocation.results[0].rtol) == (0.0, 0.0)


@pytest.mark.rule("O-54", "O-56")
def test_structural_values_are_normalized_and_sources_kept(
    resolved: Callable[..., ResolvedInvocation], f: Make, i: Make
) -> None:
    invocation = resolved("cumsum", f([1.0] * 6, 2, 3), -1)
    assert invocation.operands[1] == 1
    invocation = resolved("add", f([1.0]), f([1.0, 2.0, 3.0]))
    first: Any = invocation.operands[0]
    source: Any = invocation.call.sources[0]
    assert str(first.layout) == "3:0" and str(source.layout) == "1:1"
    assert first.carrier is source.carrier
    assert invocation.operands[1] is invocation.call.sources[1]
