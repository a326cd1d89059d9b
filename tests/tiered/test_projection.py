"""Copying chosen tiles into an ordinary compact Tensor."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import AwaitProjection, Carrier, DType, Layout, Tensor, TileSelection, TileSet
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]
TABLE = [i + 10 * j for j in range(4) for i in range(4)]


def flat(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


@pytest.mark.rule("TE-60", "TE-61")
def test_worked_example(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2, 2), (2, 2), TABLE)
    handle = carrier.project(full(carrier), TileSelection(([1, 0], [1])))
    assert type(handle) is AwaitProjection and handle.done
    compact = handle.wait()
    assert compact is handle.wait()
    assert compact.layout == Layout.parse("(4,2):(1,4)") and compact.offset == 0
    assert type(compact.carrier) is ArrayCarrier and compact.dtype() is DType.Float32
    assert flat(compact) == [22, 23, 20, 21, 32, 33, 30, 31]


@pytest.mark.rule("TE-61", "TE-55")
@pytest.mark.parametrize("text", ["(4,4):(1,4)", "((2,2),(2,2)):((4,2),(1,8))"])
@pytest.mark.parametrize("axes", [([0], [0]), ([1, 0], [1]), ([0, 1], [1, 0])])
def test_reads_through_the_tensors_layout(
    tiled: Any, full: Callable[..., Tensor], text: str, axes: Any
) -> None:
    carrier = tiled((2, 2), (2, 2))
    tensor = full(carrier, text)
    compact = carrier.project(tensor, TileSelection(axes)).wait()
    rows, columns = compact.shape
    expected = [
        tensor[(axes[0][i // 2] * 2 + i % 2) + 4 * (axes[1][j // 2] * 2 + j % 2)]
        for j in range(columns.size)
        for i in range(rows.size)
    ]
    assert flat(compact) == expected


@pytest.mark.rule("TE-60", "TE-62")
def test_missing_tiles_are_promoted_and_the_source_stays(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((3,), (2,), stored=True, tiers=controlled_tiers)
    tensor = full(carrier)
    controlled.is_held = True
    handle = carrier.project(tensor, TileSelection([[2, 0]]))
    assert len(controlled.pending) == 2 and not handle.done
    with pytest.raises(RuntimeError, match="wait"):
        carrier.release()
    with pytest.raises(RuntimeError, match="wait"):
        carrier[0] = 1.0
    controlled.release()
    assert flat(handle.wait(30)) == [4, 5, 0, 1]
    assert carrier.primary_tiles == TileSet([(0,), (2,)]) and carrier.version == 0
    assert tensor.carrier is carrier and [carrier[k] for k in range(6)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.rule("TE-62", "TE-63")
def test_a_destination_is_owned_until_the_outcome(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    fast, _ = controlled_tiers
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    destination = fast(0, dtype=DType.Float32).new_like([9, 9, 9, 9, 9])
    controlled.is_held = True
    handle = carrier.project(full(carrier), TileSelection([[1]]), destination)
    assert destination.is_owned() and destination.version == 0
    with pytest.raises(RuntimeError, match="owned"):
        carrier.project(full(carrier), TileSelection([[0]]), destination)
    controlled.release()
    compact = handle.wait(30)
    assert compact.carrier is destination and not destination.is_owned()
    assert [destination[k] for k in range(5)] == [2, 3, 9, 9, 9] and destination.version == 1


@pytest.mark.rule("TE-63")
def test_an_empty_destination_grows(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    destination = ArrayCarrier(0, dtype=DType.Float32)
    compact = carrier.project(full(carrier), TileSelection([[1, 0]]), destination).wait()
    assert destination.size() == 4 and flat(compact) == [2, 3, 0, 1]


def with_released(carrier: Carrier) -> Carrier:
    carrier.release()
    return carrier


def with_owner(carrier: Carrier) -> Carrier:
    carrier._claim_ownership()
    return carrier


@pytest.mark.rule("TE-60")
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda like, other: 3, TypeError, "Carrier instance"),
        (lambda like, other: other, TypeError, "exact class"),
        (lambda like, other: with_released(like(4)), RuntimeError, "released"),
        (lambda like, other: with_owner(like(4)), RuntimeError, "owned"),
        (lambda like, other: like(4, mutable=False), RuntimeError, "not mutable"),
        (lambda like, other: like(4, dtype=DType.Int32), TypeError, "dtype"),
        (lambda like, other: like(1), ValueError, "need 2"),
    ],
)
def test_refused_destinations(
    tiled: Any, full: Callable[..., Tensor], make: Any, error: type[Exception], message: str
) -> None:
    carrier = tiled((2,), (2,), stored=True)

    def like(size: int, dtype: DType = DType.Float32, mutable: bool = True) -> Carrier:
        return ArrayCarrier(size, dtype=dtype, mutable=mutable)

    destination = make(like, tiled((1,), (1,)))
    with pytest.raises(error, match=message):
        carrier.project(full(carrier), TileSelection([[1]]), destination)
    assert carrier.primary_tiles == TileSet()


@pytest.mark.rule("TE-60")
def test_refusals_in_order(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier, other = tiled((2,), (2,)), tiled((2,), (2,))
    tensor = full(carrier)
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        carrier.project(3, 3)
    with pytest.raises(TypeError, match="on this TiledEvictable"):
        carrier.project(full(other), 3)
    with pytest.raises(ValueError, match="full logical shape"):
        carrier.project(full(carrier, "(2):(1)"), 3)
    with pytest.raises(TypeError, match="must be a TileSelection"):
        carrier.project(tensor, TileSet([(0,)]), 3)
    with pytest.raises(ValueError, match="rank"):
        carrier.project(tensor, TileSelection([[0], [0]]), 3)
    with pytest.raises(ValueError, match="outside"):
        carrier.project(tensor, TileSelection([[2]]), 3)
    empty = carrier.allocate_like(4, empty=True)
    with pytest.raises(RuntimeError, match="invalid"):
        empty.project(full(empty), TileSelection([[0]]))
    carrier.release()
    with pytest.raises(RuntimeError, match="TiledEvictable is released"):
        carrier.project(tensor, 3)


@pytest.mark.rule("TE-60", "TE-97")
def test_projections_may_share_primary_tiles(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((3,), (1,), tiers=controlled_tiers)
    carrier.evict(TileSet([(1,), (2,)]))
    controlled.is_held = True
    first = carrier.project(full(carrier), TileSelection([[0, 1]]))
    second = carrier.project(full(carrier), TileSelection([[0, 2]]))
    with pytest.raises(RuntimeError, match="pending"):
        carrier.project(full(carrier), TileSelection([[1]]))
    with pytest.raises(RuntimeError, match="pinned"):
        carrier.evict(TileSet([(0,)]))
    controlled.release()
    assert flat(first.wait(30)) == [0, 1] and flat(second.wait(30)) == [0, 2]
    carrier.evict(TileSet([(0,)]))
