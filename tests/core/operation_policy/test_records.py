"""Enums, constants and the records of the dtype policy."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from enum import Enum

import pytest

import strideweave as sw
from strideweave.carriers import operation_policy as policy
from strideweave.carriers.operation_policy import (
    Accumulation,
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationOverload,
    OperationPlan,
    OperationSpec,
    WeakScalarKind,
    registered_operations,
    resolve_operation_plan,
)

D = sw.DType
T, W = OperandRole.TENSOR, OperandRole.WEAK_SCALAR

PUBLIC = """
ACCUMULATOR_CONFIGURABLE_OPERATIONS INT32_MAX INT32_MIN POW_INTEGER_EXPONENT_MAX
SUPPORTED_ACCUMULATOR_DTYPES SUPPORTED_TENSOR_DTYPES WEAK_SCALAR_PROBES Accumulation Arithmetic
OperandPlan OperandRole OperationExecutionOptions OperationOverload OperationPlan OperationSpec
WeakScalarKind operation_execution_options plan_accumulator_variants registered_operations
resolvable_plans resolve_operation_plan
""".split()


@pytest.mark.rule("O-1")
def test_the_public_module_is_complete() -> None:
    assert sorted(policy.__all__) == sorted(PUBLIC)


@pytest.mark.rule("O-1")
def test_the_policy_modules_are_attributes_after_importing_the_facade() -> None:
    program = (
        "import strideweave\n"
        "print(strideweave.carriers.operation_policy.resolve_operation_plan.__name__)\n"
        "print(strideweave.carriers.operation_capability.OperationCapability.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["resolve_operation_plan", "OperationCapability"]


@pytest.mark.parametrize(
    ("enum", "members"),
    [
        (OperandRole, {"TENSOR": "tensor", "WEAK_SCALAR": "weak_scalar"}),
        (WeakScalarKind, {"INTEGER": "integer", "FLOAT": "float"}),
        (
            Arithmetic,
            {name: name.lower() for name in ("BINARY32", "INT32_EXACT_CHECKED", "INT32_EXACT")},
        ),
        (
            Accumulation,
            {
                name: name.lower()
                for name in (
                    "FLOATING",
                    "SEQUENTIAL_BINARY32",
                    "SEQUENTIAL_BINARY32_PRODUCT",
                    "MAXIMUM",
                    "MINIMUM",
                    "ARGMAX",
                    "ARGMIN",
                    "EXACT_INTEGER",
                )
            },
        ),
    ],
)
def test_enum_members_in_order(enum: type[Enum], members: dict[str, str]) -> None:
    assert [(member.name, member.value) for member in enum] == list(members.items())


def test_constants() -> None:
    assert (policy.INT32_MIN, policy.INT32_MAX) == (-(2**31), 2**31 - 1)
    assert policy.POW_INTEGER_EXPONENT_MAX == 2**31 - 1
    assert policy.SUPPORTED_TENSOR_DTYPES == (D.Float32, D.Int32)
    assert policy.WEAK_SCALAR_PROBES == (3, -1, 0.5)
    assert policy.SUPPORTED_ACCUMULATOR_DTYPES == (D.Float32, D.Float64)
    assert policy.ACCUMULATOR_CONFIGURABLE_OPERATIONS == frozenset({"reduce_sum", "matmul"})


def handmade(output: sw.SimpleDType = D.Float32) -> OperationPlan:
    operands = (OperandPlan(T, D.Float32, D.Float32),)
    return OperationPlan("relu", operands, Arithmetic.BINARY32, None, None, output)


@pytest.mark.rule("O-2")
def test_plans_are_values() -> None:
    plan, twin = handmade(), handmade()
    assert plan is not twin and plan == twin and hash(plan) == hash(twin)
    assert plan == resolve_operation_plan("relu", D.Float32)
    assert plan != handmade(D.Int32)
    assert plan != "relu" and OperandPlan(T, D.Float32, D.Float32) != plan
    assert {plan: 1}[twin] == 1
    with pytest.raises(FrozenInstanceError):
        plan.operation = "exp"  # type: ignore[misc]  # the fault under test
    with pytest.raises(AttributeError):
        plan.note = 1  # type: ignore[attr-defined]  # the fault under test
    assert not hasattr(plan, "__dict__")


@pytest.mark.rule("O-2")
def test_plans_copy_and_pickle_by_value() -> None:
    plan = resolve_operation_plan("pow", D.Int32, 0.5)
    hash(plan)
    for again in (copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
        assert again == plan and hash(again) == hash(plan)


class EqualToAll(sw.SimpleDType, abstract=False):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(D.Float32)


@pytest.mark.rule("O-12", "O-23")
def test_plans_compare_dtypes_by_identity() -> None:
    twin = EqualToAll("TestEqualToAll", bits=32, supertype=D.Floating)
    assert handmade(twin) != handmade()
    assert handmade(twin) not in {handmade(): None}


@pytest.mark.rule("O-2")
def test_plan_constructors_validate_nothing() -> None:
    plan = OperationPlan(3, "x", None, 1, 2, 3)  # type: ignore[arg-type]  # stored as given
    assert repr(plan).startswith("OperationPlan(operation=3, operands='x', compute=None")
    operand = OperandPlan(None, 1, 2)  # type: ignore[arg-type]  # stored as given
    assert repr(operand) == "OperandPlan(role=None, dtype=1, convert_to=2)"


def rule(*operands: object) -> OperationPlan:
    return handmade()


@pytest.mark.rule("O-3")
@pytest.mark.parametrize(
    ("roles", "domains", "text"),
    [
        ((T, W), ((D.Float32,), (D.Float32,)), "2 entries for 1 tensor roles"),
        ((T,), (), "0 entries for 1 tensor roles"),
        ((T, T), ((D.Float32,), ()), r"tensor_domains\[1\] is empty"),
    ],
)
def test_overload_faults(
    roles: tuple[OperandRole, ...], domains: tuple[tuple[sw.SimpleDType, ...], ...], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        OperationOverload(roles, rule, domains)


ONE, TWO = OperationOverload((T,), rule), OperationOverload((T, T), rule)


@pytest.mark.rule("O-3")
@pytest.mark.parametrize(
    ("overloads", "positions", "text"),
    [
        ((), (-1,), "needs at least one overload"),
        ((ONE, TWO, ONE), (-1,), r"role signature \(tensor\) twice"),
        ((TWO,), (2, -1), "position -1 is negative"),
        ((TWO,), (1, 1, 0), r"positions \(1, 1, 0\) must strictly increase"),
        ((ONE, TWO), (0, 1), "2 dtype operand positions for an overload of 1 roles"),
    ],
)
def test_spec_faults_in_order(
    overloads: tuple[OperationOverload, ...], positions: tuple[int, ...], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        OperationSpec("op", overloads, True, positions)


@pytest.mark.rule("O-3")
def test_roles_and_rule_of_the_sole_overload() -> None:
    spec = OperationSpec("op", (TWO,))
    assert (spec.roles, spec.rule) == ((T, T), rule)
    assert (spec.public, spec.dtype_operand_positions) == (True, None)
    several = OperationSpec("op", (ONE, TWO))
    for attribute in ("roles", "rule"):
        with pytest.raises(AttributeError, match=f"has 2 overloads; read {attribute} from one"):
            getattr(several, attribute)


@pytest.mark.rule("O-3")
def test_specs_are_hashable_values() -> None:
    assert OperationSpec("op", (ONE,)) == OperationSpec("op", (ONE,))
    assert len({*registered_operations(), *registered_operations()}) == 66


@pytest.mark.rule("O-4")
def test_structural_arguments_are_not_planned() -> None:
    positions = {spec.name: spec.dtype_operand_positions for spec in registered_operations()}
    structural = {name: found for name, found in positions.items() if found is not None}
    assert structural == {
        **dict.fromkeys(["cumsum", "pad", "flip"], (0,)),
        **dict.fromkeys(["_sort_values", "_topk_values", "_sort_indices", "_topk_indices"], (0,)),
        **dict.fromkeys(["conv_general", "gather", "concat"], (0, 1)),
        **dict.fromkeys(["scatter", "scatter_add"], (0, 1, 2)),
    }
    callables: list[Callable[..., OperationPlan]] = [
        overload.rule for spec in registered_operations() for overload in spec.overloads
    ]
    assert all(callable(found) for found in callables)
