"""The rule that relates two adjacent levels of a block-scaled representation."""

from typing import final

from strideweave.dtype.identity import Extension
from strideweave.dtype.public_module import PUBLIC_MODULE
from strideweave.dtype.representation import RepresentationRule, RepresentationValidationContext
from strideweave.dtype.whole import Whole, WholeExtent


@final
class LevelExtent(RepresentationRule):
    """The rule that each coordinate of level ``level + 1`` covers ``extent`` of level ``level``.

    Examples:
        >>> from strideweave.carriers.dtype import LevelExtent, Whole
        >>> LevelExtent(1, Whole).structure()
        ('str:strideweave.carriers.dtype', 'str:LevelExtent', ('int:1', 'whole'))
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_extent", "_level")

    _level: int
    _extent: int | WholeExtent

    def __init__(self, level: int, extent: int | WholeExtent) -> None:
        """Store the edge and its extent.

        Args:
            level: The lower level of the edge, a non-negative exact ``int``.
            extent: How many coordinates each one above covers, a positive exact ``int``, or
                ``Whole`` for all of them.

        Raises:
            TypeError: ``level`` is not an exact ``int``, or ``extent`` neither ``Whole`` nor one.
            ValueError: ``level`` is negative or ``extent`` is not positive.
        """
        if type(level) is not int:
            raise TypeError(
                f"level must be an int, got {level!r} of type {type(level).__qualname__}"
            )
        if level < 0:
            raise ValueError(f"level must be non-negative, got {level}")
        if extent is not Whole and type(extent) is not int:
            raise TypeError(
                f"extent must be Whole or an int, got {extent!r} of type "
                f"{type(extent).__qualname__}"
            )
        if type(extent) is int and extent < 1:
            raise ValueError(f"extent must be positive, got {extent}")
        self._level = level
        self._extent = extent

    @property
    def level(self) -> int:
        """The lower level of the edge."""
        return self._level

    @property
    def extent(self) -> int | WholeExtent:
        """How many coordinates of the lower level each one above covers, or ``Whole``."""
        return self._extent

    def structure_extension(self) -> Extension:
        """Return level and extent."""
        return (self._level, self._extent)

    def validate(self, context: RepresentationValidationContext) -> None:
        """Raise unless the adjacent layout of this edge has uniform blocks of the extent.

        Args:
            context: The representation; its adjacent layout ``level`` maps coordinates of that
                level to ordinals of the next.

        Raises:
            ValueError: The edge is missing, the sizes of both levels do not fit the extent, or some
                coordinate above has another number of preimages. Names dtype and level.
        """
        edge = f"{context.logical_dtype.name} level {self._level}"
        if self._level >= len(context.adjacent_layouts):
            raise ValueError(
                f"{edge}: the representation has no level {self._level + 1}, it has "
                f"{len(context.level_shapes)} levels"
            )
        lower, upper = context.level_shapes[self._level : self._level + 2]
        extent = lower.size if isinstance(self._extent, WholeExtent) else self._extent
        if lower.size % extent != 0:
            raise ValueError(
                f"{edge}: blocks of {extent} do not divide its {lower.size} coordinates"
            )
        if upper.size != lower.size // extent:
            raise ValueError(
                f"{edge}: blocks of {self._extent} over {lower.size} coordinates need "
                f"{lower.size // extent} coordinates on level {self._level + 1}, got {upper.size}"
            )
        preimages = context.adjacent_layouts[self._level].uniform_preimage_extent(upper)
        if preimages != extent:
            found = "no uniform number" if preimages is None else str(preimages)
            raise ValueError(
                f"{edge}: each coordinate of level {self._level + 1} must cover {extent} "
                f"coordinates, the adjacent layout gives {found}"
            )

    def __reduce__(self) -> "tuple[type[LevelExtent], tuple[int, int | WholeExtent]]":
        return (LevelExtent, (self._level, self._extent))

    def __repr__(self) -> str:
        return f"LevelExtent({self._level}, {self._extent!r})"
