"""Capability records: the plans that a carrier declares to execute, matched field by field."""

from functools import lru_cache
from typing import final

from strideweave._record import record
from strideweave.dtype import SimpleDType
from strideweave.operation.policy.record_key import RecordKey
from strideweave.operation.policy.records import (
    Accumulation,
    Arithmetic,
    OperandRole,
    OperationPlan,
)


class UnsupportedOperationPlan(NotImplementedError):
    """A carrier has no capability for a plan, or every candidate declined it."""


def _require_type(field: str, value: object, kind: type, *, optional: bool = False) -> None:
    if isinstance(value, kind) or (optional and value is None):
        return
    expected = f"{kind.__name__} or None" if optional else kind.__name__
    raise TypeError(f"{field} must be {expected}, got {value!r} of type {type(value).__qualname__}")


@final
@record
class OperandCapability(RecordKey):
    """One operand of a capability: its role, its storage dtype and the dtype it takes part in.

    Raises:
        TypeError: ``role`` is not an ``OperandRole``, ``convert_to`` not a ``SimpleDType``, or
            ``dtype`` is not a ``SimpleDType`` for a tensor, not ``None`` for a weak scalar.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> from strideweave.carriers.operation_policy import OperandRole
        >>> OperandCapability(OperandRole.TENSOR, DType.Int32, DType.Float32).dtype
        SimpleDType('Int32')
    """

    role: OperandRole
    """Whether a tensor or a weak scalar stands here."""
    dtype: SimpleDType | None
    """The storage dtype of a tensor operand, ``None`` for a weak scalar."""
    convert_to: SimpleDType
    """The dtype in which the operand takes part in the computation."""

    __eq__ = RecordKey.__eq__
    __hash__ = RecordKey.__hash__

    def __post_init__(self) -> None:
        _require_type("role", self.role, OperandRole)
        _require_type("convert_to", self.convert_to, SimpleDType)
        if self.role is OperandRole.TENSOR:
            _require_type("dtype of a tensor operand", self.dtype, SimpleDType)
        elif self.dtype is not None:
            raise TypeError(
                f"dtype of a weak scalar operand must be None, got {self.dtype!r}; "
                "convert_to says where the scalar is materialized"
            )


@final
@record
class OperationCapability(RecordKey):
    """One plan that a carrier executes. It grants nothing beyond exactly that plan.

    Raises:
        TypeError: A field has the wrong type, ``operands`` is not a tuple of ``OperandCapability``.
        ValueError: ``operands`` is empty.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> plan = resolve_operation_plan("relu", DType.Float32)
        >>> OperationCapability.from_plan(plan).matches(plan)
        True
    """

    operation: str
    """The operation name; it need not be registered."""
    operands: tuple[OperandCapability, ...]
    """The tensor and weak scalar operands in order."""
    compute: Arithmetic
    """The arithmetic of every element."""
    accumulation: Accumulation | None
    """How terms combine, or ``None``."""
    accumulator_dtype: SimpleDType | None
    """The dtype of a ``FLOATING`` accumulation, otherwise ``None``."""
    output: SimpleDType
    """The storage dtype of the result."""

    __eq__ = RecordKey.__eq__
    __hash__ = RecordKey.__hash__

    def __post_init__(self) -> None:
        _require_type("operation", self.operation, str)
        _require_type("operands", self.operands, tuple)
        if not self.operands:
            raise ValueError(f"capability of {self.operation!r} needs at least one operand, got ()")
        for position, operand in enumerate(self.operands):
            _require_type(f"operands[{position}]", operand, OperandCapability)
        _require_type("compute", self.compute, Arithmetic)
        _require_type("accumulation", self.accumulation, Accumulation, optional=True)
        _require_type("accumulator_dtype", self.accumulator_dtype, SimpleDType, optional=True)
        _require_type("output", self.output, SimpleDType)

    @classmethod
    def from_plan(cls, plan: OperationPlan) -> "OperationCapability":
        """Return the capability that matches exactly ``plan``.

        Args:
            plan: The plan to mirror; its fields pass the validating constructors.

        Raises:
            TypeError: ``plan`` is not an ``OperationPlan``, or a field of it has the wrong type.
            ValueError: ``plan`` has no operands.
        """
        _require_type("plan", plan, OperationPlan)
        return _mirror(plan)

    def matches(self, plan: OperationPlan) -> bool:
        """Tell whether every field of ``plan`` agrees with this capability; nothing is promoted.

        Args:
            plan: The plan to compare with.

        Raises:
            TypeError: ``plan`` is not an ``OperationPlan``.
        """
        _require_type("plan", plan, OperationPlan)
        return (
            self.operation == plan.operation
            and self.compute is plan.compute
            and self.accumulation is plan.accumulation
            and self.accumulator_dtype is plan.accumulator_dtype
            and self.output is plan.output
            and len(self.operands) == len(plan.operands)
            and all(
                ours.role is theirs.role
                and ours.dtype is theirs.dtype
                and ours.convert_to is theirs.convert_to
                for ours, theirs in zip(self.operands, plan.operands, strict=True)
            )
        )


@lru_cache(maxsize=4096)
def _mirror(plan: OperationPlan) -> OperationCapability:
    return OperationCapability(
        plan.operation,
        tuple(
            OperandCapability(operand.role, operand.dtype, operand.convert_to)
            for operand in plan.operands
        ),
        plan.compute,
        plan.accumulation,
        plan.accumulator_dtype,
        plan.output,
    )


def capability_order(capability: OperationCapability) -> tuple[str, ...]:
    """Return the sort key by which declared capabilities are enumerated.

    Args:
        capability: The capability to place.

    Returns:
        Operation, operand pieces joined by ``|``, arithmetic, accumulation, accumulator and output.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> plan = resolve_operation_plan("pow", DType.Int32, 0.5)
        >>> capability_order(OperationCapability.from_plan(plan))
        ('pow', 'tensor:Int32:Float32|weak_scalar::Float32', 'binary32', '', '', 'Float32')
    """
    pieces = "|".join(
        f"{operand.role.value}:{_name(operand.dtype)}:{operand.convert_to.name}"
        for operand in capability.operands
    )
    accumulation = "" if capability.accumulation is None else capability.accumulation.value
    return (
        capability.operation,
        pieces,
        capability.compute.value,
        accumulation,
        _name(capability.accumulator_dtype),
        capability.output.name,
    )


def _name(dtype: SimpleDType | None) -> str:
    return "" if dtype is None else dtype.name
