"""All checks of the kit, in the order in which they run."""

from typing import Final

from strideweave.testing.conformance import (
    capabilities,
    completions,
    dtypes,
    facets,
    factories,
    faults,
    gradients,
    kernels,
    lifetime,
    mutability,
    retention,
    sealing,
    spans,
    storage,
    threads,
    transfers,
    versions,
    views,
)
from strideweave.testing.conformance.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    *(storage.extent, storage.read, storage.write, storage.neighbours, storage.values),
    *(dtypes.supported, dtypes.unchanging),
    *(versions.writes, versions.reads, versions.bulk),
    *(mutability.immutable, mutability.owned, mutability.after_release),
    *(factories.values, factories.zeros, factories.independent, factories.after_release),
    *(lifetime.memory, lifetime.states, lifetime.isolated, lifetime.collected),
    *(views.layouts, views.bulk_writes, views.alias),
    *(sealing.exact_class, sealing.no_copies),
    *(faults.construction, faults.storage),
    *(threads.slots, threads.lifetime),
    *(spans.read, spans.write, spans.buffers),
    *(transfers.out_values, transfers.out_source, transfers.threads, retention.transfers),
    *(transfers.prepare_changes_nothing, transfers.prepare_abandoned),
    *(transfers.in_values, transfers.in_failure),
    *(completions.done, completions.wait, completions.in_flight),
    *(capabilities.advertised, capabilities.values, capabilities.layouts),
    *(capabilities.extents, capabilities.repeated, capabilities.ties, capabilities.errors),
    *(kernels.fresh_results, kernels.operands_kept, kernels.current_operands, kernels.threads),
    *(kernels.same_carrier, retention.kernels),
    *(kernels.failure, kernels.completions),
    *(gradients.operations, gradients.chain),
    facets.constant,
)
