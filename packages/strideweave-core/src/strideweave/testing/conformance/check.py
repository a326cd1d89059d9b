"""A check: one property of carriers, with an identifier of its own."""

from collections.abc import Callable
from typing import Any, TypeAlias, final

from strideweave._record import record
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter

Run: TypeAlias = Callable[[CarrierAdapter[Any]], None]


@final
@record
class Check:
    """One property that the kit checks.

    Attributes:
        identifier: ``topic.property``, stable within a major version of the kit.
        summary: What holds, in one line.
        run: Raises ConformanceFailure where it does not hold; ``examine`` calls it.
        ability: Whose declaration makes it run; None for a check of every carrier.
        needs_definition: Whether it is about classes with a CarrierDefinition only.
    """

    identifier: str
    summary: str
    run: Run
    ability: Ability | None = None
    needs_definition: bool = False

    def __str__(self) -> str:
        return self.identifier

    def examine(self, subject: CarrierAdapter[Any]) -> None:
        """Check one carrier.

        Args:
            subject: What its author gave.

        Raises:
            ConformanceFailure: The property does not hold, or something the check needs failed.
        """
        __tracebackhide__ = True
        try:
            self.run(subject)
        except ConformanceFailure:
            raise
        except Exception as error:
            raise ConformanceFailure(
                f"{self.identifier} ({self.summary}) cannot be shown for {subject.name}, since it "
                f"raised {error!r}"
            ) from error


class ConformanceFailure(AssertionError):
    """A carrier breaks the contract; the message says how, and what to look at."""


def check(
    identifier: str, *, ability: Ability | None = None, needs_definition: bool = False
) -> Callable[[Run], Check]:
    """Turn a function into a check; its docstring's first line is the summary."""

    def make(run: Run) -> Check:
        summary = (run.__doc__ or "").partition("\n")[0].rstrip(".")
        return Check(identifier, summary, run, ability, needs_definition)

    return make


def require(holds: bool, message: str) -> None:
    """Fail with a message unless something holds."""
    __tracebackhide__ = True
    if not holds:
        raise ConformanceFailure(message)
