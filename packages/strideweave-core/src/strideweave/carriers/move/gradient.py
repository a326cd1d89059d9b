"""The gradient of a move: another move, over the way back."""

from strideweave.autograd.buffers import gradient_layout, placed_copy
from strideweave.carriers.base import Carrier
from strideweave.carriers.move import request
from strideweave.carriers.move.routes import Route
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.tensor import Tensor


def moved_back(gradient: object, source: Tensor, destination: Carrier, reverse: Route) -> Tensor:
    """Bring a cotangent of the moved Tensor to the source's class.

    Args:
        gradient: The cotangent, on any carrier; it stays as it is.
        source: The Tensor that moved; its carrier may be released.
        destination: The carrier it moved to, live or released.
        reverse: The way back that was captured when the move began.

    Returns:
        A leaf over fresh storage of the source's exact class.

    Raises:
        TypeError: ``gradient`` is no Tensor.
        ValueError: Its shape differs, or its layout is not injective.
        RuntimeError: Its values are gone or away.
    """
    checked = _checked(gradient, source)
    layout = gradient_layout(source._layout)
    with no_grad():
        staging = placed_copy(checked, destination, layout)
        carriers = [staging._carrier]
        try:
            target = source._carrier.allocate_like(layout.cosize)
            carriers.append(target)
            return request.start(staging, target, is_blocking=True, route=reverse).wait()
        except BaseException as error:
            for carrier in carriers:
                _abandon(carrier, error)
            raise


def _checked(gradient: object, source: Tensor) -> Tensor:
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"the gradient of a move must be a Tensor, got {type(gradient).__qualname__}"
        )
    if gradient._layout.shape != source._layout.shape:
        raise ValueError(
            f"the gradient of a move needs the shape {source._layout.shape} of the moved Tensor, "
            f"got {gradient._layout.shape}"
        )
    if not gradient._layout.is_injective:
        raise ValueError(
            f"the gradient of a move needs an injective layout, got {gradient._layout}; copy it "
            "into storage of its own"
        )
    gradient._carrier._require_executable("move backward")
    return gradient


def _abandon(carrier: Carrier, error: BaseException) -> None:
    try:
        carrier.release()
    except Exception as failure:
        error.add_note(
            f"releasing the unused {type(carrier).__qualname__} of the gradient failed too: "
            f"{failure!r}"
        )
