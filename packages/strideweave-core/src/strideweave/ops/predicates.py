"""Comparisons and logical operations, which give Bool and carry no gradient."""

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from strideweave.dtype import DType
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.schema import NON_DIFFERENTIABLE
from strideweave.ops.alignment import BINARY
from strideweave.ops.reference import pointwise_reference
from strideweave.ops.results import nothing_saved, pointwise_resolve
from strideweave.ops.schemas import role_dtypes, schema, tensor

_NUMBERS = (DType.Float32, DType.Int32)
_BOOL = (DType.Bool,)


def _define_pair(
    name: str, compute: Callable[[Any, Any], bool], accepted: tuple[DType, ...]
) -> OperationDefinition:
    return define_builtin(
        name,
        (schema(tensor("lhs", differentiable=False), tensor("rhs", differentiable=False)),),
        pointwise_resolve(nothing_saved, exact=True),
        reference=pointwise_reference(partial(map, compute)),
        vjp=NON_DIFFERENTIABLE,
        alignment=BINARY,
        roles=role_dtypes(name, lhs=accepted, rhs=accepted),
    )


def _is_zero(values: Iterable[float]) -> list[bool]:
    return [value == 0.0 for value in values]


EQ = _define_pair("eq", operator.eq, _NUMBERS)
NE = _define_pair("ne", operator.ne, _NUMBERS)
LT = _define_pair("lt", operator.lt, _NUMBERS)
LE = _define_pair("le", operator.le, _NUMBERS)
LOGICAL_AND = _define_pair("logical_and", operator.and_, _BOOL)
LOGICAL_OR = _define_pair("logical_or", operator.or_, _BOOL)
LOGICAL_XOR = _define_pair("logical_xor", operator.xor, _BOOL)
LOGICAL_NOT = define_builtin(
    "logical_not",
    (schema(tensor("tensor", differentiable=False)),),
    pointwise_resolve(nothing_saved, exact=True),
    reference=pointwise_reference(_is_zero),
    vjp=NON_DIFFERENTIABLE,
    roles=role_dtypes("logical_not", tensor=(DType.Float32,)),
)
