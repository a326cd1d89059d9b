"""The rule of one role signature: check operands, pick the first case, build the plan."""

from typing import TypeAlias, final

from strideweave._record import record
from strideweave.dtype import CompoundDType, DType, DTypeCategory, SimpleDType
from strideweave.operation.policy.records import (
    SUPPORTED_TENSOR_DTYPES,
    Accumulation,
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationPlan,
)
from strideweave.operation.policy.weak_scalar import WeakScalarBranch, weak_scalar_branch

Source: TypeAlias = SimpleDType | tuple[WeakScalarBranch, ...]
"""What a case expects of one operand: a storage dtype, or the branches of a weak scalar."""


@final
@record
class PlanCase:
    """One line of the overload table: which sources it takes and the numbers it plans."""

    convert_to: tuple[SimpleDType, ...]
    """The dtype in which each operand takes part."""
    compute: Arithmetic
    """The arithmetic of every element."""
    output: SimpleDType
    """The storage dtype of the result."""
    accumulation: Accumulation | None = None
    """How terms combine, if they do."""
    accumulator_dtype: SimpleDType | None = None
    """The default accumulator of a ``FLOATING`` accumulation."""
    sources: tuple[Source, ...] | None = None
    """What each operand must be; ``None`` takes everything that the signature admits."""

    def takes(self, tokens: tuple[DType | WeakScalarBranch, ...]) -> bool:
        """Tell whether every operand, given as dtype or branch, is what this case expects."""
        if self.sources is None:
            return True
        return all(
            token in source if isinstance(source, tuple) else token is source
            for source, token in zip(self.sources, tokens, strict=True)
        )


@final
@record
class PolicyRule:
    """The rule of one role signature, called as ``rule(*operands, accumulator_dtype=None)``."""

    operation: str
    """The name that plans carry."""
    roles: tuple[OperandRole, ...]
    """The role of each operand."""
    admitted: tuple[tuple[SimpleDType, ...], ...]
    """The storage dtypes of each tensor position."""
    cases: tuple[PlanCase, ...]
    """The cases, tried in order."""

    def __call__(
        self, *operands: object, accumulator_dtype: SimpleDType | None = None
    ) -> OperationPlan:
        """Plan the operands.

        Args:
            operands: A storage dtype per tensor role and a value per weak scalar role.
            accumulator_dtype: An explicit accumulator, already validated, or ``None``.

        Raises:
            TypeError: An operand is no dtype or real number, its dtype does not fit its position,
                or an accumulator is given for an exact integer plan.
            NotImplementedError: A dtype has no arithmetic in the policy.
            OverflowError: A weak scalar taking part as Int32 lies outside Int32.
        """
        tokens = self._classified(operands)
        case = self._case(tokens)
        for position, (token, target) in enumerate(zip(tokens, case.convert_to, strict=True)):
            if token is WeakScalarBranch.WIDE_INTEGER and target is DType.Int32:
                raise OverflowError(
                    f"{self.operation} operand {position} is {operands[position]!r}, which does "
                    "not fit Int32; pass a float to compute in Float32"
                )
        if accumulator_dtype is not None and case.accumulation is not Accumulation.FLOATING:
            raise TypeError(
                f"{self.operation} of {_shown(tokens)} is exact and takes no accumulator_dtype, "
                f"got {accumulator_dtype!r}"
            )
        return OperationPlan(
            self.operation,
            tuple(
                OperandPlan(role, token if isinstance(token, SimpleDType) else None, target)
                for role, token, target in zip(self.roles, tokens, case.convert_to, strict=True)
            ),
            case.compute,
            case.accumulation,
            case.accumulator_dtype if accumulator_dtype is None else accumulator_dtype,
            case.output,
        )

    def _classified(self, operands: tuple[object, ...]) -> tuple[DType | WeakScalarBranch, ...]:
        admitted = iter(self.admitted)
        return tuple(
            self._storage_dtype(position, operand, next(admitted))
            if role is OperandRole.TENSOR
            else self._branch(position, operand)
            for position, (role, operand) in enumerate(zip(self.roles, operands, strict=True))
        )

    def _branch(self, position: int, operand: object) -> WeakScalarBranch:
        branch = weak_scalar_branch(operand)
        if branch is None:
            raise TypeError(
                f"{self.operation} operand {position} must be a real number (numbers.Real), "
                f"got {operand!r} of type {type(operand).__qualname__}"
            )
        return branch

    def _storage_dtype(
        self, position: int, operand: object, admitted: tuple[SimpleDType, ...]
    ) -> DType:
        for dtype in admitted:
            if operand is dtype:
                return dtype
        subject = f"{self.operation} operand {position}"
        if not isinstance(operand, DType):
            raise TypeError(
                f"{subject} must be the DType of a tensor, got {operand!r} of type "
                f"{type(operand).__qualname__}"
            )
        expected = " or ".join(f"DType.{dtype.name}" for dtype in admitted)
        if isinstance(operand, CompoundDType):
            raise NotImplementedError(
                f"{subject} has the compound dtype {operand!r}; operations take {expected}"
            )
        if isinstance(operand, DTypeCategory):
            raise TypeError(
                f"{subject} is the category {operand!r}, which no tensor stores; pass {expected}"
            )
        if not any(operand is dtype for dtype in SUPPORTED_TENSOR_DTYPES):
            raise NotImplementedError(
                f"{subject} has dtype {operand!r}, which {self.operation} does not implement; "
                f"cast it to {expected}"
            )
        raise TypeError(f"{subject} must have dtype {expected}, got {operand!r}; cast it first")

    def _case(self, tokens: tuple[DType | WeakScalarBranch, ...]) -> PlanCase:
        for case in self.cases:
            if case.takes(tokens):
                return case
        raise TypeError(
            f"{self.operation} needs operands of one dtype, got {_shown(tokens)}; cast them first"
        )


def _shown(tokens: tuple[DType | WeakScalarBranch, ...]) -> str:
    return ", ".join(
        f"DType.{token.name}" if isinstance(token, DType) else f"a {token.value} scalar"
        for token in tokens
    )
