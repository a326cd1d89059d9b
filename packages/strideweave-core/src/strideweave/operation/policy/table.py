"""The overload table: every operation of the dtype policy, row by row.

Each ``Row`` is one row of the table in the contract (document 40, section 4), in its order.
"""

from collections.abc import Iterator
from typing import Final

from strideweave._record import record
from strideweave.dtype import DType, SimpleDType
from strideweave.operation.policy.records import (
    SUPPORTED_TENSOR_DTYPES,
    Accumulation,
    Arithmetic,
    OperandRole,
    OperationOverload,
    OperationSpec,
)
from strideweave.operation.policy.rule import PlanCase, PolicyRule
from strideweave.operation.policy.weak_scalar import INTEGER_BRANCHES, WeakScalarBranch

_F: Final = DType.Float32
_I: Final = DType.Int32
_B: Final = DType.Bool
_ANY: Final = (_F, _I, _B)
_BINARY32: Final = Arithmetic.BINARY32
_CHECKED: Final = Arithmetic.INT32_EXACT_CHECKED
_EXACT: Final = Arithmetic.INT32_EXACT
_NATURAL: Final = (WeakScalarBranch.INT32_NATURAL,)
_ROLES: Final = {"T": OperandRole.TENSOR, "W": OperandRole.WEAK_SCALAR}

_Domains = tuple[tuple[SimpleDType, ...], ...]


@record
class _Signature:
    roles: str
    cases: tuple[PlanCase, ...]
    domains: _Domains | None = None

    def overload(self, operation: str) -> OperationOverload:
        roles = tuple(_ROLES[letter] for letter in self.roles)
        admitted = self.domains or (SUPPORTED_TENSOR_DTYPES,) * roles.count(OperandRole.TENSOR)
        return OperationOverload(
            roles, PolicyRule(operation, roles, admitted, self.cases), self.domains
        )


@record
class _Row:
    names: str
    signatures: tuple[_Signature, ...]
    positions: tuple[int, ...] | None = None

    def specs(self) -> Iterator[OperationSpec]:
        for name in self.names.split():
            overloads = tuple(signature.overload(name) for signature in self.signatures)
            yield OperationSpec(name, overloads, not name.startswith("_"), self.positions)


def _float(
    arity: int,
    output: SimpleDType = _F,
    accumulation: Accumulation | None = None,
    accumulator_dtype: SimpleDType | None = None,
) -> PlanCase:
    """The case that converts every admitted operand to Float32."""
    return PlanCase((_F,) * arity, _BINARY32, output, accumulation, accumulator_dtype)


def _same(compute: Arithmetic, dtype: SimpleDType, arity: int = 1) -> PlanCase:
    """The case that takes, keeps and returns one dtype."""
    return PlanCase((dtype,) * arity, compute, dtype, sources=(dtype,) * arity)


def _cast(compute: Arithmetic, source: SimpleDType, output: SimpleDType) -> PlanCase:
    """The case of one source that takes part in its own dtype."""
    return PlanCase((source,), compute, output, sources=(source,))


def _fixed(sources: tuple[SimpleDType, ...], accumulation: Accumulation | None = None) -> PlanCase:
    """The case of a Float32 result whose operands keep their prescribed dtypes."""
    return PlanCase(sources, _BINARY32, _F, accumulation, sources=sources)


def _exactly(dtypes: tuple[SimpleDType, ...]) -> _Domains:
    """The domains that admit one dtype per position."""
    return tuple((dtype,) for dtype in dtypes)


def _reduction(output: SimpleDType, accumulation: Accumulation) -> tuple[_Signature, ...]:
    return (_Signature("T", (_float(1, output, accumulation),), _exactly((_F,))),)


_FLOATING: Final = Accumulation.FLOATING
_INTEGER_SUM: Final = PlanCase((_I,), _CHECKED, _I, Accumulation.EXACT_INTEGER, sources=(_I,))
_INTEGER_PRODUCT: Final = PlanCase(
    (_I, _I), _EXACT, _I, Accumulation.EXACT_INTEGER, sources=(_I, _I)
)
_ARITHMETIC: Final = _Signature("TT", (_same(_CHECKED, _I, 2), _float(2)))
_PRODUCT: Final = _Signature("TT", (_INTEGER_PRODUCT, _float(2, _F, _FLOATING, _F)))
_SAME_DTYPE: Final = (_same(_BINARY32, _F), _same(_EXACT, _I), _same(_EXACT, _B))
_SAME_DTYPE_PAIR: Final = (_same(_BINARY32, _F, 2), _same(_EXACT, _I, 2), _same(_EXACT, _B, 2))


def _scalar(branches: tuple[WeakScalarBranch, ...]) -> _Signature:
    """An Int32 tensor stays Int32 with a weak scalar of these branches, else Float32."""
    integer = PlanCase((_I, _I), _CHECKED, _I, sources=(_I, branches))
    return _Signature("TW", (integer, _float(2)))


def _comparison() -> _Signature:
    integer = PlanCase((_I, _I), _EXACT, _B, sources=(_I, _I))
    return _Signature("TT", (integer, _float(2, _B)), (SUPPORTED_TENSOR_DTYPES,) * 2)


_FLOAT_UNARY: Final = "abs ceil cos erf exp2 floor log log2 neg recip round rsqrt sign sin sqrt"

_TABLE: Final = (
    _Row("add sub elementwise_mul", (_ARITHMETIC,)),
    _Row("mul", (_ARITHMETIC, _scalar(INTEGER_BRANCHES))),
    _Row("div", (_Signature("TT", (_float(2),)),)),
    _Row(
        "pow",
        (_Signature("TT", (_float(2),)), _scalar(_NATURAL), _Signature("WT", (_float(2),))),
    ),
    _Row("maximum minimum rem", (_Signature("TT", (_float(2),), _exactly((_F, _F))),)),
    _Row("eq ne lt le", (_comparison(),)),
    _Row("logical_not", (_Signature("T", (_float(1, _B),), _exactly((_F,))),)),
    _Row("relu", (_Signature("T", (_same(_BINARY32, _F), _same(_EXACT, _I))),)),
    _Row("elu exp gelu leaky_relu sigmoid silu softplus tanh", (_Signature("T", (_float(1),)),)),
    _Row(_FLOAT_UNARY, (_Signature("T", (_float(1),), _exactly((_F,))),)),
    _Row("reduce_sum", (_Signature("T", (_INTEGER_SUM, _float(1, _F, _FLOATING, _F))),)),
    _Row("reduce_prod", _reduction(_F, Accumulation.SEQUENTIAL_BINARY32_PRODUCT)),
    _Row("reduce_max", _reduction(_F, Accumulation.MAXIMUM)),
    _Row("reduce_min", _reduction(_F, Accumulation.MINIMUM)),
    _Row("argmax", _reduction(_I, Accumulation.ARGMAX)),
    _Row("argmin", _reduction(_I, Accumulation.ARGMIN)),
    _Row("cumsum", _reduction(_F, Accumulation.SEQUENTIAL_BINARY32), (0,)),
    _Row("matmul _batched_matmul", (_PRODUCT,)),
    _Row(
        "conv_general",
        (_Signature("TT", (_float(2, _F, _FLOATING, _F),), _exactly((_F, _F))),),
        (0, 1),
    ),
    _Row("gather", (_Signature("TT", (_fixed((_F, _I)),), _exactly((_F, _I))),), (0, 1)),
    _Row(
        "scatter", (_Signature("TTT", (_fixed((_F, _I, _F)),), _exactly((_F, _I, _F))),), (0, 1, 2)
    ),
    _Row(
        "scatter_add",
        (
            _Signature(
                "TTT",
                (_fixed((_F, _I, _F), Accumulation.SEQUENTIAL_BINARY32),),
                _exactly((_F, _I, _F)),
            ),
        ),
        (0, 1, 2),
    ),
    _Row("select", (_Signature("TTT", (_fixed((_B, _F, _F)),), _exactly((_B, _F, _F))),)),
    _Row(
        "clamp",
        tuple(
            _Signature(roles, (_float(3),), _exactly((_F,) * roles.count("T")))
            for roles in ("TTT", "TTW", "TWT", "TWW")
        ),
    ),
    _Row("_sort_values _topk_values", (_Signature("T", (_float(1),), _exactly((_F,))),), (0,)),
    _Row(
        "_sort_indices _topk_indices", (_Signature("T", (_float(1, _I),), _exactly((_F,))),), (0,)
    ),
    _Row(
        "logical_and logical_or logical_xor",
        (_Signature("TT", (_same(_EXACT, _B, 2),), _exactly((_B, _B))),),
    ),
    _Row("_cast_float32", (_Signature("T", (_float(1),), (_ANY,)),)),
    _Row(
        "_cast_int32",
        (
            _Signature(
                "T",
                (
                    _cast(_CHECKED, _F, _I),
                    _cast(_CHECKED, _I, _I),
                    PlanCase((_I,), _CHECKED, _I, sources=(_B,)),
                ),
                (_ANY,),
            ),
        ),
    ),
    _Row(
        "_cast_bool",
        (
            _Signature(
                "T",
                (_cast(_BINARY32, _F, _B), _cast(_EXACT, _I, _B), _cast(_EXACT, _B, _B)),
                (_ANY,),
            ),
        ),
    ),
    _Row("concat", (_Signature("TT", _SAME_DTYPE_PAIR, (_ANY, _ANY)),), (0, 1)),
    _Row("pad flip", (_Signature("T", _SAME_DTYPE, (_ANY,)),), (0,)),
)

SPECS: Final = {
    spec.name: spec
    for spec in sorted((spec for row in _TABLE for spec in row.specs()), key=lambda spec: spec.name)
}
"""Every operation of the policy by name, sorted by name."""


def registered_operations() -> tuple[OperationSpec, ...]:
    """Return every operation of the dtype policy, sorted by name.

    Examples:
        >>> from strideweave.carriers.operation_policy import registered_operations
        >>> [spec.name for spec in registered_operations() if spec.public][:3]
        ['abs', 'add', 'argmax']
    """
    return tuple(SPECS.values())
