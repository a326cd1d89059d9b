"""Checks of facets."""

from typing import Any

from strideweave.carriers.class_record import class_record
from strideweave.carriers.facet import CarrierFacet
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.values import distinct


@check("facets.constant", ability=Ability.FACETS)
def constant(subject: CarrierAdapter[Any]) -> None:
    """Every carrier has the same facets, whose public values never change."""
    definition = class_record(subject.carrier_class).definition
    registered = () if definition is None else definition.facets
    require(bool(registered), f"{subject.name} declares FACETS, but its definition registers none")
    dtype = subject.dtypes[0]
    for facet in registered:
        kind, carrier = type(facet), subject.make(3, dtype)
        before = _public_values(facet)
        carrier[0] = distinct(dtype, 1)[0]
        carrier.new_like(distinct(dtype, 2))
        require(
            subject.make(1, dtype).facet(kind) is facet,
            f"two {subject.name} give different {kind.__qualname__} facets",
        )
        carrier.release()
        require(
            carrier.require_facet(kind) is facet,
            f"a released {subject.name} gives another {kind.__qualname__} than before",
        )
        after = _public_values(facet)
        changed = [name for name in before if before[name] != after.get(name)]
        require(
            not changed and before.keys() == after.keys(),
            f"the facet {kind.__qualname__} of {subject.name} changed while carriers were used: "
            f"{', '.join(changed) or 'its attributes'}; a facet is immutable",
        )


def _public_values(facet: CarrierFacet) -> dict[str, object]:
    names = [name for name in dir(facet) if not name.startswith("_")]
    values = {name: getattr(facet, name) for name in names}
    return {name: value for name, value in values.items() if not callable(value)}
