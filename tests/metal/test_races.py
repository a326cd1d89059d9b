"""Writes and reads of Metal against claims, moves and releases of another thread."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, Layout, Metal, Tensor

Interleave = Callable[..., Iterator[tuple[Any, tuple[str, Any], tuple[str, Any]]]]
WRITES: dict[str, Callable[[Tensor], None]] = {
    "slot": lambda tensor: tensor.__setitem__(1, 5.0),
    "bulk": lambda tensor: tensor.__setitem__(..., 5.0),
}
READS: dict[str, Callable[[Tensor], Any]] = {
    "slot": lambda tensor: tensor[1],
    "bulk": lambda tensor: tensor.tolist()[1],
    "kernel": lambda tensor: sw.neg(sw.neg(tensor))[1],
}
every_write = pytest.mark.parametrize("write", WRITES)


def prepare() -> Tensor:
    return Tensor(Metal(3), 0, Layout.parse("3:1"))


def release(tensor: Tensor) -> None:
    tensor.carrier.release()


@pytest.mark.rule("MT-51", "MT-6", "C-22", "C-26", "G-4")
@every_write
def test_a_write_that_races_a_claim_counts_if_it_happened(
    interleaved: Interleave, write: str
) -> None:
    refusals = 0
    for tensor, written, claimed in interleaved(
        prepare, WRITES[write], lambda subject: subject.carrier._claim_ownership()
    ):
        assert claimed[0] == "ok" and written[0] in ("ok", "RuntimeError")
        happened = tensor[1] == 5.0
        assert happened == (written[0] == "ok") == (tensor.carrier.version == 1)
        refusals += not happened
    assert refusals


@pytest.mark.rule("MT-51", "MT-43", "M-26", "G-6")
@every_write
def test_a_write_that_races_a_move_is_not_lost(interleaved: Interleave, write: str) -> None:
    for _, written, moved in interleaved(
        prepare, WRITES[write], lambda subject: sw.move(subject, CPU(3)).tolist()
    ):
        assert written[0] in ("ok", "RuntimeError") and moved[0] in ("ok", "RuntimeError")
        if (written[0], moved[0]) == ("ok", "ok"):
            assert moved[1][1] == 5.0


@pytest.mark.rule("MT-51", "C-30", "C-14")
@every_write
def test_a_release_ends_what_a_racing_write_would_store(
    interleaved: Interleave, write: str
) -> None:
    for tensor, written, released in interleaved(prepare, WRITES[write], release):
        assert released == ("ok", None) and written[0] in ("ok", "RuntimeError"), written
        assert tensor.carrier.size() == 0 and tensor.carrier._slots is None


@pytest.mark.rule("MT-51", "C-30", "C-13")
@pytest.mark.parametrize("read", READS)
def test_a_read_that_races_a_release_is_right_or_refused(
    interleaved: Interleave, read: str
) -> None:
    def written() -> Tensor:
        tensor = prepare()
        tensor[1] = 5.0
        return tensor

    for _, found, released in interleaved(written, READS[read], release):
        assert released == ("ok", None)
        # The pipeline reports an operand that changed under a kernel.
        assert found == ("ok", 5.0) or found[0] in ("RuntimeError", "ProviderContractError"), found
