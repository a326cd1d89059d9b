"""Activation functions."""

from strideweave.operation.evaluation import evaluate
from strideweave.ops import binary32
from strideweave.ops.binary32 import Values
from strideweave.ops.gradients import (
    add,
    mul,
    one_minus,
    unary_rule,
)
from strideweave.ops.metadata import constant_like
from strideweave.ops.routing import choose, is_at_most, is_less
from strideweave.ops.unary import define_unary
from strideweave.tensor.tensor import Tensor


def _relu(values: Values) -> Values:
    return [value if value > 0.0 else 0.0 for value in values]


def _relu_integer(values: list[int]) -> list[int]:
    return [max(value, 0) for value in values]


def _sigmoid(values: Values) -> Values:
    # exp of the negative magnitude cannot overflow; it is exp(-x) for x >= 0 and exp(x) below.
    decay = binary32.exp(binary32.neg(binary32.absolute(values)))
    numerators = [
        1.0 if value >= 0.0 else fraction for value, fraction in zip(values, decay, strict=True)
    ]
    return binary32.div(numerators, _increment(decay))


def _gelu(values: Values) -> Values:
    bell = _increment(binary32.erf(binary32.scaled(values, binary32.INVERSE_SQRT_2)))
    return binary32.mul(binary32.scaled(values, binary32.HALF), bell)


def _silu(values: Values) -> Values:
    return binary32.mul(values, _sigmoid(values))


def _softplus(values: Values) -> Values:
    decay = binary32.exp(binary32.neg(binary32.absolute(values)))
    floor = [0.0 if value <= 0.0 else value for value in values]
    return binary32.add(binary32.log1p(decay), floor)


def _elu(values: Values) -> Values:
    below = binary32.expm1([min(value, 0.0) for value in values])
    return [value if value > 0.0 else other for value, other in zip(values, below, strict=True)]


def _leaky_relu(values: Values) -> Values:
    below = binary32.scaled(values, binary32.LEAKY_SLOPE)
    return [value if value >= 0.0 else other for value, other in zip(values, below, strict=True)]


def _increment(values: Values) -> Values:
    return binary32.rounded([1.0 + value for value in values])


@unary_rule
def _relu_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    zero = constant_like(operand, 0.0)
    return choose(is_less(zero, operand), cotangent, zero)


@unary_rule
def _sigmoid_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    output = evaluate("sigmoid", operand)
    return mul(cotangent, mul(output, one_minus(output)))


@unary_rule
def _tanh_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    output = evaluate("tanh", operand)
    return mul(cotangent, one_minus(mul(output, output)))


@unary_rule
def _gelu_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    error = evaluate("erf", mul(operand, binary32.INVERSE_SQRT_2))
    mass = mul(add(constant_like(operand, 1.0), error), 0.5)
    bell = evaluate("exp", mul(mul(operand, -0.5), operand))
    slope = mul(mul(operand, bell), binary32.INVERSE_SQRT_2PI)
    return mul(cotangent, add(mass, slope))


@unary_rule
def _silu_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    gate = evaluate("sigmoid", operand)
    slope = mul(mul(operand, gate), one_minus(gate))
    return mul(cotangent, add(gate, slope))


@unary_rule
def _softplus_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    return mul(cotangent, evaluate("sigmoid", operand))


@unary_rule
def _elu_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    above = is_less(constant_like(operand, 0.0), operand)
    return mul(cotangent, choose(above, constant_like(operand, 1.0), evaluate("exp", operand)))


@unary_rule
def _leaky_relu_gradient(cotangent: Tensor, operand: Tensor) -> Tensor:
    above = is_at_most(constant_like(operand, 0.0), operand)
    slope = constant_like(operand, binary32.LEAKY_SLOPE)
    return mul(cotangent, choose(above, constant_like(operand, 1.0), slope))


RELU = define_unary("relu", _relu, _relu_gradient, integer=_relu_integer)
SIGMOID = define_unary("sigmoid", _sigmoid, _sigmoid_gradient, exact=False)
TANH = define_unary("tanh", binary32.tanh, _tanh_gradient, exact=False)
GELU = define_unary("gelu", _gelu, _gelu_gradient, exact=False)
SILU = define_unary("silu", _silu, _silu_gradient, exact=False)
SOFTPLUS = define_unary("softplus", _softplus, _softplus_gradient, exact=False)
ELU = define_unary("elu", _elu, _elu_gradient, exact=False)
LEAKY_RELU = define_unary("leaky_relu", _leaky_relu, _leaky_relu_gradient)
