"""What every optimiser does around its update rule."""

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Iterable
from numbers import Real
from typing import Any, TypeAlias

import strideweave.host as host
from strideweave.dtype import DType
from strideweave.module import Parameter
from strideweave.nn.distinct import distinct_slots, representatives
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over

Elements: TypeAlias = Any  # binary32 values: a numpy.ndarray or, without NumPy, an array.array

_BLOCK = 1 << 14


class Optimizer(ABC):
    """Updates parameters in place from their gradients.

    A step is array arithmetic over the whole parameter where its storage can be read as an array,
    and a loop over elements elsewhere. It raises the version of the parameter's carrier by one.

    Args:
        parameters: Float32 parameters; repeated ones count once.
        lr: The learning rate.

    Raises:
        TypeError: ``parameters`` is not iterable or holds something else, ``lr`` is no number.
        ValueError: There is no parameter, or ``lr`` is not positive and finite.
    """

    def __init__(self, parameters: Iterable[Parameter], lr: float) -> None:
        owner = type(self).__qualname__
        if not isinstance(parameters, Iterable):
            raise TypeError(
                f"{owner}: parameters must be an iterable of Parameters, "
                f"got {type(parameters).__qualname__}"
            )
        distinct: dict[int, Parameter] = {}
        for position, parameter in enumerate(parameters):
            if not isinstance(parameter, Parameter):
                raise TypeError(
                    f"{owner}: parameters[{position}] must be a Parameter, "
                    f"got {type(parameter).__qualname__}; pass module.parameters(), or "
                    "make a Parameter of a Tensor"
                )
            distinct.setdefault(id(parameter), parameter)
        if not distinct:
            raise ValueError(
                f"{owner}: parameters is empty, so there is nothing to update; pass "
                "module.parameters() of a module that has some"
            )
        self._parameters = tuple(distinct.values())
        self._lr = positive_real(owner, "lr", lr)

    def __repr__(self) -> str:
        count = len(self._parameters)
        plural = "" if count == 1 else "s"
        return f"<{type(self).__qualname__} of {count} parameter{plural}, lr {self._lr}>"

    @property
    def lr(self) -> float:
        """The learning rate; assign another one between steps."""
        return self._lr

    @lr.setter
    def lr(self, lr: float) -> None:
        self._lr = positive_real(type(self).__qualname__, "lr", lr)

    def zero_grad(self) -> None:
        """Set every parameter's ``.grad`` to None."""
        for parameter in self._parameters:
            parameter.grad = None

    def step(self) -> None:
        """Update every parameter that has a gradient; graphs recorded before become stale.

        Nothing is written unless every parameter can be.

        Raises:
            TypeError: A gradient is no Float32 Tensor.
            ValueError: A gradient has another shape, or a parameter's layout aliases in another
                way than by broadcasting.
            RuntimeError: A parameter is not mutable, or a carrier is released.
        """
        owner = type(self).__qualname__
        updates = [
            (position, parameter, gradient)
            for position, parameter in enumerate(self._parameters)
            if (gradient := parameter._grad) is not None
        ]
        for position, parameter, gradient in updates:
            _require_update(f"{owner}: parameter {position}", parameter, gradient)
        for position, parameter, gradient in updates:
            if self._step_parts(position, parameter, gradient):
                continue
            layout = parameter.layout
            slots = tensor_over(parameter.carrier, parameter.offset, distinct_slots(layout))
            reduced = representatives(gradient.layout, layout)
            self._update(position, slots, tensor_over(gradient.carrier, gradient.offset, reduced))

    def _step_parts(self, position: int, parameter: Parameter, gradient: Tensor) -> bool:
        """Step the parts of a parameter whose carrier updates part by part, in one version step."""

        def step(part: int, values: Tensor, slopes: Tensor) -> None:
            self._update((position, part), values, slopes)

        carrier = parameter.carrier
        if not carrier._step_tensor(parameter, gradient, step):
            return False
        carrier._count_write()
        return True

    @abstractmethod
    def _update(self, key: Hashable, slots: Tensor, gradient: Tensor) -> None:
        """Write new values to the distinct slots of one parameter or part, in one bulk write.

        Args:
            key: Identifies the parameter or part.
            slots: Its distinct slots, an injective Float32 tensor.
            gradient: The gradient, in the shape of ``slots``.
        """


def finite_real(owner: str, argument: str, value: object) -> float:
    """Return a setting as a float.

    Raises:
        TypeError: It is not a real number.
        ValueError: It is not finite.
    """
    if not isinstance(value, Real):
        raise TypeError(
            f"{owner}: {argument} must be a real number, got {type(value).__qualname__}"
        )
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{owner}: {argument} must be finite, got {value!r}")
    return number


def positive_real(owner: str, argument: str, value: object) -> float:
    """Return a setting that must exceed 0 as a float.

    Raises:
        TypeError: It is not a real number.
        ValueError: It is not positive and finite.
    """
    if isinstance(value, Real) and 0 < float(value) < math.inf:
        return float(value)
    number = finite_real(owner, argument, value)
    raise ValueError(f"{owner}: {argument} must be positive, got {number!r}")


def read_elements(*tensors: Tensor) -> list[Elements]:
    """Read the values of Float32 tensors of one shape into arrays of one shape."""
    views = [host.read_array(tensor) for tensor in tensors]
    if not any(view is None for view in views):
        return views
    numpy = host.numpy_module()
    flat = [array("f", logical_values(tensor)) for tensor in tensors]
    return flat if numpy is None else [numpy.asarray(values) for values in flat]


def write_elements(tensor: Tensor, values: Elements) -> None:
    """Replace the values of a tensor, in one bulk write, by an array as ``read_elements`` gives."""
    # A bulk write takes the leaves in their own order, or one dimension in logical order.
    tensor[...] = values if isinstance(values, array) else values.T


def zeros_like(values: Elements) -> Elements:
    """Return zeros in the form of ``values``."""
    if isinstance(values, array):
        return array("f", bytes(4 * len(values)))
    return rounded_map(lambda value: 0.0, values)


def rounded_map(formula: Callable[..., Any], *columns: Elements) -> Elements:
    """Apply a formula to corresponding elements in binary64 and round each result to binary32.

    Args:
        formula: Arithmetic of one argument per column, which works on floats and on numpy arrays.
        *columns: Arrays of one shape.

    Returns:
        An array of that shape.
    """
    numpy = host.numpy_module()
    if numpy is None:
        return array("f", map(formula, *columns))
    result = numpy.empty_like(columns[0])
    # Blocks of the iterator's buffer stay in the processor's cache, in any memory order.
    blocks = numpy.nditer(
        [*columns, result],
        ["external_loop", "buffered"],
        [*([["readonly"]] * len(columns)), ["writeonly"]],
        op_dtypes=[numpy.float64] * (len(columns) + 1),
        casting="same_kind",
        buffersize=_BLOCK,
    )
    with numpy.errstate(all="ignore"), blocks:
        for *inputs, output in blocks:
            output[...] = formula(*inputs)
    return result


def _require_update(subject: str, parameter: Parameter, gradient: object) -> None:
    if not isinstance(gradient, Tensor) or gradient.dtype() is not DType.Float32:
        kind = (
            gradient.dtype().name if isinstance(gradient, Tensor) else type(gradient).__qualname__
        )
        raise TypeError(f"{subject}: its .grad must be a Float32 Tensor, got {kind}")
    if gradient.shape != parameter.shape:
        raise ValueError(
            f"{subject}: its .grad has shape {gradient.shape!r}, the parameter {parameter.shape!r}"
        )
    if not (parameter.layout.is_injective or parameter.layout.has_broadcast_aliasing_only):
        raise ValueError(
            f"{subject}: its layout {parameter.layout!r} must be injective, or alias only by "
            "stride-zero broadcast modes"
        )
    for name, tensor in (("its", parameter), ("its .grad's", gradient)):
        if tensor.carrier.is_released():
            raise RuntimeError(
                f"{subject}: {name} {type(tensor.carrier).__qualname__} carrier is released"
            )
    if not parameter.is_mutable():
        raise RuntimeError(
            f"{subject}: its {type(parameter.carrier).__qualname__} carrier is not mutable"
        )
