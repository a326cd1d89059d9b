"""What the carriers with a kernel for every built-in operation execute."""

from importlib import import_module

from strideweave.operation.capability import OperationCapability
from strideweave.operation.definition import find_definition
from strideweave.operation.policy import resolvable_plans


def catalogue_capabilities() -> tuple[OperationCapability, ...]:
    """List every plan of the dtype policy whose operation is defined.

    Returns:
        One capability per plan, without repeats.
    """
    import_module("strideweave.functional")  # defines the catalogue
    return tuple(
        OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if find_definition(plan.operation) is not None
    )
