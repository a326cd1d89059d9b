"""Carriers that installed distributions advertise under one entry-point group."""

from typing import TYPE_CHECKING, Final, final

from strideweave._record import record
from strideweave.carriers.base import Carrier

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "strideweave.carriers"


@final
@record
class InstalledCarrier:
    """A carrier class that an installed distribution advertises.

    Attributes:
        name: Advertised name.
        target: Where the class is, as ``module:attribute``.
        distribution: Name of the distribution that advertises it.
        version: Version of that distribution.
    """

    name: str
    target: str
    distribution: str
    version: str


def installed() -> tuple[InstalledCarrier, ...]:
    """List the carriers that installed distributions advertise. Imports none of them.

    Returns:
        One entry per name, target and distribution, sorted by these.

    Examples:
        >>> import strideweave as sw
        >>> [carrier.target for carrier in sw.carriers.installed() if carrier.name == "CPU"]
        ['strideweave.carriers.cpu:CPU']
    """
    # importlib.metadata takes longer to import than the rest of this package together.
    from importlib.metadata import entry_points

    found = {_described(point) for point in entry_points(group=GROUP)}
    return tuple(sorted(found, key=lambda entry: (entry.name, entry.target, entry.distribution)))


def _described(point: "EntryPoint") -> InstalledCarrier:
    if point.dist is None:
        return InstalledCarrier(point.name, point.value, "unknown", "unknown")
    return InstalledCarrier(point.name, point.value, point.dist.name, point.dist.version)


def carrier_names() -> tuple[str, ...]:
    """Name the carriers that installed distributions advertise. Imports none of them.

    Returns:
        The advertised names, sorted and without repetition.
    """
    return tuple(dict.fromkeys(entry.name for entry in installed()))


def load_carrier(name: str) -> type[Carrier]:
    """Import the carrier class that is advertised under a name.

    Args:
        name: One of ``carrier_names()``.

    Returns:
        The advertised class.

    Raises:
        LookupError: If no target, or more than one, is advertised under the name.
        TypeError: If the target is not a subclass of ``Carrier``.
        Exception: What importing the target raises.
    """
    advertised = installed()
    targets = sorted({entry.target for entry in advertised if entry.name == name})
    if not targets:
        known = ", ".join(dict.fromkeys(entry.name for entry in advertised)) or "none"
        raise LookupError(
            f"no installed distribution advertises a carrier {name!r}; known: {known}"
        )
    if len(targets) > 1:
        raise LookupError(
            f"carrier {name!r} is advertised for several targets: {', '.join(targets)}; "
            "uninstall all distributions that advertise it but one"
        )
    return load_target(targets[0], f"carrier {name!r} is advertised as {targets[0]}, which")


def load_target(target: str, subject: str) -> type[Carrier]:
    """Import a carrier class by ``module:attribute``.

    Args:
        target: Where the class is.
        subject: What a refusal says before "is no subclass of Carrier".

    Raises:
        TypeError: If the target is malformed, or not a subclass of ``Carrier``.
        Exception: What importing the target raises.
    """
    from importlib.metadata import EntryPoint

    point = EntryPoint(target, target, GROUP)
    if point.pattern.match(target) is None:
        raise TypeError(f"{subject} is not written module:attribute")
    loaded: object = point.load()
    if not (isinstance(loaded, type) and issubclass(loaded, Carrier)):
        raise TypeError(f"{subject} is no subclass of Carrier: {loaded!r}")
    return loaded
