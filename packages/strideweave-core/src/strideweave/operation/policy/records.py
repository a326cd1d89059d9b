"""The vocabulary of the dtype policy: enums, constants and the records that make up a plan."""

import itertools
from collections.abc import Callable
from enum import Enum
from typing import Final, final

from strideweave._record import record
from strideweave.dtype import DType, SimpleDType
from strideweave.operation.policy.record_key import RecordKey


@final
class OperandRole(Enum):
    """How one planned operand enters an operation."""

    TENSOR = "tensor"
    WEAK_SCALAR = "weak_scalar"


@final
class WeakScalarKind(Enum):
    """What a weak scalar counts as when dtypes are promoted."""

    INTEGER = "integer"
    FLOAT = "float"


@final
class Arithmetic(Enum):
    """The arithmetic in which every element is computed.

    ``BINARY32`` is IEEE-754 binary32, ties to even, with no fused or wider intermediate and no
    reassociation; overflow and singularities give infinities and NaN. ``INT32_EXACT_CHECKED`` is
    exact and raises ``OverflowError`` when a result leaves Int32; ``INT32_EXACT`` is exact and
    provably in range.
    """

    BINARY32 = "binary32"
    INT32_EXACT_CHECKED = "int32_exact_checked"
    INT32_EXACT = "int32_exact"


@final
class Accumulation(Enum):
    """How the terms of one result are combined.

    ``FLOATING`` combines binary32 terms in the accumulator dtype in any association order and
    narrows once. The ``SEQUENTIAL_...`` members go in ascending logical order and round every step.
    ``EXACT_INTEGER`` sums exactly and checks only the final narrowing. The others select: the first
    NaN wins, then the first of equal values (mixed signed zeros give ``+0`` as a maximum and ``-0``
    as a minimum, and are equal to the ``ARG...`` members).
    """

    FLOATING = "floating"
    SEQUENTIAL_BINARY32 = "sequential_binary32"
    SEQUENTIAL_BINARY32_PRODUCT = "sequential_binary32_product"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    EXACT_INTEGER = "exact_integer"


INT32_MIN: Final = -(2**31)
"""The smallest Int32 value."""
INT32_MAX: Final = 2**31 - 1
"""The largest Int32 value."""
POW_INTEGER_EXPONENT_MAX: Final = INT32_MAX
"""The largest exponent with which an Int32 base stays Int32 in ``pow``."""
SUPPORTED_TENSOR_DTYPES: Final = (DType.Float32, DType.Int32)
"""The storage dtypes that numeric operations accept."""
WEAK_SCALAR_PROBES: Final = (3, -1, 0.5)
"""One weak scalar for every distinct planning branch, as ``resolvable_plans`` tries them."""
SUPPORTED_ACCUMULATOR_DTYPES: Final = (DType.Float32, DType.Float64)
"""The dtypes in which a ``FLOATING`` accumulation may run, the default first."""
ACCUMULATOR_CONFIGURABLE_OPERATIONS: Final = frozenset({"reduce_sum", "matmul"})
"""The operations whose accumulator dtype a caller may choose."""


@final
@record
class OperandPlan(RecordKey):
    """How one operand is read and converted. Validates nothing; capability records do.

    Examples:
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> from strideweave.carriers.dtype import DType
        >>> resolve_operation_plan("add", DType.Int32, DType.Float32).operands[0].convert_to
        SimpleDType('Float32')
    """

    role: OperandRole
    """Whether a tensor or a weak scalar stands here."""
    dtype: SimpleDType | None
    """The storage dtype of a tensor operand, ``None`` for a weak scalar."""
    convert_to: SimpleDType
    """The dtype in which the operand takes part in the computation."""

    __eq__ = RecordKey.__eq__
    __hash__ = RecordKey.__hash__


@final
@record
class OperationPlan(RecordKey):
    """The complete numeric meaning of one operation on given dtypes.

    Whether a result takes part in autograd follows from its dtype and is no field. Validates
    nothing; capability records do.

    Examples:
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> from strideweave.carriers.dtype import DType
        >>> plan = resolve_operation_plan("div", DType.Int32, DType.Int32)
        >>> plan.compute.value, plan.output
        ('binary32', SimpleDType('Float32'))
    """

    operation: str
    """The registered name of the operation."""
    operands: tuple[OperandPlan, ...]
    """The tensor and weak scalar operands in order; structural operands have no entry."""
    compute: Arithmetic
    """The arithmetic of every element."""
    accumulation: Accumulation | None
    """How terms combine, or ``None`` when each result has one term."""
    accumulator_dtype: SimpleDType | None
    """The dtype of a ``FLOATING`` accumulation, otherwise ``None``."""
    output: SimpleDType
    """The storage dtype of the result."""

    __eq__ = RecordKey.__eq__
    __hash__ = RecordKey.__hash__


@final
@record
class OperationOverload:
    """One role signature of an operation with the rule that plans it.

    Raises:
        ValueError: ``tensor_domains`` has another length than there are tensor roles, or an empty
            domain.
    """

    roles: tuple[OperandRole, ...]
    """The role of each planned operand."""
    rule: Callable[..., OperationPlan]
    """Plans the operands: tensors as storage dtypes, weak scalars as values."""
    tensor_domains: tuple[tuple[SimpleDType, ...], ...] | None = None
    """The storage dtypes that each tensor position declares, or ``None``."""

    def __post_init__(self) -> None:
        if self.tensor_domains is None:
            return
        tensors = sum(role is OperandRole.TENSOR for role in self.roles)
        if len(self.tensor_domains) != tensors:
            raise ValueError(
                f"tensor_domains has {len(self.tensor_domains)} entries for {tensors} tensor "
                "roles; give one domain per tensor role"
            )
        for position, domain in enumerate(self.tensor_domains):
            if not domain:
                raise ValueError(f"tensor_domains[{position}] is empty; list the admitted dtypes")


@final
@record
class OperationSpec:
    """One operation of the dtype policy with all its role signatures.

    Raises:
        ValueError: There is no overload, two share a role signature, or the operand positions are
            negative, not strictly increasing, or not as many as an overload has roles.
    """

    name: str
    """The registered name."""
    overloads: tuple[OperationOverload, ...]
    """The role signatures in declaration order."""
    public: bool = True
    """Whether a public function carries this name."""
    dtype_operand_positions: tuple[int, ...] | None = None
    """Which forward arguments are planned; ``None`` means all of them."""

    def __post_init__(self) -> None:
        if not self.overloads:
            raise ValueError(f"operation {self.name!r} needs at least one overload")
        signatures = [overload.roles for overload in self.overloads]
        for index, roles in enumerate(signatures):
            if roles in signatures[:index]:
                shown = ", ".join(role.value for role in roles)
                raise ValueError(
                    f"operation {self.name!r} declares the role signature ({shown}) twice"
                )
        if self.dtype_operand_positions is not None:
            self._check_positions(self.dtype_operand_positions)

    def _check_positions(self, positions: tuple[int, ...]) -> None:
        for position in positions:
            if position < 0:
                raise ValueError(
                    f"operation {self.name!r}: dtype operand position {position} is negative"
                )
        if any(left >= right for left, right in itertools.pairwise(positions)):
            raise ValueError(
                f"operation {self.name!r}: dtype operand positions {positions} must strictly "
                "increase"
            )
        for overload in self.overloads:
            if len(positions) != len(overload.roles):
                raise ValueError(
                    f"operation {self.name!r}: {len(positions)} dtype operand positions for an "
                    f"overload of {len(overload.roles)} roles; give one position per role"
                )

    @property
    def roles(self) -> tuple[OperandRole, ...]:
        """The roles of the sole overload; ``AttributeError`` when there are several."""
        return self._sole_overload("roles").roles

    @property
    def rule(self) -> Callable[..., OperationPlan]:
        """The rule of the sole overload; ``AttributeError`` when there are several."""
        return self._sole_overload("rule").rule

    def _sole_overload(self, attribute: str) -> OperationOverload:
        if len(self.overloads) != 1:
            raise AttributeError(
                f"operation {self.name!r} has {len(self.overloads)} overloads; read {attribute} "
                "from one of them"
            )
        return self.overloads[0]
