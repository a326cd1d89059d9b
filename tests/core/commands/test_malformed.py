"""The table of malformed commands: exact messages, which end with the column where there is one."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import functional
from strideweave.einops import lex, parse_einsum, parse_rearrange, parse_reduce

NOTHING_OMITTED = (
    "Reduce command must omit at least one dimension of the left side on the right side"
)
NOTHING_SHARED = (
    "Einsum operands must have at least one shared dimension; blanks separate symbols, so 'ij' is "
    "a single one"
)
TOKENS = {
    "aé": "Commands may contain only ASCII characters, got 'é' at offset 1",
    "1é": "Commands may contain only ASCII characters, got 'é' at offset 1",
    "é": "Commands may contain only ASCII characters, got 'é' at offset 0",
    "11": "Invalid singleton: '1' must stand alone at offset 0",
    "1_": "Invalid singleton: '1' must stand alone at offset 0",
    "1a": "Invalid singleton: '1' must stand alone at offset 0",
    "2": "Invalid dimension symbol: it must start with a letter at offset 0",
    "a 9b": "Invalid dimension symbol: it must start with a letter at offset 2",
    "a-b": "Expected '->' at offset 1",
    "a -": "Expected '->' at offset 2",
    "a>": "Unexpected '>' at offset 1",
    "_a": "Unexpected character '_' at offset 0",
    "a\x00b": "Unexpected character '\\x00' at offset 1",
    "a.b": "Unexpected character '.' at offset 1",
    "a + b": "Unexpected character '+' at offset 2",
    "a ... b": "Unexpected character '.' at offset 2",
}
REARRANGEMENTS = {
    "": "Rearrange command must contain one '->'",
    "a b": "Rearrange command must contain one '->'",
    "a ->": "Layout reference must not be empty; to keep no mode, write '-> 1'",
    "-> a": "Layout reference must not be empty; name at least one mode",
    "a -> b": "Unknown dimension symbol 'b' at offset 5",
    "a b -> a a": "Duplicate output dimension symbol 'a' at offset 9",
    "a a -> a": "Duplicate dimension symbol 'a' at offset 2",
    "a -> b -> c": "Rearrange command must contain only one '->', got 2",
    "a () -> a": "Empty parenthesized group at offset 3",
    "a -> ()": "Empty parenthesized group at offset 6",
    "a ) -> a": "Unmatched right parenthesis at offset 2",
    "a -> a)": "Unmatched right parenthesis at offset 6",
    "(a -> a": "Unclosed left parenthesis at offset 0",
    "a -> ((a": "Unclosed left parenthesis at offset 6",
    "(a (b -> a": "Unclosed left parenthesis at offset 3",
    "((a) -> a": "Unclosed left parenthesis at offset 0",
    "a, b -> a b": "Commas are not valid in a layout reference at offset 1",
    "a b -> a, b": "Commas are not valid in a layout reference at offset 8",
    "a ( -> a": "Layout reference must not be empty; name at least one mode",
    "a -> a (": "Layout reference must not be empty; name at least one mode",
    "1 -> 1 a": "Unknown dimension symbol 'a' at offset 7",
}
REDUCTIONS = {
    "a b": "Reduce command must contain one '->'",
    "a -> a": NOTHING_OMITTED,
    "a b -> b a": NOTHING_OMITTED,
    "a b -> (a b)": NOTHING_OMITTED,
    "a -> a -> ": "Reduce command must contain only one '->', got 2",
    "a b -> c": "Unknown dimension symbol 'c' at offset 7",
    "a, b -> a": "Commas are not valid in a layout reference at offset 1",
}
CONTRACTIONS = {
    "a, b": "Einsum command must contain one '->'",
    "a b -> a": "Contraction command must contain one comma before the '->'",
    "a, a, a -> a": "Contraction command must contain only one comma before the '->', got 2",
    "a, a -> a, a": "Commas are not valid in a layout reference at offset 9",
    ", a -> a": "Layout reference must not be empty; name at least one mode",
    "a, -> a": "Layout reference must not be empty; name at least one mode",
    "a b, a b ->": "Layout reference must not be empty; to keep no mode, write '-> 1'",
    "a, b -> a b": NOTHING_SHARED,
    "a b, c b -> a b": "Einsum output must contain every non-shared input symbol: c",
    "x a b, y b z -> a y": "Einsum output must contain every non-shared input symbol: x, z",
    "a b, b c -> a d": "Unknown dimension symbol 'd' at offset 14",
    "a b, b c -> a a c": "Duplicate output dimension symbol 'a' at offset 14",
    "a b, c b -> a c b)": "Unmatched right parenthesis at offset 17",
    "(a b, b -> a": "Unclosed left parenthesis at offset 0",
    "a b, (b -> a": "Unclosed left parenthesis at offset 5",
    "a a, a -> a": "Duplicate dimension symbol 'a' at offset 2",
    "1, 1 -> 1": NOTHING_SHARED,
}


def message(parse: Callable[[str], object], command: str) -> str:
    with pytest.raises(ValueError) as refusal:
        parse(command)
    assert refusal.type is ValueError
    return str(refusal.value)


@pytest.mark.rule("N-5", "Z-2")
@pytest.mark.parametrize("command", TOKENS)
@pytest.mark.parametrize("parse", [lex, parse_rearrange, parse_reduce, parse_einsum])
def test_words(parse: Callable[[str], object], command: str) -> None:
    assert message(parse, command) == TOKENS[command]


@pytest.mark.rule("N-7", "N-8", "N-9", "Z-4", "Z-5")
@pytest.mark.parametrize("command", REARRANGEMENTS)
def test_rearrangements(command: str) -> None:
    assert message(parse_rearrange, command) == REARRANGEMENTS[command]


@pytest.mark.rule("N-7", "N-9", "N-11")
@pytest.mark.parametrize("command", REDUCTIONS)
def test_reductions(command: str) -> None:
    assert message(parse_reduce, command) == REDUCTIONS[command]


@pytest.mark.rule("N-7", "N-9", "N-12", "Z-10")
@pytest.mark.parametrize("command", CONTRACTIONS)
def test_contractions(command: str) -> None:
    assert message(parse_einsum, command) == CONTRACTIONS[command]


@pytest.mark.rule("N-7", "N-8")
def test_groups_have_a_deepest_level() -> None:
    deepest = "(" * 64 + "a" + ")" * 64
    parse_rearrange(f"{deepest} -> {deepest}")
    for command, offset in ((f"({deepest}) -> a", 64), (f"a -> ({deepest})", 69)):
        assert message(parse_rearrange, command) == (
            f"Groups are nested more than 64 deep at offset {offset}"
        )


@pytest.mark.rule("N-2")
@pytest.mark.parametrize(
    "name",
    ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"],
)
def test_functions_fail_as_the_compiler_does(name: str) -> None:
    function = getattr(functional, name)
    nothing: Any = None
    for command, expected in {**TOKENS, **REDUCTIONS}.items():
        assert message(lambda text: function(nothing, text), command) == expected


@pytest.mark.rule("N-2")
def test_the_other_functions_fail_as_the_compiler_does() -> None:
    nothing: Any = None  # the command is compiled before an operand is looked at
    for command, expected in {**TOKENS, **CONTRACTIONS}.items():
        assert message(lambda text: functional.einsum(nothing, nothing, text), command) == expected
    for command, expected in {**TOKENS, **REARRANGEMENTS}.items():
        assert message(lambda text: functional.rearrange(nothing, text), command) == expected
