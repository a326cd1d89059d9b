"""Rearrangement, reduction and contraction commands."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from strideweave.commands.compiling import REMEMBERED, CompiledCommands
from strideweave.einops import (
    EinsumSpec,
    RearrangeSpec,
    ReduceSpec,
    lex,
    parse_einsum,
    parse_layout_ref,
    parse_rearrange,
    parse_reduce,
)
from strideweave.layout import Layout, Node, Tree

Leaf = Node.Leaf
identified = Node.id
PARSERS: list[Callable[[Any], object]] = [parse_rearrange, parse_reduce, parse_einsum]


def rearranged(text: str, command: str) -> str:
    spec = parse_rearrange(command)
    return str(Layout.rearrange(Layout.parse(text), spec.output, spec.selection))


@pytest.mark.rule("N-3")
@pytest.mark.parametrize("parse", PARSERS)
def test_a_command_is_a_string(parse: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="command must be a str, got list"):
        parse(["a"])


@pytest.mark.rule("N-4", "N-5")
@pytest.mark.parametrize("command", ["(a 2) -> a", "... a -> a", "a a -> a", "a * b -> a"])
def test_commands_only_name_structure(command: str) -> None:
    with pytest.raises(ValueError, match="at offset"):
        parse_rearrange(command)


@pytest.mark.rule("N-9", "Z-5")
@pytest.mark.parametrize(
    ("parse", "command", "message"),
    [
        (parse_rearrange, "a b", "Rearrange command must contain one '->'"),
        (parse_reduce, "", "Reduce command must contain one '->'"),
        (parse_einsum, "a, b", "Einsum command must contain one '->'"),
        (parse_rearrange, "a -> b -> )", "Rearrange command must contain only one '->'"),
        (parse_einsum, "a b -> a", "Contraction command must contain one comma"),
        (parse_einsum, "a b -> a, b", "Contraction command must contain one comma"),
        (parse_einsum, "a, a, a -> a", "Contraction command must contain only one comma"),
        (parse_einsum, "a ), a a -> a", "Unmatched right parenthesis at offset 2$"),
        (parse_rearrange, "a, b -> a", "Commas are not valid.* at offset 1$"),
        (parse_rearrange, "a a -> )", "Duplicate dimension symbol 'a' at offset 2$"),
    ],
)
def test_separators_come_first(parse: Callable[[str], object], command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(command)


@pytest.mark.rule("N-10")
def test_rearrange() -> None:
    assert parse_rearrange("a (b 1) -> b a") == RearrangeSpec(
        Tree(Leaf, Tree(Leaf, Leaf)), Tree(identified(1), identified(0)), (("a", 0), ("b", 1))
    )
    assert parse_rearrange("a b -> a").output == Tree(identified(0))


@pytest.mark.rule("N-8", "N-10", "N-16", "Z-11")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a b -> b a", "(3,2):(2,1)"),
        ("a b -> (b a)", "((3,2)):((2,1))"),
        ("a b -> a 1 b", "(2,1,3):(1,0,2)"),
        ("a b -> (a 1) b", "((2,1),3):((1,0),2)"),
        ("a b -> (b) a", "(3,2):(2,1)"),
    ],
)
def test_rearranging_a_matrix(command: str, expected: str) -> None:
    assert rearranged("(2,3):(1,2)", command) == expected


@pytest.mark.rule("N-15", "N-16", "Z-12")
def test_a_command_must_fit_the_layout() -> None:
    with pytest.raises(ValueError, match="must include every extracted layout"):
        rearranged("(2,3):(1,2)", "a b -> a")
    with pytest.raises(ValueError, match="layout and tree profile do not match"):
        rearranged("(2,3):(1,2)", "a (b c) -> a b c")


@pytest.mark.rule("N-15", "Z-13")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a b -> b a", "((3,1),2):((2,0),1)"),
        ("a (b c) -> b a", "(3,2):(2,1)"),
        ("a (b 1) -> a b", "(2,3):(1,2)"),
    ],
)
def test_a_symbol_may_name_a_nested_mode(command: str, expected: str) -> None:
    assert rearranged("(2,(3,1)):(1,(2,0))", command) == expected


@pytest.mark.rule("N-11", "Z-6")
def test_reduce() -> None:
    kept, reduced = Tree(identified(0), identified(1)), Tree(identified(2), identified(3))
    assert parse_reduce("a (c d) b -> a c") == ReduceSpec(
        Tree(Leaf, Tree(Leaf, Leaf), Leaf),
        kept,
        reduced,
        Tree(kept, reduced),
        (("a", 0), ("c", 1), ("d", 2), ("b", 3)),
    )
    assert parse_reduce("b 1 a -> a b").reduced == Tree(identified(1))
    assert parse_reduce("a b -> 1").rearrange_output == Tree(
        Tree(Leaf), Tree(identified(0), identified(1))
    )


@pytest.mark.rule("N-11")
@pytest.mark.parametrize("command", ["a -> a", "a b -> (b a)", "a b -> b 1 a"])
def test_a_reduction_omits_something(command: str) -> None:
    with pytest.raises(ValueError, match="omit at least one dimension"):
        parse_reduce(command)


@pytest.mark.rule("N-12", "N-13", "Z-7")
def test_einsum_with_a_batch() -> None:
    operand = Tree(Tree(identified(0)), Tree(identified(1)), Tree(identified(2)))
    spec = parse_einsum("b i k, b j k -> b i j")
    assert spec == EinsumSpec(
        lhs_selection=Tree(Leaf, Leaf, Leaf),
        rhs_selection=Tree(Leaf, Leaf, Leaf),
        lhs_rearrange_output=operand,
        rhs_rearrange_output=operand,
        matmul_output_selection=Tree(Tree(Leaf), Tree(Leaf), Tree(Leaf)),
        output=Tree(identified(0), identified(1), identified(2)),
        lhs_symbol_ids=(("b", 0), ("i", 1), ("k", 2)),
        rhs_symbol_ids=(("b", 0), ("j", 1), ("k", 2)),
        common_symbols=("b", "k"),
        union_symbols=("b", "i", "k", "j"),
        contraction_symbols=("k",),
        batch_symbols=("b",),
    )


@pytest.mark.rule("N-13", "Z-8")
def test_an_empty_group_is_one_leaf_with_a_number() -> None:
    spec = parse_einsum("b, c b -> c")
    assert spec.lhs_rearrange_output == Tree(Tree(Leaf), Tree(identified(0)))
    assert spec.rhs_rearrange_output == Tree(Tree(identified(0)), Tree(identified(1)))
    assert spec.matmul_output_selection == Tree(Tree(Leaf), Tree(Leaf))
    assert spec.output == Tree(identified(1))
    batch_only = parse_einsum("a, a -> 1 a")
    assert batch_only.lhs_rearrange_output == Tree(Tree(identified(0)), Tree(Leaf), Tree(Leaf))
    assert batch_only.output == Tree(Leaf, identified(0))


@pytest.mark.rule("N-12", "N-13", "Z-9")
def test_contraction_symbols_keep_the_order_of_the_first_operand() -> None:
    spec = parse_einsum("a b c, d c b -> a d")
    assert spec.lhs_rearrange_output == Tree(
        Tree(identified(0)), Tree(identified(1), identified(2))
    )
    assert spec.rhs_rearrange_output == Tree(
        Tree(identified(0)), Tree(identified(2), identified(1))
    )
    assert spec.contraction_symbols == ("b", "c")
    ones = parse_einsum("1 a (b 1), b 1 c -> (c a)")
    assert ones.lhs_rearrange_output == Tree(Tree(identified(1)), Tree(identified(2)))
    assert ones.rhs_rearrange_output == Tree(Tree(identified(2)), Tree(identified(0)))
    assert ones.output == Tree(Tree(identified(1), identified(0)))


@pytest.mark.rule("N-12", "Z-10")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("a, b -> a b", "at least one shared dimension"),
        ("a b, c b -> a b", "every non-shared input symbol: c$"),
        ("a b, c b -> a, c", "Commas are not valid.* at offset 13$"),
        ("x a b, y b z -> a y", "every non-shared input symbol: x, z$"),
        ("a b, c b -> a d c", "Unknown dimension symbol 'd' at offset 14$"),
        ("a b, c b -> a c a", "Duplicate output dimension symbol 'a' at offset 16$"),
    ],
)
def test_refused_contractions(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_einsum(command)


@pytest.mark.rule("N-14", "Z-14")
def test_specs_are_remembered_per_command() -> None:
    command = "a b -> a"
    assert parse_rearrange(command) is parse_rearrange("".join(["a b", " -> a"]))
    assert parse_reduce(command) is parse_reduce(command)
    assert parse_rearrange("a b -> a") is not parse_rearrange("a b  -> a")
    different: list[object] = [parse_rearrange(command), parse_reduce(command)]
    assert different[0] != different[1]
    assert parse_layout_ref(lex("a")) is not parse_layout_ref(lex("a"))


@pytest.mark.rule("N-14", "S-19")
@pytest.mark.parametrize(
    "value",
    [
        parse_layout_ref(lex("a")),
        parse_rearrange("a -> a"),
        parse_reduce("a -> 1"),
        parse_einsum("a, a -> 1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_specs_are_frozen_and_slotted(value: object) -> None:
    assert not hasattr(value, "__dict__")
    for name in ("output", "other"):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


@pytest.mark.rule("N-14")
def test_the_least_recently_used_command_is_forgotten() -> None:
    compiled: list[str] = []

    def compile_command(command: str) -> object:
        compiled.append(command)
        return object()

    remembered = CompiledCommands(compile_command)
    commands = [f"c{number}" for number in range(REMEMBERED)]
    first = [remembered(command) for command in commands]
    assert [remembered(command) for command in commands] == first
    remembered("c0")
    remembered("another")
    assert remembered("c0") is first[0]
    assert len(compiled) == REMEMBERED + 1
    assert remembered("c1") is not first[1]
    assert REMEMBERED >= 1024


@pytest.mark.rule("N-14")
def test_failures_are_not_remembered() -> None:
    calls = 0

    def refuse(command: str) -> object:
        nonlocal calls
        calls += 1
        raise ValueError(command)

    remembered = CompiledCommands(refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            remembered("a")
    assert calls == 2


@pytest.mark.rule("N-14", "G-14")
def test_racing_threads_get_one_spec() -> None:
    barrier = Barrier(4)

    def compile_slowly(command: str) -> object:
        barrier.wait(timeout=10)
        return object()

    remembered = CompiledCommands(compile_slowly)
    with ThreadPoolExecutor(4) as pool:
        specs = set(pool.map(remembered, ["a"] * 4))
    assert len(specs) == 1
