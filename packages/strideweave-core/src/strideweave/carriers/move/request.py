"""Requests: one move or copy from the call to its recorded outcome, on whichever thread ends it."""

from typing import TYPE_CHECKING, final

from strideweave.carriers.move import validation
from strideweave.carriers.move.handles import AwaitMove, new_handle
from strideweave.carriers.move.pool import completion_pool, start_daemon
from strideweave.carriers.move.routes import Route, select_route
from strideweave.carriers.move.work import MoveWork
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.recording import recording
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.profiling.recorder import Completion


def start(
    tensor: object,
    destination: object,
    *,
    keeps_source: bool = False,
    is_blocking: bool = False,
    route: Route | None = None,
) -> AwaitMove[Tensor]:
    """Validate and submit one move or copy.

    Args:
        tensor: The Tensor.
        destination: The carrier that takes its values.
        keeps_source: Whether to copy.
        is_blocking: Whether the caller waits at once, so that its thread may copy.
        route: A way captured earlier; by default the one that holds now.

    Returns:
        The handle, whose outcome may be there already.

    Raises:
        Exception: What the contract's table says, before the submission and without any effect.
    """
    tensor = validation.check_tensor(tensor)
    destination = validation.check_carriers(tensor, destination)
    if route is None:
        route = select_route(type(tensor._carrier), type(destination))
    validation.check_route(route)
    request = MoveRequest(MoveWork(tensor, destination, route, keeps_source))
    handle = request.handle
    with no_grad():
        request.begin(is_blocking)
    return handle


@final
class MoveRequest:
    """Work and its handle. Whoever runs the request keeps it alive, and it keeps all it needs.

    Both are dropped before the outcome shows, so whoever waited may release or close what took
    part; and dropping the handle changes nothing.
    """

    __slots__ = ("_profiled", "_work", "handle")

    def __init__(self, work: MoveWork) -> None:
        self._work = work
        self._profiled: Completion | None = None
        self.handle: AwaitMove[Tensor] = new_handle(AwaitMove)

    def begin(self, is_blocking: bool) -> None:
        """Prepare and submit; then finish here, or leave that to another thread."""
        pool = completion_pool()
        pool.admit(self)
        try:
            self._work.prepare()
        except BaseException:
            pool.dismiss(self)
            raise
        error = self._submit()
        if error is None:
            if self._continues_elsewhere(is_blocking):
                return
            error = self._complete()
        self._conclude(error)
        if error is not None and not isinstance(error, Exception):
            raise error  # an interrupt of this thread, which the handle must not swallow

    def finish(self) -> None:
        """Run the request to its end on a thread of the pool."""
        with no_grad():
            self._conclude(self._complete())

    def _continues_elsewhere(self, is_blocking: bool) -> bool:
        if self._work.is_borrowed:
            return False
        if self._work.is_waiting:
            return start_daemon(self.finish, "strideweave-completion")
        if self._work.is_copied and not is_blocking:
            completion_pool().run(self.finish)
            return True
        return False

    def _submit(self) -> BaseException | None:
        try:
            self._work.accept(self._submitted())
        except BaseException as error:
            return self._work.withdraw(error)
        return None

    def _submitted(self) -> object:
        """Submit, inside the first event of a profile and before the second one."""
        recorder = recording.movements
        if recorder is None:
            return self._work.submit()
        interval = self._work.interval(recorder)
        try:
            with interval:
                submitted = self._work.submit()
                interval.close()
        finally:
            self._profiled = recorder.completion(interval)
        return submitted

    def _complete(self) -> BaseException | None:
        try:
            self.handle._hold(self._work.complete())
        except BaseException as error:
            return self._work.withdraw(error)
        return None

    def _conclude(self, error: BaseException | None) -> None:
        handle = self.handle
        if error is not None:
            handle._fail(error)
        if self._profiled is not None:
            self._profiled.close(error is None)
        # The frames in an error's traceback hold this request: it must not hold the handle.
        del self._work, self._profiled, self.handle
        handle._publish()
        completion_pool().dismiss(self)
