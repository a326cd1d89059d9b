"""The aggregates of a profile as aligned text."""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from strideweave._record import record
from strideweave.profiling.aggregation import class_name
from strideweave.profiling.events import ProfilerAggregate

_FIELDS: Final = tuple(ProfilerAggregate.__annotations__)
_KEYS: Final[dict[str, Callable[[ProfilerAggregate], Any]]] = {
    "carrier_type": lambda row: class_name(row.carrier_type),
    "input_shapes": lambda row: repr(row.input_shapes),
}
_COLUMNS: Final[dict[str, Callable[[ProfilerAggregate], str]]] = {
    "Name": lambda row: row.name,
    "Carrier": lambda row: ".".join(class_name(row.carrier_type)),
    "Input shapes": lambda row: repr(row.input_shapes),
    "Calls": lambda row: str(row.count),
    "Total (ns)": lambda row: str(row.total_time_ns),
    "Self total (ns)": lambda row: str(row.self_total_time_ns),
    "Mean (ns)": lambda row: f"{row.mean_time_ns:.1f}",
    "Min (ns)": lambda row: str(row.min_time_ns),
    "Max (ns)": lambda row: str(row.max_time_ns),
}


@final
@record
class TableOptions:
    """How a table is sorted and cut.

    Attributes:
        sort_by: A field of ProfilerAggregate.
        descending: Whether large values come first.
        by_shape: Whether the shapes are a column.
        row_limit: How many rows to show, or None for all.
    """

    sort_by: str
    descending: bool
    by_shape: bool
    row_limit: int | None

    def __post_init__(self) -> None:
        _require_field(self.sort_by)
        limit = self.row_limit
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(
                f"table: row_limit must be None or an int of at least 0, got {limit!r}"
            )


def _require_field(name: object) -> None:
    try:
        hash(name)
    except TypeError as error:
        raise TypeError(f"table: sort_by must be the name of a field: {error}") from None
    if name not in _FIELDS:
        raise ValueError(f"table: {name!r} is no sort field; sort by one of {', '.join(_FIELDS)}")


def render(rows: Sequence[ProfilerAggregate], options: TableOptions) -> str:
    """Lay out aggregates as left-aligned columns.

    Args:
        rows: The aggregates, in the order that ties keep.
        options: Order, columns and number of rows.

    Returns:
        A header, a line of dashes and one line per row.
    """
    key = _KEYS.get(options.sort_by, lambda row: getattr(row, options.sort_by))
    ordered = sorted(rows, key=key, reverse=options.descending)[: options.row_limit]
    shown = [title for title in _COLUMNS if options.by_shape or title != "Input shapes"]
    columns = [[title, *map(_COLUMNS[title], ordered)] for title in shown]
    widths = [max(map(len, column)) for column in columns]
    lines = [list(cells) for cells in zip(*columns, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
