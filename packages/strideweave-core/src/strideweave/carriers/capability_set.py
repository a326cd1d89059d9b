"""An immutable, ordered set of capabilities, as a sealed class or a finalized instance holds it."""

from collections.abc import Iterable
from typing import Final, final

from strideweave.operation.capability import OperationCapability, capability_order
from strideweave.operation.policy import OperationPlan


@final
class CapabilitySet:
    """Capabilities in deterministic order, and the exact match of a plan among them.

    Args:
        capabilities: The members; repeated ones count once.
    """

    __slots__ = ("_by_operation", "_matches", "entries")

    def __init__(self, capabilities: Iterable[OperationCapability] = ()) -> None:
        self.entries: Final = tuple(sorted(dict.fromkeys(capabilities), key=capability_order))
        by_operation: dict[str, list[OperationCapability]] = {}
        for entry in self.entries:
            by_operation.setdefault(entry.operation, []).append(entry)
        self._by_operation: Final = {name: tuple(found) for name, found in by_operation.items()}
        # Holds hits only, so it grows no larger than the set.
        self._matches: Final[dict[OperationPlan, OperationCapability]] = {}

    def of(self, operation: str | None) -> tuple[OperationCapability, ...]:
        """Give all members, or those of one operation."""
        if operation is None:
            return self.entries
        return self._by_operation.get(operation, ())

    def match(self, plan: OperationPlan) -> OperationCapability | None:
        """Find the member that agrees with a plan in every field."""
        found = self._matches.get(plan)
        if found is None:
            for entry in self._by_operation.get(plan.operation, ()):
                if entry.matches(plan):
                    found = self._matches[plan] = entry
                    break
        return found


NO_CAPABILITIES: Final = CapabilitySet()
