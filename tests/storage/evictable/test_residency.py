"""Eviction and promotion."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import Carrier, DType, Evictable, FileBacked, Generic, Layout, Tensor
from strideweave.testing import ArrayCarrier

FLOAT = DType.Float32


def slots(carrier: Any) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("C-71", "C-72", "50/E-16")
def test_eviction_replaces_an_undersized_secondary() -> None:
    primary, small = Generic([1.0, 2.0]), Generic([0.0])
    hierarchy = Evictable(primary, small)
    hierarchy[0] = 5.0
    hierarchy.evict()
    assert hierarchy.is_evicted() and primary.is_released() and primary.is_owned()
    assert hierarchy.primary is primary, "the property keeps returning it"
    assert hierarchy.secondary is not small and small.is_released() and not small.is_owned()
    assert type(hierarchy.secondary) is Generic and slots(hierarchy.secondary) == [5.0, 2.0]
    assert hierarchy.version == 1


@pytest.mark.rule("C-71", "C-72", "50/E-17")
def test_promotion_replaces_the_released_primary() -> None:
    primary = Generic([1.0, 2.0])
    hierarchy = Evictable(primary, Generic([]))
    hierarchy.evict()
    evicted_to = hierarchy.secondary
    hierarchy.promote()
    assert not hierarchy.is_evicted() and slots(hierarchy) == [1.0, 2.0]
    assert hierarchy.primary is not primary and not primary.is_owned()
    assert evicted_to.is_released() and hierarchy.secondary is evicted_to
    assert hierarchy.version == 0


@pytest.mark.rule("C-71", "50/E-18")
def test_a_large_secondary_is_used_as_it_is() -> None:
    big = Generic([9.0] * 4)
    hierarchy = Evictable(Generic([1.0, 2.0]), big)
    hierarchy.evict()
    assert hierarchy.secondary is big and slots(big) == [1.0, 2.0, 9.0, 9.0]
    hierarchy.promote()
    assert hierarchy.primary.size() == 2 and big.is_released()


@pytest.mark.rule("C-70", "C-72")
def test_a_transition_that_happened_is_not_repeated() -> None:
    hierarchy = Evictable(Generic([1.0]), Generic([]))
    primary = hierarchy.primary
    hierarchy.promote()
    assert hierarchy.primary is primary
    hierarchy.evict()
    secondary = hierarchy.secondary
    hierarchy.evict()
    assert hierarchy.secondary is secondary and hierarchy.is_evicted()


@pytest.mark.rule("C-70", "C-25")
def test_others_than_the_owner_change_no_residency() -> None:
    hierarchy = Evictable(Generic([1.0]), Generic([]))
    token = hierarchy._claim_ownership()
    for change in (hierarchy.evict, hierarchy.promote, hierarchy.release):
        with pytest.raises(RuntimeError, match="owned"):
            change()
    with pytest.raises(RuntimeError, match="not mutable"):
        hierarchy[0] = 2.0
    hierarchy._begin_owner_access(token)
    hierarchy.evict()
    hierarchy._end_owner_access(token)
    assert hierarchy.is_evicted()


@pytest.mark.rule("C-70")
def test_ownership_is_reported_before_release_and_that_before_the_residency() -> None:
    hierarchy = Evictable(Generic([1.0]), Generic([]))
    token = hierarchy._claim_ownership()
    hierarchy._begin_owner_access(token)
    hierarchy.release()
    hierarchy._end_owner_access(token)
    with pytest.raises(RuntimeError, match="owned"):
        hierarchy.promote()
    hierarchy._relinquish_ownership(token)
    for change in (hierarchy.evict, hierarchy.promote):
        with pytest.raises(RuntimeError, match="Evictable is released"):
            change()


@pytest.mark.rule("C-74", "C-15", "50/E-16")
def test_an_evicted_hierarchy_refuses_its_values_and_answers_the_rest() -> None:
    hierarchy = Evictable(Generic([1.0, 2.0]), FileBacked())
    hierarchy.evict()
    refused: list[Callable[[], Any]] = [
        lambda: hierarchy[0],
        lambda: hierarchy.get_value(9),
        lambda: hierarchy.set_value(9, 1.0),
        lambda: hierarchy.__setitem__(0, 1.0),
        lambda: hierarchy.dispatch_op("add"),
        lambda: hierarchy.dispatch_op("view"),
    ]
    for access in refused:
        with pytest.raises(RuntimeError, match=r"evicted to its FileBacked.*call promote\(\)"):
            access()
    for outside in (lambda: hierarchy[9], lambda: hierarchy.__setitem__(9, 1.0)):
        with pytest.raises(IndexError):
            outside()
    word: Any = "0"
    for wrong in (lambda: hierarchy.get_value(word), lambda: hierarchy.set_value(word, 1.0)):
        with pytest.raises(TypeError, match="slot index"):
            wrong()
    assert hierarchy.size() == 2 and hierarchy.dtype() is FLOAT and hierarchy.is_mutable()
    assert hierarchy.supports_storage_dtype(DType.Bool) and hierarchy.operation_capabilities()
    assert slots(hierarchy.new_like([3.0])) == [3.0] and hierarchy.allocate_like(2).size() == 2
    assert hierarchy._host_array() is None
    hierarchy.release()
    assert hierarchy.is_evicted() and hierarchy.is_released()


@pytest.mark.rule("C-74", "M-49", "T-47")
def test_tensors_over_an_evicted_hierarchy_refuse_their_values() -> None:
    hierarchy = Evictable(Generic([1.0, 2.0]), FileBacked())
    tensor = Tensor(hierarchy, 0, Layout.parse("2:1"))
    hierarchy.evict()
    refused: list[Callable[[], Any]] = [
        lambda: tensor[0],
        tensor.tolist,
        tensor.__array__,
        lambda: tensor[0:1],
        lambda: tensor.__setitem__(..., 1.0),
        lambda: tensor.__setitem__(..., tensor),
    ]
    for access in refused:
        with pytest.raises(RuntimeError, match="promote"):
            access()
    hierarchy.promote()
    assert tensor.tolist() == [1.0, 2.0] and hierarchy.version == 0


@pytest.mark.rule("C-69", "C-26", "C-28")
def test_versions_tell_writes_and_nothing_else() -> None:
    hierarchy = Evictable(Generic([1.0, 2.0, 3.0]), FileBacked())
    tensor = Tensor(hierarchy, 0, Layout.parse("3:1"))
    hierarchy[0] = 4.0
    hierarchy.set_value(1, 5.0)
    assert (hierarchy.version, hierarchy.primary.version) == (2, 2)
    tensor[...] = 6.0
    assert (hierarchy.version, hierarchy.primary.version) == (3, 3)
    tensor.tolist()
    hierarchy.evict()
    hierarchy.promote()
    assert hierarchy.version == 3
    with pytest.raises(TypeError, match="real number"):
        hierarchy.set_value(0, "x")
    with pytest.raises(IndexError):
        hierarchy.set_value(3, 1.0)
    assert hierarchy.version == 3 and slots(hierarchy) == [6.0] * 3


class Slotwise(Carrier):
    """A definition-free carrier without bulk access."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.values = [0.0] * count

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return FLOAT

    def get_value(self, index: Any) -> Any:
        return self.values[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.values[index] = value
        self._increment_version()

    def _is_mutable(self) -> bool:
        return True

    def allocate_like(self, size: Any, **keywords: Any) -> "Slotwise":
        return Slotwise(size)


@pytest.mark.rule("C-69", "T-47", "C-40")
@pytest.mark.parametrize("layout", ["4:1", "2:2", "(2,2):(2,1)"])
def test_a_bulk_write_is_one_step_whatever_the_primary_offers(layout: str) -> None:
    hierarchy = Evictable(Slotwise(5), Generic([]))
    placed = Layout.parse(layout)
    tensor = Tensor(hierarchy, 1, placed)
    tensor[...] = 7.0
    assert hierarchy.version == 1 and hierarchy[0] == 0.0
    assert [tensor[ordinal] for ordinal in range(placed.size)] == [7.0] * placed.size
    assert sum(slots(hierarchy)) == 7.0 * placed.size


@pytest.mark.rule("C-40", "M-16")
def test_a_promoted_hierarchy_offers_the_spans_of_its_primary() -> None:
    primary = ArrayCarrier(4, dtype=FLOAT)
    hierarchy = Evictable(primary, FileBacked())
    hierarchy._write_span(1, memoryview(bytearray(b"\0\0\x80\x3f")).cast("f"))
    assert slots(hierarchy) == [0.0, 1.0, 0.0, 0.0]
    out = memoryview(bytearray(8)).cast("f")
    assert hierarchy._read_span(0, out) is None and out.tolist() == [0.0, 1.0]
    hierarchy.evict()
    assert hierarchy._read_span(0, out) is NotImplemented is hierarchy._write_span(0, out)
    hierarchy.promote()
    hierarchy.release()
    assert hierarchy._read_span(0, out) is NotImplemented is hierarchy._write_span(0, out)


@pytest.mark.rule("C-76", "C-31", "C-33", "50/E-18")
def test_factories_give_promoted_hierarchies_of_the_same_classes() -> None:
    hierarchy = Evictable(Generic([1.0]), FileBacked())
    fresh = hierarchy.new_like([2.0, 3.0], mutable=False)
    assert type(fresh) is Evictable and slots(fresh) == [2.0, 3.0] and not fresh.is_mutable()
    assert (type(fresh.primary), type(fresh.secondary)) == (Generic, FileBacked)
    assert fresh.secondary.size() == 0 and fresh.version == 0 and not fresh.is_evicted()
    zeros = hierarchy.allocate_like(3, dtype=DType.Bool, empty=True)
    assert slots(zeros) == [False] * 3 and zeros.secondary.dtype() is DType.Bool
    zeros.evict()
    zeros.promote()
    assert slots(zeros) == [False] * 3 and zeros.is_mutable()


@pytest.mark.rule("C-76", "D-43", "50/E-18")
def test_faults_of_factories_leave_nothing_behind() -> None:
    hierarchy = Evictable(FileBacked().new_like([1.0]), Generic([]))
    directory = FileBacked().path.parent
    before = set(directory.iterdir())
    faults: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: hierarchy.allocate_like(0), ValueError),
        (lambda: hierarchy.new_like([]), ValueError),
        (lambda: hierarchy.allocate_like(-1), ValueError),
        (lambda: hierarchy.allocate_like("x"), TypeError),  # type: ignore[arg-type]
        (lambda: hierarchy.new_like(3), TypeError),  # type: ignore[arg-type]
        (lambda: hierarchy.new_like([1.0], dtype=DType.Float64), ValueError),
        (lambda: hierarchy.new_like([1.0], dtype="f"), TypeError),  # type: ignore[arg-type]
    ]
    for attempt, kind in faults:
        with pytest.raises(kind):
            attempt()
    assert set(directory.iterdir()) == before


@pytest.mark.rule("C-79", "C-29", "C-30")
@pytest.mark.parametrize("evicts", [False, True])
def test_release_gives_both_tiers_up(evicts: bool) -> None:
    hierarchy = Evictable(Generic([1.0]), FileBacked())
    if evicts:
        hierarchy.evict()
    primary, secondary = hierarchy.primary, hierarchy.secondary
    hierarchy.release()
    hierarchy.release()
    assert primary.is_released() and secondary.is_released()
    assert hierarchy.is_evicted() is evicts and hierarchy.size() == 0
    assert hierarchy.dtype() is FLOAT and hierarchy.primary is primary
    for access in (lambda: hierarchy[0], lambda: hierarchy.set_value(0, 1.0)):
        with pytest.raises(RuntimeError, match="Evictable is released"):
            access()
    assert slots(hierarchy.new_like([2.0])) == [2.0]


@pytest.mark.rule("C-25", "C-72", "50/E-21")
def test_hierarchies_nest() -> None:
    inner = Evictable(Generic([1.0, 2.0]), Generic([0.0]))
    outer = Evictable(inner, FileBacked())
    with pytest.raises(RuntimeError, match="owned"):
        inner.evict()
    outer[1] = 3.0
    assert (outer.version, inner.version, inner.primary.version) == (1, 1, 1)
    outer.evict()
    assert inner.is_released() and inner.primary.is_released()
    outer.promote()
    assert slots(outer) == [1.0, 3.0] and type(outer.primary) is Evictable
    assert outer.primary is not inner and not inner.is_owned()
    tensor = Tensor(outer, 0, Layout.parse("2:1"))
    assert (tensor + tensor).tolist() == [2.0, 6.0]
