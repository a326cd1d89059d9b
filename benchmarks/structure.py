"""Ordering, indexing and contractions on CPU beside NumPy.

Run it with ``python benchmarks/structure.py``; the exit status tells whether every target is kept.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy
from measuring import Comparison, report

import strideweave as sw

ELEMENTS = 1_000_000
SLICE_TARGET = 2.0
LARGEST = 100
# Batch, side of the matrices and contracted extent. Where little is contracted, most of the time
# goes into the layout of the result, in which the batch is the fastest mode.
EINSUM_TARGETS = {(8, 512, 512): 1.3, (64, 256, 256): 1.3, (32, 256, 16): 3.0}

RANDOM = numpy.random.default_rng(7)


def _floats(*extents: int) -> Any:
    return RANDOM.standard_normal(extents, numpy.float32)


def _ordering() -> Iterator[Comparison]:
    array = _floats(ELEMENTS)
    tensor = sw.from_numpy(array)

    def sorted_and_ordered() -> Any:
        return numpy.sort(array), numpy.argsort(array, kind="stable")

    def leading() -> Any:
        chosen = numpy.argpartition(array, -LARGEST)[-LARGEST:]
        chosen = chosen[numpy.argsort(-array[chosen])]
        return array[chosen], chosen

    for ours, theirs in (
        (sw.sort(tensor), sorted_and_ordered()),
        (sw.topk(tensor, LARGEST), leading()),
    ):
        for mine, expected in zip(ours, theirs, strict=True):
            assert numpy.array_equal(mine.numpy(), expected)
    yield Comparison("sort, 1M", lambda: sw.sort(tensor), sorted_and_ordered, SLICE_TARGET)
    yield Comparison("topk 100 of 1M", lambda: sw.topk(tensor, LARGEST), leading, SLICE_TARGET)


def _indexing() -> Iterator[Comparison]:
    array, updates = _floats(ELEMENTS), _floats(ELEMENTS)
    places = RANDOM.integers(0, ELEMENTS, ELEMENTS, numpy.int32)
    base, indices, terms = map(sw.from_numpy, (array, places, updates))

    def added() -> Any:
        result = array.copy()
        numpy.add.at(result, places, updates)
        return result

    def taken() -> Any:
        return numpy.take(array, places)

    assert numpy.array_equal(sw.gather(base, indices, 0).numpy(), taken())
    assert numpy.array_equal(sw.scatter_add(base, indices, terms, 0).numpy(), added())
    yield Comparison("gather, 1M", lambda: sw.gather(base, indices, 0), taken, SLICE_TARGET)
    yield Comparison(
        "scatter_add, 1M", lambda: sw.scatter_add(base, indices, terms, 0), added, SLICE_TARGET
    )


def _einsum() -> Iterator[Comparison]:
    for (batch, side, contracted), target in EINSUM_TARGETS.items():
        left, right = (_floats(batch, side, contracted) for _ in range(2))
        yield _einsum_case(left, right, target)


def _einsum_case(left: Any, right: Any, target: float) -> Comparison:
    lhs, rhs = sw.from_numpy(left), sw.from_numpy(right)

    def ours() -> sw.Tensor:
        return sw.einsum(lhs, rhs, "b i k, b j k -> b i j")

    def theirs() -> Any:
        return numpy.matmul(left, right.transpose(0, 2, 1))

    assert numpy.allclose(ours().numpy(), theirs(), rtol=1e-3, atol=1e-3)
    batch, side, contracted = left.shape
    return Comparison(f"einsum, {batch} of {side} x {contracted}", ours, theirs, target)


def main() -> int:
    """Measure everything.

    Returns:
        The exit status.
    """
    with sw.no_grad():
        return report([*_ordering(), *_indexing(), *_einsum()])


if __name__ == "__main__":
    sys.exit(main())
