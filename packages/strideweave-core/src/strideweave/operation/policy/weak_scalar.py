"""Classification of weak scalars: the only property of their value that planning may read."""

from enum import Enum
from numbers import Integral, Real
from typing import final

from strideweave.operation.policy.records import INT32_MAX, INT32_MIN, WeakScalarKind


@final
class WeakScalarBranch(Enum):
    """The classes of weak scalars that planning tells apart; equal branches plan alike."""

    FLOAT = "float"
    """Not an integer, or a ``bool``."""
    INT32_NATURAL = "int32_natural"
    """An integer in ``[0, 2**31 - 1]``."""
    INT32_NEGATIVE = "int32_negative"
    """An integer in ``[-2**31, -1]``."""
    WIDE_INTEGER = "wide_integer"
    """An integer outside Int32."""

    # Branches are keys of hot dictionaries; they are unique objects, so identity serves.
    __hash__ = object.__hash__

    @property
    def kind(self) -> WeakScalarKind:
        """Whether the scalar counts as an integer or as a float when dtypes are promoted."""
        if self is WeakScalarBranch.FLOAT:
            return WeakScalarKind.FLOAT
        return WeakScalarKind.INTEGER


INTEGER_BRANCHES = tuple(
    branch for branch in WeakScalarBranch if branch.kind is WeakScalarKind.INTEGER
)
"""The branches of kind ``INTEGER``."""


def weak_scalar_branch(value: object) -> WeakScalarBranch | None:
    """Return the planning branch of a weak scalar, or ``None`` when ``value`` is none.

    Args:
        value: Any object; weak scalars are ``numbers.Real``.

    Examples:
        >>> [weak_scalar_branch(value).value for value in (3, -1, 2**31, 0.5, True)]
        ['int32_natural', 'int32_negative', 'wide_integer', 'float', 'float']
    """
    kind = type(value)
    if kind is float or kind is bool:
        return WeakScalarBranch.FLOAT
    if kind is int or isinstance(value, Integral):
        integer = int(value)  # type: ignore[call-overload]  # an Integral
        if 0 <= integer <= INT32_MAX:
            return WeakScalarBranch.INT32_NATURAL
        if INT32_MIN <= integer < 0:
            return WeakScalarBranch.INT32_NEGATIVE
        return WeakScalarBranch.WIDE_INTEGER
    return WeakScalarBranch.FLOAT if isinstance(value, Real) else None
