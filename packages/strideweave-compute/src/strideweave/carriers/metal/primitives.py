"""The functions of MLX that the kernels use, each bound to its device.

MLX never changes an array here: what looks like an update gives another array. Nothing checks
indices or extents, so whoever calls these has done so.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from strideweave.carriers.metal.probe import inexact_primitives
from strideweave.carriers.metal.runtime import load

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core

_DEVICE: Final = load().device
_ON_HOST: Final = frozenset() if _DEVICE == mx.cpu else inexact_primitives(mx, _DEVICE)


def _device_of(name: str) -> mx.Device:
    return mx.cpu if name in _ON_HOST else _DEVICE


abs = partial(mx.abs, stream=_device_of("abs"))
add = partial(mx.add, stream=_device_of("add"))
any = partial(mx.any, stream=_DEVICE)
arange = partial(mx.arange, stream=_DEVICE)
argmax = partial(mx.argmax, stream=_device_of("argmax"))
argmin = partial(mx.argmin, stream=_device_of("argmin"))
as_strided = partial(mx.as_strided, stream=_DEVICE)
bitwise_and = partial(mx.bitwise_and, stream=_DEVICE)
bitwise_or = partial(mx.bitwise_or, stream=_DEVICE)
ceil = partial(mx.ceil, stream=_device_of("ceil"))
concatenate = partial(mx.concatenate, stream=_DEVICE)
contiguous = partial(mx.contiguous, stream=_DEVICE)
conv_general = partial(mx.conv_general, stream=_DEVICE)
cos = partial(mx.cos, stream=_DEVICE)
cumprod = partial(mx.cumprod, stream=mx.cpu)  # in order
cumsum = partial(mx.cumsum, stream=mx.cpu)  # in order
divide = partial(mx.divide, stream=_device_of("divide"))
equal = partial(mx.equal, stream=_device_of("equal"))
erf = partial(mx.erf, stream=_DEVICE)
exp = partial(mx.exp, stream=_DEVICE)
expm1 = partial(mx.expm1, stream=_DEVICE)
flip = partial(mx.flip, stream=_DEVICE)
floor = partial(mx.floor, stream=_device_of("floor"))
greater = partial(mx.greater, stream=_device_of("greater"))
greater_equal = partial(mx.greater_equal, stream=_device_of("greater_equal"))
less = partial(mx.less, stream=_device_of("less"))
less_equal = partial(mx.less_equal, stream=_device_of("less_equal"))
log = partial(mx.log, stream=_DEVICE)
log2 = partial(mx.log2, stream=_DEVICE)
logaddexp = partial(mx.logaddexp, stream=_DEVICE)
logical_and = partial(mx.logical_and, stream=_DEVICE)
logical_or = partial(mx.logical_or, stream=_DEVICE)
matmul = partial(mx.matmul, stream=_DEVICE)
max = partial(mx.max, stream=_device_of("max"))
maximum = partial(mx.maximum, stream=_device_of("maximum"))
min = partial(mx.min, stream=_device_of("min"))
minimum = partial(mx.minimum, stream=_device_of("minimum"))
multiply = partial(mx.multiply, stream=_device_of("multiply"))
negative = partial(mx.negative, stream=_device_of("negative"))
not_equal = partial(mx.not_equal, stream=_device_of("not_equal"))
pad = partial(mx.pad, stream=_DEVICE)
power = partial(mx.power, stream=_DEVICE)
put_along_axis = partial(mx.put_along_axis, stream=_DEVICE)
remainder = partial(mx.remainder, stream=_device_of("remainder"))
reshape = partial(mx.reshape, stream=_DEVICE)
round = partial(mx.round, stream=_device_of("round"))
sigmoid = partial(mx.sigmoid, stream=_DEVICE)
sin = partial(mx.sin, stream=_DEVICE)
slice_update = partial(mx.slice_update, stream=_DEVICE)
sort = partial(mx.sort, stream=_DEVICE)
split = partial(mx.split, stream=_DEVICE)
sqrt = partial(mx.sqrt, stream=_device_of("sqrt"))
stack = partial(mx.stack, stream=_DEVICE)
subtract = partial(mx.subtract, stream=_device_of("subtract"))
sum = partial(mx.sum, stream=_DEVICE)
take = partial(mx.take, stream=_DEVICE)
take_along_axis = partial(mx.take_along_axis, stream=_DEVICE)
tanh = partial(mx.tanh, stream=_DEVICE)
transpose = partial(mx.transpose, stream=_DEVICE)
view = partial(mx.view, stream=_DEVICE)
where = partial(mx.where, stream=_DEVICE)
zeros = partial(mx.zeros, stream=_DEVICE)


_ALWAYS: Final = mx.array(True)


def constant(value: float) -> mx.array:
    """A Float32 value that broadcasts."""
    return mx.array(value, mx.float32)


ZERO: Final = constant(0.0)
"""Also what a sum starts from, so that it is never -0.0."""

ONE: Final = constant(1.0)
HALF: Final = constant(0.5)

MAGNITUDE_BITS: Final = mx.array(0x7FFFFFFF, mx.int32)
"""All bits of a Float32 but its sign."""


def converted(array: mx.array, dtype: mx.Dtype) -> mx.array:
    """The values in another element type, rounded to nearest even."""
    return array if array.dtype == dtype else array.astype(dtype, _DEVICE)


def copied(array: mx.array) -> mx.array:
    """The same values in memory of their own; other ways to give an array again may share it."""
    return where(_ALWAYS, array, array)


def added_at(values: mx.array, indices: mx.array, updates: mx.array) -> mx.array:
    """Add updates along the middle axis of three, in order of the updates.

    Args:
        values: An array of three axes.
        indices: One in-range position along the middle axis per update.
        updates: Shaped like the values that the indices select.
    """
    # ``at`` takes no stream; this one belongs to the thread and ends with the block.
    with mx.stream(mx.cpu):
        return values.at[:, indices, :].add(updates)
