"""From an operation name to the operation that one carrier executes."""

from typing import TYPE_CHECKING, NoReturn

import strideweave.operation.definition as definitions
import strideweave.operation.pipeline as pipeline
import strideweave.tensor.view_operation as view_operations
from strideweave.carriers.class_record import ClassRecord
from strideweave.operation.capability import UnsupportedOperationPlan
from strideweave.operation.operation import VIEW_OPERATION_NAMES, Operation

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.operation.definition import OperationDefinition
    from strideweave.operation.execution import Kernel


def dispatch(carrier: "Carrier", operation_name: str) -> Operation:
    """Give a fresh operation of that name for the carrier.

    Args:
        carrier: The carrier that executes it.
        operation_name: Name of a definition or of a view.

    Raises:
        TypeError: The name is no str, or the carrier's hook returned something else than a fresh
            operation of that name.
        NotImplementedError: The carrier does not know the name.
        RuntimeError: A definition-backed carrier is released.
    """
    if not isinstance(operation_name, str):
        raise TypeError(
            f"dispatch_op: operation_name must be a str, got {type(operation_name).__qualname__}"
        )
    record = carrier._class_record
    if record.definition is None:
        operation = carrier._dispatch_op(operation_name)
    else:
        operation = _defined(carrier, record, operation_name)
    return _marked(operation, carrier, operation_name)


def operation_for(carrier: "Carrier", definition: "OperationDefinition") -> Operation:
    """Give the operation a call runs; the pipeline reports what a dispatch would refuse."""
    name = definition.name
    if carrier._class_record.definition is not None:
        operation: Operation = pipeline.BoundOperation(definition, None)
    else:
        operation = carrier._dispatch_op(name)
        if (
            type(operation) is not pipeline.BoundOperation
            or operation._operation_name is not None
            or operation._definition is not definition
        ):
            return _marked(operation, carrier, name)
    operation._operation_name = name
    operation._dispatch_carrier_class = type(carrier)
    operation._dispatch_carrier = carrier
    return operation


def _marked(operation: Operation, carrier: "Carrier", name: str) -> Operation:
    if not isinstance(operation, Operation):
        raise TypeError(
            f"{type(carrier).__qualname__}._dispatch_op({name!r}) must return an Operation, "
            f"got {type(operation).__qualname__}"
        )
    if operation._operation_name is not None:
        raise TypeError(
            f"{type(carrier).__qualname__}._dispatch_op({name!r}) returned an operation that was "
            f"dispatched before as {operation._operation_name!r}; make a new one per call"
        )
    made_for = _made_for(operation)
    if made_for is not None and made_for != name:
        raise TypeError(
            f"{type(carrier).__qualname__}._dispatch_op({name!r}) returned an operation made for "
            f"{made_for!r}; pass on the name that the hook was given"
        )
    operation._operation_name = name
    operation._dispatch_carrier_class = type(carrier)
    operation._dispatch_carrier = carrier
    return operation


def _made_for(operation: Operation) -> str | None:
    """Name what a framework-built operation executes; None for a carrier's own one."""
    if isinstance(operation, pipeline.BoundOperation):
        return operation._definition.name
    if isinstance(operation, view_operations.ViewOperation):
        return operation._view_name
    return None


def _defined(carrier: "Carrier", record: ClassRecord, name: str) -> Operation:
    provider = record.definition
    assert provider is not None
    owner = type(carrier).__qualname__
    if carrier._released:
        raise RuntimeError(f"{owner} is released; {name!r} cannot be dispatched on it")
    if provider.kernels is None and provider.composite is None:
        raise UnsupportedOperationPlan(
            f"{owner} is storage-only: its definition has no kernel provider, so it executes no "
            f"{name!r}; move the values to a carrier that computes"
        )
    if name in VIEW_OPERATION_NAMES:
        if provider.composite is not None:
            raise UnsupportedOperationPlan(
                f"{owner} is a dependent carrier and dispatches no view, so no {name!r}"
            )
        return view_operations.view_operation(name)
    definition = definitions.find_definition(name)
    if definition is None:
        _refuse_unknown(owner, name)
    return pipeline.BoundOperation(definition, None)


def _refuse_unknown(owner: str, name: str) -> NoReturn:
    raise NotImplementedError(
        f"{owner} has no operation {name!r}; operation_definitions() lists all that are defined"
    )


def bind_kernel(name: str, kernel: "Kernel") -> Operation:
    """Make the operation that a definition-free carrier's dispatch hook returns.

    Args:
        name: Name of a registered definition.
        kernel: Executes a resolved invocation: gives the result Tensor, or a tuple of them, fresh
            and of the specified dtype and layout.

    Returns:
        A fresh operation that runs the whole pipeline around the kernel.

    Raises:
        TypeError: ``name`` is not a str or ``kernel`` is not callable.
        NotImplementedError: No definition has that name.

    Examples:
        >>> from strideweave.operation import bind_kernel, operation_definition
        >>> operation = bind_kernel("exp", operation_definition("exp").reference)
    """
    definition = definitions.find_definition(name)
    if definition is None:
        if not isinstance(name, str):
            raise TypeError(f"bind_kernel: name must be a str, got {type(name).__qualname__}")
        _refuse_unknown("bind_kernel", name)
    if not callable(kernel):
        raise TypeError(
            f"bind_kernel {name!r}: kernel must be callable, got {type(kernel).__qualname__}"
        )
    return pipeline.BoundOperation(definition, kernel)


def bind_view(name: str) -> Operation:
    """Make the operation for one of the eight views, for a definition-free dispatch hook.

    Args:
        name: One of ``as_strided``, ``broadcast_to``, ``permute``, ``rearrange``, ``reshape``,
            ``squeeze``, ``unsqueeze`` and ``view``.

    Returns:
        A fresh operation that copies nothing.

    Raises:
        TypeError: ``name`` is not a str.
        NotImplementedError: ``name`` is no view.

    Examples:
        >>> from strideweave.operation import bind_view
        >>> operation = bind_view("permute")
    """
    if not isinstance(name, str):
        raise TypeError(f"bind_view: name must be a str, got {type(name).__qualname__}")
    if name not in VIEW_OPERATION_NAMES:
        listed = ", ".join(sorted(VIEW_OPERATION_NAMES))
        raise NotImplementedError(f"bind_view: {name!r} is no view; the views are {listed}")
    return view_operations.view_operation(name)
