"""Random lives of one hierarchy against a plain list."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import strideweave as sw
from strideweave import Carrier, DType, Evictable, FileBacked, Generic, Layout, Tensor
from strideweave.testing import ArrayCarrier

SLOTS = 5
NUMBERS = st.integers(-9, 9).map(float)
SLOT = st.integers(0, SLOTS - 1)
KINDS = st.sampled_from(["generic", "file", "array"])


def carrier(kind: str, values: list[float]) -> Carrier:
    if kind == "generic":
        return Generic(values)
    if kind == "file":
        return FileBacked().new_like(values)
    return ArrayCarrier(0, dtype=DType.Float32).new_like(values)


class Life(RuleBasedStateMachine):
    """The model: values, version, where they are."""

    @initialize(primary=KINDS, secondary=KINDS, size=st.integers(0, 2 * SLOTS), nests=st.booleans())
    def begin(self, primary: str, secondary: str, size: int, nests: bool) -> None:
        self.values, self.version, self.is_evicted = [0.0] * SLOTS, 0, False
        inner = carrier(primary, self.values)
        if nests:
            inner = Evictable(inner, carrier(secondary, []))
        self.hierarchy: Any = Evictable(inner, carrier(secondary, [9.0] * size))
        self.tensor = Tensor(self.hierarchy, 0, Layout.leaf(SLOTS, 1))

    def written(self, write: Any, values: list[float]) -> None:
        if self.is_evicted:
            with pytest.raises(RuntimeError, match="promote"):
                write()
        else:
            write()
            self.values, self.version = values, self.version + 1

    @rule(slot=SLOT, number=NUMBERS)
    def write_slot(self, slot: int, number: float) -> None:
        changed = [*self.values]
        changed[slot] = number
        self.written(lambda: self.hierarchy.__setitem__(slot, number), changed)

    @rule(number=NUMBERS)
    def write_all(self, number: float) -> None:
        self.written(lambda: self.tensor.__setitem__(..., number), [number] * SLOTS)

    @rule(number=NUMBERS, start=st.integers(0, 1))
    def write_every_other(self, number: float, start: int) -> None:
        part = Tensor(self.hierarchy, start, Layout(sw.Shape(2), sw.Stride(2)))
        changed = [*self.values]
        changed[start] = changed[start + 2] = number
        self.written(lambda: part.__setitem__(..., number), changed)

    @rule()
    def evict(self) -> None:
        self.hierarchy.evict()
        self.is_evicted = True

    @rule()
    def promote(self) -> None:
        self.hierarchy.promote()
        self.is_evicted = False

    @precondition(lambda self: not self.is_evicted)
    @rule(kind=KINDS)
    def copy(self, kind: str) -> None:
        copied = sw.copy(self.tensor, carrier(kind, [0.0] * SLOTS))
        assert copied.tolist() == self.values

    @precondition(lambda self: not self.is_evicted)
    @rule(kind=KINDS, values=st.lists(NUMBERS, min_size=SLOTS, max_size=SLOTS))
    def fill(self, kind: str, values: list[float]) -> None:
        source = Tensor(carrier(kind, values), 0, Layout.leaf(SLOTS, 1))
        self.written(lambda: sw.move(source, self.hierarchy), values)

    @rule()
    def be_owned(self) -> None:
        token = self.hierarchy._claim_ownership()
        for refused in (self.hierarchy.evict, self.hierarchy.promote, self.hierarchy.release):
            with pytest.raises(RuntimeError, match="owned"):
                refused()
        self.hierarchy._relinquish_ownership(token)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "hierarchy"):
            return
        hierarchy = self.hierarchy
        assert (hierarchy.version, hierarchy.size()) == (self.version, SLOTS)
        assert hierarchy.is_evicted() is self.is_evicted
        tiers = (hierarchy.primary, hierarchy.secondary)
        resident, other = tiers[::-1] if self.is_evicted else tiers
        assert resident.is_owned() and other.is_owned() and not resident.is_released()
        assert [resident[slot] for slot in range(SLOTS)] == self.values
        if self.is_evicted:
            assert other.is_released()
        else:
            assert self.tensor.tolist() == self.values

    def teardown(self) -> None:
        if hasattr(self, "hierarchy"):
            self.hierarchy.release()
            assert self.hierarchy.primary.is_released() and self.hierarchy.secondary.is_released()


TestLife = pytest.mark.rule("C-67", "C-69", "C-70", "C-71", "C-72", "C-74", "G-4")(Life.TestCase)
