"""Refusals name a way that this carrier really has."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor, TileSelection
from strideweave.testing import ArrayCarrier

WAYS = ("update", "scatter", "project", r"numpy\.asarray")


@pytest.mark.rule("TE-17", "M-55")
def test_a_refused_move_names_the_methods_that_exchange_values(
    tiled: Any, full: Callable[..., Tensor], dense: Any
) -> None:
    carrier = tiled((2,), (2,))
    for source, destination in (
        (full(carrier), ArrayCarrier(4, dtype=DType.Float32)),
        (dense(range(4)), carrier),
    ):
        for way in WAYS:
            with pytest.raises(NotImplementedError, match=way):
                sw.copy(source, destination)
        reason = sw.explain_move(source, destination).reason
        assert reason is not None and "StorageProvider" not in reason and "project" in reason


@pytest.mark.rule("TE-81")
def test_a_dense_operand_is_to_be_wrapped(
    tiled: Any, full: Callable[..., Tensor], dense: Any
) -> None:
    x, other = full(tiled((2,), (2,))), dense(range(4))
    for operands in ((x, other), (other, x)):
        with pytest.raises(TypeError, match="TiledEvictable of one tile, or project") as caught:
            sw.add(*operands)
        assert "move or copy" not in str(caught.value)


@pytest.mark.rule("TE-41")
def test_a_product_with_itself_asks_for_the_capacity_it_needs(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    x = full(tiled((2, 2), (2, 2), capacity=1))
    with pytest.raises(MemoryError, match="primary_capacity of 2") as caught:
        sw.matmul(x, x)
    assert "[]" not in str(caught.value) and "wait" not in str(caught.value)


@pytest.mark.rule("TE-80", "TE-13")
def test_a_primary_that_only_stores_is_named(
    tiled: Any, full: Callable[..., Tensor], controlled_tiers: Any
) -> None:
    fast, slow = controlled_tiers
    x = full(tiled((2,), (2,), tiers=(slow, fast)))
    for attempt in (lambda: sw.relu(x), lambda: sw.exp(x), lambda: x.carrier.dispatch_op("exp")):
        with pytest.raises(sw.UnsupportedOperationPlan, match="primary SlowTier only stores"):
            attempt()


@pytest.mark.rule("TE-74", "TE-71")
def test_another_order_of_compact_values_has_a_remedy(
    tiled: Any, full: Callable[..., Tensor], dense: Any
) -> None:
    carrier = tiled((2, 2), (2, 2))
    selection = TileSelection([[0], [1]])
    rows_first = Tensor(dense(range(4)).carrier, 0, Layout.parse("(2,2):(2,1)"))
    with pytest.raises(ValueError, match=r"numpy\.asfortranarray"):
        carrier.update(rows_first, selection)
    with pytest.raises(ValueError, match=r"numpy\.asfortranarray"):
        carrier.scatter(rows_first, full(carrier), selection)
    with pytest.raises(ValueError, match="flat dense layout") as caught:
        carrier.update(dense(range(4)), selection)
    assert "asfortranarray" not in str(caught.value)
