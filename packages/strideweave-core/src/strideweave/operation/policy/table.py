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
_FLOATING: Final = Accumulation.FLOATING
_EXACT_INTEGER: Final = Accumulation.EXACT_INTEGER
_NATURAL: Final = (WeakScalarBranch.INT32_NATURAL,)
_ROLES: Final = {"T": OperandRole.TENSOR, "W": OperandRole.WEAK_SCALAR}


@record
class _Signature:
    roles: str
    cases: tuple[PlanCase, ...]
    domains: tuple[tuple[SimpleDType, ...], ...] | None = None

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


def _keep(
    compute: Arithmetic,
    sources: tuple[SimpleDType, ...],
    output: SimpleDType,
    accumulation: Accumulation | None = None,
) -> PlanCase:
    """The case of prescribed storage dtypes that take part unconverted."""
    return PlanCase(sources, compute, output, accumulation, sources=sources)


def _floats(
    roles: str,
    output: SimpleDType = _F,
    accumulation: Accumulation | None = None,
    accumulator_dtype: SimpleDType | None = None,
) -> _Signature:
    """The signature whose tensors are all declared as Float32."""
    case = _float(len(roles), output, accumulation, accumulator_dtype)
    return _Signature(roles, (case,), ((_F,),) * roles.count("T"))


def _exactly(case: PlanCase) -> _Signature:
    """The signature that declares exactly the storage dtypes of its one case."""
    return _Signature(
        "T" * len(case.convert_to), (case,), tuple((dtype,) for dtype in case.convert_to)
    )


def _tensor_or_weak(branches: tuple[WeakScalarBranch, ...]) -> _Signature:
    """An Int32 tensor stays Int32 with a weak scalar of these branches, else Float32."""
    integer = PlanCase((_I, _I), _CHECKED, _I, sources=(_I, branches))
    return _Signature("TW", (integer, _float(2)))


def _same_dtype(arity: int) -> _Signature:
    """Every storage dtype, alike at all positions, is moved and never computed with."""
    computes = ((_F, _BINARY32), (_I, _EXACT), (_B, _EXACT))
    cases = tuple(_keep(compute, (dtype,) * arity, dtype) for dtype, compute in computes)
    return _Signature("T" * arity, cases, (_ANY,) * arity)


_FLOAT_PAIR: Final = _Signature("TT", (_float(2),))
_ARITHMETIC: Final = _Signature("TT", (_keep(_CHECKED, (_I, _I), _I), _float(2)))
_PRODUCT: Final = _Signature(
    "TT", (_keep(_EXACT, (_I, _I), _I, _EXACT_INTEGER), _float(2, _F, _FLOATING, _F))
)
_COMPARISON: Final = _Signature(
    "TT", (_keep(_EXACT, (_I, _I), _B), _float(2, _B)), (SUPPORTED_TENSOR_DTYPES,) * 2
)
_TO_INT32: Final = (
    _keep(_CHECKED, (_F,), _I),
    _keep(_CHECKED, (_I,), _I),
    PlanCase((_I,), _CHECKED, _I, sources=(_B,)),
)
_TO_BOOL: Final = (
    _keep(_BINARY32, (_F,), _B),
    _keep(_EXACT, (_I,), _B),
    _keep(_EXACT, (_B,), _B),
)
_FLOAT_UNARY: Final = "abs ceil cos erf exp2 floor log log2 neg recip round rsqrt sign sin sqrt"

_TABLE: Final = (
    _Row("add sub elementwise_mul", (_ARITHMETIC,)),
    _Row("mul", (_ARITHMETIC, _tensor_or_weak(INTEGER_BRANCHES))),
    _Row("div", (_FLOAT_PAIR,)),
    _Row("pow", (_FLOAT_PAIR, _tensor_or_weak(_NATURAL), _Signature("WT", (_float(2),)))),
    _Row("maximum minimum rem", (_floats("TT"),)),
    _Row("eq ne lt le", (_COMPARISON,)),
    _Row("logical_not", (_floats("T", _B),)),
    _Row("relu", (_Signature("T", (_keep(_BINARY32, (_F,), _F), _keep(_EXACT, (_I,), _I))),)),
    _Row("elu exp gelu leaky_relu sigmoid silu softplus tanh", (_Signature("T", (_float(1),)),)),
    _Row(_FLOAT_UNARY, (_floats("T"),)),
    _Row(
        "reduce_sum",
        (
            _Signature(
                "T", (_keep(_CHECKED, (_I,), _I, _EXACT_INTEGER), _float(1, _F, _FLOATING, _F))
            ),
        ),
    ),
    _Row("reduce_prod", (_floats("T", _F, Accumulation.SEQUENTIAL_BINARY32_PRODUCT),)),
    _Row("reduce_max", (_floats("T", _F, Accumulation.MAXIMUM),)),
    _Row("reduce_min", (_floats("T", _F, Accumulation.MINIMUM),)),
    _Row("argmax", (_floats("T", _I, Accumulation.ARGMAX),)),
    _Row("argmin", (_floats("T", _I, Accumulation.ARGMIN),)),
    _Row("cumsum", (_floats("T", _F, Accumulation.SEQUENTIAL_BINARY32),), (0,)),
    _Row("matmul _batched_matmul", (_PRODUCT,)),
    _Row("conv_general", (_floats("TT", _F, _FLOATING, _F),), (0, 1)),
    _Row("gather", (_exactly(_keep(_BINARY32, (_F, _I), _F)),), (0, 1)),
    _Row("scatter", (_exactly(_keep(_BINARY32, (_F, _I, _F), _F)),), (0, 1, 2)),
    _Row(
        "scatter_add",
        (_exactly(_keep(_BINARY32, (_F, _I, _F), _F, Accumulation.SEQUENTIAL_BINARY32)),),
        (0, 1, 2),
    ),
    _Row("select", (_exactly(_keep(_BINARY32, (_B, _F, _F), _F)),)),
    _Row("clamp", (_floats("TTT"), _floats("TTW"), _floats("TWT"), _floats("TWW"))),
    _Row("_sort_values _topk_values", (_floats("T"),), (0,)),
    _Row("_sort_indices _topk_indices", (_floats("T", _I),), (0,)),
    _Row("logical_and logical_or logical_xor", (_exactly(_keep(_EXACT, (_B, _B), _B)),)),
    _Row("_cast_float32", (_Signature("T", (_float(1),), (_ANY,)),)),
    _Row("_cast_int32", (_Signature("T", _TO_INT32, (_ANY,)),)),
    _Row("_cast_bool", (_Signature("T", _TO_BOOL, (_ANY,)),)),
    _Row("concat", (_same_dtype(2),), (0, 1)),
    _Row("pad flip", (_same_dtype(1),), (0,)),
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
