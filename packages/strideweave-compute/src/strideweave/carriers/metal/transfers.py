"""The moves between CPU and Metal, and between Metal carriers: the whole span at once.

Each stages the values, waits for them, and only then publishes them. So a failure leaves both
carriers as they were, and the source is released after its last use.
"""

from typing import TYPE_CHECKING, cast, final

from strideweave._late import LateModule
from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.carriers.cpu import CPU
from strideweave.carriers.metal.carrier import Metal
from strideweave.carriers.move import MoveOperation, register_move_operation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import strideweave.carriers.metal.storage as storage
else:
    storage = LateModule("strideweave.carriers.metal.storage")  # needs MLX


@final
class CpuToMetalMoveOperation(MoveOperation):
    """Moves from CPU to Metal by one copy.

    Examples:
        >>> import strideweave as sw
        >>> tensor = sw.Tensor(sw.CPU(3), 0, sw.Layout(sw.Shape(3), sw.Stride(1)))
        >>> moved = sw.move(tensor, sw.Metal(3))
        >>> type(moved.autograd_ctx) is sw.CpuToMetalMoveOperation
        True
    """

    source_class = CPU
    destination_class = Metal

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        self._copy_values(tensor, destination)


@final
class MetalToCpuMoveOperation(MoveOperation):
    """Moves from Metal to CPU by one copy, once all values are computed.

    Examples:
        >>> import strideweave as sw
        >>> tensor = sw.Tensor(sw.Metal(3), 1, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> sw.move(tensor, sw.CPU(2)).tolist()
        [0.0, 0.0]
    """

    source_class = Metal
    destination_class = CPU

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        memory = destination._host_array()[:element_count].data
        try:
            spans.read_span(tensor._carrier, tensor._offset, memory)
        except BaseException as error:
            self._storage_failure = error
            raise


@final
class MetalToMetalMoveOperation(MoveOperation):
    """Moves between Metal carriers on the device.

    Examples:
        >>> import strideweave as sw
        >>> tensor = sw.Tensor(sw.Metal(2), 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> sw.move(tensor, sw.Metal(4)).carrier.size()
        4
    """

    source_class = Metal
    destination_class = Metal

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        source, target = cast("Metal", tensor._carrier), cast("Metal", destination)
        try:
            values = storage.extracted(source._live_slots(), tensor._offset, element_count)
            target._replace(0, values)
        except BaseException as error:
            self._storage_failure = error
            raise


register_move_operation(CPU, Metal, CpuToMetalMoveOperation)
register_move_operation(Metal, CPU, MetalToCpuMoveOperation)
register_move_operation(Metal, Metal, MetalToMetalMoveOperation)
