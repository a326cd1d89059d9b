"""What a successful move or copy leaves behind."""

from array import array
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool


def held(values: list[Any], layout: Layout | None = None, offset: int = 0) -> Tensor:
    carrier = ArrayCarrier(0, dtype=FLOAT32).new_like(values)
    return Tensor(carrier, offset, layout or Layout(Shape(len(values)), Stride(1)))


@pytest.mark.rule("M-2", "R-48")
def test_the_destination_holds_the_values_and_the_source_is_gone(yard: Any) -> None:
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0, 2.0, 3.0), destination(3, dtype=FLOAT32)
    moved = sw.move(tensor, target)
    assert moved.carrier is target and moved.offset == 0 and moved.layout is tensor.layout
    assert moved.tolist() == [1.0, 2.0, 3.0]
    assert tensor.carrier.is_released() and not tensor.carrier.is_owned()
    assert not target.is_owned() and target.is_mutable()
    with pytest.raises(RuntimeError, match="released"):
        tensor[0]
    assert tensor.layout is moved.layout and tensor.dtype() is FLOAT32


@pytest.mark.rule("M-3")
def test_moving_a_view_releases_the_whole_carrier(yard: Any) -> None:
    source, destination = yard.pair()
    whole = yard.tensor(source, 1.0, 2.0, 3.0, 4.0)
    moved = sw.move(yard.over(whole.carrier, yard.flat(2), 1), destination(2, dtype=FLOAT32))
    assert moved.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="released"):
        whole[0]


@pytest.mark.rule("M-55")
@pytest.mark.parametrize("copy", [sw.copy, lambda t, d: sw.copy_async(t, d).wait()])
def test_a_copy_keeps_the_source(copy: Any, yard: Any) -> None:
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0, 2.0), destination(0, dtype=FLOAT32)
    before = yard.state(tensor.carrier)
    copied = copy(tensor, target)
    assert copied.carrier is target and copied.tolist() == [1.0, 2.0]
    assert yard.state(tensor.carrier) == before
    tensor[0] = 9.0
    assert copied[0] == 1.0
    assert copy(tensor, destination(2, dtype=FLOAT32)).tolist() == [9.0, 2.0]


@pytest.mark.rule("M-5", "S-5", "M-21", "S-6")
def test_an_empty_destination_gets_exactly_the_span(yard: Any) -> None:
    extents: list[int] = []

    def allocate(carrier: Any, slots: int) -> None:
        assert carrier.is_mutable() and not carrier.is_released()
        extents.append(slots)
        carrier.cells = [0.0] * slots

    source, destination = yard.pair(destination_storage={"allocate": allocate})
    carrier = yard.carrier(source, 0.0, 1.0, 7.0, 2.0, 8.0, 3.0)
    tensor = yard.over(carrier, Layout(Shape(3), Stride(2)), 1)
    moved = sw.move(tensor, destination(0, dtype=FLOAT32))
    assert extents == [0, 5]
    assert moved.carrier.size() == 5 and moved.tolist() == [1.0, 2.0, 3.0]
    assert moved.carrier.version == 0


@pytest.mark.rule("M-5")
def test_a_definition_free_destination_is_sized_by_its_hook(yard: Any) -> None:
    def allocate(self: Any, size: int) -> None:
        assert self.is_mutable()
        self.cells = [0] * size

    growing = yard.subclass("Growing", yard.Listed, _allocate=allocate)
    moved = sw.move(yard.over(yard.Listed([1.0, 2.0])), growing([]))
    assert moved.carrier.size() == 2 and moved.tolist() == [1.0, 2.0]
    assert moved.carrier.version == 0
    uncallable = yard.subclass("Fixed", yard.Listed, _allocate=3)
    with pytest.raises(ValueError, match="too small"):
        sw.move(moved, uncallable([]))


@pytest.mark.rule("M-5", "M-6", "M-21")
def test_a_larger_destination_keeps_its_size() -> None:
    target = ArrayCarrier(0, dtype=FLOAT32).new_like([7.0] * 5)
    moved = sw.move(held([1.0, 2.0]), target)
    assert target.size() == 5 and moved.tolist() == [1.0, 2.0]
    assert [target[slot] for slot in range(2, 5)] == [7.0] * 3
    assert target.version == 1


@pytest.mark.rule("M-5", "M-6")
def test_a_broadcast_view_stays_broadcast() -> None:
    layout = Layout(Shape(2, 3), Stride(1, 0))
    moved = sw.move(held([5.0, 6.0], layout), ArrayCarrier(0, dtype=FLOAT32))
    assert moved.carrier.size() == 2 and moved.layout == layout and moved[1, 2] == 6.0


LAYOUTS = [
    "4:1",
    "4:2",
    "(2,3):(3,1)",
    "(2,3):(1,0)",
    "(2,(2,2)):(8,(1,3))",
    "(3,2):(1,1)",
    "1:0",
]


@pytest.mark.rule("M-6", "C-84")
@pytest.mark.parametrize("dtype", [FLOAT32, INT32, BOOL], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("text", LAYOUTS)
@pytest.mark.parametrize("way", ["spans", "slots", "into spans", "from spans", "route"])
def test_logical_values_are_the_same_on_every_route(
    text: str, dtype: DType, way: str, yard: Any
) -> None:
    layout = Layout.parse(text)
    cells = [slot % 3 for slot in range(2 + layout.cosize)]
    values = [bool(cell) if dtype is BOOL else cell for cell in cells]
    slotwise: Any = yard.elementwise()
    first, second = {
        "spans": (ArrayCarrier, ArrayCarrier),
        "slots": (slotwise, slotwise),
        "into spans": (slotwise, ArrayCarrier),
        "from spans": (ArrayCarrier, slotwise),
        "route": yard.pair(),
    }[way]
    tensor = Tensor(first(0, dtype=dtype).new_like(values), 2, layout)
    expected = [tensor[ordinal] for ordinal in range(tensor.size())]
    moved = sw.move(tensor, second(layout.cosize + 1, dtype=dtype))
    assert [moved[ordinal] for ordinal in range(moved.size())] == expected
    assert moved.layout is layout and moved.carrier.version == 1


@pytest.mark.rule("M-16", "C-41", "M-6")
def test_between_spans_no_slot_is_touched(yard: Any) -> None:
    def forbidden(*arguments: Any) -> Any:
        raise AssertionError("a slot was touched")

    calls: list[tuple[str, int, int]] = []

    def read_span(carrier: Any, start: int, out: memoryview) -> None:
        assert (out.format, out.ndim, out.c_contiguous, out.readonly) == ("f", 1, True, False)
        calls.append(("read", start, len(out)))
        out[:] = memoryview(array("f", carrier.cells[start : start + len(out)]))

    def write_span(carrier: Any, start: int, values: memoryview) -> None:
        assert (values.format, values.ndim, values.readonly) == ("f", 1, True)
        calls.append(("write", start, len(values)))
        carrier.cells[start : start + len(values)] = values.tolist()

    spans = {"read_span": read_span, "write_span": write_span}
    first = yard.elementwise("First", read=forbidden, write=forbidden, **spans)
    second = yard.elementwise("Second", read=forbidden, write=forbidden, **spans)
    carrier = first(0, dtype=FLOAT32).new_like([float(slot) for slot in range(9)])
    calls.clear()
    moved = sw.move(yard.over(carrier, Layout.parse("(2,2):(3,0)"), 4), second(0, dtype=FLOAT32))
    assert calls == [("read", 4, 4), ("write", 0, 4)]
    assert yard.cells(moved) == [4.0, 5.0, 6.0, 7.0]  # the hole travels along


@pytest.mark.rule("M-16", "M-6")
def test_slot_by_slot_reads_each_slot_once_in_ordinal_order(yard: Any) -> None:
    reads: list[int] = []
    writes: list[tuple[int, Any]] = []

    def get_value(self: Any, index: int) -> Any:
        reads.append(index)
        return self.cells[index]

    def set_value(self: Any, index: int, value: Any) -> None:
        writes.append((index, value))

    watched = yard.subclass("Watched", yard.Listed, get_value=get_value, set_value=set_value)
    tensor = yard.over(watched([0.0, 1.0, 2.0, 3.0, 4.0]), Layout.parse("(2,2,2):(2,0,1)"), 1)
    sw.move(tensor, watched([9.0] * 4))
    assert reads == [1, 3, 2, 4]
    assert writes == [(0, 1.0), (2, 3.0), (1, 2.0), (3, 4.0)]


@pytest.mark.rule("M-21", "M-2")
def test_versions_tell_what_changed(yard: Any) -> None:
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    tensor[0] = 2.0
    sw.move(tensor, target)
    assert (tensor.carrier.version, target.version) == (1, 1)
    again = destination(1, dtype=FLOAT32)
    again[0] = 5.0
    sw.move(yard.tensor(source, 1.0), again)
    assert again.version == 2


@pytest.mark.rule("M-21", "S-6", "M-23")
@pytest.mark.parametrize(("size", "version"), [(2, 2), (0, 2)])
def test_public_writes_of_submit_count_as_usual(size: int, version: int, yard: Any) -> None:
    def submit(request: Any) -> None:
        for slot in range(request.physical_span):
            request.destination[slot] = request.tensor[slot]

    source, destination = yard.pair(submit)
    moved = sw.move(yard.tensor(source, 1.0, 2.0), destination(size, dtype=FLOAT32))
    assert moved.tolist() == [1.0, 2.0] and moved.carrier.version == version


@pytest.mark.rule("M-21")
def test_a_copy_that_counted_its_own_writes_gets_no_further_step(yard: Any) -> None:
    def set_value(self: Any, index: int, value: Any) -> None:
        self.cells[index] = value
        self._increment_version()

    counting = yard.subclass("Counting", yard.Listed, set_value=set_value)
    target = counting([0.0] * 3)
    sw.move(yard.over(yard.Listed([1.0, 2.0, 3.0])), target)
    assert target.version == 3
    plain = yard.Listed([0.0] * 3)
    sw.move(yard.over(target), plain)
    assert plain.version == 1
