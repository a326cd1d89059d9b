"""Notes that tell whose callback raised an exception."""

from contextlib import suppress


def add_provider_note(
    error: BaseException,
    carrier_class: type,
    callback: str,
    operation: str | None = None,
) -> None:
    """Note on an exception which provider callback raised it; the exception stays the same object.

    Args:
        error: What the callback raised.
        carrier_class: The exact carrier class whose provider was called.
        callback: The callback, for example ``StorageProvider.read``.
        operation: The operation that was executing, where one was.
    """
    task = "" if operation is None else f" while executing {operation!r}"
    add_note_once(error, f"raised by {callback} of {carrier_class.__qualname__}{task}")


def add_note_once(error: BaseException, note: str) -> None:
    """Add a note to an exception, unless it has that note or takes none."""
    # An exception may refuse attributes, and a completion raises the same object to every waiter.
    with suppress(Exception):
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
