"""The table of layout facts, compared as functions: size and every value."""

from pathlib import Path
from typing import NamedTuple

import pytest

from strideweave.layout import Layout
from strideweave.layout.enumeration import slots

TABLE = Path(__file__).parents[3] / "docs" / "contract" / "data" / "layout_facts.csv"


def layouts(text: str) -> list[Layout]:
    return [Layout.parse(part) for part in text.split(";")]


def computed(operation: str, layout: Layout, operand: str) -> list[int]:
    match operation:
        case "comp":
            composed = layout.compose(Layout.parse(operand))
            return [composed(ordinal) for ordinal in range(composed.size)]
        case "compl":
            return slots(Layout.complement(layout, int(operand)))
        case "coal":
            return slots(Layout.coalesce(layout))
        case "ldiv":
            return slots(Layout.divide(layout, Layout.parse(operand)))
        case _:
            return slots(Layout.zipped_divide(layout, layouts(operand)))


class Fact(NamedTuple):
    name: str
    operation: str
    layout: Layout
    operand: str
    result: Layout


def read(line: str) -> Fact:
    # A tiler separates its tiles with the delimiter of the table.
    name, operation, layout, *operand, result = line.split(";")
    return Fact(name, operation, Layout.parse(layout), ";".join(operand), Layout.parse(result))


FACTS = [read(line) for line in TABLE.read_text().splitlines() if not line.startswith(("#", "id;"))]


def test_the_table_is_complete() -> None:
    assert len(FACTS) == 19
    assert {fact.operation for fact in FACTS} == {"comp", "compl", "coal", "ldiv", "zdiv by mode"}


@pytest.mark.rule("G-1", "L-25", "L-27", "L-29", "L-30")
@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_fact(fact: Fact) -> None:
    assert computed(fact.operation, fact.layout, fact.operand) == slots(fact.result)
