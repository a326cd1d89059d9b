"""The moves between CPU and BlockDeviceCarrier: the whole span in one bulk transfer."""

from typing import final

from strideweave.carriers.base import Carrier
from strideweave.carriers.block_device import BlockDeviceCarrier
from strideweave.carriers.cpu.carrier import CPU
from strideweave.carriers.move import MoveOperation
from strideweave.carriers.move.registry import add_move_operation
from strideweave.tensor.tensor import Tensor


@final
class CpuToBlockDeviceMoveOperation(MoveOperation):
    """Moves from CPU into an extent of a block device, from the CPU's own memory.

    The carrier's version advances when the transfer starts. A transfer that fails faults the
    device.

    Examples:
        >>> import strideweave as sw
        >>> sw.CpuToBlockDeviceMoveOperation.destination_class is sw.BlockDeviceCarrier
        True
    """

    source_class = CPU
    destination_class = BlockDeviceCarrier

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        first = tensor._offset
        values = tensor._carrier._host_array()[first : first + element_count].data
        try:
            destination._write_span(0, values)
        except BaseException as error:
            self._storage_failure = error
            raise


@final
class BlockDeviceToCpuMoveOperation(MoveOperation):
    """Moves from an extent of a block device to CPU, into the CPU's own memory.

    The CPU's version advances when the transfer starts. A transfer that fails faults the device,
    and may have changed any of the slots that it was to fill.

    Examples:
        >>> import strideweave as sw
        >>> sw.BlockDeviceToCpuMoveOperation.source_class is sw.BlockDeviceCarrier
        True
    """

    source_class = BlockDeviceCarrier
    destination_class = CPU

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        source = tensor._carrier
        assert type(source) is BlockDeviceCarrier  # the framework checked it
        memory = destination._host_array()[:element_count].data
        try:
            source._read_announced(tensor._offset, memory, destination._increment_version)
        except BaseException as error:
            self._storage_failure = error
            raise


add_move_operation(CPU, BlockDeviceCarrier, CpuToBlockDeviceMoveOperation)
add_move_operation(BlockDeviceCarrier, CPU, BlockDeviceToCpuMoveOperation)
