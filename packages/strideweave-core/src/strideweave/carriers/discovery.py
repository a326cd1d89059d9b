"""Carriers that installed distributions advertise under one entry-point group."""

from strideweave.carriers.base import Carrier

GROUP = "strideweave.carriers"


def carrier_names() -> tuple[str, ...]:
    """Name the carriers that installed distributions advertise. Imports none of them.

    Returns:
        The advertised names, sorted and without repetition.
    """
    # importlib.metadata takes longer to import than the rest of this package together.
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load_carrier(name: str) -> type[Carrier]:
    """Import the carrier class that is advertised under a name.

    Args:
        name: One of ``carrier_names()``.

    Returns:
        The advertised class.

    Raises:
        LookupError: If no target, or more than one, is advertised under the name.
        TypeError: If the target is not a subclass of ``Carrier``.
    """
    from importlib.metadata import entry_points

    targets = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not targets:
        known = ", ".join(carrier_names()) or "none"
        raise LookupError(
            f"no installed distribution advertises a carrier {name!r}; known: {known}"
        )
    if len(targets) > 1:
        raise LookupError(
            f"carrier {name!r} is advertised for several targets: {', '.join(sorted(targets))}; "
            "uninstall all distributions that advertise it but one"
        )
    ((target, point),) = targets.items()
    loaded: object = point.load()
    if not (isinstance(loaded, type) and issubclass(loaded, Carrier)):
        raise TypeError(
            f"carrier {name!r} is advertised as {target}, which is no subclass of Carrier: "
            f"{loaded!r}"
        )
    return loaded
