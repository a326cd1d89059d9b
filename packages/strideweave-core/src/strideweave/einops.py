"""The layout command language: compiled commands, and the functions that take them."""

from strideweave.commands.einsum import EinsumSpec, parse_einsum
from strideweave.commands.lexer import Token, TokenKind, lex
from strideweave.commands.rearrange import RearrangeSpec, parse_rearrange
from strideweave.commands.reduce import ReduceSpec, parse_reduce
from strideweave.commands.references import LayoutReference, parse_layout_ref
from strideweave.functional import einsum, rearrange
from strideweave.functional import reduce_sum as reduce

__all__ = [
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
