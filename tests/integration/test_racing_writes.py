"""Writes and reads of slots against claims, moves, releases and evictions of another thread."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Evictable, FileBacked, Generic, Layout, Tensor
from strideweave.testing import ArrayCarrier

Outcome = tuple[str, Any]
Interleave = Callable[..., Iterator[tuple[Any, Outcome, Outcome]]]
SLOTS = 3


class Listed(Carrier):
    """A definition-free class that offers slots and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.values = [0.0] * SLOTS

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return DType.Float32

    def get_value(self, index: Any) -> float:
        value: float = self.values[index]
        return value

    def set_value(self, index: Any, value: Any) -> None:
        self.values[index] = value

    def _is_mutable(self) -> bool:
        return True


MAKERS: dict[str, Callable[[], Carrier]] = {
    "CPU": lambda: CPU(SLOTS),
    "Generic": lambda: Generic([0.0] * SLOTS),
    "FileBacked": lambda: FileBacked().new_like([0.0] * SLOTS),
    "Evictable": lambda: Evictable(CPU(SLOTS), FileBacked()),
    "Evictable of Generic": lambda: Evictable(Generic([0.0] * SLOTS), Generic([])),
    "ArrayCarrier": lambda: ArrayCarrier(SLOTS, dtype=DType.Float32),
    "Listed": Listed,
}
WRITES: dict[str, Callable[[Tensor], None]] = {
    "slot": lambda tensor: tensor.__setitem__(1, 5.0),
    "bulk": lambda tensor: tensor.__setitem__(..., 5.0),
}
READS: dict[str, Callable[[Tensor], float]] = {
    "slot": lambda tensor: tensor[1],
    "bulk": lambda tensor: tensor.tolist()[1],
}
every_carrier = pytest.mark.parametrize("name", MAKERS)
in_memory = pytest.mark.parametrize("name", ["CPU", "Generic", "Evictable"])
every_write = pytest.mark.parametrize("write", WRITES)


def subject(name: str) -> Callable[[], Tensor]:
    return lambda: Tensor(MAKERS[name](), 0, Layout.leaf(SLOTS, 1))


def release(tensor: Tensor) -> None:
    tensor.carrier.release()


def check_race(
    interleaved: Interleave,
    prepare: Callable[[], Tensor],
    actions: tuple[Callable[[Tensor], Any], Callable[[Tensor], None]],
    second_first: bool,
    expected: float,
    refused_by: str | None = "RuntimeError",
) -> None:
    """The first action gives what is expected or is refused, and the second one succeeds."""
    for _, *outcomes in interleaved(prepare, *(actions[::-1] if second_first else actions)):
        found, ended = outcomes[::-1] if second_first else outcomes
        assert ended == ("ok", None)
        assert found == ("ok", expected) or found[0] == (refused_by or found[0]) != "ok", found


@pytest.mark.rule("C-22", "C-26", "G-4")
@every_carrier
@every_write
def test_a_write_that_races_a_claim_counts_if_it_happened(
    interleaved: Interleave, name: str, write: str
) -> None:
    def claim(tensor: Tensor) -> None:
        tensor.carrier._claim_ownership()

    refusals = 0
    for tensor, written, claimed in interleaved(subject(name), WRITES[write], claim):
        assert claimed[0] == "ok"
        happened = tensor[1] == 5.0
        assert happened == (written[0] == "ok"), written
        assert tensor.carrier.version == happened
        refusals += not happened
        assert happened or written[0] == "RuntimeError"
    assert refusals


@pytest.mark.rule("C-26", "M-26", "G-4", "G-6")
@every_carrier
@every_write
def test_a_write_that_races_a_move_is_not_lost(
    interleaved: Interleave, name: str, write: str
) -> None:
    def move(tensor: Tensor) -> Any:
        return sw.move(tensor, CPU(SLOTS)).tolist()

    for _, written, moved in interleaved(subject(name), WRITES[write], move):
        assert moved[0] in ("ok", "RuntimeError"), moved
        # A provider that has given its storage up raises what it likes.
        assert written[0] in ("ok", "RuntimeError") or name == "ArrayCarrier", written
        if (written[0], moved[0]) == ("ok", "ok"):
            assert moved[1][1] == 5.0
        if written[0] != "ok" and moved[0] == "ok" and moved[1][1] == 5.0:
            assert "released while it was written" in written[1]
            assert write == "bulk" or name not in ("CPU", "Generic")  # there a slot is one step


@pytest.mark.rule("C-30", "C-14")
@pytest.mark.parametrize("name", [name for name in MAKERS if name != "ArrayCarrier"])
@every_write
def test_a_write_that_races_a_release_happens_or_is_refused(
    interleaved: Interleave, name: str, write: str
) -> None:
    for tensor, written, released in interleaved(subject(name), WRITES[write], release):
        assert released[0] == "ok" and written[0] in ("ok", "RuntimeError"), (released, written)
        assert name == "Listed" or tensor.carrier.size() == 0


@pytest.mark.rule("C-30", "C-13")
@pytest.mark.parametrize("name", [name for name in MAKERS if name != "ArrayCarrier"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("release_first", [True, False])
def test_a_read_that_races_a_release_is_right_or_refused(
    interleaved: Interleave, name: str, read: str, release_first: bool
) -> None:
    def written() -> Tensor:
        tensor = subject(name)()
        tensor[1] = 5.0
        return tensor

    check_race(interleaved, written, (READS[read], release), release_first, 5.0)


@pytest.mark.rule("C-74", "G-14")
@pytest.mark.parametrize(
    ("name", "secondary"),
    [
        ("CPU", FileBacked),
        ("Generic", lambda: CPU(0)),
        ("Listed", lambda: Generic([])),
        ("ArrayCarrier", lambda: Generic([])),
        ("Evictable", lambda: Generic([])),
    ],
)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("evict_first", [True, False])
def test_a_read_that_races_an_eviction_is_right_or_refused(
    interleaved: Interleave,
    name: str,
    secondary: Callable[[], Carrier],
    read: str,
    evict_first: bool,
) -> None:
    def written() -> Tensor:
        hierarchy = Evictable(MAKERS[name](), secondary())
        hierarchy[1] = 5.0
        return Tensor(hierarchy, 0, Layout.leaf(SLOTS, 1))

    def evict(tensor: Tensor) -> None:
        tensor.carrier.evict()  # type: ignore[attr-defined]  # an Evictable

    check_race(interleaved, written, (READS[read], evict), evict_first, 5.0)


@pytest.mark.rule("C-30", "G-14")
@in_memory
@pytest.mark.parametrize("release_first", [True, False])
def test_an_operation_that_races_a_release_is_right_or_refused(
    interleaved: Interleave, name: str, release_first: bool
) -> None:
    def written() -> Tensor:
        tensor = subject(name)()
        tensor[...] = 5.0
        return tensor

    def summed(tensor: Tensor) -> float:
        total: float = sw.reduce_sum(tensor, "n -> 1").tolist()[0]
        return total

    assert summed(written()) == 15.0
    check_race(interleaved, written, (summed, release), release_first, 15.0, refused_by=None)
