"""Index maps that XOR bit fields of the ordinal."""

from __future__ import annotations

from typing import final

from strideweave._record import record
from strideweave.layout.immutable import seal
from strideweave.layout.index_map import IndexMap
from strideweave.layout.shape import Shape


@final
@record
class SwizzleStage:
    """One XOR of a bit field into another; applying it twice changes nothing.

    Args:
        bits: Width of both fields, at least 1.
        base: Position of the lower field, at least 0.
        shift: Distance of the fields, at least `bits` in absolute value. Positive: the upper field
            is XORed into the lower one. Negative: the lower one into the upper one.

    Raises:
        TypeError: An argument is not an integer, or is a `bool`.
        ValueError: An argument is out of its range, or the fields overlap.

    Examples:
        >>> from strideweave import SwizzleStage
        >>> SwizzleStage(2, 0, 2)
        SwizzleStage(bits=2, base=0, shift=2)
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        for name, value in (("bits", self.bits), ("base", self.base), ("shift", self.shift)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(
                    f"{name} must be an integer, got {type(value).__qualname__}: {value!r}"
                )
        if self.bits <= 0:
            raise ValueError(f"bits must be positive, got {self.bits}")
        if self.base < 0:
            raise ValueError(f"base must be non-negative, got {self.base}")
        if self.shift == 0:
            raise ValueError("shift must be non-zero")
        if abs(self.shift) < self.bits:
            raise ValueError(
                f"the two fields must not overlap: abs(shift) {abs(self.shift)} is below "
                f"bits {self.bits}"
            )

    def apply(self, index: int) -> int:
        """XOR the source field of `index` into its target field."""
        mask = (1 << self.bits) - 1
        source = self.base + max(self.shift, 0)
        target = self.base + max(-self.shift, 0)
        return index ^ (((index >> source) & mask) << target)


@final
class Swizzle(IndexMap):
    """A bijection of a power-of-two domain, made of XOR stages.

    Two swizzles are equal only if they are the same object; compare `shape` and `stages` instead.

    Args:
        shape: The domain; its size is a power of two.
        stages: The stages in the order in which they run; none gives the identity.

    Attributes:
        stages: The stages as a tuple.

    Raises:
        TypeError: `shape` is not a Shape, or a stage not a SwizzleStage.
        ValueError: The size is not a power of two, or a stage reaches past its bits.

    Examples:
        >>> from strideweave import Shape, Swizzle, SwizzleStage
        >>> swizzle = Swizzle(Shape(16), SwizzleStage(2, 0, 2))
        >>> bin(swizzle(0b1101))
        '0b1110'
        >>> swizzle.compose(swizzle).stages
        ()
    """

    __slots__ = ("_shape", "stages")

    stages: tuple[SwizzleStage, ...]
    _shape: Shape

    def __new__(cls, shape: Shape | None = None, *stages: SwizzleStage) -> Swizzle:
        if not isinstance(shape, Shape):
            raise TypeError(f"shape must be a Shape, got {type(shape).__qualname__}: {shape!r}")
        for stage in stages:
            if not isinstance(stage, SwizzleStage):
                raise TypeError(
                    f"every stage must be a SwizzleStage, got {type(stage).__qualname__}: {stage!r}"
                )
        if shape.size & (shape.size - 1):
            raise ValueError(f"the size of the shape must be a power of two, got {shape.size}")
        width = shape.size.bit_length() - 1
        for stage in stages:
            if stage.base + abs(stage.shift) + stage.bits > width:
                raise ValueError(
                    f"{stage!r} must not exceed the domain bit width {width} of size {shape.size}"
                )
        return cls._of(shape, stages)

    @classmethod
    def _of(cls, shape: Shape, stages: tuple[SwizzleStage, ...]) -> Swizzle:
        swizzle = object.__new__(cls)
        seal(swizzle, "_shape", shape)
        seal(swizzle, "stages", stages)
        return swizzle

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def codomain_size(self) -> int:
        return self._shape.size

    @property
    def is_injective(self) -> bool:
        """Always `True`: every stage is its own inverse."""
        return True

    def _map_ordinal(self, ordinal: int) -> int:
        for stage in self.stages:
            ordinal = stage.apply(ordinal)
        return ordinal

    def _is_identity(self) -> bool:
        return not _cancelled(self.stages)

    def _compose_same_kind(self, inner: IndexMap) -> Swizzle | None:
        if not isinstance(inner, Swizzle) or inner.size != self.size:
            return None
        return Swizzle._of(inner.shape, _cancelled(inner.stages + self.stages))

    def __reduce__(self) -> tuple[type[Swizzle], tuple[Shape | SwizzleStage, ...]]:
        return Swizzle, (self._shape, *self.stages)

    def __repr__(self) -> str:
        return f"Swizzle({', '.join(map(repr, (self._shape, *self.stages)))})"


def _cancelled(stages: tuple[SwizzleStage, ...]) -> tuple[SwizzleStage, ...]:
    """Drop neighbouring equal stages until none are left."""
    kept: list[SwizzleStage] = []
    for stage in stages:
        if kept and kept[-1] == stage:
            kept.pop()
        else:
            kept.append(stage)
    return tuple(kept)
