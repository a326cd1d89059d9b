"""define_operation, the registry of definitions and result specs."""

import copy
import pickle
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    NON_DIFFERENTIABLE,
    DType,
    Layout,
    OperandKind,
    OperandSpec,
    OperationDefinition,
    OperationSchema,
    ResultSpec,
    Shape,
    Stride,
)
from strideweave.operation import operation_definition, operation_definitions

SCHEMA = OperationSchema([OperandSpec("tensor", OperandKind.TENSOR)])
VECTOR = Layout(Shape(2), Stride(1))


def keep(call: Any) -> Any:
    return call


@pytest.mark.rule("O-59")
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3, SCHEMA, keep, None, NON_DIFFERENTIABLE), TypeError, "name must be a str"),
        (("plain", 3, keep, None, NON_DIFFERENTIABLE), TypeError, "schema must be"),
        (("plain", SCHEMA, 3, None, NON_DIFFERENTIABLE), TypeError, "resolve must be callable"),
        (("plain", SCHEMA, keep, 3, NON_DIFFERENTIABLE), TypeError, "reference must be callable"),
        (("plain", SCHEMA, keep, None, None), TypeError, "vjp must be callable"),
        (("plain", SCHEMA, keep, None), ValueError, "vjp is required"),
        (("plain", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "dot-separated"),
        (("a.", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "dot-separated"),
        (("a.1b", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "dot-separated"),
        (("add.fast", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "reserved"),
        (("permute.fast", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "reserved"),
        (("strideweave.x", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "reserved"),
        (("builtins.x", SCHEMA, keep, None, NON_DIFFERENTIABLE), ValueError, "reserved"),
    ],
)
def test_failures_in_order_register_nothing(
    arguments: Any, error: type[Exception], text: str
) -> None:
    before = operation_definitions()
    with pytest.raises(error, match=text):
        sw.define_operation(*arguments)
    assert operation_definitions() == before


@pytest.mark.rule("O-59")
def test_a_name_is_taken_for_good() -> None:
    first = sw.define_operation("taken.once", SCHEMA, keep, vjp=NON_DIFFERENTIABLE)
    with pytest.raises(ValueError, match=r"'taken\.once' is taken"):
        sw.define_operation("taken.once", SCHEMA, keep, vjp=NON_DIFFERENTIABLE)
    assert operation_definition("taken.once") is first


@pytest.mark.rule("O-60")
def test_a_definition_is_an_immutable_identity() -> None:
    definition = operation_definition("add")
    assert copy.copy(definition) is definition
    assert copy.deepcopy(definition) is definition
    assert pickle.loads(pickle.dumps(definition)) is definition
    with pytest.raises(AttributeError, match="read-only"):
        definition.name = "sub"
    with pytest.raises(TypeError, match="define_operation"):
        OperationDefinition("x.y", SCHEMA, keep)  # type: ignore[call-arg]  # the refusal under test
    names = [entry.name for entry in operation_definitions()]
    assert names == sorted(names)
    assert definition.overloads == (definition.schema,)


@pytest.mark.rule("O-60")
def test_lookup_failures() -> None:
    with pytest.raises(TypeError, match="must be a str"):
        operation_definition(3)  # type: ignore[arg-type]  # the refusal is the point
    with pytest.raises(LookupError, match="'nope'"):
        operation_definition("nope")


@pytest.mark.rule("O-62")
@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((3, VECTOR.shape, VECTOR), {}, TypeError, "dtype must be a DType"),
        ((DType.Float32, 3, VECTOR), {}, TypeError, "shape must be a Shape"),
        ((DType.Float32, VECTOR.shape, 3), {}, TypeError, "layout must be a Layout"),
        ((DType.Float32, VECTOR.shape, VECTOR, True), {}, TypeError, "alias_of"),
        ((DType.Float32, VECTOR.shape, VECTOR, 0.0), {}, TypeError, "alias_of"),
        ((DType.Float32, VECTOR.shape, VECTOR), {"atol": "1"}, TypeError, "atol"),
        ((DType.Float32, VECTOR.shape, VECTOR), {"rtol": True}, TypeError, "rtol"),
        ((DType.Float32, Shape(3), VECTOR), {}, ValueError, "not the layout's shape"),
        ((DType.Float32, VECTOR.shape, VECTOR, -1), {}, ValueError, "non-negative"),
        ((DType.Float32, VECTOR.shape, VECTOR), {"atol": -1.0}, ValueError, "atol"),
        ((DType.Float32, VECTOR.shape, VECTOR), {"rtol": float("nan")}, ValueError, "rtol"),
        ((DType.Float32, VECTOR.shape, VECTOR), {"rtol": float("inf")}, ValueError, "rtol"),
    ],
)
def test_result_spec_failures(
    arguments: Any, keywords: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        ResultSpec(*arguments, **keywords)
