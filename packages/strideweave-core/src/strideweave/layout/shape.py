"""Hierarchical extents (`Shape`) and strides (`Stride`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TYPE_CHECKING, TypeAlias, final, overload

from strideweave.layout import coordinates
from strideweave.layout.immutable import Immutable, seal

if TYPE_CHECKING:
    from typing import Self

Hierarchy: TypeAlias = "tuple[int | Hierarchy, ...]"


@final
class ShapeLevel(Immutable, tuple["int | ShapeLevel", ...]):
    """One level of a Shape: extents and nested levels, with the number of coordinates below it."""

    logical_size: int

    def __new__(cls, entries: Hierarchy) -> ShapeLevel:
        level = super().__new__(cls, map(_shape_entry, entries))
        size = 1
        for entry in level:
            size *= entry if isinstance(entry, int) else entry.logical_size
        # A tuple subclass cannot have slots of its own.
        level.__dict__["logical_size"] = size
        return level


def _shape_entry(entry: int | Hierarchy) -> int | ShapeLevel:
    return entry if isinstance(entry, (int, ShapeLevel)) else ShapeLevel(entry)


@final
class StrideLevel(Immutable, tuple["int | StrideLevel", ...]):
    """One level of a Stride: strides and nested levels."""

    __slots__ = ()

    def __new__(cls, entries: Hierarchy) -> StrideLevel:
        return super().__new__(cls, map(_stride_entry, entries))


def _stride_entry(entry: int | Hierarchy) -> int | StrideLevel:
    return entry if isinstance(entry, (int, StrideLevel)) else StrideLevel(entry)


def flatten(level: Hierarchy) -> tuple[int, ...]:
    """The leaves of a nested tuple, depth first."""
    leaves: list[int] = []
    for entry in level:
        if isinstance(entry, int):
            leaves.append(entry)
        else:
            leaves.extend(flatten(entry))
    return tuple(leaves)


def depth(level: Hierarchy) -> int:
    """One more than the deepest nesting of a nested tuple."""
    return 1 + max((depth(entry) for entry in level if not isinstance(entry, int)), default=0)


def congruent(first: Hierarchy, second: Hierarchy) -> bool:
    """Whether two nested tuples have the same tree of leaves and levels."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if isinstance(one, int) or isinstance(other, int):
            if not (isinstance(one, int) and isinstance(other, int)):
                return False
        elif not congruent(one, other):
            return False
    return True


class HierarchicalValue(Immutable):
    """What `Shape` and `Stride` have in common: an immutable hierarchy of integers.

    Attributes:
        top_level: Nested tuples of integers, one entry per top-level mode.
        leaves: All integers depth first.
    """

    __slots__ = ("_hash", "leaves", "top_level")

    top_level: Hierarchy
    leaves: tuple[int, ...]
    _hash: int

    def __new__(cls, *items: object) -> Self:
        try:
            return cls._from_hierarchy(_read_arguments(items, cls._check_leaf, cls.__name__))
        except RecursionError:
            raise ValueError(
                f"{cls.__name__} items are nested too deeply for recursion; flatten some levels"
            ) from None

    @classmethod
    def _from_hierarchy(cls, hierarchy: Hierarchy) -> Self:
        """Build from a nested tuple of already checked integers."""
        raise NotImplementedError

    @staticmethod
    def _check_leaf(value: int) -> int:
        raise NotImplementedError

    def _adopt(self, level: Hierarchy) -> None:
        seal(self, "top_level", level)
        seal(self, "leaves", flatten(level))
        seal(self, "_hash", hash(level))

    @classmethod
    def concat(cls, a: Self, b: Self) -> Self:
        """Splice the modes of `b` after those of `a`."""
        _require_same(cls, a, "a")
        _require_same(cls, b, "b")
        return cls._from_hierarchy((*a.top_level, *b.top_level))

    @classmethod
    def append(cls, a: Self, b: Self) -> Self:
        """Add `b` to `a` as one nested mode, or splice it when `b.is_int`."""
        _require_same(cls, a, "a")
        _require_same(cls, b, "b")
        added = b.top_level if b.is_int else (b.top_level,)
        return cls._from_hierarchy((*a.top_level, *added))

    @property
    def depth(self) -> int:
        """One more than the deepest nesting."""
        return depth(self.top_level)

    @property
    def is_int(self) -> bool:
        """Whether there is at most one mode and no nesting."""
        return len(self.top_level) <= 1 and all(isinstance(entry, int) for entry in self.top_level)

    def __int__(self) -> int:
        if not self.is_int or not self.leaves:
            raise ValueError(f"{self!r} is not a single integer; index one leaf of it first")
        return self.leaves[0]

    def __index__(self) -> int:
        if not self.is_int or not self.leaves:
            raise TypeError(f"{self!r} is not a single integer; index one leaf of it first")
        return self.leaves[0]

    def __len__(self) -> int:
        return len(self.top_level)

    @overload
    def __getitem__(self, key: int) -> Self: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | slice) -> Self:
        selected = self.top_level[key]
        return self._from_hierarchy((selected,) if isinstance(selected, int) else selected)

    def __iter__(self) -> Iterator[Self]:
        for position in range(len(self.top_level)):
            yield self[position]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, HierarchicalValue)
            and type(other) is type(self)
            and other._hash == self._hash
            and other.top_level == self.top_level
        )

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Hierarchy]]:
        return type(self), (_plain(self.top_level),)

    def __repr__(self) -> str:
        modes = _plain(self.top_level)
        if len(modes) == 1 and not isinstance(modes[0], int):
            # A sole argument is iterated, so a single nested mode needs one more bracket.
            return f"{type(self).__name__}({modes!r})"
        return f"{type(self).__name__}({', '.join(map(repr, modes))})"

    def __str__(self) -> str:
        return hierarchy_text(self.top_level)


@final
class Shape(HierarchicalValue):
    """Hierarchical extents, first mode fastest.

    Args:
        *items: Nothing for rank zero; one integer for a single leaf; one other iterable whose
            members are the modes; or the modes themselves. A mode is an integer of at least 1,
            a Shape, or a sized iterable of modes.

    Raises:
        ValueError: An extent is below 1, or an item is neither an integer nor a sized iterable.
        TypeError: The sole argument is neither an integer nor iterable.

    Examples:
        >>> from strideweave import Shape
        >>> shape = Shape(2, (3, 4))
        >>> shape.size, len(shape), shape[1]
        (24, 2, Shape(3, 4))
        >>> shape.decode(23)
        (1, (2, 3))
    """

    __slots__ = ("size",)

    top_level: ShapeLevel
    size: int

    @classmethod
    def _from_hierarchy(cls, hierarchy: Hierarchy) -> Shape:
        shape = object.__new__(cls)
        level = hierarchy if isinstance(hierarchy, ShapeLevel) else ShapeLevel(hierarchy)
        shape._adopt(level)
        seal(shape, "size", level.logical_size)
        return shape

    @staticmethod
    def _check_leaf(value: int) -> int:
        if value < 1:
            raise ValueError(f"Shape extent must not be less than 1, got {value}")
        return int(value)

    @property
    def logical_size(self) -> int:
        """The product of all extents, 1 for rank zero."""
        return self.size

    def decode(self, index: int) -> tuple[object, ...]:
        """Turn an ordinal into the nested coordinate, first mode fastest.

        Args:
            index: An integer in `[0, size)`.

        Returns:
            A tuple that mirrors the hierarchy.

        Raises:
            TypeError: `index` is not an integer, or is a `bool`.
            ValueError: `index` lies outside `[0, size)`.

        Examples:
            >>> from strideweave import Shape
            >>> Shape(5, (20, 4)).decode(214)
            (4, (2, 2))
        """
        return coordinates.decode(self.top_level, index)

    def encode(self, coordinate: object) -> int:
        """Turn a coordinate into its ordinal, the inverse of `decode`.

        Args:
            coordinate: A tuple or list that mirrors the hierarchy. At the root and at every nested
                mode an integer may stand for the whole subtree.

        Returns:
            The ordinal, in `[0, size)`.

        Raises:
            TypeError: A component is of another kind.
            ValueError: The coordinate does not match the hierarchy or leaves the domain.

        Examples:
            >>> from strideweave import Shape
            >>> Shape(5, (20, 4)).encode([4, (2, 2)]), Shape(5, (20, 4)).encode((4, 42))
            (214, 214)
        """
        return coordinates.encode(self.top_level, coordinate)


@final
class Stride(HierarchicalValue):
    """Hierarchical strides, congruent with the Shape they are used with.

    Args:
        *items: As for `Shape`, with integers of at least 0.

    Raises:
        ValueError: A stride is negative, or an item is neither an integer nor a sized iterable.
        TypeError: The sole argument is neither an integer nor iterable.

    Examples:
        >>> from strideweave import Stride
        >>> Stride(1, (2, 6))[1]
        Stride(2, 6)
    """

    __slots__ = ()

    top_level: StrideLevel

    @classmethod
    def _from_hierarchy(cls, hierarchy: Hierarchy) -> Stride:
        stride = object.__new__(cls)
        stride._adopt(hierarchy if isinstance(hierarchy, StrideLevel) else StrideLevel(hierarchy))
        return stride

    @staticmethod
    def _check_leaf(value: int) -> int:
        if value < 0:
            raise ValueError(f"Stride value must not be negative, got {value}")
        return int(value)


def hierarchy_text(level: Hierarchy) -> str:
    """CuTe notation of a hierarchy: a single leaf stands alone, all else is bracketed."""
    if len(level) == 1 and isinstance(level[0], int):
        return str(level[0])
    return _bracketed(level)


def _bracketed(level: Hierarchy) -> str:
    entries = (str(entry) if isinstance(entry, int) else _bracketed(entry) for entry in level)
    return f"({','.join(entries)})"


def _plain(level: Hierarchy) -> Hierarchy:
    return tuple(entry if isinstance(entry, int) else _plain(entry) for entry in level)


def _require_same(cls: type[HierarchicalValue], value: object, name: str) -> None:
    if not isinstance(value, cls):
        raise TypeError(
            f"{name} must be a {cls.__name__}, got {type(value).__qualname__}; "
            f"wrap it as {cls.__name__}(...)"
        )


def _read_arguments(items: tuple[object, ...], check: Callable[[int], int], name: str) -> Hierarchy:
    if len(items) != 1:
        return tuple(_read_item(item, check, name) for item in items)
    sole = items[0]
    if isinstance(sole, int):
        return (check(sole),)
    if isinstance(sole, (str, bytes)):
        raise ValueError(_item_message(sole, name))
    if not isinstance(sole, Iterable):
        raise TypeError(
            f"{name} takes integers or iterables of them, got {type(sole).__qualname__}: {sole!r}"
        )
    return tuple(_read_item(item, check, name) for item in sole)


def _read_item(item: object, check: Callable[[int], int], name: str) -> int | Hierarchy:
    if isinstance(item, int):
        return check(item)
    if isinstance(item, HierarchicalValue):
        level = item.top_level
        if len(level) == 1 and isinstance(level[0], int):
            return check(level[0])
        return tuple(_read_item(entry, check, name) for entry in level)
    if isinstance(item, (str, bytes)) or not (
        isinstance(item, Sized) and isinstance(item, Iterable)
    ):
        raise ValueError(_item_message(item, name))
    return tuple(_read_item(entry, check, name) for entry in item)


def _item_message(item: object, name: str) -> str:
    return (
        f"{name} items must be integers or sized iterables of them, "
        f"got {type(item).__qualname__}: {item!r}; convert it with int() or list()"
    )
