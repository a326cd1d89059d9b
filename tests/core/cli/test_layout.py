"""``strideweave layout``."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest


@pytest.mark.rule("L-45")
def test_prints_notation_facts_and_table(ask: Any) -> None:
    answer = ask("layout", "(4,(2,3)):(1,(4,8))")
    assert answer.status == 0
    assert answer.output == (
        "(4,(2,3)):(1,(4,8))\n"
        "size 24, cosize 24, injective, compact\n"
        "\n"
        "  |  0  1  2  3  4  5\n"
        "--+------------------\n"
        "0 |  0  4  8 12 16 20\n"
        "1 |  1  5  9 13 17 21\n"
        "2 |  2  6 10 14 18 22\n"
        "3 |  3  7 11 15 19 23\n"
    )


@pytest.mark.parametrize(
    ("layout", "facts"),
    [
        ("(2,3):(1,0)", "size 6, cosize 2, not injective, not compact"),
        ("(2,2):(1,4)", "size 4, cosize 6, injective, not compact"),
    ],
)
def test_facts(layout: str, facts: str, ask: Any) -> None:
    assert ask("layout", layout).output.splitlines()[1] == facts


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (("(6,2):(8,2)", "--compose", "(4,3):(3,1)"), "((2,2),3):((24,2),8)"),
        (("(4,2,3):(2,1,8)", "--divide", "4:2"), "((2,2),(2,3)):((4,1),(2,8))"),
        (("(2,2):(1,6)", "--complement", "24"), "(3,2):(2,12)"),
        (("(2,2):(1,6)", "--complement", "(4,6):(1,4)"), "(3,2):(2,12)"),
    ],
)
def test_algebra(words: tuple[str, ...], result: str, ask: Any) -> None:
    answer = ask("layout", *words)
    assert (answer.status, answer.output.splitlines()[0]) == (0, result)


def test_a_layout_too_large_for_a_table_is_described_all_the_same(ask: Any) -> None:
    answer = ask("layout", "(2,2):(1,6)", "--complement", "24000000000000000000")
    assert answer.status == 0
    assert answer.output == (
        "(3,2000000000000000000):(2,12)\n"
        "size 6000000000000000000, cosize 23999999999999999993, injective, not compact\n"
        "\n"
        "6000000000000000000 coordinates are too many for a text table, which takes at most 65536; "
        "take a part, such as one mode, or a tile from a division\n"
    )


@pytest.mark.rule("L-46")
def test_writes_a_picture(ask: Any, tmp_path: Path) -> None:
    picture = tmp_path / "layout.svg"
    answer = ask("layout", "(2,3):(3,1)", "--svg", str(picture))
    assert answer.status == 0
    assert answer.output.endswith(f"\nwritten to {picture}\n")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert ask("layout", "(2,3):(3,1)", "--svg", "-").output == picture.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("4",), "malformed layout '4': expected ':' at column 2; write extents and strides"),
        (("(2,3):(1,0)", "--complement", "6"), "cannot complement: "),
        (("(4,6):(1,4)", "--divide", "5:1"), "cannot divide: "),
        (("4:1", "--compose", "5:1"), "cannot compose: inner codomain exceeds"),
        (("(1000,1000):(1,1000)", "--svg", "-"), "1000000 coordinates are too many for an SVG"),
        (("(" * 5000,), "argument LAYOUT: "),
        (("4:1", "--svg", "absent/picture.svg"), "cannot write absent/picture.svg: No such file"),
        (("4:1", "--divide", "2:1", "--compose", "2:1"), "not allowed with argument"),
    ],
)
def test_refusals_say_what_is_wrong(words: tuple[str, ...], message: str, ask: Any) -> None:
    answer = ask("layout", *words)
    assert (answer.status, answer.output) == (2, "")
    assert message in answer.errors
