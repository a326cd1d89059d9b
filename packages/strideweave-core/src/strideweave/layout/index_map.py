"""The abstract index map and its generic composition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final, overload

from strideweave.layout import svg, table
from strideweave.layout.immutable import Immutable, seal
from strideweave.layout.shape import Shape


class IndexMap(Immutable, ABC):
    """A function from the coordinates of a `Shape` to indices in `[0, codomain_size)`.

    The kinds are closed: `Layout`, `Permutation`, `Swizzle`, `Product`, and what composing them
    gives. Every one of them is immutable.

    Args:
        None: The class is abstract; build one of its kinds.

    Examples:
        >>> from strideweave import IndexMap, Layout, Permutation, Shape, Stride
        >>> swap = Permutation([1, 0], 2)
        >>> isinstance(swap, IndexMap), swap(0)
        (True, 1)
        >>> Layout(Shape(2), Stride(3)).compose(swap)(0)
        3
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if not cls.__module__.startswith("strideweave.layout."):
            raise TypeError(
                f"IndexMap is closed: {cls.__qualname__} cannot add a kind; "
                f"compose Layout, Permutation, Swizzle and Product instead"
            )

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The domain."""

    @property
    def size(self) -> int:
        """The number of coordinates of the domain."""
        return self.shape.size

    @property
    @abstractmethod
    def codomain_size(self) -> int:
        """A positive exclusive bound on every index, even where the image is smaller."""

    @property
    @abstractmethod
    def is_injective(self) -> bool | None:
        """`True` when proven, `False` when two coordinates share an index, `None` when unknown."""

    def index(self, key: object) -> int:
        """The index of one coordinate.

        Args:
            key: An ordinal, or a tuple or list that mirrors the shape.

        Returns:
            An integer in `[0, codomain_size)`.

        Raises:
            TypeError: A component of the key is of the wrong kind.
            ValueError: The key does not match the shape or leaves the domain.
        """
        return self._map_ordinal(self.shape.encode(key))

    def __call__(self, key: object) -> int:
        """The same as `index(key)`."""
        return self.index(key)

    @overload
    def compose(self, inner: IndexMap, /) -> IndexMap: ...
    @overload
    def compose(self, *, inner: IndexMap) -> IndexMap: ...
    def compose(self, inner: IndexMap) -> IndexMap:
        """The map that evaluates `inner` first: `result(q) == self(inner(q))`.

        Args:
            inner: The map evaluated first; its `codomain_size` must not exceed `self.size`.

        Returns:
            A map over the shape of `inner`, of a named kind where the result is of that kind.

        Raises:
            TypeError: `inner` is not an IndexMap.
            ValueError: The codomain of `inner` exceeds the size of this map.
        """
        return compose_maps(self, inner)

    def table(self) -> str:
        """The indices as aligned text.

        Two modes give a grid: the ordinals of mode 0 on the left, those of mode 1 on top. One mode
        gives a row. Of more modes, each coordinate of those after the second has a grid of its own
        under its coordinate, the first of them fastest. A nested mode is flattened to its ordinals.

        Returns:
            Lines without a line break at the end.

        Raises:
            ValueError: There are more than 65536 coordinates.

        Examples:
            >>> from strideweave import Layout
            >>> print(Layout.parse("(2,(2,2)):(1,(4,2))").table())
              | 0 1 2 3
            --+--------
            0 | 0 4 2 6
            1 | 1 5 3 7
        """
        return table.table(self)

    def to_svg(self) -> str:
        """The same grids as a picture, each cell coloured by its index.

        Returns:
            A self-contained SVG document.

        Raises:
            ValueError: There are more than 4096 coordinates.

        Examples:
            >>> from strideweave import Layout
            >>> picture = Layout.parse("(2,3):(3,1)").to_svg()
            >>> picture.startswith("<svg"), picture.count("<rect")
            (True, 7)
        """
        return svg.svg(self)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, so that it shows the `repr`, where the SVG is too large."""
        return svg.svg(self) if self.size <= svg.LARGEST else None

    @abstractmethod
    def _map_ordinal(self, ordinal: int) -> int:
        """The index of an ordinal that is known to lie in the domain."""

    @abstractmethod
    def _is_identity(self) -> bool:
        """Whether the structure alone shows that every ordinal maps to itself."""

    def _compose_same_kind(self, inner: IndexMap) -> IndexMap | None:
        """The composition by the rule of this kind, or None where the kind has none."""
        return None

    def _members(self) -> tuple[IndexMap, ...]:
        """The maps, inner to outer, that this one contributes to a generic composition."""
        return (self,)

    def _structural_injectivity(self) -> bool | None:
        """Injectivity as far as a generic composition asks, without enumeration."""
        return self.is_injective

    def __copy__(self) -> IndexMap:
        return self

    def __deepcopy__(self, memo: object) -> IndexMap:
        return self


@final
class GenericComposition(IndexMap):
    """A composition no kind can express: a flat inner-to-outer tuple of maps."""

    __slots__ = ("_chain", "_shape")

    _chain: tuple[IndexMap, ...]
    _shape: Shape

    def __new__(cls, chain: tuple[IndexMap, ...]) -> GenericComposition:
        composition = object.__new__(cls)
        seal(composition, "_chain", chain)
        seal(composition, "_shape", chain[0].shape)
        return composition

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def codomain_size(self) -> int:
        return self._chain[-1].codomain_size

    @property
    def is_injective(self) -> bool | None:
        proofs = [member._structural_injectivity() for member in self._chain]
        if proofs[0] is False:
            return False
        return True if all(proofs) else None

    def _map_ordinal(self, ordinal: int) -> int:
        for member in self._chain:
            ordinal = member._map_ordinal(ordinal)
        return ordinal

    def _is_identity(self) -> bool:
        return False

    def _members(self) -> tuple[IndexMap, ...]:
        return self._chain

    def __reduce__(self) -> tuple[type[GenericComposition], tuple[tuple[IndexMap, ...]]]:
        return GenericComposition, (self._chain,)

    def __repr__(self) -> str:
        return f"<composition, inner to outer: {', '.join(map(repr, self._chain))}>"


def compose_maps(outer: IndexMap, inner: object) -> IndexMap:
    """Compose two maps by the first rule that applies; see `IndexMap.compose`."""
    if not isinstance(inner, IndexMap):
        raise TypeError(f"inner must be an IndexMap, got {type(inner).__qualname__}: {inner!r}")
    if inner.codomain_size > outer.size:
        raise ValueError(
            f"inner codomain exceeds the outer domain: inner reaches {inner.codomain_size} "
            f"indices, the outer {type(outer).__name__} has {outer.size} coordinates"
        )
    if inner._is_identity() and outer.shape == inner.shape:
        return outer
    if outer._is_identity() and inner.codomain_size == outer.codomain_size:
        return inner
    specialised = outer._compose_same_kind(inner)
    if specialised is not None:
        return specialised
    chain = _without_identities((*inner._members(), *outer._members()))
    return chain[0] if len(chain) == 1 else GenericComposition(chain)


def _without_identities(chain: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
    """Drop the identities whose absence changes neither domain, codomain nor any value."""
    first, *interior, last = chain
    kept = [first, *(member for member in interior if not member._is_identity()), last]
    if kept[0]._is_identity() and kept[0].shape == kept[1].shape:
        del kept[0]
    if (
        len(kept) > 1
        and kept[-1]._is_identity()
        and kept[-2].codomain_size == kept[-1].codomain_size
    ):
        del kept[-1]
    return tuple(kept)
