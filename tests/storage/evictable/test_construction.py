"""Which carriers form a hierarchy, and what it takes over from them."""

import gc
import re
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Evictable, FileBacked, Generic
from strideweave.carriers import CLOSED_CARRIER_MESSAGE
from strideweave.carriers.move import registry
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.testing import ArrayCarrier

FLOAT, INT = DType.Float32, DType.Int32


def released() -> Generic:
    carrier = Generic([1.0])
    carrier.release()
    return carrier


def owned() -> Generic:
    carrier = Generic([1.0])
    carrier._claim_ownership()
    return carrier


class Closed(Carrier):
    """Moves by built-in pairs only, of which it has none."""

    def size(self) -> int:
        return 1

    def dtype(self) -> DType:
        return FLOAT


registry.close_pairs(Closed)


class Sealed(Carrier):
    """Definition-backed, and neither declares a route nor permits copies."""


storage: Any = sw.StorageProvider(
    lambda carrier, dtype: True,
    lambda carrier: carrier.slots,
    lambda carrier, slots: setattr(carrier, "slots", slots),
    lambda carrier: None,
    lambda carrier, slot: 0.0,
    lambda carrier, slot, value: None,
)
sw.register_carrier_definition(Sealed, sw.CarrierDefinition(storage))

# Each row also has the faults of all rows below it, so the order of the checks shows.
ROWS: list[tuple[Callable[[], tuple[object, object]], type[Exception], str]] = [
    (lambda: (3, 4), TypeError, "primary must be a Carrier, got 3"),
    (lambda: (Closed(), 4), TypeError, "secondary must be a Carrier, got 4"),
    (lambda: (Closed(), released()), TypeError, "primary cannot be a Closed"),
    (lambda: (released(), Closed()), TypeError, "secondary cannot be a Closed"),
    (lambda: (released(),) * 2, ValueError, "two carriers"),
    (lambda: (released(), owned()), RuntimeError, "primary Generic is released"),
    (lambda: (owned(), released()), RuntimeError, "secondary Generic is released"),
    (lambda: (owned(), Generic([], dtype=INT)), RuntimeError, "primary .* already owned"),
    (lambda: (Generic([], dtype=INT), owned()), RuntimeError, "secondary .* already owned"),
    (lambda: (Generic([]), Generic([], dtype=INT, mutable=False)), TypeError, "dtypes"),
    (lambda: (Generic([]), Generic([], mutable=False)), RuntimeError, "not mutable"),
    (lambda: (Generic([]), Sealed(0, dtype=FLOAT)), ValueError, "primary Generic is empty"),
    (
        lambda: (Generic([1.0]), Sealed(0, dtype=FLOAT)),
        NotImplementedError,
        r"\(Generic, Sealed\)",
    ),
    (
        lambda: (Sealed(1, dtype=FLOAT), Generic([])),
        NotImplementedError,
        r"\(Sealed, Generic\)",
    ),
]


@pytest.mark.rule("C-66", "50/E-20", "S-4")
@pytest.mark.parametrize(("tiers", "kind", "text"), ROWS, ids=[row[2] for row in ROWS])
def test_refusals_in_order(
    tiers: Callable[[], tuple[Any, Any]], kind: type[Exception], text: str
) -> None:
    primary, secondary = tiers()
    before = [isinstance(tier, Carrier) and tier.is_owned() for tier in (primary, secondary)]
    with pytest.raises(kind, match=text):
        Evictable(primary, secondary)
    assert before == [
        isinstance(tier, Carrier) and tier.is_owned() for tier in (primary, secondary)
    ]


@pytest.mark.rule("C-66")
def test_a_failed_finalization_gives_the_claims_back() -> None:
    class Unsure(Carrier):
        """Cannot tell whether it stores Bool."""

        def size(self) -> int:
            return 1

        def dtype(self) -> DType:
            return FLOAT

        def _is_mutable(self) -> bool:
            return True

        def _supports_storage_dtype(self, dtype: DType) -> bool:
            raise LookupError(f"no answer for {dtype!r}")

    primary, secondary = Generic([1.0]), Unsure()
    with pytest.raises(LookupError, match="no answer"):
        Evictable(primary, secondary)
    assert not primary.is_owned() and not secondary.is_owned()


@pytest.mark.rule("C-66")
def test_a_tier_that_is_claimed_meanwhile_gives_the_other_claim_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    primary, secondary = Generic([1.0]), Generic([])

    def taken(self: Generic) -> int:
        if self is secondary:
            raise RuntimeError("already owned")
        return Carrier._claim_ownership(self)

    monkeypatch.setattr(Generic, "_claim_ownership", taken)
    with pytest.raises(RuntimeError, match="already owned"):
        Evictable(primary, secondary)
    assert not primary.is_owned()


@pytest.mark.rule("C-67", "50/E-15")
def test_tiers_are_read_only_aliases() -> None:
    primary, secondary = Generic([1.0, 2.0]), Generic([0.0])
    hierarchy = Evictable(primary, secondary)
    assert hierarchy.primary is primary and hierarchy.secondary is secondary
    assert not hierarchy.is_evicted() and hierarchy.size() == 2 and hierarchy.dtype() is FLOAT
    assert primary.is_owned() and not primary.is_mutable() and primary[0] == 1.0
    for attempt in (primary.release, secondary.release, lambda: primary.set_value(0, 5.0)):
        with pytest.raises(RuntimeError):
            attempt()
    with pytest.raises(RuntimeError, match="already owned"):
        Evictable(Generic([1.0]), secondary)
    hierarchy[0] = 5.0
    assert (hierarchy.version, primary.version, primary[0]) == (1, 1, 5.0)


@pytest.mark.rule("C-68")
def test_mutability_is_the_primary_s_and_stays() -> None:
    hierarchy = Evictable(Generic([1.0], mutable=False), Generic([]))
    for _ in range(2):
        assert not hierarchy.is_mutable()
        with pytest.raises(RuntimeError, match="not mutable"):
            hierarchy[0] = 2.0
        hierarchy.evict()
        hierarchy.promote()
    assert hierarchy[0] == 1.0 and not hierarchy.is_mutable()
    assert Evictable(Generic([1.0]), Generic([])).is_mutable()


@pytest.mark.rule("C-79", "50/E-19")
def test_dropping_gives_live_tiers_back() -> None:
    primary, secondary = Generic([1.0]), Generic([0.0])
    hierarchy = Evictable(primary, secondary)
    del hierarchy
    gc.collect()
    for tier in (primary, secondary):
        assert not tier.is_owned() and tier.is_mutable() and not tier.is_released()


@pytest.mark.rule("C-79")
def test_dropping_in_a_cycle_gives_live_tiers_back() -> None:
    secondary = FileBacked()
    hierarchy: Any = Evictable(Generic([1.0]), secondary)
    hierarchy.itself = hierarchy
    hierarchy.evict()
    tier = hierarchy.secondary
    del hierarchy
    gc.collect()
    assert not tier.is_owned() and tier[0] == 1.0 and secondary.is_released()


@pytest.mark.rule("C-5", "C-4", "C-62")
def test_evictable_is_closed() -> None:
    with pytest.raises(TypeError, match=re.escape(CLOSED_CARRIER_MESSAGE.format(name="Sub"))):
        type("Sub", (Evictable,), {})
    assert getattr(Evictable, "__final__", False) is True
    with pytest.raises(TypeError):
        sw.register_carrier_definition(Evictable, sw.CarrierDefinition(storage))
    with pytest.raises(TypeError, match="Evictable is a DependentCarrier"):
        register_operation_capabilities(Evictable, ())
    assert capabilities_for_carrier_class(Evictable) == ()


@pytest.mark.rule("C-62", "O-30", "O-34", "C-77")
def test_capabilities_are_the_primary_s_as_far_as_both_tiers_store_results() -> None:
    class Floats(Carrier):
        def size(self) -> int:
            return 0

        def dtype(self) -> DType:
            return FLOAT

        def _is_mutable(self) -> bool:
            return True

    full = Evictable(Generic([1.0]), FileBacked())
    assert full.operation_capabilities() == Generic([]).operation_capabilities()
    narrow = Evictable(Generic([1.0]), Floats())
    expected = [entry for entry in Generic([]).operation_capabilities() if entry.output is FLOAT]
    assert list(narrow.operation_capabilities()) == expected != []
    assert Evictable(FileBacked().new_like([1.0]), Generic([])).operation_capabilities() == ()
    before = full.operation_capabilities()
    full.evict()
    assert full.operation_capabilities() == before
    full.release()
    assert full.operation_capabilities() == before


@pytest.mark.rule("D-41", "D-42")
def test_stored_dtypes_are_the_intersection() -> None:
    hierarchy = Evictable(Generic([1.0]), FileBacked())
    assert [entry for entry in DType.registered() if hierarchy.supports_storage_dtype(entry)] == [
        FLOAT,
        INT,
        DType.Bool,
    ]
    with pytest.raises(TypeError, match="must be a DType"):
        hierarchy.supports_storage_dtype("x")  # type: ignore[arg-type]


@pytest.mark.rule("M-47", "C-46")
def test_it_exports_nothing() -> None:
    with pytest.raises(BufferError, match="Evictable"):
        Evictable(Generic([1.0]), FileBacked()).dlpack_info()


@pytest.mark.rule("S-4", "C-66")
def test_definition_backed_tiers_take_part() -> None:
    hierarchy = Evictable(ArrayCarrier(2, dtype=FLOAT), ArrayCarrier(0, dtype=FLOAT))
    hierarchy[1] = 2.0
    hierarchy.evict()
    hierarchy.promote()
    assert [hierarchy[0], hierarchy[1]] == [0.0, 2.0]
