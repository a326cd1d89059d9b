"""Work that a provider has prepared, which the framework submits at most once; and its refusal."""

from collections.abc import Callable
from typing import Self, TypeAlias, final

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


_set_field = object.__setattr__


class _Submission:
    """The one permission to submit a prepared record, taken atomically."""

    __slots__ = ("_permissions",)

    _permissions: list[None]

    def _claim_submission(self) -> None:
        """Take the permission; a second time is a TypeError."""
        try:
            self._permissions.pop()
        except IndexError:
            raise TypeError(
                f"this {type(self).__qualname__} was submitted before; prepare must return a "
                "fresh record for every request"
            ) from None

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@record
@final
class PreparedKernel(_Submission):
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

    def __init__(self, interface: KernelExecutionInterface, submit: SubmitResult) -> None:
        # One is made per execution: no generated __init__ and __post_init__ in between.
        require_interface(interface, "PreparedKernel: interface")
        require_callable(submit, "PreparedKernel: submit")
        _set_field(self, "interface", interface)
        _set_field(self, "submit", submit)
        _set_field(self, "_permissions", [None])


@record
@final
class PreparedComposite(_Submission):
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

    def __post_init__(self) -> None:
        require_callable(self.submit, "PreparedComposite: submit")
        object.__setattr__(self, "_permissions", [None])


@record
@final
class PreparedTransfer(_Submission):
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

    def __post_init__(self) -> None:
        require_callable(self.submit, "PreparedTransfer: submit")
        object.__setattr__(self, "_permissions", [None])
