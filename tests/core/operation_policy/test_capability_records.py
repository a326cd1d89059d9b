"""Capability records: validation, exact matching, and their deterministic order."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave.carriers.operation_policy import (
    Accumulation,
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationPlan,
    resolvable_plans,
    resolve_operation_plan,
)
from strideweave.operation.capability import (
    OperandCapability,
    OperationCapability,
    UnsupportedOperationPlan,
    capability_order,
)

D = sw.DType
F32, I32 = D.Float32, D.Int32
T, W = OperandRole.TENSOR, OperandRole.WEAK_SCALAR
BINARY32 = Arithmetic.BINARY32
OPERAND = OperandCapability(T, F32, F32)


@pytest.mark.rule("O-20")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("tensor", 1, 2), "role must be OperandRole, got 'tensor'"),
        ((T, 1, D.Any), "convert_to must be SimpleDType, got DTypeCategory"),
        ((T, None, F32), "dtype of a tensor operand must be SimpleDType, got None"),
        ((T, D.MXFP4, F32), "dtype of a tensor operand must be SimpleDType"),
        ((W, F32, F32), "dtype of a weak scalar operand must be None, got SimpleDType"),
    ],
)
def test_operand_faults_in_order(arguments: tuple[Any, Any, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        OperandCapability(*arguments)


@pytest.mark.rule("O-21")
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3, [], 1, 2, 3, 4), TypeError, "operation must be str, got 3"),
        (("relu", [], 1, 2, 3, 4), TypeError, r"operands must be tuple, got \[\] of type list"),
        (("relu", (), 1, 2, 3, 4), ValueError, "'relu' needs at least one operand"),
        (
            ("relu", (OPERAND, OperandPlan(T, F32, F32)), 1, 2, 3, 4),
            TypeError,
            r"operands\[1\] must be OperandCapability",
        ),
        (("relu", (OPERAND,), "binary32", 2, 3, 4), TypeError, "compute must be Arithmetic"),
        (
            ("relu", (OPERAND,), BINARY32, "maximum", 3, 4),
            TypeError,
            "accumulation must be Accumulation or None, got 'maximum'",
        ),
        (
            ("relu", (OPERAND,), BINARY32, None, D.Any, 4),
            TypeError,
            "accumulator_dtype must be SimpleDType or None, got DTypeCategory",
        ),
        (("relu", (OPERAND,), BINARY32, None, None, None), TypeError, "output must be SimpleDType"),
    ],
)
def test_operation_faults_in_order(
    arguments: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        OperationCapability(*arguments)


@pytest.mark.rule("O-22")
def test_capabilities_are_values_of_any_name() -> None:
    made = OperationCapability("vendor.fused", (OPERAND,), BINARY32, None, None, F32)
    twin = OperationCapability(
        "vendor.fused", (OperandCapability(T, F32, F32),), BINARY32, None, None, F32
    )
    assert made == twin and hash(made) == hash(twin) and made is not twin
    assert made != replace(made, output=I32)
    assert {made: 1}[twin] == 1
    for record, field in ((made, "output"), (OPERAND, "dtype")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field, I32)
    public = {name for name in dir(OperationCapability) if not name.startswith("_")}
    assert public == {
        "operation",
        "operands",
        "compute",
        "accumulation",
        "accumulator_dtype",
        "output",
        "from_plan",
        "matches",
    }


BASE = resolve_operation_plan("matmul", F32, I32)
FIRST, SECOND = BASE.operands
OTHER_PLANS = [
    replace(BASE, operation="mul"),
    replace(BASE, operands=(SECOND, FIRST)),
    replace(BASE, operands=(FIRST,)),
    replace(BASE, operands=(FIRST, SECOND, SECOND)),
    replace(BASE, operands=(FIRST, replace(SECOND, dtype=F32))),
    replace(BASE, operands=(FIRST, replace(SECOND, convert_to=I32))),
    replace(BASE, operands=(FIRST, OperandPlan(W, None, F32))),
    replace(BASE, compute=Arithmetic.INT32_EXACT),
    replace(BASE, accumulation=None),
    replace(BASE, accumulation=Accumulation.SEQUENTIAL_BINARY32),
    replace(BASE, accumulator_dtype=D.Float64),
    replace(BASE, accumulator_dtype=None),
    replace(BASE, output=I32),
]


@pytest.mark.rule("O-23")
@pytest.mark.parametrize("plan", OTHER_PLANS)
def test_every_field_must_agree(plan: OperationPlan) -> None:
    capability = OperationCapability.from_plan(BASE)
    assert capability.matches(BASE)
    assert capability.matches(replace(BASE))
    assert not capability.matches(plan)


class EqualToAll(sw.SimpleDType, abstract=False):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = sw.SimpleDType.__hash__


@pytest.mark.rule("O-23")
def test_dtypes_match_by_identity() -> None:
    twin = EqualToAll("TestCapabilityTwin", bits=32, supertype=D.Floating)
    capability = OperationCapability.from_plan(BASE)
    assert not capability.matches(replace(BASE, output=twin))
    assert OperationCapability.from_plan(replace(BASE, output=twin)) != capability


@pytest.mark.rule("O-24")
def test_from_plan_mirrors_every_resolvable_plan() -> None:
    plans = resolvable_plans()
    for plan in plans:
        capability = OperationCapability.from_plan(plan)
        assert capability is OperationCapability.from_plan(plan)
        assert [other for other in plans if capability.matches(other)] == [plan]


@pytest.mark.rule("O-24")
def test_from_plan_goes_through_the_validating_constructors() -> None:
    with pytest.raises(TypeError, match="plan must be OperationPlan, got 'relu'"):
        OperationCapability.from_plan("relu")  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(TypeError, match="plan must be OperationPlan"):
        OperationCapability.from_plan(BASE).matches(None)  # type: ignore[arg-type]  # the fault
    with pytest.raises(ValueError, match="needs at least one operand"):
        OperationCapability.from_plan(replace(BASE, operands=()))
    with pytest.raises(TypeError, match="compute must be Arithmetic"):
        OperationCapability.from_plan(replace(BASE, compute="binary32"))  # type: ignore[arg-type]  # the fault
    with pytest.raises(TypeError, match="weak scalar operand must be None"):
        OperationCapability.from_plan(replace(BASE, operands=(OperandPlan(W, F32, F32),)))


@pytest.mark.rule("O-25")
def test_the_sort_key_spells_out_every_field() -> None:
    matmul = capability_order(OperationCapability.from_plan(BASE))
    assert matmul == (
        "matmul",
        "tensor:Float32:Float32|tensor:Int32:Float32",
        "binary32",
        "floating",
        "Float32",
        "Float32",
    )
    power = OperationCapability.from_plan(resolve_operation_plan("pow", 3, I32))
    assert capability_order(power) == (
        "pow",
        "weak_scalar::Float32|tensor:Int32:Float32",
        "binary32",
        "",
        "",
        "Float32",
    )


@pytest.mark.rule("O-25")
@given(st.permutations([OperationCapability.from_plan(plan) for plan in resolvable_plans()[:40]]))
def test_the_order_does_not_depend_on_declaration(shuffled: list[OperationCapability]) -> None:
    ordered = sorted(shuffled, key=capability_order)
    keys = [capability_order(capability) for capability in ordered]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys)


@pytest.mark.rule("O-28")
def test_unsupported_operation_plan_is_a_not_implemented_error() -> None:
    assert issubclass(UnsupportedOperationPlan, NotImplementedError)
