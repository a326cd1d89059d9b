"""Public names for what carriers execute: capability records, declarations and queries."""

from strideweave.carriers.capability_queries import (
    capabilities_for_carrier_class,
    matching_capability,
    register_operation_capabilities,
    require_capability,
    supports_operation_plan,
    unsupported_plan_reason,
)
from strideweave.carriers.dependent import DependentCarrier
from strideweave.operation.capability import (
    OperandCapability,
    OperationCapability,
    UnsupportedOperationPlan,
)

__all__ = [
    "DependentCarrier",
    "OperandCapability",
    "OperationCapability",
    "UnsupportedOperationPlan",
    "capabilities_for_carrier_class",
    "matching_capability",
    "register_operation_capabilities",
    "require_capability",
    "supports_operation_plan",
    "unsupported_plan_reason",
]
