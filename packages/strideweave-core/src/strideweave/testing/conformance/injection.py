"""Putting a fault in the place of one callback, for the time of a check."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import class_record
from strideweave.carriers.extension import (
    PreparedKernel,
    PreparedTransfer,
    ProviderCompletion,
    ProviderResult,
)
from strideweave.carriers.move.operations import ElementwiseMoveOperation
from strideweave.carriers.move.routes import select_route

# The framework's table of calls keeps these of a class's callbacks; the others it takes from the
# provider.
_TABULATED: Final = {
    "supports_dtype": "_supports_dtype",
    "physical_size": "physical_size",
    "allocate": "_allocate",
    "read": "_read",
    "write": "_write",
}


@final
class InjectedFault(OSError):
    """What an injected fault raises."""


@contextmanager
def replaced(owner: object, attribute: str, value: object) -> Iterator[None]:
    """Replace an attribute of a class, a frozen record or the framework's table of calls."""
    assign: Callable[..., None] = (
        type.__setattr__ if isinstance(owner, type) else object.__setattr__
    )
    before = owner.__dict__[attribute] if isinstance(owner, type) else getattr(owner, attribute)
    assign(owner, attribute, value)
    try:
        yield
    finally:
        assign(owner, attribute, before)


def storage_callback(carrier_class: type[Carrier], name: str) -> Callable[..., object] | None:
    """Give a storage callback of a definition-backed class; None where it is not offered."""
    definition = class_record(carrier_class).definition
    assert definition is not None
    callback: Callable[..., object] | None = getattr(definition.storage, name)
    return callback


@contextmanager
def raising_storage(
    carrier_class: type[Carrier], name: str, error: BaseException
) -> Iterator[list[Carrier]]:
    """Let a storage callback raise instead of run.

    Yields:
        The carriers that it was called with, filled as it is called.
    """
    storage = class_record(carrier_class).storage
    assert storage is not None
    called: list[Carrier] = []

    def fail(carrier: Carrier, *arguments: object) -> None:
        called.append(carrier)
        raise error

    owner: object = storage if name in _TABULATED else storage.provider
    with replaced(owner, _TABULATED.get(name, name), fail):
        yield called


@contextmanager
def raising_kernels(
    carrier_class: type[Carrier], error: BaseException, *, prepares: bool
) -> Iterator[None]:
    """Let every kernel of a definition-backed class raise.

    Args:
        carrier_class: The exact class.
        error: What is raised.
        prepares: Whether ``prepare`` raises at once; otherwise ``submit`` does, after its work.
    """
    with ExitStack() as replacements:
        for candidate in class_record(carrier_class).patterns:
            pattern = candidate.pattern
            prepare = _failing_prepare(pattern.prepare, error, prepares)
            replacements.enter_context(replaced(pattern, "prepare", prepare))
        yield


def _failing_prepare(
    prepare: Callable[..., object], error: BaseException, prepares: bool
) -> Callable[..., object]:
    def fail(*arguments: object) -> object:
        if prepares:
            raise error
        prepared = prepare(*arguments)
        if not isinstance(prepared, PreparedKernel):
            return prepared
        return PreparedKernel(prepared.interface, partial(_submit_failing, prepared.submit, error))

    return fail


@contextmanager
def failing_transfers(
    source_class: type[Carrier], destination_class: type[Carrier], error: BaseException
) -> Iterator[None]:
    """Let every move between two exact classes run to its end, and fail then."""
    route = select_route(source_class, destination_class)
    with ExitStack() as replacements:
        for operation in dict.fromkeys((ElementwiseMoveOperation, route.operation_class)):
            if operation is not None and "_copy" in vars(operation):
                copy = _failing_copy(vars(operation)["_copy"], error)
                replacements.enter_context(replaced(operation, "_copy", copy))
        if route.transfer is not None:
            provider = route.transfer.provider
            prepare = partial(_prepare_failing, provider.prepare, error)
            replacements.enter_context(replaced(provider, "prepare", prepare))
        yield


def _failing_copy(copy: Callable[..., object], error: BaseException) -> Callable[..., None]:
    def fail(*arguments: object) -> None:  # a function, so that the class makes it a method
        copy(*arguments)
        raise error

    return fail


def _prepare_failing(
    prepare: Callable[..., object], error: BaseException, request: object
) -> object:
    prepared = prepare(request)
    if not isinstance(prepared, PreparedTransfer):
        return prepared
    return PreparedTransfer(partial(_submit_failing, prepared.submit, error))


def _submit_failing(submit: Callable[[], Any], error: BaseException) -> Any:
    submitted = submit()
    if submitted is None or isinstance(submitted, ProviderResult):
        raise error
    return _FailingCompletion(submitted, error)


@final
class _FailingCompletion:
    """Ends when another completion does, and fails then."""

    def __init__(self, inner: ProviderCompletion[Any], error: BaseException) -> None:
        self._inner, self._error = inner, error

    @property
    def done(self) -> bool:
        return self._inner.done

    def wait(self) -> None:
        self._inner.wait()
        raise self._error
