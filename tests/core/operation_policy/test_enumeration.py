"""Enumeration of all plans, accumulator variants, and execution options."""

from dataclasses import FrozenInstanceError, replace

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import (
    SUPPORTED_ACCUMULATOR_DTYPES,
    OperationExecutionOptions,
    OperationPlan,
    operation_execution_options,
    plan_accumulator_variants,
    resolvable_plans,
    resolve_operation_plan,
)

D = sw.DType
F32, I32, BOOL = D.Float32, D.Int32, D.Bool
R = resolve_operation_plan


@pytest.mark.rule("O-8")
def test_plans_come_in_registry_order_without_repeats() -> None:
    plans = resolvable_plans()
    names = [plan.operation for plan in plans]
    assert names == sorted(names)
    assert len(set(plans)) == len(plans)
    assert len(set(names)) == 66
    assert plans == resolvable_plans()


@pytest.mark.rule("O-8")
def test_overloads_and_combinations_come_in_order() -> None:
    add = [plan for plan in resolvable_plans() if plan.operation == "add"]
    assert add == [R("add", F32, F32), R("add", F32, I32), R("add", I32, F32), R("add", I32, I32)]
    power = [plan for plan in resolvable_plans() if plan.operation == "pow"]
    pairs = [R("pow", left, right) for left in (F32, I32) for right in (F32, I32)]
    scalars = [R("pow", F32, 3), R("pow", I32, 3), R("pow", I32, -1)]
    assert power == [*pairs, *scalars, R("pow", 3, F32), R("pow", 3, I32)]
    flipped = [plan for plan in resolvable_plans((I32, F32)) if plan.operation == "relu"]
    assert flipped == [R("relu", I32), R("relu", F32)]


@pytest.mark.rule("O-8", "O-9")
def test_accumulator_variants_follow_their_plan() -> None:
    sums = [plan for plan in resolvable_plans() if plan.operation == "reduce_sum"]
    assert sums == [
        R("reduce_sum", F32),
        R("reduce_sum", F32, accumulator_dtype=D.Float64),
        R("reduce_sum", I32),
    ]


@pytest.mark.rule("O-8")
def test_bool_joins_where_a_domain_has_it_and_refused_mixtures_are_dropped() -> None:
    concat = [plan for plan in resolvable_plans() if plan.operation == "concat"]
    assert concat == [R("concat", F32, F32), R("concat", I32, I32), R("concat", BOOL, BOOL)]
    assert R("select", BOOL, F32, F32) in resolvable_plans()
    casts = [plan for plan in resolvable_plans((I32,), ()) if plan.operation == "_cast_bool"]
    assert casts == [R("_cast_bool", I32), R("_cast_bool", BOOL)]


@pytest.mark.rule("O-8")
def test_an_undeclared_domain_propagates_the_fault_of_an_offered_dtype() -> None:
    with pytest.raises(NotImplementedError, match="'Float64'"):
        resolvable_plans((F32, D.Float64))
    with pytest.raises(TypeError, match="category"):
        resolvable_plans((D.Any,))  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(OverflowError, match="does not fit Int32"):
        resolvable_plans(weak_scalars=(2**40,))


@pytest.mark.rule("O-8")
def test_arguments_are_read_once() -> None:
    assert resolvable_plans(iter((F32, I32)), iter((3, -1, 0.5))) == resolvable_plans()
    assert not [plan for plan in resolvable_plans((F32,), ()) if plan.operation == "mul"][1:]


@pytest.mark.rule("O-9")
def test_variants_of_a_configurable_floating_plan() -> None:
    plan = R("matmul", F32, F32, accumulator_dtype=D.Float64)
    variants = plan_accumulator_variants(plan)
    assert variants[0] is plan
    assert [variant.accumulator_dtype for variant in variants] == [D.Float64, F32]
    assert variants[1] == R("matmul", F32, F32)
    foreign = replace(plan, accumulator_dtype=D.E5M2)
    found = [variant.accumulator_dtype for variant in plan_accumulator_variants(foreign)]
    assert found == [D.E5M2, *SUPPORTED_ACCUMULATOR_DTYPES]


@pytest.mark.rule("O-9")
@pytest.mark.parametrize(
    "plan",
    [
        R("reduce_sum", I32),
        R("matmul", I32, I32),
        R("_batched_matmul", F32, F32),
        R("conv_general", F32, F32),
        R("relu", F32),
    ],
    ids=lambda plan: plan.operation,
)
def test_other_plans_have_no_variants(plan: OperationPlan) -> None:
    assert plan_accumulator_variants(plan) == (plan,)


@pytest.mark.rule("O-16")
def test_options_validate_alike_by_record_and_function() -> None:
    for make in (OperationExecutionOptions, operation_execution_options):
        assert make("matmul").accumulator_dtype is None
        assert make("add").operation == "add"
        assert make("matmul", accumulator_dtype=D.Float64).accumulator_dtype is D.Float64
        with pytest.raises(
            TypeError, match="'add' takes no accumulator_dtype; only matmul, reduce_sum"
        ):
            make("add", accumulator_dtype=F32)
        with pytest.raises(TypeError, match="must be a DType, got 'Float64' of type str"):
            make("matmul", accumulator_dtype="Float64")  # type: ignore[arg-type]  # the fault
        with pytest.raises(TypeError, match="must be a SimpleDType, got DTypeCategory"):
            make("matmul", accumulator_dtype=D.Floating)  # type: ignore[arg-type]  # the fault
        with pytest.raises(NotImplementedError, match=r"DType\.Float32 and DType\.Float64"):
            make("matmul", accumulator_dtype=D.E5M2)


@pytest.mark.rule("O-16")
def test_options_are_frozen_values() -> None:
    options = operation_execution_options("matmul", accumulator_dtype=F32)
    assert options == OperationExecutionOptions("matmul", F32)
    assert hash(options) == hash(OperationExecutionOptions("matmul", F32))
    with pytest.raises(FrozenInstanceError):
        options.operation = "add"  # type: ignore[misc]  # the fault under test


@pytest.mark.rule("O-16")
def test_an_accumulator_changes_nothing_else() -> None:
    default, chosen = R("matmul", F32, I32), R("matmul", F32, I32, accumulator_dtype=D.Float64)
    assert replace(chosen, accumulator_dtype=F32) == default
    empty = operation_execution_options("matmul")
    assert R("matmul", I32, I32, options=empty) is R("matmul", I32, I32)
    assert R("matmul", F32, I32, options=empty) is default
