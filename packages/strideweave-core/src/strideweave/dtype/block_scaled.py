"""Dtypes that store narrow elements and the scales of their blocks."""

import math
from collections.abc import Iterable

from strideweave.dtype.compound import CompoundDType, materialize
from strideweave.dtype.contract import contract
from strideweave.dtype.descriptor import DType, SimpleDType, reference, store
from strideweave.dtype.identity import Structure, encode_leaf
from strideweave.dtype.level_extent import LevelExtent
from strideweave.dtype.levels import Level, SymbolicBits
from strideweave.dtype.public_module import PUBLIC_MODULE


def _fragment(descriptor: "BlockScaledDType") -> Structure:
    return (
        encode_leaf("BlockScaledDType"),
        reference(descriptor.element),
        tuple((reference(level.scale), encode_leaf(level.block)) for level in descriptor.levels),
    )


def _checked_levels(levels: object) -> tuple[Level, ...]:
    entries = materialize("levels", levels)
    if not entries:
        raise ValueError("levels needs at least one Level, got none")
    for position, entry in enumerate(entries):
        if not isinstance(entry, Level):
            raise TypeError(
                f"levels[{position}] must be a Level, got {entry!r} of type "
                f"{type(entry).__qualname__}"
            )
        if entry.is_whole() and position != len(entries) - 1:
            raise ValueError(
                f"levels[{position}] spans a Whole level, which only the last (outermost) level may"
            )
    return entries  # type: ignore[return-value]  # every entry was checked


@contract(
    owned=("element", "levels", "num_axes", "bits_per_element"),
    fragment=_fragment,
    unique_structure=True,
)
class BlockScaledDType(CompoundDType, abstract=False):
    """Narrow elements with one or more levels of scales, inner to outer.

    Plane 0 holds the elements and plane ``i + 1`` the scales of ``levels[i]``. No two descriptors
    share one element and level chain unless a ``structure_extension()`` tells them apart.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> DType.MXFP4.simple_types
        (SimpleDType('E2M1'), SimpleDType('E8M0'))
        >>> DType.MXFP4.bits_per_element
        4.25
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_element", "_levels")

    _element: SimpleDType
    _levels: tuple[Level, ...]

    def __init__(self, name: str, *, element: SimpleDType, levels: Iterable[Level]) -> None:
        """Store element and levels; the class machinery registers afterwards.

        Args:
            name: The name to register, a non-empty ``str``.
            element: The encoding of the elements.
            levels: The scale planes, inner to outer; only the last may span ``Whole``. Read once.

        Raises:
            TypeError: ``element`` is not a ``SimpleDType``, or ``levels`` not an iterable of
                ``Level``.
            ValueError: ``levels`` is empty or has ``Whole`` before its end, or ``name`` is not a
                non-empty ``str``.
        """
        if not isinstance(element, SimpleDType):
            raise TypeError(
                f"element must be a SimpleDType, got {element!r} of type "
                f"{type(element).__qualname__}"
            )
        checked_levels = _checked_levels(levels)
        super().__init__(
            name,
            supertype=DType.Any,
            simple_types=(element, *(level.scale for level in checked_levels)),
            representation_rules=tuple(
                LevelExtent(index, level.block) for index, level in enumerate(checked_levels)
            ),
        )
        store(self, "_element", element)
        store(self, "_levels", checked_levels)

    @property
    def element(self) -> SimpleDType:
        """The encoding of the elements."""
        return self._element

    @property
    def levels(self) -> tuple[Level, ...]:
        """The scale planes, inner to outer."""
        return self._levels

    @property
    def num_axes(self) -> int:
        """The number of levels with an integer block."""
        return sum(not level.is_whole() for level in self._levels)

    @property
    def bits_per_element(self) -> float | SymbolicBits:
        """Stored bits per element with all scales; symbolic when the last level is ``Whole``."""
        blocks = [level.block for level in self._levels if isinstance(level.block, int)]
        bits = float(self._element.bits)
        for index in range(len(blocks)):
            bits += self._levels[index].scale.bits / math.prod(blocks[: index + 1])
        outermost = self._levels[-1]
        return SymbolicBits(bits, outermost.scale.bits) if outermost.is_whole() else bits
