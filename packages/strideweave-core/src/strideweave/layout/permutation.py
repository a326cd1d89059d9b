"""An index map given by its list of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from strideweave.layout.immutable import seal
from strideweave.layout.index_map import IndexMap
from strideweave.layout.shape import Shape


@final
class Permutation(IndexMap):
    """An injective map listed value by value.

    Two permutations are equal only if they are the same object; compare `values` and
    `codomain_size` instead.

    Args:
        values: The index of every ordinal: a non-empty sequence of distinct non-negative integers.
        codomain_size: The exclusive bound on all values.

    Attributes:
        values: The values as a tuple.

    Raises:
        TypeError: `values` is not a sequence of integers, or the bound is not an integer.
        ValueError: `values` is empty, repeats, or leaves `[0, codomain_size)`.

    Examples:
        >>> from strideweave import Permutation
        >>> some = Permutation([4, 3], 10)
        >>> some(0), some.size, some.codomain_size
        (4, 2, 10)
        >>> Permutation([4, 2, 1], 6).compose(Permutation([1, 0], 3)).values
        (2, 4)
    """

    __slots__ = ("_codomain_size", "_shape", "values")

    values: tuple[int, ...]
    _codomain_size: int
    _shape: Shape

    def __new__(cls, values: Sequence[int], codomain_size: int) -> Permutation:
        if not isinstance(values, Sequence):
            raise TypeError(
                f"values must be a Sequence of integers, got {type(values).__qualname__}; "
                f"convert it with list()"
            )
        owned = tuple(values)
        _check(owned, codomain_size)
        return cls._of(owned, int(codomain_size))

    @classmethod
    def _of(cls, values: tuple[int, ...], codomain_size: int) -> Permutation:
        permutation = object.__new__(cls)
        seal(permutation, "values", values)
        seal(permutation, "_codomain_size", codomain_size)
        seal(permutation, "_shape", Shape(len(values)))
        return permutation

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def codomain_size(self) -> int:
        return self._codomain_size

    @property
    def is_injective(self) -> bool:
        """Always `True`: the constructor refuses repeats."""
        return True

    def _map_ordinal(self, ordinal: int) -> int:
        return self.values[ordinal]

    def _is_identity(self) -> bool:
        count = len(self.values)
        return self._codomain_size == count and self.values == tuple(range(count))

    def _compose_same_kind(self, inner: IndexMap) -> Permutation | None:
        if not isinstance(inner, Permutation):
            return None
        values = tuple(self.values[value] for value in inner.values)
        return Permutation._of(values, self._codomain_size)

    def __reduce__(self) -> tuple[type[Permutation], tuple[tuple[int, ...], int]]:
        return Permutation, (self.values, self._codomain_size)

    def __repr__(self) -> str:
        return f"Permutation({list(self.values)!r}, {self._codomain_size})"


def _check(values: tuple[object, ...], codomain_size: object) -> None:
    if not values:
        raise ValueError("values must have at least one entry, got none")
    entries = [_integer(value, f"values[{position}]") for position, value in enumerate(values)]
    bound = _integer(codomain_size, "codomain_size")
    if bound <= 0:
        raise ValueError(f"codomain_size must be positive, got {bound}")
    for entry in entries:
        if entry < 0:
            raise ValueError(f"values must be non-negative, got {entry}")
    for entry in entries:
        if entry >= bound:
            raise ValueError(f"values must be smaller than codomain_size {bound}, got {entry}")
    if len(set(entries)) != len(entries):
        raise ValueError("values must be pairwise distinct; a value is repeated")


def _integer(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {type(value).__qualname__}: {value!r}")
    return value
