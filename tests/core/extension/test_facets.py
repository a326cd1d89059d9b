"""Facets: found by exact type, and without influence on anything else."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import CarrierFacet, DType

FLOAT32, INT32 = DType.Float32, DType.Int32


class Residency(CarrierFacet):
    """Stands for the tiled-residency facet."""


class Naming(CarrierFacet):
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def label(self, carrier: Any) -> str:
        return f"{self.prefix}:{carrier.size()}"


class LongNaming(Naming):
    pass


@pytest.mark.rule("R-110", "R-111")
def test_a_facet_is_found_by_its_exact_type(workshop: Any) -> None:
    naming = Naming("shelf")
    carrier = workshop.defined(facets=[Residency(), naming])(2, dtype=FLOAT32)
    assert carrier.facet(Naming) is naming is carrier.require_facet(Naming)
    assert carrier.facet(LongNaming) is None
    assert carrier.require_facet(Naming).label(carrier) == "shelf:2"
    carrier.release()
    assert carrier.facet(Naming) is naming


@pytest.mark.rule("R-111", "R-114")
def test_query_an_absent_residency_facet(workshop: Any) -> None:
    carrier = workshop.defined(None)(1, dtype=FLOAT32)
    assert carrier.facet(Residency) is None
    with pytest.raises(NotImplementedError, match=r"Shelf has no facet .*test_facets\.Residency"):
        carrier.require_facet(Residency)


@pytest.mark.rule("R-111")
@pytest.mark.parametrize("facet_type", [CarrierFacet, object, int, "Naming", None, Naming("x")])
def test_another_facet_type_is_a_type_error(workshop: Any, facet_type: Any) -> None:
    for carrier in (workshop.defined()(1, dtype=FLOAT32), workshop.subclass()()):
        for query in (carrier.facet, carrier.require_facet):
            with pytest.raises(TypeError, match="facet_type must be a subclass of CarrierFacet"):
                query(facet_type)


@pytest.mark.rule("C-46", "R-111")
def test_a_definition_free_carrier_has_no_facets(workshop: Any) -> None:
    carrier = workshop.subclass()()
    assert carrier.facet(Naming) is None
    with pytest.raises(NotImplementedError, match="Shelf has no facet"):
        carrier.require_facet(Naming)


class Greedy(CarrierFacet):
    """Claims everything a facet must not widen."""

    def supports_dtype(self, *arguments: Any) -> bool:
        return True

    def capabilities(self, *arguments: Any) -> Any:
        raise AssertionError("facets are not asked for capabilities")

    patterns = transfers = routes = property(lambda self: 1 / 0)


@pytest.mark.rule("R-112", "R-73")
def test_a_facet_widens_nothing(workshop: Any) -> None:
    storage = workshop.storage(supports_dtype=lambda carrier, dtype: dtype is FLOAT32)
    with_facet = workshop.defined(None, storage=storage, facets=[Greedy()])(1, dtype=FLOAT32)
    assert not with_facet.supports_storage_dtype(INT32)
    assert with_facet.operation_capabilities() == ()
    with pytest.raises(sw.UnsupportedOperationPlan, match="storage-only"):
        with_facet.dispatch_op("add")


@pytest.mark.rule("R-113")
def test_a_convenience_method_belongs_to_one_class(workshop: Any) -> None:
    def label(self: Any) -> str:
        text: str = self.require_facet(Naming).label(self)
        return text

    labelled = workshop.subclass(label=label)
    workshop.defined(carrier_class=labelled, facets=[Naming("mine")])
    assert labelled(3, dtype=FLOAT32).label() == "mine:3"
    assert not hasattr(sw.Carrier, "label")
