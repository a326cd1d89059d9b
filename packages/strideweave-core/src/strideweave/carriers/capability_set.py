"""An immutable, ordered set of capabilities, as a sealed class or a finalized instance holds it."""

from collections.abc import Iterable
from typing import Final, final

from strideweave.operation.capability import OperationCapability, capability_order
from strideweave.operation.policy import OperationPlan

_MOST_MATCHES: Final = 1024


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
        # Hits by the identity of the plan, which the entry keeps alive.
        self._matches: Final[dict[int, tuple[OperationPlan, OperationCapability]]] = {}

    def of(self, operation: str | None) -> tuple[OperationCapability, ...]:
        """Give all members, or those of one operation."""
        if operation is None:
            return self.entries
        return self._by_operation.get(operation, ())

    def match(self, plan: OperationPlan) -> OperationCapability | None:
        """Find the member that agrees with a plan in every field."""
        known = self._matches.get(id(plan))
        if known is not None:
            return known[1]
        for entry in self._by_operation.get(plan.operation, ()):
            if entry.matches(plan):
                if len(self._matches) >= _MOST_MATCHES:
                    self._matches.clear()
                self._matches[id(plan)] = plan, entry
                return entry
        return None


NO_CAPABILITIES: Final = CapabilitySet()
