"""Resolution: from an operation name and its operands to the one plan of its numbers."""

from strideweave.dtype import DType, SimpleDType
from strideweave.operation.policy.execution_options import (
    OperationExecutionOptions,
    validate_accumulator,
)
from strideweave.operation.policy.records import (
    OperandRole,
    OperationOverload,
    OperationPlan,
    OperationSpec,
)
from strideweave.operation.policy.table import SPECS
from strideweave.operation.policy.weak_scalar import weak_scalar_branch

# One entry per accepted signature. Only storage dtypes of the table and weak scalar branches make
# one, so the table bounds both; built-in dtypes live forever, so their ids stay theirs.
_plans: dict[tuple[object, ...], OperationPlan] = {}
_distinct: dict[OperationPlan, OperationPlan] = {}


def resolve_operation_plan(
    operation: str,
    *operands: object,
    accumulator_dtype: SimpleDType | None = None,
    options: OperationExecutionOptions | None = None,
) -> OperationPlan:
    """Return the plan of an operation: conversions, arithmetic, accumulation and output dtype.

    Reads no element. Equal plans are one object, whatever the operands were.

    Args:
        operation: A registered name.
        operands: Per planned operand, the storage dtype of a tensor or the value of a weak scalar.
        accumulator_dtype: An explicit accumulator for ``reduce_sum`` or ``matmul``.
        options: The same choice as a record; give one of the two.

    Returns:
        The plan.

    Raises:
        TypeError: The options, the accumulator or an operand have the wrong type, both options and
            accumulator are given, or no overload takes such operands.
        ValueError: ``options`` were made for another operation.
        NotImplementedError: The operation is not registered, or a dtype has no arithmetic here.
        OverflowError: A weak scalar that takes part as Int32 does not fit it.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> plan = resolve_operation_plan("add", DType.Int32, DType.Float32)
        >>> [operand.convert_to.name for operand in plan.operands], plan.output
        (['Float32', 'Float32'], SimpleDType('Float32'))
        >>> resolve_operation_plan("mul", DType.Int32, 3).compute.value
        'int32_exact_checked'
    """
    chosen = _chosen_accumulator(operation, accumulator_dtype, options)
    spec = _registered(operation)
    signature = (spec.name, None if chosen is None else id(chosen), *map(_token, operands))
    plan = _plans.get(signature)
    if plan is None:
        overload = _select(spec, operands)
        fresh = planned(spec, overload, operands, chosen)
        plan = _plans[signature] = _distinct.setdefault(fresh, fresh)
    return plan


def _chosen_accumulator(
    operation: object, accumulator_dtype: object, options: object
) -> SimpleDType | None:
    if options is not None:
        if not isinstance(options, OperationExecutionOptions):
            raise TypeError(
                f"options must be an OperationExecutionOptions, got {options!r} of type "
                f"{type(options).__qualname__}"
            )
        if options.operation != operation:
            raise ValueError(
                f"options were made for operation {options.operation!r}, not for {operation!r}; "
                f"use operation_execution_options({operation!r}, ...)"
            )
        if accumulator_dtype is not None:
            raise TypeError(
                f"{operation} got both options and accumulator_dtype={accumulator_dtype!r}; "
                "give one of them"
            )
        return options.accumulator_dtype
    if accumulator_dtype is None:
        return None
    return validate_accumulator(operation, accumulator_dtype)


def _registered(operation: object) -> OperationSpec:
    spec = SPECS.get(operation) if isinstance(operation, str) else None
    if spec is None:
        raise NotImplementedError(
            f"operation {operation!r} has no dtype policy; registered_operations() lists the names"
        )
    return spec


def _token(operand: object) -> object:
    return id(operand) if isinstance(operand, DType) else weak_scalar_branch(operand)


def _role(operand: object) -> OperandRole | None:
    if isinstance(operand, DType):
        return OperandRole.TENSOR
    return None if weak_scalar_branch(operand) is None else OperandRole.WEAK_SCALAR


def _select(spec: OperationSpec, operands: tuple[object, ...]) -> OperationOverload:
    """Pick the overload that fits every operand of known role and most unknown ones as scalars."""
    fitting = [overload for overload in spec.overloads if len(overload.roles) == len(operands)]
    if not fitting:
        arities = sorted({len(overload.roles) for overload in spec.overloads})
        counts = " or ".join(map(str, arities))
        raise TypeError(f"{spec.name} plans {counts} operands, got {len(operands)}")
    known = [_role(operand) for operand in operands]
    matching = [
        overload
        for overload in fitting
        if all(given in (None, role) for given, role in zip(known, overload.roles, strict=True))
    ]
    if not matching:
        signatures = "; ".join(
            ", ".join(role.value for role in overload.roles) for overload in fitting
        )
        classes = ", ".join("unknown" if role is None else role.value for role in known)
        raise TypeError(f"{spec.name} takes ({signatures}), got ({classes})")
    return max(
        matching,
        key=lambda overload: sum(
            given is None and role is OperandRole.WEAK_SCALAR
            for given, role in zip(known, overload.roles, strict=True)
        ),
    )


def planned(
    spec: OperationSpec,
    overload: OperationOverload,
    operands: tuple[object, ...],
    accumulator_dtype: SimpleDType | None,
) -> OperationPlan:
    """Run the rule of an overload and hold it to the operation and roles that it was declared for.

    Args:
        spec: The operation.
        overload: One of its overloads.
        operands: What the rule plans.
        accumulator_dtype: An explicit accumulator, or ``None``.

    Raises:
        ValueError: The plan names another operation or has other roles; the rule is at fault.
    """
    plan = overload.rule(*operands, accumulator_dtype=accumulator_dtype)
    roles = tuple(operand.role for operand in plan.operands)
    if plan.operation != spec.name or roles != overload.roles:
        raise ValueError(
            f"the rule registered for {spec.name!r} returned a plan for {plan.operation!r} with "
            f"roles {[role.value for role in roles]}; a rule plans what it is declared for"
        )
    return plan
