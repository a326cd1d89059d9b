"""What submitted work gives back: a result, or a completion that will give one."""

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, final

from typing_extensions import Protocol, TypeVar, runtime_checkable

from strideweave._late import LateModule
from strideweave._record import record
from strideweave.carriers.extension.validation import require_entries
from strideweave.carriers.provider_notes import add_note_once

if TYPE_CHECKING:
    import strideweave.tensor.tensor as tensor_module
    from strideweave.tensor.tensor import Tensor
else:
    tensor_module = LateModule("strideweave.tensor.tensor")  # Tensor imports carriers

T_co = TypeVar("T_co", covariant=True)

_COROUTINE_MEMBERS = ("__await__", "__aiter__", "__anext__")
_MISSING = object()


@runtime_checkable
class ProviderCompletion(Protocol[T_co]):
    """Work that a provider has submitted and that ends in one terminal outcome.

    An author's own class satisfies it by structure. It is thread-safe and idempotent: every
    ``wait``, repeated or concurrent, gives the same object or raises the same exception, and
    ``done`` turns true exactly at that outcome. It has no coroutine protocol.

    Attributes:
        done: Whether the outcome is there; exactly a ``bool``.

    Examples:
        >>> from strideweave.carriers.extension import ProviderCompletion
        >>> class Finished:
        ...     done = True
        ...     def wait(self):
        ...         return None
        >>> isinstance(Finished(), ProviderCompletion)
        True
    """

    @property
    def done(self) -> bool: ...

    def wait(self) -> T_co:
        """Block until the outcome is there, and give it.

        Returns:
            The terminal value.
        """
        ...


_set_field = object.__setattr__


@record
@final
class ProviderResult:
    """The Tensors that one execution produced, in result order.

    Attributes:
        outputs: At least one Tensor.

    Raises:
        TypeError: The argument is not iterable, or an entry is not a Tensor.
        ValueError: There is no entry.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor
        >>> from strideweave.carriers.extension import ProviderResult
        >>> from strideweave.testing import ArrayCarrier
        >>> tensor = Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, Layout(Shape(2), Stride(1)))
        >>> ProviderResult([tensor]).outputs[0] is tensor
        True
    """

    outputs: "tuple[Tensor, ...]"

    def __init__(self, outputs: "Iterable[Tensor]") -> None:
        tensor_class = tensor_module.Tensor
        if type(outputs) is tuple and len(outputs) == 1 and type(outputs[0]) is tensor_class:
            _set_field(self, "outputs", outputs)  # what almost every kernel gives
            return
        entries = require_entries(outputs, tensor_class, "ProviderResult: outputs")
        if not entries:
            raise ValueError("ProviderResult: outputs must hold at least one Tensor, got none")
        _set_field(self, "outputs", entries)


def accept_completion(value: object, *, source: str, immediate: str) -> ProviderCompletion[Any]:
    """Check that what a submission returned meets the completion contract.

    The structure alone does not tell a ``done`` that is a method, or a coroutine, from a
    completion, so every member is examined. ``done`` is read once; ``wait`` is not called.

    Args:
        value: What ``submit`` returned, other than an immediate result.
        source: What returned it, for messages.
        immediate: What ``submit`` may return instead, for messages.

    Returns:
        The same object.

    Raises:
        TypeError: It is no completion; the message says what it lacks or has too much.
    """
    kind = f"an instance of {type(value).__qualname__}"
    missing = [name for name in ("done", "wait") if _static(value, name) is _MISSING]
    if missing:
        raise TypeError(
            f"{source} returned {kind}, which is neither {immediate} nor a "
            f"ProviderCompletion: it has no {' and no '.join(missing)}"
        )
    for name in _COROUTINE_MEMBERS:
        if _static(value, name) is not _MISSING:
            raise TypeError(
                f"{source} returned {kind} with {name}; a ProviderCompletion is waited for with "
                "wait() and has no coroutine protocol"
            )
    if _static(value, "send") is not _MISSING and _static(value, "throw") is not _MISSING:
        raise TypeError(
            f"{source} returned {kind} with send and throw; a ProviderCompletion is waited for "
            "with wait() and has no coroutine protocol"
        )
    completion: Any = value
    if not callable(completion.wait):
        raise TypeError(f"{source} returned {kind} whose wait is not callable")
    try:
        done: object = completion.done
    except Exception as error:
        add_note_once(error, f"raised by done of the completion that {source} returned")
        raise
    if type(done) is not bool:
        raise TypeError(
            f"{source} returned {kind} whose done is {done!r} ({type(done).__qualname__}); it "
            "must be a property that gives a bool"
        )
    accepted: ProviderCompletion[Any] = completion
    return accepted


def _static(value: object, name: str) -> object:
    return inspect.getattr_static(value, name, _MISSING)
