"""Real numbers as operands of the Tensor operators."""

from functools import lru_cache
from numbers import Integral, Real

from strideweave.dtype import DType
from strideweave.layout import Layout, Shape, Stride
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor, tensor_over


def operand(value: object, other: Tensor) -> Tensor:
    """Turn the second operand of an operator into a Tensor.

    Args:
        value: A Tensor, kept as it is, or a real number.
        other: The Tensor operand, which decides carrier class, dtype and shape.

    Returns:
        For a number, one slot read at every coordinate of ``other``. It takes no gradient.

    Raises:
        TypeError: If ``value`` is neither.
        NotImplementedError: If ``other`` has several subtensors.
    """
    if isinstance(value, Tensor):
        return value
    is_integer = not isinstance(value, bool) and isinstance(value, Integral)
    if not isinstance(value, Real):
        raise TypeError(
            f"rhs must be a Tensor or a real number, got {type(value).__qualname__}; "
            "strideweave.from_numpy makes a Tensor of an array"
        )
    require_one_subtensor(other, "operation execution")
    dtype = DType.Int32 if is_integer and other._dtype is DType.Int32 else DType.Float32
    carrier = other._carrier._one_slot(value, dtype)
    constant = tensor_over(carrier, 0, _one_slot(other._layout.shape), dtype)
    constant._retains_grad = None
    return constant


@lru_cache(maxsize=1024)
def _one_slot(shape: Shape) -> Layout:
    return Layout(shape, Stride(_zeros(shape.top_level)))


def _zeros(level: tuple[object, ...]) -> list[object]:
    return [_zeros(entry) if isinstance(entry, tuple) else 0 for entry in level]
