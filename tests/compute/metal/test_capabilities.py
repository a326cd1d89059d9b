"""The plans that Metal advertises, which are known without MLX."""

import pytest

from strideweave import CPU, DType, Metal
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    supports_operation_plan,
)
from strideweave.carriers.operation_policy import (
    OperandRole,
    OperationPlan,
    registered_operations,
    resolvable_plans,
)

# The required floor of the contract: F, I, B for Tensors, s for a number, then the result.
FLOOR = """
    abs ceil cos erf exp2 floor log log2 neg recip relu round rsqrt sign sin sqrt: F>F
    elu exp gelu leaky_relu sigmoid silu softplus tanh: F>F I>F
    add sub elementwise_mul: FF>F FI>F IF>F
    maximum minimum rem: FF>F
    mul: FF>F FI>F IF>F Fs>F Is>F
    div: FF>F FI>F IF>F II>F
    pow: FF>F FI>F IF>F II>F Fs>F Is>F sF>F sI>F
    eq ne lt le: FF>B
    logical_not: F>B
    logical_and logical_or logical_xor: BB>B
    clamp: FFF>F FFs>F FsF>F Fss>F
    select: BFF>F
    reduce_sum reduce_prod reduce_max reduce_min cumsum: F>F
    argmax argmin: F>I
    matmul _batched_matmul conv_general: FF>F
    _cast_float32: F>F I>F B>F
    _cast_int32: B>I I>I
    _cast_bool: F>B I>B B>B
    concat: FF>F II>I BB>B
    pad flip: F>F I>I B>B
    gather: FI>F
    scatter scatter_add: FIF>F
    _sort_values _topk_values: F>F
    _sort_indices _topk_indices: F>I
"""
LETTERS = {DType.Float32: "F", DType.Int32: "I", DType.Bool: "B"}


def floor() -> dict[str, set[str]]:
    entries: dict[str, set[str]] = {}
    for line in FLOOR.strip().splitlines():
        names, plans = line.split(":")
        entries.update({name: {*plans.split()} for name in names.split()})
    return entries


def letters(plan: OperationPlan) -> str:
    operands = "".join(
        "s"
        if entry.dtype is None or entry.role is OperandRole.WEAK_SCALAR
        else LETTERS[entry.dtype]
        for entry in plan.operands
    )
    return f"{operands}>{LETTERS[plan.output]}"


@pytest.mark.rule("MT-30", "MT-31", "O-43", "O-7")
def test_the_set_is_exactly_the_floor() -> None:
    expected = floor()
    advertised: dict[str, set[str]] = {name: set() for name in expected}
    for plan in resolvable_plans():
        if not supports_operation_plan(Metal, plan):
            continue
        assert plan.accumulator_dtype is not DType.Float64
        advertised[plan.operation].add(letters(plan))
    assert advertised == expected


@pytest.mark.rule("MT-30")
def test_every_registered_operation_has_a_plan() -> None:
    names = {entry.operation for entry in capabilities_for_carrier_class(Metal)}
    assert names == {spec.name for spec in registered_operations()}


@pytest.mark.rule("MT-31")
def test_no_integer_arithmetic_and_no_wide_accumulator_is_advertised() -> None:
    refused = {
        f"{plan.operation} {letters(plan)}"
        for plan in resolvable_plans()
        if supports_operation_plan(CPU, plan) and not supports_operation_plan(Metal, plan)
    }
    for name in ("add", "sub", "mul", "elementwise_mul", "matmul", "_batched_matmul"):
        assert f"{name} II>I" in refused
    assert {"mul Is>I", "pow Is>I", "reduce_sum I>I", "_cast_int32 F>I"} <= refused
    assert {"reduce_sum F>F", "matmul FF>F"} <= refused  # accumulated in Float64
