"""Decoding ordinals and encoding coordinates."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest

from strideweave.layout import Shape

SHAPE = Shape(5, [20, 4])
WRONG: Any = 1.0


class Direction(IntEnum):
    EAST = 1


@pytest.mark.rule("L-7")
@pytest.mark.parametrize(
    ("shape", "ordinal", "coordinate"),
    [
        (Shape(), 0, ()),
        (Shape(7), 6, (6,)),
        (SHAPE, 214, (4, (2, 2))),
        (Shape([3], 2), 4, ((1,), 1)),
        (Shape([2, 3], [4]), 23, ((1, 2), (3,))),
        (Shape([], 2), 1, ((), 1)),
        (Shape(2, 3), Direction.EAST, (1, 0)),
    ],
)
def test_decode(shape: Shape, ordinal: int, coordinate: object) -> None:
    assert shape.decode(ordinal) == coordinate


@pytest.mark.rule("L-7", "L-8")
@pytest.mark.parametrize("shape", [Shape(), SHAPE, Shape([3], [2, [2, 1]]), Shape([], 3)])
def test_encode_inverts_decode(shape: Shape) -> None:
    assert [shape.encode(shape.decode(n)) for n in range(shape.size)] == [*range(shape.size)]


@pytest.mark.rule("L-8")
@pytest.mark.parametrize(
    ("shape", "coordinate", "ordinal"),
    [
        (SHAPE, 214, 214),
        (SHAPE, (4, 42), 214),
        (SHAPE, [4, [2, 2]], 214),
        (SHAPE, (4, [2, 2]), 214),
        (Shape(), 0, 0),
        (Shape(), (), 0),
        (Shape(), [], 0),
        (Shape([], 3), ((), 2), 2),
        (Shape([], 3), (0, 2), 2),
        (Shape([3], 2), (2, 1), 5),
        (Shape([3], 2), ((2,), 1), 5),
        (Shape(3), 2, 2),
        (Shape(3), (2,), 2),
    ],
)
def test_an_integer_stands_for_a_subtree(shape: Shape, coordinate: object, ordinal: int) -> None:
    assert shape.encode(coordinate) == ordinal


@pytest.mark.rule("L-9")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SHAPE.decode(WRONG), TypeError, "Shape index must be an integer, got float"),
        (lambda: SHAPE.decode(True), TypeError, "Shape index must be an integer, got bool"),
        (lambda: SHAPE.decode(-1), ValueError, "Index is not in domain of shape: -1"),
        (lambda: SHAPE.decode(400), ValueError, "Index is not in domain of shape: 400"),
        (lambda: SHAPE.encode("ab"), TypeError, "Coordinate must be an integer, tuple, or list"),
        (lambda: SHAPE.encode(True), TypeError, "Coordinate must be an integer, tuple, or list"),
        (
            lambda: SHAPE.encode((4, None)),
            TypeError,
            "Coordinate must be an integer, tuple, or list",
        ),
        (
            lambda: SHAPE.encode((4, (2, object()))),
            TypeError,
            "Coordinate must contain only integers, tuples, or lists",
        ),
        (
            lambda: SHAPE.encode((True, 1)),
            TypeError,
            "Coordinate must contain only integers, tuples, or lists, got bool",
        ),
        (lambda: SHAPE.encode(((4,), 42)), ValueError, "does not match shape hierarchy"),
        (lambda: SHAPE.encode((4,)), ValueError, "Coordinate does not match shape hierarchy"),
        (lambda: SHAPE.encode((4, (1, 2, 3))), ValueError, "does not match shape hierarchy"),
        (lambda: SHAPE.encode(-1), ValueError, "Coordinate is not in domain of shape: -1"),
        (lambda: SHAPE.encode(400), ValueError, "Coordinate is not in domain of shape: 400"),
        (lambda: SHAPE.encode((5, 0)), ValueError, "Coordinate is not in domain of shape: 5"),
        (lambda: SHAPE.encode((4, 80)), ValueError, "Coordinate is not in domain of shape: 80"),
        (lambda: Shape().encode(1), ValueError, "Coordinate is not in domain of shape"),
    ],
)
def test_failures(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.rule("L-9")
def test_the_first_failure_wins() -> None:
    with pytest.raises(ValueError, match="hierarchy"):
        SHAPE.encode((None,))
    with pytest.raises(ValueError, match="domain"):
        SHAPE.encode((9, None))
    with pytest.raises(TypeError, match="must be an integer"):
        SHAPE.encode((1, None))


@pytest.mark.rule("L-9")
def test_exactly_one_argument() -> None:
    method: Any
    for method in (SHAPE.decode, SHAPE.encode):
        with pytest.raises(TypeError):
            method()
        with pytest.raises(TypeError):
            method(1, 2)
