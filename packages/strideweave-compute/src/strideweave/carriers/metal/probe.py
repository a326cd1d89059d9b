"""Which primitives of a device give exactly the results of the host.

A GPU may flush subnormals, or divide and take roots inexactly. What this finds is computed on the
CPU, in the same memory.
"""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Floats

if TYPE_CHECKING:
    import mlx.core as mx

_VALUES: Final = numpy.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1.5, 0.1, -7.3, 16777217.0, 1e10),
        *(1e-45, -1e-40, 1.1754942e-38, 1.17549435e-38, 3e-39),
        *(3.4028235e38, -1e38, numpy.inf, -numpy.inf, numpy.nan),
    ],
    numpy.float32,
)

_UNARY: Final[Mapping[str, Callable[[Floats], Any]]] = {
    "abs": numpy.absolute,
    "ceil": numpy.ceil,
    "floor": numpy.floor,
    "negative": numpy.negative,
    "round": numpy.rint,
    "sqrt": numpy.sqrt,
}
_BINARY: Final[Mapping[str, Callable[[Floats, Floats], Any]]] = {
    "add": numpy.add,
    "divide": numpy.divide,
    "equal": numpy.equal,
    "greater": numpy.greater,
    "greater_equal": numpy.greater_equal,
    "less": numpy.less,
    "less_equal": numpy.less_equal,
    "maximum": numpy.maximum,
    "minimum": numpy.minimum,
    "multiply": numpy.multiply,
    "not_equal": numpy.not_equal,
    "subtract": numpy.subtract,
}
_ALONG_PAIRS: Final[Mapping[str, Callable[[Floats, int], Any]]] = {
    "argmax": numpy.argmax,
    "argmin": numpy.argmin,
    "max": numpy.max,
    "min": numpy.min,
}
_ORDER_OF_ZEROS_IS_FREE: Final = frozenset({"max", "maximum", "min", "minimum"})


def inexact_primitives(core: ModuleType, device: "mx.Device") -> frozenset[str]:
    """Name the primitives that differ from NumPy in some bit.

    Args:
        core: The module ``mlx.core``.
        device: Where to compute.
    """
    return frozenset(
        name
        for name, arguments, expected in _checks()
        if not _agree(name, _computed(core, device, name, arguments), expected)
    )


def _checks() -> Iterator[tuple[str, tuple[Any, ...], NDArray[Any]]]:
    """Give each primitive with its arguments, of which any two values meet, and exact results."""
    lhs, rhs = (grid.ravel() for grid in numpy.meshgrid(_VALUES, _VALUES))
    # The kernels take remainders of magnitudes only.
    magnitudes = numpy.absolute(lhs), numpy.absolute(rhs)
    with numpy.errstate(all="ignore"):
        for name, unary in _UNARY.items():
            yield name, (_VALUES,), unary(_VALUES)
        for name, binary in _BINARY.items():
            yield name, (lhs, rhs), binary(lhs, rhs)
        yield "remainder", magnitudes, numpy.fmod(*magnitudes)
    pairs = numpy.stack([lhs, rhs], 1)
    for name, reduction in _ALONG_PAIRS.items():
        yield name, (pairs, 1), reduction(pairs, 1)


def _computed(
    core: ModuleType, device: "mx.Device", name: str, arguments: tuple[Any, ...]
) -> NDArray[Any]:
    given = [core.array(part) if isinstance(part, numpy.ndarray) else part for part in arguments]
    return numpy.asarray(getattr(core, name)(*given, stream=device))


def _agree(name: str, actual: NDArray[Any], expected: NDArray[Any]) -> bool:
    if expected.dtype != numpy.float32:
        return numpy.array_equal(actual, expected)
    same = actual.view(numpy.int32) == expected.view(numpy.int32)
    same |= numpy.isnan(actual) & numpy.isnan(expected)
    if name in _ORDER_OF_ZEROS_IS_FREE:
        same |= (actual == 0) & (expected == 0)
    return bool(same.all())
