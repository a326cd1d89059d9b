"""The names of `strideweave.einops` and the functions that execute commands."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import einops
from strideweave.layout import Layout
from strideweave.tensor import Tensor
from strideweave.testing import ArrayCarrier


def matrix() -> Tensor:
    carrier = ArrayCarrier(0, dtype=sw.DType.Float32).new_like([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return Tensor(carrier, 0, Layout.parse("(2,3):(1,2)"))


@pytest.mark.rule("N-1")
def test_public_names() -> None:
    assert sorted(einops.__all__) == [
        "EinsumSpec",
        "LayoutReference",
        "RearrangeSpec",
        "ReduceSpec",
        "Token",
        "TokenKind",
        "einsum",
        "lex",
        "parse_einsum",
        "parse_layout_ref",
        "parse_rearrange",
        "parse_reduce",
        "rearrange",
        "reduce",
    ]
    assert einops.rearrange is sw.rearrange
    assert einops.reduce is sw.reduce_sum
    assert einops.einsum is sw.einsum


@pytest.mark.rule("N-16")
def test_rearrange_is_a_view() -> None:
    source = matrix()
    view = einops.rearrange(source, "a b -> b 1 a")
    assert view.carrier is source.carrier
    assert view.offset == source.offset
    assert view.layout == Layout.parse("(3,1,2):(2,0,1)")
    with pytest.raises(ValueError, match="must include every extracted layout"):
        einops.rearrange(source, "a b -> a")


@pytest.mark.rule("N-17")
def test_reduce_sums() -> None:
    assert einops.reduce(matrix(), "a b -> a").tolist() == [9.0, 12.0]
    reduced = einops.reduce(matrix(), "a b -> 1", accumulator_dtype=sw.DType.Float64)
    assert reduced.tolist() == [21.0]


@pytest.mark.rule("N-15", "Z-15")
@pytest.mark.parametrize("execute", [einops.rearrange, einops.reduce])
def test_the_command_compiles_before_the_operand_is_looked_at(execute: Any) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        execute(3, "a -> ")
    with pytest.raises(TypeError, match="must be a Tensor"):
        execute(3, "a b -> 1 a" if execute is einops.reduce else "a -> a")
    with pytest.raises(ValueError, match="layout and tree profile do not match"):
        execute(matrix(), "a (b c) -> a b")


@pytest.mark.rule("N-15", "N-18")
def test_einsum_checks_in_order() -> None:
    execute: Any = einops.einsum
    with pytest.raises(TypeError, match="description must be a str"):
        execute(3, 4, None)
    with pytest.raises(ValueError, match="at least one shared dimension; blanks separate symbols"):
        execute(3, 4, "a, b -> a b")
    with pytest.raises(TypeError, match="lhs must be a Tensor"):
        execute(3, 4, "a, a -> a")
    with pytest.raises(TypeError, match="rhs must be a Tensor"):
        execute(matrix(), 4, "a b, b -> a")
    with pytest.raises(ValueError, match="layout and tree profile do not match"):
        execute(matrix(), matrix(), "a b, b -> a")
    message = "Einsum shared dimension 'b' has mismatched logical size: 3 in lhs .*, 2 in rhs"
    with pytest.raises(ValueError, match=message):
        execute(matrix(), matrix(), "a b, b c -> a c")
    # In the order of the first reference, whatever the nestings.
    with pytest.raises(ValueError, match="'a' has mismatched"):
        execute(matrix(), matrix(), "a b, b a -> a")
    wide = Tensor(matrix().carrier, 0, Layout.parse("(3,2):(2,1)"))
    with pytest.raises(ValueError, match="must include every extracted layout"):
        execute(wide, matrix(), "1 a, a b -> b")


@pytest.mark.rule("N-3")
def test_a_description_is_a_string() -> None:
    execute: Any = einops.reduce
    with pytest.raises(TypeError, match="description must be a str"):
        execute(3, None)


@pytest.mark.rule("N-2")
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "argmax"])
def test_one_language_for_all_functions(name: str) -> None:
    execute = getattr(sw, name)
    with pytest.raises(ValueError, match="Duplicate dimension symbol 'a' at offset 2"):
        execute(matrix(), "a a -> a")
    with pytest.raises(ValueError, match="Reduce command must contain one '->'"):
        execute(matrix(), "a b")


@pytest.mark.rule("N-2", "N-9", "Z-10")
def test_malformed_contractions() -> None:
    for command, message in (
        ("a b, b c", "Einsum command must contain one '->'"),
        ("a b -> a", "Contraction command must contain one comma"),
        ("a, a, a -> a", "Contraction command must contain only one comma"),
        ("a b, c b -> a, c", "Commas are not valid .* at offset 13"),
        ("a b, c b -> a", "every non-shared input symbol: c"),
        ("a b, b -> a d", "Unknown dimension symbol 'd' at offset 12"),
    ):
        with pytest.raises(ValueError, match=message):
            einops.einsum(matrix(), matrix(), command)
