"""IEEE-754 binary32 arithmetic on whole lists: the meaning of ``Arithmetic.BINARY32``.

Every function takes lists of Python floats that are binary32 values and returns such a list.
One ``+ - * /``, square root or ``fmod`` evaluated in binary64 and then rounded equals the binary32
result; a chain of them does not, so each function rounds exactly once. Nothing here raises for a
value: singularities and overflow give infinities and NaN.
"""

import math
from array import array
from collections.abc import Callable, Iterable
from math import copysign, inf, nan
from operator import add as _plus
from operator import mul as _times
from operator import neg as _negative
from operator import sub as _minus

Values = list[float]


def rounded(values: Iterable[float]) -> Values:
    """Round every value to binary32, ties to even; too large a value becomes an infinity."""
    return array("f", values).tolist()


def rounded_scalar(value: float) -> float:
    """Round one value to binary32."""
    return array("f", (value,))[0]


HALF = 0.5
INVERSE_SQRT_2 = rounded_scalar(1 / math.sqrt(2))
INVERSE_SQRT_2PI = rounded_scalar(1 / math.sqrt(2 * math.pi))
LEAKY_SLOPE = rounded_scalar(0.01)
LN_2 = rounded_scalar(math.log(2))
TWO_OVER_SQRT_PI = rounded_scalar(2 / math.sqrt(math.pi))


def scaled(values: Values, factor: float) -> Values:
    """Multiply every value by one binary32 factor."""
    return rounded([value * factor for value in values])


def add(lhs: Values, rhs: Values) -> Values:
    """Add pairwise."""
    return rounded(map(_plus, lhs, rhs))


def sub(lhs: Values, rhs: Values) -> Values:
    """Subtract pairwise."""
    return rounded(map(_minus, lhs, rhs))


def mul(lhs: Values, rhs: Values) -> Values:
    """Multiply pairwise."""
    return rounded(map(_times, lhs, rhs))


def div(lhs: Values, rhs: Values) -> Values:
    """Divide pairwise."""
    return rounded(map(_quotient, lhs, rhs))


def _quotient(dividend: float, divisor: float) -> float:
    try:
        return dividend / divisor
    except ZeroDivisionError:
        if dividend == 0.0 or dividend != dividend:
            return nan
        return copysign(inf, dividend) * copysign(1.0, divisor)


def rem(lhs: Values, rhs: Values) -> Values:
    """Take the truncating remainder pairwise, with the sign of the dividend."""
    return [_remainder(dividend, divisor) for dividend, divisor in zip(lhs, rhs, strict=True)]


def _remainder(dividend: float, divisor: float) -> float:
    try:
        return math.fmod(dividend, divisor)
    except ValueError:
        return nan


def power(lhs: Values, rhs: Values) -> Values:
    """Raise pairwise to a power as IEEE ``pow`` does."""
    return rounded(map(_power, lhs, rhs))


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -inf if base < 0.0 and _is_odd(exponent) else inf
    except ValueError:
        if base != 0.0:
            return nan
        return copysign(inf, base) if _is_odd(exponent) else inf


def _is_odd(value: float) -> bool:
    return math.fmod(value, 2.0) in (1.0, -1.0)


def maximum(lhs: Values, rhs: Values) -> Values:
    """Take the larger value pairwise; NaN wins, and mixed zeros give +0."""
    return [_larger(left, right) for left, right in zip(lhs, rhs, strict=True)]


def minimum(lhs: Values, rhs: Values) -> Values:
    """Take the smaller value pairwise; NaN wins, and mixed zeros give -0."""
    return [-_larger(-left, -right) for left, right in zip(lhs, rhs, strict=True)]


def _larger(left: float, right: float) -> float:
    if left > right:
        return left
    if right > left:
        return right
    if left == right:
        return left or left + right  # two zeros: only (-0) + (-0) is -0
    return nan


def neg(values: Values) -> Values:
    """Negate."""
    return list(map(_negative, values))


def absolute(values: Values) -> Values:
    """Clear the sign."""
    return list(map(abs, values))


def sign(values: Values) -> Values:
    """Give -1, +0 or 1; NaN stays."""
    return [value if value != value else float((value > 0.0) - (value < 0.0)) for value in values]


def recip(values: Values) -> Values:
    """Divide one by every value."""
    return rounded(_quotient(1.0, value) for value in values)


def sqrt(values: Values) -> Values:
    """Take the correctly rounded root; negative values give NaN."""
    return rounded(math.sqrt(value) if not value < 0.0 else nan for value in values)


def rsqrt(values: Values) -> Values:
    """Divide one by the rounded root."""
    return recip(sqrt(values))


def _elementwise(function: Callable[[float], float]) -> Callable[[Values], Values]:
    def apply(values: Values) -> Values:
        return rounded(map(function, values))

    return apply


def _saturating(function: Callable[[float], float]) -> Callable[[float], float]:
    """Turn the OverflowError of a growing function into an infinity."""

    def apply(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return inf

    return apply


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    """Extend a logarithm of positive numbers to every float."""

    def apply(value: float) -> float:
        if value > 0.0:
            return function(value)
        return -inf if value == 0.0 else nan

    return apply


def _periodic(function: Callable[[float], float]) -> Callable[[float], float]:
    def apply(value: float) -> float:
        return nan if math.isinf(value) else function(value)

    return apply


def _integral(function: Callable[[float], int]) -> Callable[[float], float]:
    """Round to an integer, keeping the sign of a zero result and every non-finite value."""

    def apply(value: float) -> float:
        return copysign(function(value), value) if math.isfinite(value) else value

    return apply


exp = _elementwise(_saturating(math.exp))
exp2 = _elementwise(_saturating(math.exp2))
expm1 = _elementwise(_saturating(math.expm1))
log = _elementwise(_logarithm(math.log))
log2 = _elementwise(_logarithm(math.log2))
log1p = _elementwise(math.log1p)
sin = _elementwise(_periodic(math.sin))
cos = _elementwise(_periodic(math.cos))
tanh = _elementwise(math.tanh)
erf = _elementwise(math.erf)
floor = _elementwise(_integral(math.floor))
ceil = _elementwise(_integral(math.ceil))
round_half_even = _elementwise(_integral(round))
