"""Advertised carriers, imported one by one so that a broken one hides no other."""

from typing import final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.dependent import DependentCarrier
from strideweave.carriers.discovery import (
    InstalledCarrier,
    installed,
    load_carrier,
    load_target,
)
from strideweave.cli.command import CommandError


@final
@record
class Candidate:
    """An advertised carrier and what importing it gave.

    Attributes:
        entry: What is advertised.
        carrier_class: The class, or None.
        failure: Why there is no class, or None.
    """

    entry: InstalledCarrier
    carrier_class: type[Carrier] | None
    failure: str | None

    @property
    def origin(self) -> str:
        """Distribution and version."""
        return f"{self.entry.distribution} {self.entry.version}"


def candidates() -> tuple[Candidate, ...]:
    """Import every advertised carrier, in the order of ``installed``."""
    return tuple(_tried(entry) for entry in installed())


def _tried(entry: InstalledCarrier) -> Candidate:
    try:
        return Candidate(entry, load_carrier(entry.name), None)
    except (Exception, SystemExit) as error:  # whatever the import of somebody's module raises
        return Candidate(entry, None, one_line(error))


def one_line(error: BaseException) -> str:
    """Write an exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def importable() -> dict[str, type[Carrier]]:
    """Give the advertised carriers that can be imported, by name and in order."""
    return {
        found.entry.name: found.carrier_class
        for found in candidates()
        if found.carrier_class is not None
    }


def carrier_class_of(word: str) -> type[Carrier]:
    """Give the carrier class that the user named.

    Args:
        word: An advertised name, or ``module:class``.

    Raises:
        CommandError: There is none, or it cannot be imported.
    """
    try:
        return load_target(word, word) if ":" in word else load_carrier(word)
    except LookupError as error:
        raise CommandError(
            f"{error.args[0]}; 'strideweave carriers' lists them, and a class that nobody "
            "advertises is written module:class"
        ) from error
    except (Exception, SystemExit) as error:  # whatever the import of somebody's module raises
        raise CommandError(f"cannot import the carrier {word!r}: {one_line(error)}") from error


def is_dependent(carrier_class: type[Carrier]) -> bool:
    """Tell whether the instances of a class execute through other carriers."""
    return issubclass(carrier_class, DependentCarrier)
