"""CarrierDefinition: everything one exact carrier class is made of."""

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, final

from strideweave._record import record
from strideweave.carriers.extension.composite import CompositeProvider
from strideweave.carriers.extension.patterns import KernelProvider
from strideweave.carriers.extension.storage import C_contra, StorageProvider
from strideweave.carriers.extension.transfers import TransferRoute
from strideweave.carriers.extension.validation import (
    require_distinct,
    require_entries,
    require_instance,
    set_fields,
)
from strideweave.carriers.facet import CarrierFacet

V = TypeVar("V")


@record
@final
class CarrierDefinition(Generic[C_contra]):
    """The complete, immutable definition of one carrier class.

    An independent class may have kernels and has no composite; a subclass of DependentCarrier has
    a composite and no kernels. Without kernels an independent class only stores.

    Attributes:
        storage: The storage callbacks.
        kernels: Execution of an independent class, or None.
        transfers: Routes from this class; one per pair of exact classes.
        composite: Execution of a dependent class, or None.
        facets: Carrier-specific facets; one per exact facet class.

    Raises:
        TypeError: A field or entry has the wrong type.
        ValueError: Two routes join the same exact classes, or two facets have the same class.

    Examples:
        >>> from strideweave import CarrierDefinition, StorageProvider
        >>> def callback(carrier, *arguments):
        ...     "Stands for the author's callbacks."
        >>> definition = CarrierDefinition(StorageProvider(*[callback] * 6))
        >>> definition.kernels, definition.transfers
        (None, ())
    """

    storage: StorageProvider[C_contra]
    kernels: KernelProvider[Any] | None
    transfers: tuple[TransferRoute[C_contra, Any], ...]
    composite: CompositeProvider[C_contra] | None
    facets: tuple[CarrierFacet, ...]

    def __init__(
        self,
        storage: StorageProvider[C_contra],
        kernels: KernelProvider[Any] | None = None,
        transfers: Iterable[TransferRoute[C_contra, Any]] = (),
        composite: CompositeProvider[C_contra] | None = None,
        facets: Iterable[CarrierFacet] = (),
    ) -> None:
        require_instance(storage, StorageProvider, "CarrierDefinition: storage")
        _require_optional(kernels, KernelProvider, "kernels")
        routes = require_entries(transfers, TransferRoute, "CarrierDefinition: transfers")
        _require_optional(composite, CompositeProvider, "composite")
        facet_entries = require_entries(facets, CarrierFacet, "CarrierDefinition: facets")
        require_distinct(
            routes,
            lambda route: (id(route.source_class), id(route.destination_class)),
            lambda route: (
                f"the pair ({route.source_class.__qualname__}, "
                f"{route.destination_class.__qualname__})"
            ),
            "CarrierDefinition: transfers",
        )
        require_distinct(
            facet_entries,
            lambda facet: id(type(facet)),
            lambda facet: f"the facet class {type(facet).__qualname__}",
            "CarrierDefinition: facets",
        )
        set_fields(
            self,
            storage=storage,
            kernels=kernels,
            transfers=routes,
            composite=composite,
            facets=facet_entries,
        )


def _require_optional(value: object, expected: type[V], field: str) -> None:
    if value is not None:
        require_instance(value, expected, f"CarrierDefinition: {field}")
