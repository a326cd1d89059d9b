"""What a Tensor consists of: logical dtype, subtensors, and the layouts between their levels.

Level ``i`` has a placement layout, which maps a coordinate of the level to a slot of its carrier,
relative to the offset. An adjacent layout maps a coordinate of level ``i`` to the ordinal of a
coordinate of level ``i + 1``. Both are ordinary layouts; their position tells the role.
"""

from collections.abc import Iterable
from typing import final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType
from strideweave.layout import Layout, Shape
from strideweave.tensor.placement import storage_schema


@final
@record
class Subtensor:
    """One level: a carrier and the placement of the level's coordinates in it.

    Unchecked by itself; a TensorRepresentation checks all its subtensors together.

    Attributes:
        dtype: The storage dtype.
        carrier: The owner of the storage.
        offset: The slot of the layout's index zero.
        layout: The placement layout.
    """

    dtype: DType
    carrier: Carrier
    offset: int
    layout: Layout


@final
@record
class DeeperLevels:
    """What a Tensor of several subtensors has besides subtensor zero.

    Attributes:
        subtensors: Subtensors 1 and on, at least one.
        adjacent_layouts: One per subtensor here: entry ``i`` leads from level ``i`` to ``i + 1``.
    """

    subtensors: tuple[Subtensor, ...]
    adjacent_layouts: tuple[Layout, ...]


@final
@record
class TensorRepresentation:
    """A complete, validated description of a Tensor's storage.

    Construction checks the parts in themselves and against each other, then runs the
    representation rules of the logical dtype. It modifies and releases no carrier.

    Attributes:
        logical_dtype: The dtype of the values the Tensor shows.
        subtensors: One per storage dtype of the logical dtype.
        adjacent_layouts: One fewer; entry ``i`` leads from level ``i`` to level ``i + 1``.

    Raises:
        TypeError: If a part has a wrong type, or two carriers have different exact classes.
        ValueError: If the parts do not fit the logical dtype, a carrier or each other.
    """

    logical_dtype: DType
    subtensors: tuple[Subtensor, ...]
    adjacent_layouts: tuple[Layout, ...]

    def __init__(
        self,
        logical_dtype: DType,
        subtensors: Iterable[Subtensor],
        adjacent_layouts: Iterable[Layout] = (),
    ) -> None:
        entries = _materialized("subtensors must be an iterable of Subtensors", subtensors)
        layouts = _materialized("adjacent_layouts must be an iterable of Layouts", adjacent_layouts)
        object.__setattr__(self, "logical_dtype", logical_dtype)
        object.__setattr__(self, "subtensors", entries)
        object.__setattr__(self, "adjacent_layouts", layouts)
        schema = _checked_schema(self)
        for level, (dtype, subtensor) in enumerate(zip(schema, self.subtensors, strict=True)):
            where = f"{self.logical_dtype.name} subtensor {level}"
            _check_storage(where, level, subtensor, dtype)
            _check_placement(where, subtensor)
            _check_class(where, subtensor, self.subtensors[0])
        for level in range(len(self.adjacent_layouts)):
            _check_adjacent_layout(self, level)
        _run_rules(self)


def _materialized(requirement: str, values: Iterable[object]) -> tuple[object, ...]:
    try:
        iterator = iter(values)
    except TypeError:
        raise TypeError(f"{requirement}, got {_kind(values)}") from None
    return tuple(iterator)


def _checked_schema(representation: TensorRepresentation) -> tuple[DType, ...]:
    """Check the logical dtype and that it has as many subtensors and layouts as it needs."""
    logical_dtype: object = representation.logical_dtype
    if not isinstance(logical_dtype, DType):
        raise TypeError(f"logical_dtype must be a DType, got {_kind(logical_dtype)}")
    entries: tuple[object, ...] = representation.subtensors
    for level, entry in enumerate(entries):
        if not isinstance(entry, Subtensor):
            raise TypeError(f"subtensors[{level}] must be a Subtensor, got {_kind(entry)}")
    schema = storage_schema(logical_dtype)
    if len(entries) != len(schema):
        raise ValueError(
            f"{logical_dtype.name} requires {len(schema)} subtensors, one for each of "
            f"{', '.join(dtype.name for dtype in schema)}; got {len(entries)}"
        )
    if len(representation.adjacent_layouts) != len(schema) - 1:
        raise ValueError(
            f"{logical_dtype.name} requires {len(schema) - 1} adjacent layouts, one between "
            f"neighbouring subtensors; got {len(representation.adjacent_layouts)}"
        )
    return schema


def _check_storage(where: str, level: int, subtensor: Subtensor, expected: DType) -> None:
    dtype: object = subtensor.dtype
    if not isinstance(dtype, DType):
        raise TypeError(f"{where} dtype must be a DType, got {_kind(dtype)}")
    if dtype is not expected:
        raise ValueError(
            f"{where}: subtensor {level} must use storage dtype {expected.name}, got {dtype.name}"
        )
    carrier: object = subtensor.carrier
    if not isinstance(carrier, Carrier):
        raise TypeError(f"{where} carrier must be a Carrier, got {_kind(carrier)}")
    if carrier.dtype() is not dtype:
        raise ValueError(
            f"{where} carrier dtype must be identical to its storage dtype {dtype.name}, this "
            f"{_kind(carrier)} stores {carrier.dtype()!r}"
        )


def _check_placement(where: str, subtensor: Subtensor) -> None:
    offset: object = subtensor.offset
    if type(offset) is not int:
        raise TypeError(f"{where} offset must be an int, got {_kind(offset)}")
    if offset < 0:
        raise ValueError(f"Tensor offset must be non-negative, {where} has {offset}")
    layout: object = subtensor.layout
    if not isinstance(layout, Layout):
        raise TypeError(f"{where} placement must be a Layout, got {_kind(layout)}")
    size = subtensor.carrier.size()
    if size < 0:
        raise ValueError(
            f"carrier size must be non-negative, the {_kind(subtensor.carrier)} of {where} "
            f"reports {size}"
        )
    needed = offset + layout.cosize
    if needed > size:
        raise ValueError(
            f"Tensor storage exceeds carrier size: {where} placement storage exceeds carrier size, "
            f"offset {offset} and layout {layout} need {needed} slots, its "
            f"{_kind(subtensor.carrier)} has {size}"
        )


def _check_class(where: str, subtensor: Subtensor, leading: Subtensor) -> None:
    found, expected = type(subtensor.carrier), type(leading.carrier)
    if found is not expected:
        raise TypeError(
            f"{where}: the carriers of a Tensor must have one exact class, this one is "
            f"{found.__module__}.{found.__qualname__}, that of subtensor 0 "
            f"{expected.__module__}.{expected.__qualname__}"
        )


def _check_adjacent_layout(representation: TensorRepresentation, level: int) -> None:
    name = representation.logical_dtype.name
    layout: object = representation.adjacent_layouts[level]
    if not isinstance(layout, Layout):
        raise TypeError(f"{name} adjacent_layouts[{level}] must be a Layout, got {_kind(layout)}")
    source = representation.subtensors[level].layout
    if layout.shape != source.shape:
        raise ValueError(
            f"{name} adjacent layout at level {level} must have the source placement shape as its "
            f"domain: {source.shape} expected, got {layout.shape}"
        )
    target = representation.subtensors[level + 1].layout
    if layout.cosize > target.size:
        raise ValueError(
            f"{name} adjacent layout at level {level} reaches index {layout.cosize - 1}, outside "
            f"level {level + 1} shape cardinality {target.size}"
        )


@final
@record
class _RuleContext:
    """The one RepresentationValidationContext that all rules of a representation get."""

    logical_dtype: DType
    storage_dtypes: tuple[DType, ...]
    placement_layouts: tuple[Layout, ...]
    adjacent_layouts: tuple[Layout, ...]
    level_shapes: tuple[Shape, ...]


def _run_rules(representation: TensorRepresentation) -> None:
    rules = representation.logical_dtype.representation_rules
    if not rules:
        return
    subtensors = representation.subtensors
    context = _RuleContext(
        representation.logical_dtype,
        tuple(subtensor.dtype for subtensor in subtensors),
        tuple(subtensor.layout for subtensor in subtensors),
        representation.adjacent_layouts,
        tuple(subtensor.layout.shape for subtensor in subtensors),
    )
    for rule in rules:
        rule.validate(context)


def _kind(value: object) -> str:
    return type(value).__qualname__
