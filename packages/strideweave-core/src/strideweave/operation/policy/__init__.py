"""The central dtype policy; the public path is ``strideweave.carriers.operation_policy``."""

from strideweave.operation.policy.enumeration import plan_accumulator_variants, resolvable_plans
from strideweave.operation.policy.execution_options import (
    OperationExecutionOptions,
    operation_execution_options,
)
from strideweave.operation.policy.records import (
    ACCUMULATOR_CONFIGURABLE_OPERATIONS,
    INT32_MAX,
    INT32_MIN,
    POW_INTEGER_EXPONENT_MAX,
    SUPPORTED_ACCUMULATOR_DTYPES,
    SUPPORTED_TENSOR_DTYPES,
    WEAK_SCALAR_PROBES,
    Accumulation,
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationOverload,
    OperationPlan,
    OperationSpec,
    WeakScalarKind,
)
from strideweave.operation.policy.resolution import resolve_operation_plan
from strideweave.operation.policy.table import registered_operations

__all__ = [
    "ACCUMULATOR_CONFIGURABLE_OPERATIONS",
    "INT32_MAX",
    "INT32_MIN",
    "POW_INTEGER_EXPONENT_MAX",
    "SUPPORTED_ACCUMULATOR_DTYPES",
    "SUPPORTED_TENSOR_DTYPES",
    "WEAK_SCALAR_PROBES",
    "Accumulation",
    "Arithmetic",
    "OperandPlan",
    "OperandRole",
    "OperationExecutionOptions",
    "OperationOverload",
    "OperationPlan",
    "OperationSpec",
    "WeakScalarKind",
    "operation_execution_options",
    "plan_accumulator_variants",
    "registered_operations",
    "resolvable_plans",
    "resolve_operation_plan",
]
