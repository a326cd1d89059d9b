"""What an author writes to adopt the kit, and what the test run then shows."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.rule("C-86")
pytest_plugins = ["pytester"]

CARRIER = """
import struct

import strideweave as sw

FORMATS = {sw.DType.Float32: "f", sw.DType.Int32: "i", sw.DType.Bool: "?"}


class Packed(sw.Carrier):
    memory: bytearray


def width(carrier):
    return struct.calcsize(FORMATS[carrier.dtype()])


def allocate(carrier, slots):
    carrier.memory = bytearray(slots * width(carrier))


def release(carrier):
    carrier.memory = bytearray()


def read(carrier, slot):
    code = FORMATS[carrier.dtype()]
    return struct.unpack_from(code, carrier.memory, slot * width(carrier))[0]


def write(carrier, slot, value):
    struct.pack_into(FORMATS[carrier.dtype()], carrier.memory, slot * width(carrier), value)


storage = sw.StorageProvider(
    lambda carrier, dtype: dtype in FORMATS,
    lambda carrier: len(carrier.memory) // width(carrier),
    allocate, release, read, write, elementwise_fallback=True,
)
sw.register_carrier_definition(Packed, sw.CarrierDefinition(storage))
"""

ADOPTION = """
from typing import Any

from packed import Packed, read, write
from strideweave import SimpleDType
from strideweave.testing import Ability, CarrierConformance


class TestPacked(CarrierConformance[Packed]):
    carrier_class = Packed
    abilities = frozenset({ABILITIES})

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Packed:
        return Packed(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: Packed, slot: int) -> object:
        return read(carrier, slot)

    def raw_write(self, carrier: Packed, slot: int, value: Any) -> None:
        write(carrier, slot, value)
"""


@pytest.fixture
def run_kit(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run the kit over a carrier of its own project, with these abilities and more text."""
    pytester.makepyfile(packed=CARRIER)

    def run(abilities: str, more: str = "", *options: str) -> pytest.RunResult:
        text = ADOPTION.replace("ABILITIES", abilities) + more
        pytester.makepyfile(test_packed=text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)

    return run


MOVES = "Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN"


def test_it_takes_less_than_forty_lines() -> None:
    assert len(ADOPTION.strip().splitlines()) < 40


def test_the_report_lists_what_was_not_declared(run_kit: Callable[..., pytest.RunResult]) -> None:
    result = run_kit(MOVES)
    outcomes = result.parseoutcomes()
    assert outcomes.keys() == {"passed"} and outcomes["passed"] > 30
    result.stdout.fnmatch_lines(
        [
            "*StrideWeave conformance*",
            "TestPacked: Packed, kit 1.*",
            "  not declared: computes, spans, asynchronous transfers, asynchronous kernels, facets",
        ]
    )


def test_what_is_declared_fails_where_it_is_missing(
    run_kit: Callable[..., pytest.RunResult],
) -> None:
    result = run_kit("Ability.COMPUTES, Ability.SPANS, Ability.FACETS")
    assert result.parseoutcomes().keys() == {"passed", "failed"}
    result.stdout.fnmatch_lines_random(
        [
            "*Packed declares COMPUTES, but advertises nothing",
            "*Packed declares SPANS, but has neither read_span nor write_span*",
            "*Packed declares FACETS, but its definition registers none",
        ]
    )


def test_a_check_that_does_not_apply_is_listed_with_its_reason(
    run_kit: Callable[..., pytest.RunResult],
) -> None:
    result = run_kit(MOVES, "\n    not_applicable = {'release.memory': 'it is lent'}\n", "-n1")
    assert result.parseoutcomes().keys() == {"passed"}
    result.stdout.fnmatch_lines(["  not applicable: release.memory (it is lent)"])  # of workers too


def test_a_check_of_a_declared_ability_cannot_be_left_out(
    run_kit: Callable[..., pytest.RunResult],
) -> None:
    result = run_kit(MOVES, "\n    not_applicable = {'transfers.in-values': 'hard'}\n")
    assert result.parseoutcomes().keys() == {"errors"}
    result.stdout.fnmatch_lines(
        ["*names 'transfers.in-values', which is no check of every carrier*"]
    )
