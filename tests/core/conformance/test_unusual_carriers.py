"""Carriers that do less than others, or otherwise, and keep the contract: no check fails."""

from typing import Any

import pytest

from strideweave import DType
from strideweave.carriers.extension import reference_pattern
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import operation_definition
from strideweave.testing import Ability
from strideweave.testing.conformance import CarrierAdapter, applicable_checks

from .broken.workshop import (
    FLOATS,
    PackedAdapter,
    allocate,
    carry,
    define,
    plans_of,
    read,
    references,
    route,
    width,
    write,
)

pytestmark = pytest.mark.rule("C-86")
MOVES = frozenset({Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN})


def float_kernels() -> list[Any]:
    """Serve everything that needs no dtype but Float32."""
    names = dict.fromkeys(plan.operation for plan in resolvable_plans())
    plans = {
        name: [
            plan
            for plan in plans_of(name)
            if {entry.dtype for entry in plan.operands} <= {None, DType.Float32}
            and plan.output is DType.Float32
        ]
        for name in names
    }
    return [
        reference_pattern(operation_definition(name), served)
        for name, served in plans.items()
        if served
    ]


class FloatAdapter(PackedAdapter):
    carrier_class = define(
        "FloatOnly",
        kernels=float_kernels(),
        supports_dtype=lambda carrier, dtype: dtype is DType.Float32,
    )
    abilities = frozenset({*MOVES, Ability.COMPUTES})
    dtypes = FLOATS


class BoolAdapter(PackedAdapter):
    carrier_class = define("BoolOnly", supports_dtype=lambda carrier, dtype: dtype is DType.Bool)
    abilities = MOVES
    dtypes = (DType.Bool,)


class StorageAdapter(PackedAdapter):
    carrier_class = define("WithoutMoves", elementwise_fallback=False)


class RouteAdapter(PackedAdapter):
    carrier_class = define("OneWay", elementwise_fallback=False, transfers=[route(carry)])
    abilities = frozenset({Ability.TRANSFERS_OUT})


def _allocate_few(carrier: Any, slots: int) -> None:
    if slots > 300:
        raise MemoryError(f"the device holds 300 slots, not {slots}")
    allocate(carrier, slots)


class FewAdapter(PackedAdapter):
    carrier_class = define(
        "Few", kernels=references("neg", "concat", "pad"), allocate=_allocate_few
    )
    abilities = frozenset({*MOVES, Ability.COMPUTES})
    largest = 300


def _reserve(carrier: Any, slots: int) -> None:
    carrier.extent, carrier.memory = slots, None


def _memory_made(carrier: Any) -> Any:
    if carrier.memory is None:
        carrier.memory = bytearray(carrier.extent * width(carrier))
    return carrier


def _give_back(carrier: Any) -> None:
    carrier.extent, carrier.memory = 0, bytearray()


class LazyAdapter(PackedAdapter):
    carrier_class = define(
        "AllocatesAtFirstUse",
        physical_size=lambda carrier: carrier.extent,
        allocate=_reserve,
        release=_give_back,
        read=lambda carrier, index: read(_memory_made(carrier), index),
        write=lambda carrier, index, value: write(_memory_made(carrier), index, value),
    )
    abilities = MOVES

    def raw_read(self, carrier: Any, slot: int) -> object:
        return read(_memory_made(carrier), slot)

    def raw_write(self, carrier: Any, slot: int, value: Any) -> None:
        write(_memory_made(carrier), slot, value)


@pytest.mark.parametrize(
    "adapter",
    [FloatAdapter, BoolAdapter, StorageAdapter, RouteAdapter, FewAdapter, LazyAdapter],
    ids=lambda adapter: adapter.carrier_class.__name__,
)
def test_it_passes(adapter: type[CarrierAdapter[Any]]) -> None:
    subject = adapter()
    for check in applicable_checks(subject):
        check.examine(subject)
