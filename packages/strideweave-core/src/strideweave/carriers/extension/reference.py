"""Patterns that run an operation's own reference, so that a new carrier is complete at once."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from strideweave._late import LateModule
from strideweave.carriers.extension.interface import KernelExecutionInterface
from strideweave.carriers.extension.patterns import KernelPattern
from strideweave.carriers.extension.prepared import PreparedKernel
from strideweave.carriers.extension.results import ProviderResult
from strideweave.carriers.extension.validation import require_instance
from strideweave.operation.capability import OperationCapability
from strideweave.operation.policy import resolvable_plans

if TYPE_CHECKING:
    import strideweave.operation.definition as definition_module
    import strideweave.operation.publication as publication
    from strideweave.operation.definition import OperationDefinition
    from strideweave.operation.invocation import ResolvedInvocation
    from strideweave.tensor.tensor import Tensor
else:
    # Both import the prepared records of this package.
    definition_module = LateModule("strideweave.operation.definition")
    publication = LateModule("strideweave.operation.publication")


def reference_pattern(
    definition: "OperationDefinition",
    plans: Iterable[OperationCapability] | None = None,
    *,
    preference: int = 0,
) -> KernelPattern:
    """Make a pattern that serves an operation by its public reference.

    The reference runs on the carrier's own storage, through its factories and slots. It is slow
    and right: replace such patterns one by one. It never declines.

    Args:
        definition: The operation, for example ``operation_definition("add")``.
        plans: The capabilities to serve; by default every plan of that name in
            ``resolvable_plans()``. A carrier that stores fewer dtypes passes its own.
        preference: As in KernelPattern.

    Returns:
        A pattern with ``kernel_id`` ``reference:<name>``.

    Raises:
        TypeError: ``definition`` is no OperationDefinition, or another argument has the wrong
            type.
        ValueError: The definition has no reference, no plan of that name is known, or ``plans``
            does not fit.

    Examples:
        >>> from strideweave.carriers.extension import reference_pattern
        >>> from strideweave.operation import operation_definition
        >>> reference_pattern(operation_definition("add")).kernel_id
        'reference:add'
    """
    require_instance(
        definition, definition_module.OperationDefinition, "reference_pattern: definition"
    )
    reference = definition.reference
    if reference is None:
        raise ValueError(
            f"reference_pattern: {definition.name!r} has no reference; write a KernelPattern for it"
        )
    capabilities = _known_plans(definition.name) if plans is None else plans

    def prepare(
        invocation: "ResolvedInvocation", interface: KernelExecutionInterface
    ) -> PreparedKernel:
        return PreparedKernel(interface, lambda: _result(reference(invocation), definition.name))

    kernel_id = f"reference:{definition.name}"
    return KernelPattern(definition, capabilities, kernel_id, prepare, preference)


def _known_plans(name: str) -> list[OperationCapability]:
    plans = [plan for plan in resolvable_plans() if plan.operation == name]
    if not plans:
        raise ValueError(
            f"reference_pattern: the dtype policy knows no plans of {name!r}; pass plans=, the "
            "OperationCapabilities to serve"
        )
    return [OperationCapability.from_plan(plan) for plan in plans]


def _result(outputs: "Tensor | tuple[Tensor, ...]", name: str) -> ProviderResult:
    if not isinstance(outputs, tuple):
        return ProviderResult((outputs,))
    if not outputs:
        raise publication.ProviderContractError(
            f"{name}: result_count: the reference gave no result", field="result_count"
        )
    return ProviderResult(outputs)
