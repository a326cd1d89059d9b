"""Generic's kernels: the pure-Python references themselves."""

from strideweave.operation.definition import find_definition
from strideweave.operation.dispatch import bind_kernel, bind_view
from strideweave.operation.operation import VIEW_OPERATION_NAMES, Operation


def reference_operation(carrier: str, operation_name: str) -> Operation:
    """Bind an operation to its reference.

    Args:
        carrier: Name of the carrier class, for messages.
        operation_name: Name of a definition or of a view.

    Returns:
        A fresh operation.

    Raises:
        NotImplementedError: No operation with a reference has that name.
    """
    if operation_name in VIEW_OPERATION_NAMES:
        return bind_view(operation_name)
    definition = find_definition(operation_name)
    if definition is None or definition.reference is None:
        raise NotImplementedError(
            f"{carrier} does not execute {operation_name!r}: no operation with a reference has "
            "that name; operation_definitions() lists what is defined"
        )
    return bind_kernel(operation_name, definition.reference)
