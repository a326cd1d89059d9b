"""The operations behind the views: one class for all of them, described by a table."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, final

from strideweave._record import record
from strideweave.layout import Layout
from strideweave.operation.operation import Operation
from strideweave.tensor import level_gradients, view_arguments, view_layouts
from strideweave.tensor.boundary import refuse_several, require_one_subtensor
from strideweave.tensor.placement import check_bounds
from strideweave.tensor.representation import Subtensor, TensorRepresentation
from strideweave.tensor.tensor import Tensor, tensor_over
from strideweave.tensor.view_gradients import source_gradient
from strideweave.tensor.view_layouts import LayoutView
from strideweave.tensor.view_levels import LevelView, view_levels


@final
@record
class ViewRule:
    """What distinguishes one view from the others.

    Attributes:
        arguments: Checks the kinds of the arguments, see ``view_arguments``.
        view: Gives start and layout of the view of a layout, see ``view_layouts``.
        accepts: Refuses a cotangent, given the view's layout, when ``backward`` is called directly.
        levels: What the view does to a Tensor of several subtensors; None refuses it.
    """

    arguments: Callable[..., tuple[object, ...]]
    view: LayoutView
    accepts: Callable[[Tensor, Layout], None]
    levels: LevelView | None


@final
class ViewOperation(Operation):
    """A zero-copy view of one Tensor."""

    def __init__(self, view_name: str, rule: ViewRule) -> None:
        self._view_name = view_name
        self._rule = rule

    def _forward(self, *inputs: Any) -> Tensor:
        tensor = require_tensor(inputs[0] if inputs else None)
        arguments = self._rule.arguments(*inputs)
        if tensor._dtype.is_compound():
            return self._view_compound(tensor, arguments)
        start, layout = self._rule.view(tensor._layout, *arguments)
        carrier, offset = tensor._carrier, tensor._offset + start
        check_bounds(carrier, offset, layout)
        if self.inputs():
            self.ctx["arguments"] = arguments
            self.ctx["layout"] = layout
        return tensor_over(carrier, offset, layout, tensor._dtype)

    def _view_compound(self, tensor: Tensor, arguments: tuple[object, ...]) -> Tensor:
        """View a Tensor whose dtype has rules for its representation."""
        deeper, levels = tensor._deeper, self._rule.levels
        if deeper is None:
            start, layout = self._rule.view(tensor._layout, *arguments)
            storage_dtype, offset = tensor._carrier.dtype(), tensor._offset + start
            leading = Subtensor(storage_dtype, tensor._carrier, offset, layout)
            view = Tensor._from_representation(TensorRepresentation(tensor._dtype, (leading,)))
        elif levels is None:
            refuse_several("operation execution")
        else:
            view = view_levels(tensor, deeper, levels, arguments)
        # Not recorded, since no compound dtype is differentiable, but backward may be run by hand.
        self.ctx["arguments"] = arguments
        self.ctx["layout"] = view._layout
        return view

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
        arguments, levels = self.ctx["arguments"], self._rule.levels
        if source._deeper is not None and levels is not None:
            return (level_gradients.source_levels_gradient(gradient, source, levels, arguments),)
        require_one_subtensor(gradient, "backward")
        return (source_gradient(gradient, source, self._rule.view, arguments),)


def require_tensor(tensor: object) -> Tensor:
    """Refuse a first argument that is no Tensor.

    Returns:
        The argument.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor must be a Tensor, got {type(tensor).__qualname__}")
    return tensor


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


def _remembered(view: LayoutView) -> LayoutView:
    """Keep the layouts of recent views; the arguments are hashable once their kinds are checked."""
    return lru_cache(maxsize=1024, typed=True)(view)


def _rule(
    arguments: Callable[..., tuple[object, ...]],
    view: LayoutView,
    accepts: Callable[[Tensor, Layout], None],
    undo: Callable[..., Layout],
) -> ViewRule:
    """Describe a view that treats all layouts alike."""
    remembered = _remembered(view)
    return ViewRule(arguments, remembered, accepts, LevelView(remembered, remembered, undo))


_STRIDED: Final = _remembered(view_layouts.strided_layout)
_RULES: Final = {
    "as_strided": ViewRule(
        view_arguments.selector,
        _STRIDED,
        _accepts_equal_layout,
        LevelView(_STRIDED, _remembered(view_layouts.selected_layout), None),
    ),
    "broadcast_to": _rule(
        view_arguments.target,
        view_layouts.broadcast_layout,
        _accepts_injective,
        level_gradients.undo_broadcast,
    ),
    "permute": _rule(
        view_arguments.order,
        view_layouts.permute_layout,
        _accepts_equal_layout,
        level_gradients.undo_permute,
    ),
    "rearrange": ViewRule(
        view_arguments.trees,
        _remembered(view_layouts.rearrange_layout),
        _accepts_equal_shape,
        None,
    ),
    "reshape": _rule(
        view_arguments.shape,
        view_layouts.reshape_layout,
        _accepts_equal_layout,
        level_gradients.undo_reshape,
    ),
    "squeeze": _rule(
        view_arguments.dim,
        view_layouts.squeeze_layout,
        _accepts_equal_layout,
        level_gradients.undo_squeeze,
    ),
    "unsqueeze": _rule(
        view_arguments.dim,
        view_layouts.unsqueeze_layout,
        _accepts_equal_layout,
        level_gradients.undo_unsqueeze,
    ),
    "view": ViewRule(
        view_arguments.as_given,
        view_layouts.slice_layout,
        _accepts_equal_layout,
        LevelView(view_layouts.slice_layout_from_zero, view_layouts.slice_layout_from_zero, None),
    ),
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
    return ViewOperation(name, _RULES[name])
