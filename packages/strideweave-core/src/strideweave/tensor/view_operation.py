"""The operations behind the views: one class for all of them, described by a table."""

from collections.abc import Callable
from typing import Any, Final, final

from strideweave._record import record
from strideweave.layout import Layout, Shape, Stride, Tree
from strideweave.operation.operation import Operation
from strideweave.tensor import view_layouts
from strideweave.tensor.tensor import Tensor, check_bounds, tensor_over
from strideweave.tensor.view_gradients import source_gradient


@final
@record
class ViewRule:
    """What distinguishes one view from the others.

    Attributes:
        view: Gives start and layout of the view of a layout, see ``view_layouts``.
        check: Refuses arguments before the layout is looked at.
        accepts: Refuses a cotangent, given the view's layout, when ``backward`` is called directly.
    """

    view: view_layouts.LayoutView
    check: Callable[..., None]
    accepts: Callable[[Tensor, Layout], None]


@final
class ViewOperation(Operation):
    """A zero-copy view of one Tensor."""

    def __init__(self, rule: ViewRule) -> None:
        self._rule = rule

    def _forward(self, *inputs: Any) -> Tensor:
        tensor, arguments = inputs[0], inputs[1:]
        require_tensor(tensor)
        self._rule.check(tensor, *arguments)
        start, layout = self._rule.view(tensor._layout, *arguments)
        carrier, offset = tensor._carrier, tensor._offset + start
        check_bounds(carrier, offset, layout)
        if self.inputs():
            self.ctx["arguments"] = arguments
            self.ctx["layout"] = layout
        return tensor_over(carrier, offset, layout, tensor._dtype)

    def backward(self, gradient: Any) -> tuple[Tensor]:
        self.validate_not_freed()
        if not self.inputs():
            raise RuntimeError(
                f"{self._operation_name}: nothing was recorded, so nothing flows back"
            )
        if not isinstance(gradient, Tensor):
            raise TypeError(f"gradient must be a Tensor, got {type(gradient).__qualname__}")
        self._rule.accepts(gradient, self.ctx["layout"])
        (source,) = self.inputs()
        return (source_gradient(gradient, source, self._rule.view, self.ctx["arguments"]),)


def require_tensor(tensor: object) -> None:
    """Refuse a first argument that is no Tensor.

    Raises:
        TypeError: Always then.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor must be a Tensor, got {type(tensor).__qualname__}")


def _check_nothing(tensor: Tensor, *arguments: object) -> None:
    pass


def _check_trees(tensor: Tensor, output: object, selection: object) -> None:
    if not isinstance(output, Tree):
        raise TypeError(f"output must be a Tree or a description, got {type(output).__qualname__}")
    if not (selection is None or isinstance(selection, Tree)):
        raise TypeError(f"selection must be a Tree or None, got {type(selection).__qualname__}")


def _check_strided(tensor: Tensor, shape: object, stride: object) -> None:
    if not isinstance(shape, Shape):
        raise TypeError(f"shape must be a Shape, got {type(shape).__qualname__}")
    if not isinstance(stride, Stride):
        raise TypeError(f"stride must be a Stride, got {type(stride).__qualname__}")
    if tensor._carrier.is_released():
        raise RuntimeError(
            f"as_strided: the {type(tensor._carrier).__qualname__} carrier is released"
        )


def _accepts_equal_layout(gradient: Tensor, layout: Layout) -> None:
    if not layout.is_injective:
        _accepts_injective(gradient, layout)
    elif gradient._layout != layout:
        raise ValueError(
            f"Tensor layouts must match: the view has {layout}, its gradient {gradient._layout}"
        )


def _accepts_equal_shape(gradient: Tensor, layout: Layout) -> None:
    if gradient._layout.shape != layout.shape:
        raise ValueError(
            f"gradient shape must match the view's shape {layout.shape}, "
            f"got {gradient._layout.shape}"
        )


def _accepts_injective(gradient: Tensor, layout: Layout) -> None:
    if gradient._layout.shape != layout.shape or not gradient._layout.is_injective:
        raise ValueError(
            f"Broadcast gradient must have the output shape in an injective layout: shape "
            f"{layout.shape} expected, got layout {gradient._layout}"
        )


_RULES: Final = {
    "as_strided": ViewRule(view_layouts.strided_layout, _check_strided, _accepts_equal_layout),
    "broadcast_to": ViewRule(view_layouts.broadcast_layout, _check_nothing, _accepts_injective),
    "permute": ViewRule(view_layouts.permute_layout, _check_nothing, _accepts_equal_layout),
    "rearrange": ViewRule(view_layouts.rearrange_layout, _check_trees, _accepts_equal_shape),
    "reshape": ViewRule(view_layouts.reshape_layout, _check_nothing, _accepts_equal_layout),
    "squeeze": ViewRule(view_layouts.squeeze_layout, _check_nothing, _accepts_equal_layout),
    "unsqueeze": ViewRule(view_layouts.unsqueeze_layout, _check_nothing, _accepts_equal_layout),
    "view": ViewRule(view_layouts.slice_layout, _check_nothing, _accepts_equal_layout),
}


def view_operation(name: str) -> ViewOperation:
    """Build a fresh operation for one of the eight view names.

    Args:
        name: ``view`` (slicing), ``rearrange``, ``permute``, ``reshape``, ``as_strided``,
            ``broadcast_to``, ``squeeze`` or ``unsqueeze``.

    Returns:
        An operation that was never dispatched.

    Raises:
        KeyError: If there is no such view.
    """
    return ViewOperation(_RULES[name])
