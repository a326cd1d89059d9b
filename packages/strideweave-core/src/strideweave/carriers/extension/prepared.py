"""Work that a provider has prepared, which the framework submits at most once; and its refusal."""

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias, final

from strideweave._record import record
from strideweave.carriers.extension.interface import KernelExecutionInterface, require_interface
from strideweave.carriers.extension.results import ProviderCompletion, ProviderResult
from strideweave.carriers.extension.validation import require_callable, require_name

SubmitResult: TypeAlias = Callable[[], ProviderResult | ProviderCompletion[ProviderResult]]
SubmitTransfer: TypeAlias = Callable[[], ProviderCompletion[None] | None]


@record
@final
class Unsupported:
    """The answer of a ``prepare`` that cannot serve a request, which is not an error.

    Attributes:
        reason: Why not, a non-empty string; it reaches the user when nothing else serves either.

    Raises:
        TypeError: ``reason`` is not a string.
        ValueError: ``reason`` is empty.

    Examples:
        >>> from strideweave import Unsupported
        >>> Unsupported("rows must be 16-byte aligned").reason
        'rows must be 16-byte aligned'
    """

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", require_name(self.reason, "Unsupported: reason"))


@final
class _Ticket:
    """Permission for one submission, taken atomically."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = [None]

    def take(self, owner: object) -> None:
        try:
            self._left.pop()
        except IndexError:
            raise TypeError(
                f"this {type(owner).__qualname__} was submitted before; prepare must return a "
                "fresh record for every request"
            ) from None


@record
@final
class PreparedKernel:
    """A kernel that is ready to be submitted once for one invocation.

    Attributes:
        interface: The execution interface the kernel was prepared with.
        submit: Starts the work; gives a ProviderResult, or a ProviderCompletion of one.

    Raises:
        TypeError: ``interface`` is no KernelExecutionInterface or ``submit`` is not callable.

    Examples:
        >>> from strideweave.carriers.extension import KernelExecutionInterface, PreparedKernel
        >>> prepared = PreparedKernel(KernelExecutionInterface("1"), lambda: result)
        >>> prepared.interface.version
        '1'
    """

    interface: KernelExecutionInterface
    submit: SubmitResult
    _ticket: _Ticket = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_interface(self.interface, "PreparedKernel: interface")
        require_callable(self.submit, "PreparedKernel: submit")
        object.__setattr__(self, "_ticket", _Ticket())

    def _claim_submission(self) -> None:
        """Take the one permission to call ``submit``; a second time is a TypeError."""
        self._ticket.take(self)


@record
@final
class PreparedComposite:
    """A dependent carrier's execution that is ready to be submitted once for one invocation.

    Attributes:
        submit: Starts the work; gives a ProviderResult, or a ProviderCompletion of one.

    Raises:
        TypeError: ``submit`` is not callable.

    Examples:
        >>> from strideweave.carriers.extension import PreparedComposite
        >>> prepared = PreparedComposite(lambda: result)
    """

    submit: SubmitResult
    _ticket: _Ticket = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_callable(self.submit, "PreparedComposite: submit")
        object.__setattr__(self, "_ticket", _Ticket())

    def _claim_submission(self) -> None:
        """Take the one permission to call ``submit``; a second time is a TypeError."""
        self._ticket.take(self)


@record
@final
class PreparedTransfer:
    """A transfer that is ready to be submitted once.

    Attributes:
        submit: Starts the transfer; gives None when the destination is ready, or a
            ProviderCompletion that ends in None.

    Raises:
        TypeError: ``submit`` is not callable.

    Examples:
        >>> from strideweave.carriers.extension import PreparedTransfer
        >>> prepared = PreparedTransfer(lambda: None)
    """

    submit: SubmitTransfer
    _ticket: _Ticket = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_callable(self.submit, "PreparedTransfer: submit")
        object.__setattr__(self, "_ticket", _Ticket())

    def _claim_submission(self) -> None:
        """Take the one permission to call ``submit``; a second time is a TypeError."""
        self._ticket.take(self)
