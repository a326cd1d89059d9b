"""Operand, option and schema records, and the two markers."""

import copy
import pickle
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    NON_DIFFERENTIABLE,
    REQUIRED,
    OperandKind,
    OperandSpec,
    OperationSchema,
    OptionSpec,
)

TENSOR = OperandKind.TENSOR
schema_rule = pytest.mark.rule("O-55")


@pytest.mark.parametrize("marker", [REQUIRED, NON_DIFFERENTIABLE])
def test_markers_are_unique_and_immutable(marker: Any) -> None:
    assert copy.copy(marker) is marker
    assert copy.deepcopy(marker) is marker
    assert pickle.loads(pickle.dumps(marker)) is marker
    with pytest.raises(AttributeError, match="immutable"):
        marker.anything = 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3, TENSOR), TypeError, "name must be a str"),
        (("a", "tensor"), TypeError, "kind must be an OperandKind"),
        (("a", TENSOR, 1), TypeError, "differentiable must be a bool"),
        (("", TENSOR), ValueError, "identifier"),
        (("a b", TENSOR), ValueError, "identifier"),
        (("a", OperandKind.STRUCTURAL, True), ValueError, "only a TENSOR operand"),
        (("a", OperandKind.WEAK_SCALAR, True), ValueError, "only a TENSOR operand"),
        # Types are checked before contents.
        (("", "tensor"), TypeError, "kind must be an OperandKind"),
    ],
)
def test_operand_spec_failures(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        OperandSpec(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [((3,), TypeError, "name must be a str"), (("1a",), ValueError, "identifier")],
)
def test_option_spec_failures(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        OptionSpec(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3,), TypeError, "operands must be an iterable"),
        (([3],), TypeError, r"operands\[0\] must be an OperandSpec"),
        (([OperandSpec("a", TENSOR)], 3), TypeError, "options must be an iterable"),
        (([OperandSpec("a", TENSOR)], ["b"]), TypeError, r"options\[0\] must be an OptionSpec"),
        (([],), ValueError, "at least one OperandSpec"),
        (([OperandSpec("a", TENSOR)] * 2,), ValueError, "'a' repeats"),
        (([OperandSpec("a", TENSOR)], [OptionSpec("a")]), ValueError, "'a' repeats"),
    ],
)
def test_schema_failures(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        OperationSchema(*arguments)


def test_a_schema_materializes_its_iterables_once_and_is_frozen() -> None:
    schema = OperationSchema(iter([OperandSpec("a", TENSOR)]), iter([OptionSpec("b")]))
    assert [spec.name for spec in schema.operands] == ["a"]
    assert schema.options[0].default is REQUIRED
    with pytest.raises(AttributeError):
        schema.operands = ()  # type: ignore[misc]  # the refusal is the point
    assert schema == OperationSchema([OperandSpec("a", TENSOR)], [OptionSpec("b")])
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.rule("O-1")
def test_names_at_several_paths_are_one_object() -> None:
    import strideweave.operation as operation

    for name in (
        "define_operation",
        "OperationDefinition",
        "OperationSchema",
        "OperandSpec",
        "OptionSpec",
        "OperandKind",
        "REQUIRED",
        "NON_DIFFERENTIABLE",
        "ResultSpec",
        "ProviderContractError",
        "Operation",
        "is_grad_enabled",
        "set_grad_enabled",
        "no_grad",
    ):
        assert getattr(sw, name) is getattr(operation, name)
    assert sw.carriers.operation_policy.OperationPlan.__qualname__ == "OperationPlan"
    assert sw.carriers.operation_capability.OperationCapability is sw.OperationCapability
