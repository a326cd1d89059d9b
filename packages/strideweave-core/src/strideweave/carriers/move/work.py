"""The steps of one move between two carriers, and what undoes them."""

from collections.abc import Callable
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.callbacks import call_provider
from strideweave.carriers.extension.prepared import PreparedTransfer
from strideweave.carriers.extension.results import ProviderCompletion, accept_completion
from strideweave.carriers.move import preparation, validation
from strideweave.carriers.move.claims import Claims
from strideweave.carriers.move.operations import MoveOperation
from strideweave.carriers.move.routes import Route
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.tensor.tensor import Tensor, VersionToken, tensor_over

if TYPE_CHECKING:
    from strideweave.profiling.recorder import Interval, Recorder


@final
class MoveWork:
    """One move or copy, from the claims to the commit.

    ``prepare``, ``submit``, ``accept`` and ``complete`` run once, in this order; after a failure of
    the last three, ``withdraw`` ends it. Graph building is off in all of them.

    Args:
        tensor: The Tensor that moves; it and ``destination`` passed the checks before the claims.
        destination: The carrier it moves to.
        route: The permitted way between their exact classes.
        keeps_source: Whether the source stays live, as a copy's does.
    """

    __slots__ = (
        "_claims",
        "_completion",
        "_destination",
        "_destination_version",
        "_is_sized_here",
        "_keeps_source",
        "_operation",
        "_records",
        "_route",
        "_source_token",
        "_tensor",
        "_transfer",
        "is_waiting",
    )

    _claims: Claims
    _destination_version: int
    _operation: MoveOperation
    _source_token: VersionToken

    def __init__(
        self, tensor: Tensor, destination: Carrier, route: Route, keeps_source: bool
    ) -> None:
        self._tensor = tensor
        self._destination = destination
        self._route = route
        self._keeps_source = keeps_source
        self._records = grad_mode.enabled and tensor.is_differentiable()
        self._is_sized_here = False
        self._transfer: PreparedTransfer | None = None
        self._completion: ProviderCompletion[Any] | None = None
        self.is_waiting = False

    @property
    def is_borrowed(self) -> bool:
        """Whether a composite's claims serve, so that only the calling thread may act."""
        return self._claims.is_borrowed

    @property
    def is_copied(self) -> bool:
        """Whether the operation copies the values, instead of a provider's transfer."""
        return self._transfer is None

    def prepare(self) -> None:
        """Claim both carriers and do what precedes the submission (rows 13 to 17).

        Raises:
            Exception: What the contract's table says; then both carriers are as they were.
        """
        self._claims = _claimed(self._tensor, self._destination)
        try:
            self._prepare_claimed()
        except BaseException as error:
            if self._is_sized_here:
                with self._claims:
                    preparation.restore_empty(self._destination, error)
            self._claims.relinquish()
            raise

    def _prepare_claimed(self) -> None:
        tensor, destination, route = self._tensor, self._destination, self._route
        self._source_token = tensor._version_token()
        self._destination_version = destination.version
        needs_slots = validation.check_extent(tensor, destination)
        reverse = route.reversed() if self._records else None
        if reverse is not None:
            validation.check_reverse(reverse)
        if route.transfer is not None:
            self._transfer = preparation.prepare_transfer(tensor, destination, route)
            if self._transfer is None:
                route = route.fallback()
        assert route.operation_class is not None  # the route is permitted
        self._operation = route.operation_class()
        if reverse is not None:
            self._operation._record(tensor, destination, reverse)
        if needs_slots:
            self._is_sized_here = True
            with self._claims:
                preparation.size_destination(destination, tensor._layout.cosize)

    def interval(self, recorder: "Recorder") -> "Interval":
        """Make the interval in which a profile times ``submit``."""
        tensor = self._tensor
        return recorder.submission(
            "copy" if self._keeps_source else "move",
            type(tensor._carrier),
            type(self._operation),
            tensor._layout.shape,
        )

    def submit(self) -> object:
        """Start a provider's transfer; a copy has nothing to start.

        Returns:
            What the provider gave, for ``accept``.

        What it raises propagates.
        """
        if self._transfer is None:
            return None
        with self._claims:
            return self._call(self._transfer.submit, "PreparedTransfer.submit")

    def accept(self, submitted: object) -> None:
        """Take what ``submit`` gave.

        Args:
            submitted: None, or the completion to wait for.

        Raises:
            TypeError: It is neither.

        What its ``done`` raises propagates.
        """
        if submitted is not None:
            source = f"submit of the route {self._route_id} of the pair {self._route.pair}"
            self._completion = accept_completion(submitted, source=source, immediate="None")
            self.is_waiting = not self._completion.done

    def complete(self) -> Tensor:
        """Wait for the transfer, or copy; then commit.

        Returns:
            The Tensor over the destination, which nobody has seen before.
        """
        # The traceback of a failure keeps these frames alive: only self names the carriers here.
        if self._completion is not None:
            self._await_completion()
        with self._claims:
            output = self._filled_output()
            self._count_step()
            self._check_unchanged()
            if self._records:
                output._autograd_ctx = self._operation
            if not self._keeps_source:
                self._tensor._carrier.release()
        self._claims.relinquish()
        return output

    def withdraw(self, error: BaseException) -> BaseException:
        """Give both carriers back after a failed submission or completion.

        Args:
            error: What failed.

        Returns:
            The failure to record: ``error``, or that the carriers could not be given back.
        """
        try:
            try:
                with self._claims:
                    if error is not self._operation._storage_failure:
                        self._count_step()
                    # Once the source is gone, the destination holds the only values.
                    if self._is_sized_here and not self._tensor._carrier.is_released():
                        preparation.restore_empty(self._destination, error)
            finally:
                self._claims.relinquish()
        except Exception as failure:
            failure.add_note(f"this followed another failure of the move: {error!r}")
            error = failure
        # Whoever keeps the failure must not keep the carriers, which this object and the frames of
        # the traceback know.
        clear_frames(error.__traceback__)
        del self._claims, self._completion, self._destination, self._operation
        del self._source_token, self._tensor, self._transfer
        return error

    def _await_completion(self) -> None:
        completion = self._completion
        assert completion is not None
        result = self._call(completion.wait, "ProviderCompletion.wait")
        source = f"the completion of the route {self._route_id} of the pair {self._route.pair}"
        if result is not None:
            raise TypeError(f"{source} must end in None, got {type(result).__qualname__}")
        if completion.done is not True:
            raise TypeError(f"{source}: done must be True after wait() returned")

    def _filled_output(self) -> Tensor:
        """Give the result, into which the operation copies unless a provider transferred."""
        tensor, operation = self._tensor, self._operation
        output = tensor_over(self._destination, 0, tensor._layout, tensor._dtype)
        if not self.is_copied:
            return output
        copy: Callable[..., object] = operation._copy
        answer = copy(tensor, self._destination, output, tensor._layout.cosize)
        if answer is not None:
            raise TypeError(
                f"{type(operation).__qualname__}._copy must return None, got {answer!r} "
                f"({type(answer).__qualname__})"
            )
        return output

    def _count_step(self) -> None:
        """Advance the destination's version once for new values in slots that it already had."""
        destination = self._destination
        if not self._is_sized_here and destination.version == self._destination_version:
            destination._increment_version()

    def _check_unchanged(self) -> None:
        """Check that what was claimed is still what the move began with."""
        tensor, destination = self._tensor, self._destination
        for role, carrier in (("source", tensor._carrier), ("destination", destination)):
            if carrier.is_released():
                raise RuntimeError(f"the {role} of {self._route.pair} was released by the transfer")
            if carrier.dtype() is not tensor._dtype:
                raise TypeError(f"the {role} of {self._route.pair} has another dtype than before")
        if tensor._version_token() != self._source_token:
            raise RuntimeError(
                f"the source of {self._route.pair} was written to while it moved; a transfer only "
                "reads its source"
            )
        needed = tensor._layout.cosize
        for role, carrier, end in (
            ("source", tensor._carrier, tensor._offset + needed),
            ("destination", destination, needed),
        ):
            if carrier.size() < end:
                raise ValueError(
                    f"the {role} of {self._route.pair} has {carrier.size()} slots after the "
                    f"transfer, and the Tensor needs {end}"
                )

    def _call(self, callback: Any, name: str) -> object:
        label = f"{name} of the route {self._route_id}"
        return call_provider(callback, (), self._route.source_class, label, "move")

    @property
    def _route_id(self) -> str:
        transfer = self._route.transfer
        return "" if transfer is None else repr(transfer.route_id)


def _claimed(tensor: Tensor, destination: Carrier) -> Claims:
    try:
        return Claims(tensor._carrier, destination)
    except RuntimeError:
        # Another thread was faster: refuse in the words of the check that now fails.
        validation.check_carriers(tensor, destination)
        raise
