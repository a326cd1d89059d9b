"""Every line of the worked examples of the layout contract, run as it stands there."""

import builtins
import re
from pathlib import Path

import pytest

import strideweave as sw
from strideweave.layout import IndexMap, Layout, Node, Permutation, Product, Shape, Stride, Swizzle

CONTRACT = Path(__file__).parents[3] / "docs" / "contract" / "10-layout.md"
LINE = re.compile(r"^(?P<code>\S.*?) +# (?P<kind>->|!!) (?P<expected>.*)$", re.M)
SECTION = CONTRACT.read_text().partition("## 11. Worked examples")[2]
EXAMPLES = [match.groups() for match in LINE.finditer(SECTION.partition("```python")[2])]


def values(index_map: IndexMap) -> list[int]:
    return [index_map(ordinal) for ordinal in range(index_map.size)]


def is_generic(index_map: IndexMap) -> bool:
    return not isinstance(index_map, (Layout, Permutation, Swizzle, Product))


NAMES = {name: getattr(sw, name) for name in ("Product", "Node")} | {
    "L": Layout,
    "S": Shape,
    "D": Stride,
    "T": sw.Tree,
    "I": Node.id,
    "P": Permutation,
    "W": Swizzle,
    "G": sw.SwizzleStage,
    "vals": values,
    "isgen": is_generic,
}


def test_the_document_has_examples() -> None:
    assert len(EXAMPLES) == 46


@pytest.mark.parametrize(("code", "kind", "expected"), EXAMPLES)
def test_worked_example(code: str, kind: str, expected: str) -> None:
    if kind == "->":
        assert eval(code, dict(NAMES)) == eval(expected, dict(NAMES))
        return
    error, _, message = expected.partition(": ")
    with pytest.raises(getattr(builtins, error), match=re.escape(message)):
        eval(code, dict(NAMES))
