"""Selection of an overload, the order of faults, and equal plans being one object."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave.carriers.operation_policy import (
    Arithmetic,
    OperandRole,
    OperationOverload,
    OperationPlan,
    OperationSpec,
    operation_execution_options,
    registered_operations,
    resolve_operation_plan,
)
from strideweave.operation.policy.resolution import planned

D = sw.DType
F32, I32, BOOL = D.Float32, D.Int32, D.Bool
R = resolve_operation_plan
FLOAT64 = D.Float64

FAULTS: list[tuple[str, tuple[object, ...], dict[str, object], type[Exception], str]] = [
    ("nope", (), {"options": 3, "accumulator_dtype": 3}, TypeError, "options must be"),
    (
        "nope",
        (),
        {"options": operation_execution_options("matmul"), "accumulator_dtype": 3},
        ValueError,
        "options were made for operation 'matmul', not for 'nope'",
    ),
    (
        "matmul",
        (),
        {"options": operation_execution_options("matmul"), "accumulator_dtype": 3},
        TypeError,
        "both options and accumulator_dtype",
    ),
    (
        "floor_div",
        (I32, I32),
        {"accumulator_dtype": F32},
        TypeError,
        "'floor_div' takes no accumulator",
    ),
    ("add", (), {"accumulator_dtype": 3}, TypeError, "'add' takes no accumulator"),
    ("reduce_sum", (), {"accumulator_dtype": "Float64"}, TypeError, "DType, got 'Float64'"),
    ("reduce_sum", (), {"accumulator_dtype": D.Floating}, TypeError, "must be a SimpleDType"),
    ("reduce_sum", (), {"accumulator_dtype": D.E5M2}, NotImplementedError, "accumulate in .*E5M2"),
    ("floor_div", (I32, I32), {}, NotImplementedError, "'floor_div' has no dtype policy"),
    ("view", (F32,), {}, NotImplementedError, "'view' has no dtype policy"),
    ("add", (F32,), {}, TypeError, "add plans 2 operands, got 1"),
    ("pow", (F32, F32, F32), {}, TypeError, "pow plans 2 operands, got 3"),
    ("add", (F32, 2), {}, TypeError, r"add takes \(tensor, tensor\), got \(tensor, weak_scalar\)"),
    ("mul", (2, F32), {}, TypeError, r"got \(weak_scalar, tensor\)"),
    ("add", ("x", D.Any), {}, TypeError, "add operand 0 must be the DType of a tensor, got 'x'"),
    ("add", (D.MXFP4, D.Any), {}, NotImplementedError, "add operand 0 has the compound dtype"),
    ("add", (D.Any, D.MXFP4), {}, TypeError, "add operand 0 is the category"),
    ("add", (F32, D.Integer), {}, TypeError, "add operand 1 is the category"),
    ("add", (D.Int8, I32), {}, NotImplementedError, "add operand 0 has dtype .*'Int8'"),
    ("add", (BOOL, BOOL), {}, NotImplementedError, "add operand 0 has dtype .*'Bool'"),
    ("eq", (I32, BOOL), {}, NotImplementedError, "eq operand 1 has dtype .*'Bool'"),
    (
        "select",
        (F32, F32, F32),
        {},
        TypeError,
        r"operand 0 must have dtype DType\.Bool, got .*'Float32'",
    ),
    ("select", (BOOL, I32, F32), {}, TypeError, "select operand 1 must have dtype DType.Float32"),
    ("abs", (I32,), {}, TypeError, "abs operand 0 must have dtype DType.Float32"),
    ("concat", (F32, I32), {}, TypeError, r"one dtype, got DType\.Float32, DType\.Int32"),
    ("pow", ("x", "y"), {}, TypeError, "pow operand 0 must be the DType of a tensor, got 'x'"),
    ("pow", ("x", F32), {}, TypeError, "pow operand 0 must be a real number"),
    (
        "mul",
        (F32, "x"),
        {},
        TypeError,
        r"mul operand 1 must be a real number .*got 'x' of type str",
    ),
    ("mul", (F32, Decimal(1)), {}, TypeError, "mul operand 1 must be a real number"),
    ("mul", (F32, 1j), {}, TypeError, "mul operand 1 must be a real number"),
    ("clamp", (I32, 0, "x"), {}, TypeError, "clamp operand 0 must have dtype"),
    ("clamp", (F32, "x", I32), {}, TypeError, "clamp operand 1 must be a real number"),
    ("mul", (I32, 2**31), {}, OverflowError, "operand 1 is 2147483648, which does not fit Int32"),
    ("mul", (I32, -(2**31) - 1), {}, OverflowError, "does not fit Int32"),
    ("reduce_sum", (I32,), {"accumulator_dtype": FLOAT64}, TypeError, "exact and takes no accum"),
    (
        "matmul",
        (I32, I32),
        {"accumulator_dtype": F32},
        TypeError,
        "exact and takes no accumulator_dtype",
    ),
    (
        "matmul",
        (I32, I32),
        {"options": operation_execution_options("matmul", accumulator_dtype=F32)},
        TypeError,
        "exact and takes no accumulator_dtype",
    ),
    (
        "matmul",
        (F32, F32),
        {"options": operation_execution_options("reduce_sum")},
        ValueError,
        "made for operation 'reduce_sum', not for 'matmul'",
    ),
]


@pytest.mark.rule("O-12", "O-14", "O-16")
@pytest.mark.parametrize(("name", "operands", "keywords", "error", "text"), FAULTS)
def test_faults_in_order(
    name: str,
    operands: tuple[object, ...],
    keywords: dict[str, sw.SimpleDType],
    error: type[Exception],
    text: str,
) -> None:
    with pytest.raises(error, match=text) as caught:
        R(name, *operands, **keywords)  # type: ignore[arg-type]  # the fault under test
    assert type(caught.value) is error


@pytest.mark.parametrize("name", [3, None, ["add"]])
def test_a_name_of_another_type_is_unregistered(name: object) -> None:
    with pytest.raises(NotImplementedError, match="has no dtype policy"):
        R(name, F32, F32)  # type: ignore[arg-type]  # the fault under test


@pytest.mark.rule("O-14")
def test_pow_uses_an_int32_exponent_exactly() -> None:
    exponents = (2, 0, 2**31 - 1, 2**31, -1, 2.0, True)
    assert [R("pow", I32, exponent).output for exponent in exponents] == [
        I32,
        I32,
        I32,
        F32,
        F32,
        F32,
        F32,
    ]
    assert R("pow", F32, 2).output is F32


@pytest.mark.rule("O-13")
@pytest.mark.parametrize(
    ("scalar", "output"),
    [
        (3, I32),
        (-(2**31), I32),
        (True, F32),
        (2.0, F32),
        (Fraction(4, 2), F32),
        (float("nan"), F32),
    ],
)
def test_weak_scalar_kinds_with_an_int32_tensor(scalar: object, output: sw.DType) -> None:
    plan = R("mul", I32, scalar)
    assert plan.output is output
    assert plan.operands[1].dtype is None
    assert plan.operands[1].convert_to is output


@pytest.mark.rule("O-13")
def test_a_wide_integer_is_no_fault_where_it_becomes_a_float() -> None:
    assert R("mul", F32, 2**40).output is F32
    assert R("mul", F32, 10**400).output is F32


class MyInt(int):
    pass


@pytest.mark.rule("O-13")
@given(st.integers(), st.sampled_from([int, MyInt]))
def test_integers_plan_by_range_alone(value: int, kind: type[int]) -> None:
    exponent = R("pow", I32, kind(value)).output
    assert exponent is (I32 if 0 <= value <= 2**31 - 1 else F32)
    if -(2**31) <= value <= 2**31 - 1:
        assert R("mul", I32, kind(value)) is R("mul", I32, 1)
    else:
        with pytest.raises(OverflowError, match="does not fit Int32"):
            R("mul", I32, kind(value))


@pytest.mark.rule("O-11")
def test_unknown_operands_count_as_weak_scalars_where_they_can() -> None:
    with pytest.raises(TypeError, match="clamp operand 2 must be a real number"):
        R("clamp", F32, F32, "x")
    with pytest.raises(TypeError, match="clamp operand 1 must be a real number"):
        R("clamp", F32, "x", "y")
    with pytest.raises(TypeError, match=r"clamp takes .*got \(weak_scalar, unknown, unknown\)"):
        R("clamp", 1, "x", "y")


def misplanned(*operands: object, accumulator_dtype: object = None) -> OperationPlan:
    return R("relu", F32)


@pytest.mark.rule("O-15")
@pytest.mark.parametrize(
    ("name", "roles"),
    [("exp", (OperandRole.TENSOR,)), ("relu", (OperandRole.TENSOR, OperandRole.TENSOR))],
)
def test_a_rule_that_plans_something_else_is_a_registration_bug(
    name: str, roles: tuple[OperandRole, ...]
) -> None:
    overload = OperationOverload(roles, misplanned)
    with pytest.raises(ValueError, match=f"registered for '{name}' returned a plan for 'relu'"):
        planned(OperationSpec(name, (overload,)), overload, (F32,) * len(roles), None)


@pytest.mark.rule("O-54")
def test_equal_signatures_share_one_plan_object() -> None:
    assert R("add", I32, F32) is R("add", I32, F32)
    assert R("mul", I32, 3) is R("mul", I32, -7)
    assert R("pow", I32, 3) is not R("pow", I32, -3)
    explicit = R("matmul", F32, F32, accumulator_dtype=FLOAT64)
    options = operation_execution_options("matmul", accumulator_dtype=FLOAT64)
    assert explicit is R("matmul", F32, F32, options=options)
    assert explicit is not R("matmul", F32, F32)


class EqualToFloat32(sw.SimpleDType, abstract=False):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(F32)


@pytest.mark.rule("O-12", "O-54")
def test_a_dtype_that_claims_equality_gets_no_shared_plan() -> None:
    R("add", F32, F32)
    twin = EqualToFloat32("TestEqualToFloat32", bits=32, supertype=D.Floating)
    with pytest.raises(NotImplementedError, match="'TestEqualToFloat32'"):
        R("add", twin, F32)


names = st.sampled_from([spec.name for spec in registered_operations()] + ["nope"])
values = st.one_of(
    st.sampled_from([F32, I32, BOOL, FLOAT64, D.Any, D.MXFP4, None, "x"]),
    st.integers(-(2**33), 2**33),
    st.floats(),
    st.booleans(),
)


@pytest.mark.rule("O-15", "O-54")
@given(names, st.lists(values, max_size=3))
def test_resolution_is_a_function_of_its_signature(name: str, operands: list[object]) -> None:
    try:
        plan = R(name, *operands)
    except (TypeError, NotImplementedError, OverflowError):
        return
    assert plan is R(name, *operands)
    assert plan.operation == name
    assert len(plan.operands) == len(operands)
    for operand, planned_operand in zip(operands, plan.operands, strict=True):
        is_tensor = isinstance(operand, sw.DType)
        assert (planned_operand.role is OperandRole.TENSOR) is is_tensor
        assert planned_operand.dtype is (operand if is_tensor else None)


def test_examples_of_the_contract() -> None:
    plan = R("add", I32, F32)
    assert [operand.convert_to for operand in plan.operands] == [F32, F32]
    assert (plan.compute, plan.accumulation, plan.output) == (Arithmetic.BINARY32, None, F32)
    assert R("div", I32, I32).output is F32
    assert R("add", I32, I32).compute is Arithmetic.INT32_EXACT_CHECKED
    plan = R("matmul", F32, I32, accumulator_dtype=FLOAT64)
    assert (plan.accumulator_dtype, plan.output) == (FLOAT64, F32)
    assert R("eq", I32, I32).compute is Arithmetic.INT32_EXACT
    assert R("eq", I32, I32).output is BOOL
