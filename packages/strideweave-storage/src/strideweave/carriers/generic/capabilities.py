"""What the carriers with a kernel for every built-in operation execute."""

from strideweave.operation.capability import OperationCapability
from strideweave.operation.policy import resolvable_plans


def catalogue_capabilities() -> tuple[OperationCapability, ...]:
    """List every plan of the dtype policy.

    Returns:
        One capability per plan, without repeats.
    """
    return tuple(map(OperationCapability.from_plan, resolvable_plans()))
