"""All built-in patterns: kernels where they are written, references everywhere else."""

from functools import partial

from strideweave import KernelPattern, Unsupported
from strideweave.carriers.extension import (
    PreparedKernel,
    ProviderCompletion,
    ProviderResult,
    reference_pattern,
)
from strideweave.carriers.operation_policy import registered_operations
from strideweave.operation import ResolvedInvocation, operation_definition

from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.contractions import contraction_patterns
from strideweave_opencl.kernels.indexing import indexing_patterns
from strideweave_opencl.kernels.pointwise import pointwise_patterns
from strideweave_opencl.kernels.reductions import reduction_patterns
from strideweave_opencl.kernels.vectors import vector_patterns


def built_in_patterns() -> list[KernelPattern[OpenCLInterface]]:
    """Every operation of the catalogue is served; those without a kernel by their reference."""
    kernels = [
        *vector_patterns(),
        *pointwise_patterns(),
        *reduction_patterns(),
        *contraction_patterns(),
        *indexing_patterns(),
    ]
    written = {pattern.operation.name for pattern in kernels}
    names = [spec.name for spec in registered_operations() if spec.name not in written]
    return [*kernels, *(_counted_reference(name) for name in names)]


def _counted_reference(name: str) -> KernelPattern[OpenCLInterface]:
    """Serve by the reference, behind the kernels of packs, which have preference 0."""
    pattern = reference_pattern(operation_definition(name), preference=-1)

    def prepare(
        invocation: ResolvedInvocation, interface: OpenCLInterface
    ) -> PreparedKernel | Unsupported:
        prepared = pattern.prepare(invocation, interface)
        if isinstance(prepared, Unsupported):
            return prepared
        return PreparedKernel(interface, partial(_run, interface, pattern.kernel_id, prepared))

    return KernelPattern(
        pattern.operation, pattern.plans, pattern.kernel_id, prepare, pattern.preference
    )


def _run(
    interface: OpenCLInterface, kernel_id: str, prepared: PreparedKernel
) -> ProviderResult | ProviderCompletion[ProviderResult]:
    interface.count(kernel_id)
    return prepared.submit()
