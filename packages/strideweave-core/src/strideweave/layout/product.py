"""Index maps side by side."""

from __future__ import annotations

from typing import final

from strideweave.layout.immutable import seal
from strideweave.layout.index_map import IndexMap, compose_maps
from strideweave.layout.shape import Hierarchy, Shape


@final
class Product(IndexMap):
    """Evaluates every child on its own component of the coordinate.

    The domain has one mode per child. The results are numbered in `target_shape`, first child
    fastest. Two products are equal only if they are the same object; compare `children` instead.

    Args:
        children: Two or more index maps; a Product among them stays nested.

    Attributes:
        children: The children as a tuple.
        target_shape: One mode per child: its codomain size, or the target shape of a Product.

    Raises:
        ValueError: There are fewer than two children.
        TypeError: A child is not an IndexMap.

    Examples:
        >>> from strideweave import Permutation, Product
        >>> both = Product(Permutation([4, 3], 10), Permutation([2, 9], 15))
        >>> both((0, 0)), both(3), both.target_shape
        (24, 93, Shape(10, 15))
    """

    __slots__ = ("_shape", "children", "target_shape")

    children: tuple[IndexMap, ...]
    target_shape: Shape
    _shape: Shape

    def __new__(cls, *children: IndexMap) -> Product:
        if len(children) < 2:
            raise ValueError(f"Product needs at least two children, got {len(children)}")
        for child in children:
            if not isinstance(child, IndexMap):
                raise TypeError(
                    f"every child must be an IndexMap, got {type(child).__qualname__}: {child!r}"
                )
        product = object.__new__(cls)
        seal(product, "children", children)
        seal(product, "_shape", Shape._from_hierarchy(tuple(map(_domain_mode, children))))
        seal(product, "target_shape", Shape._from_hierarchy(tuple(map(_target_mode, children))))
        return product

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def codomain_size(self) -> int:
        return self.target_shape.size

    @property
    def is_injective(self) -> bool | None:
        """`False` if any child is proven not injective, `True` if all are proven injective."""
        proofs = [child.is_injective for child in self.children]
        if False in proofs:
            return False
        return True if all(proofs) else None

    def _map_ordinal(self, ordinal: int) -> int:
        index, radix = 0, 1
        for child in self.children:
            ordinal, component = divmod(ordinal, child.size)
            index += radix * child._map_ordinal(component)
            radix *= child.codomain_size
        return index

    def _is_identity(self) -> bool:
        return all(child._is_identity() for child in self.children)

    def _compose_same_kind(self, inner: IndexMap) -> Product | None:
        if not isinstance(inner, Product) or not _aligned(self, inner):
            return None
        return Product(
            *(
                compose_maps(outer_child, inner_child)
                for outer_child, inner_child in zip(self.children, inner.children, strict=True)
            )
        )

    def __reduce__(self) -> tuple[type[Product], tuple[IndexMap, ...]]:
        return Product, self.children

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.children))})"


def _domain_mode(child: IndexMap) -> int | Hierarchy:
    level = child.shape.top_level
    return level[0] if len(level) == 1 and isinstance(level[0], int) else level


def _target_mode(child: IndexMap) -> int | Hierarchy:
    return child.target_shape.top_level if isinstance(child, Product) else child.codomain_size


def _aligned(outer: IndexMap, inner: IndexMap) -> bool:
    """Whether child-wise composition is the composition of the whole."""
    if isinstance(outer, Product) and isinstance(inner, Product):
        return len(outer.children) == len(inner.children) and all(
            map(_aligned, outer.children, inner.children)
        )
    if isinstance(outer, Product) or isinstance(inner, Product):
        return False
    return inner.codomain_size == outer.size
