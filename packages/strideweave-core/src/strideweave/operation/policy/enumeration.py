"""Enumeration of every plan that the dtype policy can resolve."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

from strideweave.dtype import DType, SimpleDType
from strideweave.operation.policy.records import (
    ACCUMULATOR_CONFIGURABLE_OPERATIONS,
    SUPPORTED_ACCUMULATOR_DTYPES,
    SUPPORTED_TENSOR_DTYPES,
    WEAK_SCALAR_PROBES,
    Accumulation,
    OperandRole,
    OperationOverload,
    OperationPlan,
)
from strideweave.operation.policy.resolution import resolve_operation_plan
from strideweave.operation.policy.table import registered_operations


def resolvable_plans(
    tensor_dtypes: Iterable[SimpleDType] = SUPPORTED_TENSOR_DTYPES,
    weak_scalars: Iterable[object] = WEAK_SCALAR_PROBES,
) -> tuple[OperationPlan, ...]:
    """Return every plan that the registered operations resolve to, without repeats.

    Goes through operations by name, overloads in declaration order, and the combinations of
    operands in the given order; accumulator variants follow their plan.

    Args:
        tensor_dtypes: The storage dtypes to offer to tensor positions. A position with a declared
            domain is offered those inside it, and ``Bool`` where the domain has it.
        weak_scalars: The values to offer to weak scalar positions.

    Raises:
        TypeError: An offered operand does not fit an overload that declares no domains.
        NotImplementedError: Such an overload does not implement an offered dtype.

    Examples:
        >>> from strideweave.carriers.operation_policy import resolvable_plans
        >>> [plan.output.name for plan in resolvable_plans() if plan.operation == "relu"]
        ['Float32', 'Int32']
    """
    dtypes, scalars = tuple(tensor_dtypes), tuple(weak_scalars)
    plans: dict[OperationPlan, None] = {}
    for spec in registered_operations():
        for overload in spec.overloads:
            for operands in itertools.product(*_candidates(overload, dtypes, scalars)):
                try:
                    plan = resolve_operation_plan(spec.name, *operands)
                except TypeError:
                    if overload.tensor_domains is None:
                        raise
                    continue
                plans.update(dict.fromkeys(plan_accumulator_variants(plan)))
    return tuple(plans)


def _candidates(
    overload: OperationOverload, dtypes: tuple[SimpleDType, ...], scalars: tuple[object, ...]
) -> Iterator[tuple[object, ...]]:
    domains = iter(overload.tensor_domains or ())
    for role in overload.roles:
        if role is OperandRole.WEAK_SCALAR:
            yield scalars
        elif overload.tensor_domains is None:
            yield dtypes
        else:
            domain = next(domains)
            inside = tuple(dtype for dtype in dtypes if any(dtype is entry for entry in domain))
            has_bool = any(entry is DType.Bool for entry in domain)
            yield (*inside, DType.Bool) if has_bool else inside


def plan_accumulator_variants(plan: OperationPlan) -> tuple[OperationPlan, ...]:
    """Return a plan followed by the same plan under each other accumulator a caller may choose.

    Args:
        plan: Any plan.

    Returns:
        ``(plan,)`` unless it is a ``FLOATING`` plan of an operation with a choosable accumulator.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> plan = resolve_operation_plan("reduce_sum", DType.Float32)
        >>> [variant.accumulator_dtype.name for variant in plan_accumulator_variants(plan)]
        ['Float32', 'Float64']
    """
    if (
        plan.operation not in ACCUMULATOR_CONFIGURABLE_OPERATIONS
        or plan.accumulation is not Accumulation.FLOATING
    ):
        return (plan,)
    others = (
        dtype for dtype in SUPPORTED_ACCUMULATOR_DTYPES if dtype is not plan.accumulator_dtype
    )
    return (plan, *(dataclasses.replace(plan, accumulator_dtype=dtype) for dtype in others))
