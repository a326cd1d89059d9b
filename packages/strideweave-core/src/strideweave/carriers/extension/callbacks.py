"""Calling a provider's callback so that its exceptions tell where they come from."""

from collections.abc import Callable
from typing import Any

from strideweave.carriers.provider_notes import add_provider_note


def call_provider(
    callback: Callable[..., Any],
    arguments: tuple[Any, ...],
    carrier_class: type,
    label: str,
    operation: str | None = None,
) -> Any:
    """Call a provider callback.

    Args:
        callback: What to call.
        arguments: Its positional arguments.
        carrier_class: The exact carrier class whose provider it belongs to.
        label: The callback's name for the note, for example ``CompositeProvider.prepare``.
        operation: The operation that is executing, or None.

    Returns:
        What the callback returned; the caller checks its type.

    An exception of the callback propagates as the same object, with a note that names class,
    callback and operation.
    """
    try:
        return callback(*arguments)
    except Exception as error:
        add_provider_note(error, carrier_class, label, operation)
        raise
