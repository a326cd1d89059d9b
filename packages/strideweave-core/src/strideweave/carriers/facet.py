"""The marker base of carrier-specific facets, and the lookup of one by its exact type."""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from strideweave.carriers.extension.definition import CarrierDefinition


class CarrierFacet:
    """Marker base of an immutable provider for behaviour that only some carriers have.

    A facet adds exactly the surface it declares. It changes neither dtype support, kernels,
    capabilities and movement routes, nor what an operation means. Subclass it, put one instance
    into ``CarrierDefinition(facets=...)``, and reach it with ``carrier.facet(MyFacet)``.

    Examples:
        >>> from strideweave import CarrierFacet
        >>> class Naming(CarrierFacet):
        ...     def label(self, carrier):
        ...         return f"{type(carrier).__name__} of {carrier.size()} slots"
    """

    __slots__ = ()


F = TypeVar("F", bound=CarrierFacet)


def find_facet(definition: "CarrierDefinition | None", facet_type: type[F]) -> F | None:
    """Find the facet that was registered under exactly this type.

    Args:
        definition: The definition of the carrier's class, or None for a definition-free class.
        facet_type: A subclass of CarrierFacet.

    Returns:
        The registered instance, or None.

    Raises:
        TypeError: ``facet_type`` is not a subclass of CarrierFacet.
    """
    if (
        not isinstance(facet_type, type)
        or not issubclass(facet_type, CarrierFacet)
        or facet_type is CarrierFacet
    ):
        raise TypeError(f"facet_type must be a subclass of CarrierFacet, got {facet_type!r}")
    if definition is not None:
        for facet in definition.facets:
            if type(facet) is facet_type:
                return facet
    return None
