"""Bulk reads and writes of Tensors over tiles: what they give, and which tiles they touch."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strideweave as sw
from strideweave import Carrier, DType, Layout, Tensor, TiledEvictable, TileSelection, TileSet
from strideweave.carriers import spans
from strideweave.carriers.tiled_evictable import PinnedResidency, views
from strideweave.carriers.tiled_evictable.seeding import packed_like
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]
GRID, TILE = (2, 3), (3, 2)  # 6 rows, 6 columns
ROWS = 6


def carrier_of(capacity: int | None) -> TiledEvictable:
    store = ArrayCarrier(0, dtype=DType.Int32).new_like(range(36))
    prototype = ArrayCarrier(0, dtype=DType.Int32)
    return TiledEvictable(prototype, store, GRID, TILE, primary_capacity=capacity)


LAYOUTS = {
    "everything": (0, "(6,6):(1,6)"),
    "transposed": (0, "(6,6):(6,1)"),
    "one row": (4, "(6):(6)"),
    "one column": (12, "(6):(1)"),
    "inner block": (7, "(4,3):(1,6)"),
    "every second": (1, "(2,3):(2,12)"),
    "flat": (0, "(36):(1)"),
    "flat columns": (6, "(18):(1)"),
    "permuted in tiles": (0, "((3,2),(2,3)):((1,3),(6,12))"),
    "repeated rows": (2, "(2,6):(0,6)"),
    "hierarchical": (0, "((2,3),6):((3,1),6)"),
    "crossing": (4, "(4):(1)"),
    "diagonal": (0, "(6):(7)"),
    "blocks of four": (0, "(4,9):(1,4)"),
}
WITHOUT_PIECES = {"crossing", "diagonal", "blocks of four"}


@pytest.mark.rule("TE-23", "TE-102", "C-87")
@pytest.mark.parametrize("capacity", [None, 1])
@pytest.mark.parametrize("name", LAYOUTS)
def test_reads_follow_the_layout_and_move_nothing(name: str, capacity: int | None) -> None:
    offset, text = LAYOUTS[name]
    carrier = carrier_of(capacity)
    carrier.promote(TileSet([(1, 1)]))
    tensor = Tensor(carrier, offset, Layout.parse(text))
    expected = [offset + slot for slot in slots(tensor.layout)]
    own = views.read_view(carrier, tensor)
    assert (own is None) == (name in WITHOUT_PIECES)
    assert own is None or own.tolist() == expected
    assert [*_flat(tensor.tolist(), len(tensor.layout))] == expected
    assert carrier.primary_tiles == TileSet([(1, 1)]) and carrier.version == 0


def _flat(nested: Any, depth: int) -> list[Any]:
    """List nested values with the first mode fastest."""
    if depth == 1:
        return list(nested)
    rows = [_flat(row, depth - 1) for row in nested]
    return [value for column in zip(*rows, strict=True) for value in column]


@pytest.mark.rule("TE-24", "TE-99", "TE-102", "C-87")
@pytest.mark.parametrize("capacity", [None, 1, 2])
@pytest.mark.parametrize("name", sorted(LAYOUTS.keys() - {"repeated rows"}))
def test_writes_touch_the_addressed_tiles_only(name: str, capacity: int | None) -> None:
    offset, text = LAYOUTS[name]
    carrier = carrier_of(capacity)
    tensor = Tensor(carrier, offset, Layout.parse(text))
    addressed = [offset + slot for slot in slots(tensor.layout)]
    values = ArrayCarrier(0, dtype=DType.Int32).new_like(range(100, 100 + len(addressed)))
    tensor[...] = Tensor(values, 0, canonical_layout(tensor.shape))
    model = list(range(36))
    for position, slot in enumerate(addressed):
        model[slot] = 100 + position
    assert [carrier[slot] for slot in range(36)] == model
    assert carrier.version == 1
    touched = {(slot % ROWS // TILE[0], slot // ROWS // TILE[1]) for slot in addressed}
    kept = carrier.primary_tiles.coordinates
    assert set(kept) <= touched
    assert len(kept) == (len(touched) if capacity is None else min(capacity, len(touched)))
    assert carrier.dirty_tiles == carrier.primary_tiles


@pytest.mark.rule("TE-23", "TE-71")
def test_invalid_tiles_between_the_slots_do_not_matter(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2, 2), (2, 2))
    selection = TileSelection([[0], [0]])
    result = carrier.scatter(dense([1, 2, 3, 4], 2, 2), full(carrier), selection).wait()
    corner = Tensor(result.carrier, 0, Layout.parse("(2,2):(1,4)"))
    assert corner.tolist() == [[1, 3], [2, 4]]
    corner[...] = dense([5, 6, 7, 8], 2, 2)
    assert corner.tolist() == [[5, 7], [6, 8]]
    assert result.carrier.valid_tiles == TileSet([(0, 0)])
    with pytest.raises(RuntimeError, match="invalid"):
        result.tolist()
    with pytest.raises(RuntimeError, match="invalid"):
        Tensor(result.carrier, 0, Layout.parse("(4):(1)"))[...] = dense([1, 2, 3, 4])
    assert corner.tolist() == [[5, 7], [6, 8]]


@pytest.mark.rule("TE-23", "TE-102")
def test_many_small_pieces_are_read_slot_by_slot(tiled: Any) -> None:
    carrier = tiled((64, 64), (1, 1), stored=True)
    whole = Tensor(carrier, 0, Layout.parse("(64,64):(1,64)"))
    assert views.read_view(carrier, whole) is None
    rows = whole.tolist()
    assert [rows[slot % 64][slot // 64] for slot in range(4096)] == list(range(4096))


@pytest.mark.rule("TE-22", "TE-24")
def test_zeros_leave_implicit_tiles(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2, 2), (2, 2)).allocate_like(16)
    column = Tensor(carrier, 0, Layout.parse("(4):(1)"))
    column[...] = 0
    assert carrier.primary_tiles == TileSet() and carrier.version == 1
    column[...] = -0.0
    assert carrier.dirty_tiles == TileSet([(0, 0), (1, 0)])
    assert [str(value) for value in column.tolist()] == ["-0.0"] * 4
    assert full(carrier).tolist()[0][1] == 0


@pytest.mark.rule("TE-23", "TE-24", "TE-97")
def test_pending_tiles_are_read_but_not_written(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    x = full(carrier)
    controlled.is_held = True
    handle = carrier.promote_async(TileSet([(1,)]))
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="pending"):
        x[...] = 7
    controlled.release()
    handle.wait(30)
    assert x.tolist() == [0, 1, 2, 3] and carrier.version == 0
    x[...] = 7
    assert x.tolist() == [7] * 4 and carrier.version == 1


@pytest.mark.rule("TE-24", "TE-97", "TE-102")
def test_a_tile_that_work_pins_meanwhile_is_not_written(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    carrier.promote(TileSet([(1,)]))
    pinned = carrier._state.tiles[1]
    controlled.on_submit = lambda: setattr(pinned, "pins", 1)  # while tile 0 is promoted
    with pytest.raises(RuntimeError, match=r"tile \(1,\) is pinned"):
        full(carrier)[...] = 7
    pinned.pins = 0
    assert full(carrier).tolist() == [0, 1, 2, 3]
    assert carrier.dirty_tiles == TileSet() and carrier.version == 0


@pytest.mark.rule("TE-98", "TE-102", "G-3", "G-4")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("text", ["(4):(1)", "(2,2):(1,2)"])
def test_a_write_whose_promotion_fails_changes_nothing(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    position: int,
    stage: str,
    text: str,
) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=3, tiers=controlled_tiers)
    part = Tensor(carrier, 1, Layout.parse(text))  # of tiles 0 to 2
    result = sw.relu(full(carrier))
    carrier.evict(carrier.primary_tiles)
    controlled.fail(position, stage)
    with pytest.raises(OSError, match="the test fails"):
        part[...] = 7
    controlled.failing = {}
    assert full(carrier).tolist() == [*range(8)] and carrier.version == 0
    assert carrier.primary_tiles == TileSet()
    result.backward(result.detach())
    part[...] = 7
    assert full(carrier).tolist() == [0, 7, 7, 7, 7, 5, 6, 7] and carrier.version == 1


@pytest.mark.rule("TE-102", "G-3", "G-4")
def test_a_write_across_the_axes_changes_all_slots_or_none(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2, 2), (1, 2), stored=True, tiers=controlled_tiers)
    diagonal = Tensor(carrier, 1, Layout.parse("(3):(2)"))
    crossing = Tensor(carrier, 1, Layout.parse("(4):(1)"))
    assert views.read_view(carrier, crossing) is None
    for tensor in (crossing, diagonal):
        controlled.fail(0, "complete")
        with pytest.raises(OSError, match="the test fails"):
            tensor[...] = 9
        controlled.failing = {}
        assert [carrier[slot] for slot in range(8)] == [*range(8)] and carrier.version == 0
    crossing[...] = 9
    assert [carrier[slot] for slot in range(8)] == [0, 9, 9, 9, 9, 5, 6, 7]
    assert carrier.version == 1


@pytest.mark.rule("TE-102", "G-3", "G-4")
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_write_that_the_storage_refuses_midway_changes_nothing(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled_tiers: Tiers,
    monkeypatch: pytest.MonkeyPatch,
    is_stored: bool,
) -> None:
    carrier = tiled((3,), (2,), stored=is_stored, tiers=controlled_tiers)
    written: list[Carrier] = []

    def write_span(storage: Carrier, start: int, values: "memoryview[Any]") -> bool:
        if len(written) == 2:
            raise OSError("the device is gone")
        written.append(storage)
        return original(storage, start, values)

    original = spans.write_span
    with monkeypatch.context() as patch:
        patch.setattr(spans, "write_span", write_span)
        with pytest.raises(OSError, match="the device is gone"):
            full(carrier)[...] = 7
    assert len(written) == 2
    assert full(carrier).tolist() == [*range(6)] and carrier.version == 0
    assert carrier.dirty_tiles == TileSet()
    full(carrier)[...] = 7
    assert full(carrier).tolist() == [7] * 6 and carrier.version == 1
    assert carrier.dirty_tiles == carrier.primary_tiles == carrier.valid_tiles


@pytest.mark.rule("TE-40", "TE-102", "G-3")
@pytest.mark.parametrize("policy", [None, PinnedResidency(TileSet([(3,)]))])
def test_a_write_beyond_the_capacity_stores_all_tiles_or_none(
    tiled: Any, full: Callable[..., Tensor], policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=2, policy=policy)
    carrier.promote(TileSet([(3,)]))
    last = [2] if policy else [1, 2]
    part = Tensor(carrier, 1, Layout.parse("(4):(1)"))
    with monkeypatch.context() as patch:
        answers = iter([packed_like, packed_like])
        patch.setattr(
            "strideweave.carriers.tiled_evictable.replacement.packed_like",
            lambda *given: next(answers)(*given),
        )
        with pytest.raises(StopIteration):
            part[...] = 7
    assert full(carrier).tolist() == [*range(8)] and carrier.version == 0
    part[...] = 7
    assert full(carrier).tolist() == [0, 7, 7, 7, 7, 5, 6, 7] and carrier.version == 1
    assert carrier.dirty_tiles == TileSet([(number,) for number in last])
    assert carrier.primary_tiles == TileSet([(n,) for n in (*last, *([3] if policy else []))])


@pytest.mark.rule("TE-40", "TE-97", "G-7")
def test_the_room_of_replaced_tiles_is_theirs(
    tiled: Any, full: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=2)
    refused = []

    def packed(*given: Any) -> Carrier:
        for request in (lambda: carrier.promote(TileSet([(3,)])), carrier.release):
            with pytest.raises((MemoryError, RuntimeError)) as caught:
                request()
            refused.append(type(caught.value))
        return packed_like(*given)

    monkeypatch.setattr("strideweave.carriers.tiled_evictable.replacement.packed_like", packed)
    Tensor(carrier, 0, Layout.parse("(6):(1)"))[...] = 7
    assert refused == [MemoryError, RuntimeError] * 3
    assert carrier.primary_tiles == carrier.dirty_tiles == TileSet([(1,), (2,)])
    assert full(carrier).tolist() == [7] * 6 + [6, 7] and carrier.version == 1
    carrier.promote(TileSet([(3,)]))
    before = carrier.residency_stats()
    full(carrier)[...] = full(tiled((4,), (2,)))
    assert full(carrier).tolist() == [*range(8)]
    after = carrier.residency_stats()
    assert after.promotions - before.promotions == 0 and after.evictions == before.evictions


@pytest.mark.rule("TE-23", "TE-24", "TE-102")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_view_reads_and_writes_like_its_slots(data: st.DataObject) -> None:
    carrier = carrier_of(data.draw(st.sampled_from([None, 1, 2])))
    carrier.promote(TileSet([data.draw(st.sampled_from([(0, 0), (1, 2)]))]))
    extents = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    strides = [data.draw(st.sampled_from([1, 2, 3, 6, 12, 18, 5])) for _ in extents]
    reach = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    if reach >= 36:
        return
    offset = data.draw(st.integers(0, 35 - reach))
    layout = Layout.parse(f"({','.join(map(str, extents))}):({','.join(map(str, strides))})")
    tensor = Tensor(carrier, offset, layout)
    order = [offset + slot for slot in slots(layout)]
    own = views.read_view(carrier, tensor)
    assert own is None or own.tolist() == order
    if layout.is_injective and own is not None:
        new = memoryview(bytearray(4 * len(order))).cast("i")
        for position in range(len(order)):
            new[position] = -position
        assert views.write_view(carrier, tensor, new)
        model = dict(enumerate(range(36))) | {slot: -k for k, slot in enumerate(order)}
        assert [carrier[slot] for slot in range(36)] == [model[slot] for slot in range(36)]
