"""Storing compact Tensors: scatter into a new carrier, update in place."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Tensor, TileSelection, TileSet

Tiers = tuple[type[Carrier], type[Carrier]]


def flat(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def values(carrier: Carrier) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("TE-70", "TE-71", "TE-72", "TE-99", "S-15")
@pytest.mark.parametrize("text", ["(4,4):(1,4)", "((2,2),(2,2)):((4,2),(1,8))"])
def test_replace_makes_a_new_carrier(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], text: str
) -> None:
    carrier = tiled((2, 2), (2, 2), (), capacity=3)
    template, compact = full(carrier, text), dense(range(8), 4, 2)
    selection = TileSelection(([1, 0], [1]))
    handle = carrier.scatter(compact, template, selection)
    assert type(handle) is sw.AwaitMove and handle.done
    result = handle.wait()
    fresh: Any = result.carrier
    assert type(fresh) is sw.TiledEvictable and fresh is not carrier
    assert (result.layout, result.offset, result.dtype()) == (
        *(template.layout, 0),
        DType.Float32,
    )
    assert fresh.primary_tiles == fresh.dirty_tiles == fresh.valid_tiles == selection.tile_set
    assert fresh.version == 1 and fresh.is_mutable() and fresh.primary_capacity == 3
    assert flat(fresh.project(result, selection).wait()) == list(range(8))
    assert flat(compact) == list(range(8)) and not compact.carrier.is_owned()
    assert carrier.valid_tiles == TileSet() and carrier.version == 0


@pytest.mark.rule("TE-71", "TE-72", "TE-36")
def test_add_reads_the_template(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((3,), (2,), ()).new_like([1, 2, 0, 0, 5, 6])
    carrier.evict(TileSet([(2,)]))
    result = carrier.scatter(
        dense([10, 20, 30, 40]), full(carrier), TileSelection([[2, 1]]), reduction="add"
    ).wait()
    fresh: Any = result.carrier
    assert [fresh[k] for k in range(2, 6)] == [30, 40, 15, 26]
    assert fresh.tile_state((0,)).location == "invalid"
    assert carrier.primary_tiles == TileSet([(0,), (1,), (2,)]) and carrier.version == 0


@pytest.mark.rule("TE-70", "TE-97")
def test_pending_scatter_owns_compact_and_pins_tiles(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    compact = dense([1, 2], tier=controlled_tiers[0])
    controlled.is_held = True
    handle = carrier.scatter(compact, full(carrier), TileSelection([[0]]), reduction="add")
    assert compact.carrier.is_owned() and not handle.done
    with pytest.raises(RuntimeError, match="owned"):
        carrier.scatter(compact, full(carrier), TileSelection([[1]]))
    with pytest.raises(RuntimeError, match="wait"):
        carrier.release()
    controlled.release()
    result = handle.wait(30)
    assert (result[0], result[1]) == (1, 3)
    assert not compact.carrier.is_owned()


@pytest.mark.rule("TE-70", "TE-71")
def test_refusals_in_order(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (2,))
    template, compact = full(carrier), dense([1, 2])
    selection = TileSelection([[0]])
    released = dense([1, 2])
    released.carrier.release()
    owned = dense([1, 2])
    owned.carrier._claim_ownership()
    other = full(tiled((2,), (2,)))
    rows: list[tuple[tuple[Any, ...], str, type[Exception], str]] = [
        ((3, 3, 3), "mean", ValueError, "reduction"),
        ((3, 3, 3), "add", TypeError, "template must be a Tensor"),
        ((3, other, 3), "add", TypeError, "template must live on this"),
        ((3, full(carrier, "(2):(1)"), 3), "add", ValueError, "template must have the full"),
        ((3, template, 3), "add", TypeError, "selection"),
        ((3, template, TileSelection([[2]])), "add", ValueError, "outside"),
        ((3, template, selection), "add", TypeError, "compact must be a Tensor"),
        ((other, template, selection), "add", TypeError, "exact class"),
        ((released, template, selection), "add", RuntimeError, "released"),
        ((owned, template, selection), "add", RuntimeError, "owned"),
        ((dense([1, 2], dtype=DType.Int32), template, selection), "add", TypeError, "dtype"),
        ((dense([1, 2, 3]), template, selection), "add", ValueError, "flat dense layout"),
    ]
    for arguments, reduction, error, message in rows:
        with pytest.raises(error, match=message):
            carrier.scatter(*arguments, reduction=reduction)
    empty = carrier.allocate_like(4, empty=True)
    with pytest.raises(RuntimeError, match="invalid"):
        empty.scatter(compact, full(empty), selection, reduction="add")
    with pytest.raises(ValueError, match="flat dense layout"):
        strided = Tensor(dense(range(3)).carrier, 0, Layout.parse("(2):(2)"))
        carrier.scatter(strided, template, selection)
    carrier.release()
    with pytest.raises(RuntimeError, match="TiledEvictable is released"):
        carrier.scatter(3, template, 3)


@pytest.mark.rule("TE-41", "G-8")
def test_a_result_must_fit_the_capacity(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((3,), (1,), capacity=1)
    with pytest.raises(MemoryError, match="primary_capacity is 1"):
        carrier.scatter(dense([1, 2]), full(carrier), TileSelection([[0, 1]]))
    assert carrier.scatter(dense([1]), full(carrier), TileSelection([[2]])).done


@pytest.mark.rule("TE-74", "TE-99")
@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("replace", [0, 1, 30, 40, 10, 20]), ("add", [0, 1, 32, 43, 14, 25])],
)
def test_update_stores_in_place(
    tiled: Any, dense: Callable[..., Tensor], reduction: str, expected: list[float]
) -> None:
    carrier = tiled((3,), (2,), stored=True, capacity=2)
    carrier.update(dense([10, 20, 30, 40]), TileSelection([[2, 1]]), reduction=reduction)
    assert values(carrier) == expected and carrier.version == 1
    assert carrier.primary_tiles == carrier.dirty_tiles == TileSet([(1,), (2,)])
    assert carrier.secondary_tiles == TileSet([(0,)])
    carrier.evict(TileSet([(1,)]))
    assert values(carrier) == expected


@pytest.mark.rule("TE-74")
def test_update_makes_invalid_tiles_valid(tiled: Any, dense: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,), ())
    with pytest.raises(RuntimeError, match="invalid"):
        carrier.update(dense([1, 2]), TileSelection([[0]]), reduction="add")
    carrier.update(dense([1, 2]), TileSelection([[0]]))
    assert carrier.valid_tiles == TileSet([(0,)]) and [carrier[0], carrier[1]] == [1, 2]


@pytest.mark.rule("TE-74", "TE-97")
def test_update_is_refused(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    compact = dense([1, 2], tier=controlled_tiers[0])
    selection = TileSelection([[0]])
    with pytest.raises(ValueError, match="reduction"):
        carrier.update(compact, selection, reduction="max")
    with pytest.raises(ValueError, match="flat dense"):
        carrier.update(compact, TileSelection([[0, 1]]))
    controlled.is_held = True
    handle = carrier.project(full(carrier), selection)
    with pytest.raises(RuntimeError, match="pending"):
        carrier.update(compact, selection)
    controlled.release()
    handle.wait(30)
    assert carrier.version == 0
    frozen = carrier.allocate_like(4, mutable=False)
    with pytest.raises(RuntimeError, match="not mutable"):
        frozen.update(3, 3, reduction="max")
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier.update(compact, selection)
