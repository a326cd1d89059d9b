"""Every public function refuses a released operand in the same way, on every carrier."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Evictable, Tensor, friendly, functional
from strideweave.testing import ArrayCarrier

functions: Any = sw
FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
VIEWS = {
    *("rearrange", "permute", "reshape", "as_strided", "broadcast_to", "broadcast_in_dim"),
    *("squeeze", "unsqueeze"),
}
PLAIN = {"SortResult", "TopKResult", "no_grad", "is_grad_enabled", "set_grad_enabled"}
UNARY = (
    "neg abs sign recip sqrt rsqrt exp exp2 log log2 sin cos erf floor ceil round relu sigmoid "
    "tanh gelu silu softplus elu leaky_relu sort mean logsumexp softmax log_softmax"
).split()
BINARY = (
    "add sub mul elementwise_mul div pow maximum minimum rem eq ne lt le gt ge matmul"
).split()
REDUCTIONS = "reduce_sum reduce_prod reduce_max reduce_min argmax argmin".split()


class Operands:
    """Fresh operands on one carrier."""

    def __init__(self, make_carrier: Callable[[Sequence[Any], Any], sw.Carrier]) -> None:
        self._make_carrier = make_carrier

    def tensor(self, values: Sequence[Any], dtype: DType, *extents: int) -> Tensor:
        return Tensor(self._make_carrier(values, dtype), 0, friendly.column_major(*extents))

    @property
    def floats(self) -> Tensor:
        return self.tensor([1.0, 2.0, 3.0, 4.0], FLOAT, 2, 2)

    @property
    def signals(self) -> Tensor:
        return self.tensor([1.0, 2.0, 3.0, 4.0], FLOAT, 1, 1, 4)

    @property
    def truths(self) -> Tensor:
        return self.tensor([True, False, True, True], BOOL, 2, 2)

    @property
    def indices(self) -> Tensor:
        return self.tensor([0, 1], INT, 2)


Call = Callable[[Operands, Tensor], object]


def unary(name: str) -> Call:
    return lambda given, x: getattr(sw, name)(x)


def binary(name: str) -> Call:
    return lambda given, x: getattr(sw, name)(given.floats, x)


def logical(name: str) -> Call:
    return lambda given, x: getattr(sw, name)(given.truths, x)


def reduction(name: str) -> Call:
    return lambda given, x: getattr(sw, name)(x, "a b -> a")


CALLS: dict[str, Call] = {
    **{name: unary(name) for name in UNARY},
    **{name: binary(name) for name in BINARY},
    **{name: reduction(name) for name in REDUCTIONS},
    **{name: logical(name) for name in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": unary("logical_not"),
    "select": lambda given, x: sw.select(given.truths, given.floats, x),
    "clamp": lambda given, x: sw.clamp(x, 0.0, 1.0),
    "cast": lambda given, x: sw.cast(x, INT),
    "cumsum": lambda given, x: sw.cumsum(x, 0),
    "einsum": lambda given, x: sw.einsum(given.floats, x, "a b, c b -> a c"),
    "gather": lambda given, x: sw.gather(x, given.indices, 0),
    "scatter": lambda given, x: sw.scatter(given.floats, given.indices, x, 0),
    "scatter_add": lambda given, x: sw.scatter_add(x, given.indices, given.floats, 0),
    "topk": lambda given, x: sw.topk(x, 1),
    "concat": lambda given, x: sw.concat([given.floats, x]),
    "stack": lambda given, x: sw.stack([given.floats, x]),
    "pad": lambda given, x: sw.pad(x, ((1, 0), (0, 0))),
    "flip": lambda given, x: sw.flip(x, 0),
    "conv_general": lambda given, x: functions.conv_general(given.signals, x, (1,), ((0, 0),)),
}
NAMES = sorted({*CALLS} & {*functional.__all__})
OPERANDS = {
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), "truths"),
    "conv_general": "signals",
}
"""What the others than (2, 2) Float32 Tensors take."""


@pytest.mark.rule("F-4", "F-49", "F-50")
@pytest.mark.parametrize("name", NAMES)
def test_a_released_operand_is_a_runtime_error(
    name: str, make_carrier: Callable[[Sequence[Any], Any], sw.Carrier]
) -> None:
    given = Operands(make_carrier)
    operand = getattr(given, OPERANDS.get(name, "floats"))
    operand.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        CALLS[name](given, operand)


@pytest.mark.rule("C-74", "F-4")
@pytest.mark.parametrize("name", NAMES)
def test_an_evicted_operand_asks_for_its_promotion(
    name: str, make_carrier: Callable[[Sequence[Any], Any], sw.Carrier]
) -> None:
    given = Operands(
        lambda values, dtype: Evictable(make_carrier(values, dtype), ArrayCarrier(0, dtype=dtype))
    )
    operand = getattr(given, OPERANDS.get(name, "floats"))
    carrier: Any = operand.carrier
    carrier.evict()
    with pytest.raises(RuntimeError, match="promote"):
        CALLS[name](given, operand)
    carrier.promote()
    CALLS[name](given, operand)


def test_every_public_function_is_called() -> None:
    assert {*functional.__all__} - VIEWS - PLAIN <= {*CALLS}
