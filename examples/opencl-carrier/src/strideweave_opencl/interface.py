"""The execution interface: context, queues and program cache that all kernels share."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from importlib.resources import files
from threading import Lock
from typing import TypeAlias, TypeVar, final

import numpy as np
import pyopencl as cl
from strideweave import KernelExecutionInterface

from strideweave_opencl.device import open_context

KernelArgument: TypeAlias = cl.Buffer | np.generic
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

BUILD_OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")
WORK_GROUP_ITEMS = 64
CACHED = 4096
"""How many programs, and how many layouts of calls, are remembered."""


@final
class CompiledKernel:
    """One kernel of a built program; its arguments are set and enqueued by one thread at a time."""

    def __init__(self, program: cl.Program, name: str) -> None:
        self._kernel = cl.Kernel(program, name)
        self._lock = Lock()

    def enqueue(
        self, queue: cl.CommandQueue, items: int, group: int, arguments: Sequence[KernelArgument]
    ) -> cl.Event:
        """Enqueue whole work groups that hold at least this many items."""
        whole = -(-items // group) * group
        with self._lock:
            self._kernel.set_args(*arguments)
            return cl.enqueue_nd_range_kernel(queue, self._kernel, (whole,), (group,))


@final
class OpenCLInterface(KernelExecutionInterface):
    """What kernels run with: one device, its in-order queues, and the programs built for it.

    Attributes:
        context: Holds the buffers.
        device: The one device of the context.
        queue: Runs kernels and storage accesses in the order in which they were enqueued.
        transfers: Runs moves beside them.
        precompiled: The kernels of ``kernels/precompiled.cl`` by name, built with the interface.
    """

    context: cl.Context
    device: cl.Device
    queue: cl.CommandQueue
    transfers: cl.CommandQueue
    precompiled: dict[str, CompiledKernel]

    def __init__(self, version: str) -> None:
        super().__init__(version)
        self.context = open_context()
        self.device = self.context.devices[0]
        self.queue = cl.CommandQueue(self.context)
        self.transfers = cl.CommandQueue(self.context)
        self._group = min(WORK_GROUP_ITEMS, self.device.max_work_group_size)
        self._lock = Lock()
        self._programs: dict[str, cl.Program] = {}
        self._specialisations: dict[Hashable, object] = {}
        self._launches: Counter[str] = Counter()
        program = self._build(resource("precompiled.cl"))
        self.precompiled = {
            name: CompiledKernel(program, name) for name in program.kernel_names.split(";")
        }

    def compiled(self, source: str, name: str) -> CompiledKernel:
        """Give a kernel of a source, which is built once for each text."""
        with self._lock:
            program = self._programs.get(source)
        if program is None:
            built = self._build(source)
            with self._lock:
                program = _kept(self._programs, source, built)
        return CompiledKernel(program, name)

    def specialised(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it.

        Args:
            key: Distinguishes everything that ``make`` looks at; every key has one result type.
            make: Makes the value.
        """
        with self._lock:
            known = self._specialisations.get(key)
        if known is None:
            known = make()
            with self._lock:
                known = _kept(self._specialisations, key, known)
        return known  # type: ignore[return-value]  # the key determines the type

    def launch(
        self,
        kernel_id: str,
        kernel: CompiledKernel,
        items: int,
        arguments: Sequence[KernelArgument],
    ) -> cl.Event:
        """Enqueue a kernel behind everything enqueued before, and return without waiting.

        Args:
            kernel_id: The pattern that asks, for ``launches``.
            kernel: What to run.
            items: How many work items it needs; further ones find ``item >= size``.
            arguments: In the kernel's order.
        """
        event = kernel.enqueue(self.queue, items, self._group, arguments)
        self.queue.flush()
        self.count(kernel_id)
        return event

    def fence(self) -> cl.Event:
        """Make an event that is over when everything enqueued so far is, transfers apart."""
        event = cl.enqueue_marker(self.queue)
        self.queue.flush()
        return event

    def count(self, kernel_id: str) -> None:
        """Note that a pattern served."""
        with self._lock:
            self._launches[kernel_id] += 1

    def launches(self) -> dict[str, int]:
        """Count the launches of each pattern so far."""
        with self._lock:
            return dict(self._launches)

    def program_count(self) -> int:
        """Count the sources that were compiled at run time so far."""
        with self._lock:
            return len(self._programs)

    def _build(self, source: str) -> cl.Program:
        program = cl.Program(self.context, f"{resource('prelude.cl')}\n{source}")
        program.build(list(BUILD_OPTIONS))
        return program


def _kept(cache: dict[K, V], key: K, value: V) -> V:
    """Put a value into a cache unless another thread did, and drop the oldest beyond the limit."""
    kept = cache.setdefault(key, value)
    if len(cache) > CACHED:
        del cache[next(iter(cache))]
    return kept


def resource(name: str) -> str:
    """Read an OpenCL C file of this package."""
    return files("strideweave_opencl").joinpath("kernels", name).read_text()
