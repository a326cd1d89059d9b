"""Whether forward calls of the current thread record an autograd graph."""

import threading
from contextlib import ContextDecorator
from types import TracebackType


class _GradMode(threading.local):
    enabled: bool = True
    # Calls of public functions are bound but not executed; for explanations.
    intercepts: bool = False


mode = _GradMode()


def is_grad_enabled() -> bool:
    """Tell whether operations called on this thread record a graph.

    Returns:
        True on a thread that never changed it; the state belongs to the thread.

    Examples:
        >>> import strideweave as sw
        >>> sw.is_grad_enabled()
        True
    """
    return mode.enabled


def set_grad_enabled(enabled: bool) -> None:
    """Switch graph recording of this thread on or off.

    Args:
        enabled: Exactly True or False.

    Raises:
        TypeError: ``enabled`` is not a bool.

    Examples:
        >>> import strideweave as sw
        >>> sw.set_grad_enabled(False)
        >>> sw.is_grad_enabled()
        False
        >>> sw.set_grad_enabled(True)
    """
    if type(enabled) is not bool:
        raise TypeError(
            f"set_grad_enabled: enabled must be a bool, got {type(enabled).__qualname__}; "
            "pass True or False"
        )
    mode.enabled = enabled


class no_grad(ContextDecorator):
    """Context manager and decorator under which no operation records a graph.

    Leaving it restores the state found on entry, also when the block raises. It belongs to the
    thread that enters it.

    Examples:
        >>> import strideweave as sw
        >>> with sw.no_grad():
        ...     sw.is_grad_enabled()
        False
        >>> sw.is_grad_enabled()
        True
    """

    def __init__(self) -> None:
        self._found: list[bool] = []

    def _recreate_cm(self) -> "no_grad":
        # A decorated function may run on several threads and recursively.
        return no_grad()

    def __enter__(self) -> None:
        self._found.append(mode.enabled)
        mode.enabled = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        mode.enabled = self._found.pop()
