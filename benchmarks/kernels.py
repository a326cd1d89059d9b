"""CPU kernels beside NumPy, which produces the same result layout.

Run it with ``python benchmarks/kernels.py``; the exit status tells whether every target is kept.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy
from measuring import Comparison, report

import strideweave as sw

Array: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]

# A million elements each. The compact ones are the layouts of their results; the result of the
# padded one is canonical, which is the order "F" of NumPy.
LAYOUTS = {
    "contiguous": sw.Layout(sw.Shape(1000, 1000), sw.Stride(1, 1000)),
    "transposed": sw.Layout(sw.Shape(1000, 1000), sw.Stride(1000, 1)),
    "nested": sw.Layout(sw.Shape((20, 50), (8, 125)), sw.Stride((8, 20_000), (1, 160))),
    "nested, padded": sw.Layout(sw.Shape((20, 50), (8, 125)), sw.Stride((8, 24_000), (1, 192))),
}
TARGETS = {"contiguous": 1.3}
OTHER_TARGET = 1.5
MATMUL_TARGET = 1.2
MATMUL_SIDE = 512

RANDOM = numpy.random.default_rng(7)


def _operand(layout: sw.Layout) -> sw.Tensor:
    values = RANDOM.standard_normal(layout.cosize, numpy.float32)
    return sw.Tensor(sw.CPU(0).new_like(values), 0, layout)


def _relu(array: Array, **keywords: Any) -> Any:
    return numpy.fmax(array, numpy.float32(0), **keywords)


FUNCTIONS: tuple[tuple[str, int, Callable[..., sw.Tensor], Callable[..., Any]], ...] = (
    ("add", 2, sw.add, numpy.add),
    ("relu", 1, sw.relu, _relu),
    ("exp", 1, sw.exp, numpy.exp),
)


def _pointwise() -> Iterator[Comparison]:
    for family, layout in LAYOUTS.items():
        target = TARGETS.get(family, OTHER_TARGET)
        for name, count, ours, theirs in FUNCTIONS:
            tensors = [_operand(layout) for _ in range(count)]
            yield _pointwise_case(f"{name}, {family}", tensors, ours, theirs, target)
    mixed = [_operand(LAYOUTS["contiguous"]), _operand(LAYOUTS["transposed"])]
    yield _pointwise_case("add, contiguous and transposed", mixed, sw.add, numpy.add, OTHER_TARGET)


def _pointwise_case(
    name: str,
    tensors: list[sw.Tensor],
    ours: Callable[..., sw.Tensor],
    theirs: Callable[..., Any],
    target: float,
) -> Comparison:
    arrays = [tensor.numpy() for tensor in tensors]
    result = ours(*tensors)
    order = "K" if result.layout == tensors[0].layout == tensors[-1].layout else "F"
    same = theirs(*arrays, order=order)
    assert same.strides == result.numpy().strides
    assert numpy.array_equal(same, result.numpy())
    return Comparison(name, lambda: ours(*tensors), lambda: theirs(*arrays, order=order), target)


def _matmul() -> Comparison:
    side = sw.Shape(MATMUL_SIDE, MATMUL_SIDE)
    lhs, rhs = (_operand(sw.Layout(side, sw.Stride(1, MATMUL_SIDE))) for _ in range(2))
    left, right = lhs.numpy(), rhs.numpy()
    out = numpy.empty_like(left)  # column-major like the result

    def theirs() -> Any:
        return numpy.matmul(left, right.T, out=numpy.empty_like(out))

    assert numpy.allclose(theirs(), sw.matmul(lhs, rhs).numpy(), rtol=1e-4, atol=1e-4)
    name = f"matmul, {MATMUL_SIDE} x {MATMUL_SIDE}"
    return Comparison(name, lambda: sw.matmul(lhs, rhs), theirs, MATMUL_TARGET)


def main() -> int:
    """Measure everything.

    Returns:
        The exit status.
    """
    with sw.no_grad():
        return report([*_pointwise(), _matmul()])


if __name__ == "__main__":
    sys.exit(main())
