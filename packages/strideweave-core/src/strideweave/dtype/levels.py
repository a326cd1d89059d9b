"""One level of block scaling, and storage cost that depends on an element count."""

from typing import final

from strideweave._record import record
from strideweave.dtype.descriptor import SimpleDType
from strideweave.dtype.public_module import PUBLIC_MODULE
from strideweave.dtype.whole import WholeExtent


@final
@record
class Level:
    """One scale plane of a block-scaled dtype and how many coordinates below each scale covers.

    Args:
        scale: The encoding of the scales.
        block: A positive number of coordinates of the level immediately below, or ``Whole``.

    Raises:
        TypeError: ``scale`` is not a ``SimpleDType``, or ``block`` neither ``Whole`` nor ``int``.
        ValueError: ``block`` is below 1.

    Examples:
        >>> from strideweave.carriers.dtype import DType, Level, Whole
        >>> Level(DType.E8M0, 32)
        Level(scale=SimpleDType('E8M0'), block=32)
        >>> Level(DType.Float32, Whole).is_whole()
        True
    """

    __module__ = PUBLIC_MODULE

    scale: SimpleDType
    """The encoding of the scales."""
    block: int | WholeExtent
    """How many coordinates of the level immediately below one scale covers."""

    def __post_init__(self) -> None:
        if not isinstance(self.scale, SimpleDType):
            raise TypeError(
                f"scale must be a SimpleDType, got {self.scale!r} of type "
                f"{type(self.scale).__qualname__}"
            )
        if isinstance(self.block, WholeExtent):
            return
        if not isinstance(self.block, int) or isinstance(self.block, bool):
            raise TypeError(
                f"block must be Whole or an int, got {self.block!r} of type "
                f"{type(self.block).__qualname__}"
            )
        if self.block < 1:
            raise ValueError(f"block must be at least 1, got {self.block}")
        object.__setattr__(self, "block", int.__int__(self.block))

    def is_whole(self) -> bool:
        """Tell whether one scale covers the whole level below."""
        return isinstance(self.block, WholeExtent)


@final
@record
class SymbolicBits:
    """A number of bits per element that depends on how many elements share a whole-level scale.

    Args:
        constant: Bits per element without the whole-level scale.
        whole_scale_bits: Width of the one scale that all elements share.

    Examples:
        >>> from strideweave.carriers.dtype import SymbolicBits
        >>> SymbolicBits(4.5, 32).evaluate(1024)
        4.53125
    """

    __module__ = PUBLIC_MODULE

    constant: float
    """Bits per element without the whole-level scale."""
    whole_scale_bits: int
    """Width of the one scale that all elements share."""

    def evaluate(self, element_count: int) -> float:
        """Return the bits per element when ``element_count`` elements share the scale.

        Args:
            element_count: How many elements there are, at least 1.

        Raises:
            TypeError: ``element_count`` is not an ``int``.
            ValueError: ``element_count`` is below 1.
        """
        if not isinstance(element_count, int) or isinstance(element_count, bool):
            raise TypeError(
                f"element_count must be an int, got {element_count!r} of type "
                f"{type(element_count).__qualname__}"
            )
        if element_count < 1:
            raise ValueError(f"element_count must be at least 1, got {element_count}")
        return self.constant + self.whole_scale_bits / element_count
