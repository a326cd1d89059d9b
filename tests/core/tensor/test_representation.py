"""Representations: what they store, and the checks of their parts in order."""

from collections.abc import Callable
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest

from strideweave import CompoundDType, DType, Layout, Permutation, Tensor
from strideweave.tensor.representation import Subtensor, TensorRepresentation
from strideweave.testing import ArrayCarrier

Levels = Callable[..., Tensor]
PLACEMENTS = Layout.parse("(2,2):(1,2)"), Layout.parse("2:1")
ADJACENT = Layout.parse("(2,2):(0,1)")


def subtensor(layout: Layout, offset: int = 0, dtype: DType = DType.Float32) -> Subtensor:
    return Subtensor(dtype, ArrayCarrier(offset + layout.cosize, dtype=dtype), offset, layout)


@pytest.mark.rule("T-13", "T-17")
def test_a_representation_reads_its_iterables_once_and_keeps_tuples(pair: CompoundDType) -> None:
    entries = [subtensor(layout) for layout in PLACEMENTS]
    representation = TensorRepresentation(pair, iter(entries), iter([ADJACENT]))
    assert representation.subtensors == tuple(entries)
    assert representation.adjacent_layouts == (ADJACENT,)
    assert representation.logical_dtype is pair


@pytest.mark.rule("T-13")
@pytest.mark.parametrize("field", ["logical_dtype", "subtensors", "adjacent_layouts", "unknown"])
def test_representations_are_frozen(levels: Levels, field: str) -> None:
    representation = levels()._representation()
    with pytest.raises(AttributeError):
        setattr(representation, field, ())
    with pytest.raises(AttributeError):
        setattr(representation.subtensors[0], "offset", 3)  # noqa: B010  # frozen for type checkers


@pytest.mark.rule("T-13", "T-5")
def test_a_tensor_shows_subtensor_zero_and_the_logical_dtype(levels: Levels) -> None:
    tensor = levels(offsets=(3, 5))
    first, second = tensor._representation().subtensors
    assert (tensor.carrier, tensor.offset, tensor.layout) == (first.carrier, 3, PLACEMENTS[0])
    assert second.offset == 5 and second.layout == PLACEMENTS[1]
    assert type(tensor) is Tensor and tensor.dtype().name == "TestPair"
    assert (tensor.size(), tensor.shape) == (4, PLACEMENTS[0].shape)
    assert tensor.carrier_type() is type(first.carrier)
    assert "1 deeper" in repr(tensor)


@pytest.mark.rule("T-13")
@pytest.mark.parametrize("value", [None, 3, SimpleNamespace(subtensors=())])
def test_only_a_representation_becomes_a_tensor(value: Any) -> None:
    with pytest.raises(TypeError, match="requires a TensorRepresentation"):
        Tensor._from_representation(value)


@pytest.mark.rule("T-13", "T-3")
def test_one_simple_subtensor_is_an_ordinary_tensor() -> None:
    entry = subtensor(PLACEMENTS[0], 2)
    tensor = Tensor._from_representation(TensorRepresentation(DType.Float32, [entry]))
    tensor[1, 1] = 4.0
    assert entry.carrier[5] == 4.0 and tensor.offset == 2
    assert tensor._representation() == TensorRepresentation(DType.Float32, (entry,))


@pytest.mark.rule("T-13")
def test_carriers_may_be_shared_and_are_kept_and_not_released(pair: CompoundDType) -> None:
    carrier = ArrayCarrier(6, dtype=DType.Float32)
    parts = [
        Subtensor(DType.Float32, carrier, offset, layout)
        for offset, layout in zip((0, 4), PLACEMENTS, strict=True)
    ]
    tensor = Tensor._from_representation(TensorRepresentation(pair, parts, [ADJACENT]))
    other = Tensor._from_representation(tensor._representation())
    del tensor
    assert not carrier.is_released() and carrier.version == 0
    assert {id(entry.carrier) for entry in other._representation().subtensors} == {id(carrier)}


@pytest.mark.rule("T-14")
@pytest.mark.parametrize(("dtype", "count"), [(DType.Int32, 1), (DType.MXFP4, 2), (DType.NVFP4, 3)])
def test_the_schema_of_a_dtype(dtype: DType, count: int) -> None:
    with pytest.raises(ValueError, match=f"{dtype.name} requires {count} subtensors"):
        TensorRepresentation(dtype, ())


def _carrier(dtype: DType) -> ArrayCarrier:
    return ArrayCarrier(4, dtype=dtype)


# In the order of the contract; levels are checked one after the other.
FAULTS: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (TypeError, "subtensors must be an iterable of Subtensors", {"subtensors": 3}),
    (TypeError, "adjacent_layouts must be an iterable of Layouts", {"adjacent_layouts": 3}),
    (TypeError, "logical_dtype must be a DType", {"logical_dtype": "Float32"}),
    (TypeError, r"subtensors\[1\] must be a Subtensor", {"second": 3}),
    (
        ValueError,
        "Floating is an abstract dtype category with no Tensor storage schema",
        {"logical_dtype": DType.Floating},
    ),
    (ValueError, "TestPair requires 2 subtensors.*got 1", {"second": None}),
    (ValueError, "TestPair requires 1 adjacent layouts.*got 0", {"adjacent": None}),
    (TypeError, "TestPair subtensor 0 dtype must be a DType", {"dtype0": "Float32"}),
    (
        ValueError,
        "TestPair.*subtensor 0 must use storage dtype Float32",
        {"dtype0": DType.Int32},
    ),
    (TypeError, "TestPair subtensor 0 carrier must be a Carrier", {"carrier0": [0.0] * 4}),
    (
        ValueError,
        "TestPair subtensor 0 carrier dtype must be identical",
        {"carrier0": _carrier(DType.Int32)},
    ),
    (TypeError, "TestPair subtensor 0 offset must be an int, got float", {"offset0": 1.0}),
    (TypeError, "TestPair subtensor 0 offset must be an int, got bool", {"offset0": False}),
    (
        ValueError,
        "Tensor offset must be non-negative, TestPair subtensor 0",
        {"offset0": -1},
    ),
    (TypeError, "TestPair subtensor 0 placement must be a Layout", {"layout0": None}),
    (
        TypeError,
        "TestPair subtensor 0 placement must be a Layout, got Permutation",
        {"layout0": Permutation([1, 0], 2)},
    ),
    (
        ValueError,
        "Tensor storage exceeds carrier size: TestPair subtensor 0 "
        "placement storage exceeds carrier size",
        {"offset0": 1},
    ),
    (TypeError, "TestPair subtensor 1 dtype must be a DType", {"dtype1": "Float32"}),
    (
        ValueError,
        "TestPair subtensor 1 carrier dtype must be identical",
        {"carrier1": _carrier(DType.Int32)},
    ),
    (ValueError, "non-negative, TestPair subtensor 1", {"offset1": -1}),
    (
        TypeError,
        "TestPair subtensor 1.*must have one exact class",
        {"carrier1": "foreign"},
    ),
    (TypeError, r"TestPair adjacent_layouts\[0\] must be a Layout", {"adjacent": 3}),
    (
        ValueError,
        "adjacent layout at level 0 must have the source placement shape as its domain",
        {"adjacent": Layout.parse("4:1")},
    ),
    (
        ValueError,
        "level 0 reaches index 2, outside level 1 shape cardinality 2",
        {"adjacent": Layout.parse("(2,2):(1,1)")},
    ),
]


def _represented(pair: CompoundDType, foreign: type, parts: dict[str, Any]) -> TensorRepresentation:
    """Build the illustration with some parts replaced."""
    entries: list[Any] = []
    for level, layout in enumerate(PLACEMENTS):
        carrier = parts.get(f"carrier{level}", ArrayCarrier(4, dtype=DType.Float32))
        if carrier == "foreign":
            carrier = foreign([0.0] * 4, DType.Float32)
        entries.append(
            Subtensor(
                parts.get(f"dtype{level}", DType.Float32),
                carrier,
                parts.get(f"offset{level}", 0),
                parts.get(f"layout{level}", layout),
            )
        )
    if "second" in parts:
        entries[1:] = [] if parts["second"] is None else [parts["second"]]
    adjacent = [parts.get("adjacent", ADJACENT)]
    if adjacent == [None]:
        adjacent = []
    return TensorRepresentation(
        parts.get("logical_dtype", pair),
        parts.get("subtensors", entries),
        parts.get("adjacent_layouts", adjacent),
    )


@pytest.mark.rule("T-15", "G-17")
@pytest.mark.parametrize(("error", "text", "parts"), FAULTS)
def test_each_fault_is_named(
    pair: CompoundDType,
    plane_carrier: type,
    error: type[Exception],
    text: str,
    parts: dict[str, Any],
) -> None:
    with pytest.raises(error, match=text):
        _represented(pair, plane_carrier, parts)


@pytest.mark.rule("T-15")
def test_the_first_fault_wins(pair: CompoundDType, plane_carrier: type) -> None:
    compared = 0
    for (error, text, parts), (_, _, later) in combinations(FAULTS, 2):
        if parts.keys() & later.keys() or parts == {"offset0": 1}:
            continue  # one part cannot be wrong in two ways
        if "second" in parts and any(key.endswith("1") for key in later):
            continue
        with pytest.raises(error, match=text):
            _represented(pair, plane_carrier, parts | later)
        compared += 1
    assert compared > 150


@pytest.mark.rule("T-15")
def test_a_negative_carrier_size_is_a_fault_of_its_own(
    pair: CompoundDType, plane_carrier: Any
) -> None:
    class Shrunken(plane_carrier):  # type: ignore[misc]  # a class that a fixture gives
        def size(self) -> int:
            return -1

    entries = [Subtensor(DType.Float32, Shrunken([], DType.Float32), 0, it) for it in PLACEMENTS]
    with pytest.raises(
        ValueError, match=r"carrier size must be non-negative.*TestPair subtensor 0"
    ):
        TensorRepresentation(pair, entries, [ADJACENT])


@pytest.mark.rule("T-15")
def test_a_failing_iterable_propagates(pair: CompoundDType) -> None:
    def broken() -> Any:
        yield subtensor(PLACEMENTS[0])
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        TensorRepresentation(pair, broken(), [ADJACENT])


@pytest.mark.rule("T-15", "T-21")
def test_a_refused_representation_changes_no_carrier(pair: CompoundDType) -> None:
    entries = [subtensor(layout) for layout in PLACEMENTS]
    with pytest.raises(ValueError, match="outside level 1"):
        TensorRepresentation(pair, entries, [Layout.parse("(2,2):(1,2)")])
    assert all(not it.carrier.is_released() and it.carrier.version == 0 for it in entries)


@pytest.mark.rule("T-14", "T-15")
def test_a_one_plane_compound_has_one_subtensor(single: CompoundDType) -> None:
    entry = subtensor(PLACEMENTS[0])
    tensor = Tensor._from_representation(TensorRepresentation(single, [entry]))
    tensor[1, 0] = 5.0
    tensor[...] = 1.5
    assert tensor.dtype() is single and tensor.tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert tensor.is_mutable() and tensor[0:1, 1].dtype() is single
    assert tensor[1:2, 1].offset == 3 and tensor.detach().dtype() is single


@pytest.mark.rule("T-4", "T-14")
def test_a_carrier_of_a_compound_dtype_is_no_storage(plane_carrier: Any) -> None:
    with pytest.raises(ValueError, match="MXFP4 is stored in planes"):
        Tensor(plane_carrier([0], DType.MXFP4), 0, Layout.parse("1:1"))
    with pytest.raises(ValueError, match="no Tensor storage schema"):
        Tensor(plane_carrier([0], DType.Floating), 0, Layout.parse("1:1"))
