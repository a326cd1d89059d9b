"""The moves between CPU and FileBacked: the whole span at once."""

from typing import final

from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.carriers.cpu.carrier import CPU
from strideweave.carriers.file_backed import FileBacked
from strideweave.carriers.move import MoveOperation, register_move_operation
from strideweave.tensor.tensor import Tensor


@final
class CpuToFileBackedMoveOperation(MoveOperation):
    """Moves from CPU to FileBacked by one write, from the CPU's own memory.

    Examples:
        >>> import strideweave as sw
        >>> source = sw.CPU(3)
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(3), sw.Stride(1)))
        >>> moved = sw.move(tensor, sw.FileBacked())
        >>> type(moved.autograd_ctx) is sw.CpuToFileBackedMoveOperation
        True
    """

    source_class = CPU
    destination_class = FileBacked

    def _copy(
        self, tensor: Tensor, destination: Carrier, output: Tensor, element_count: int
    ) -> None:
        self._copy_values(tensor, destination)


@final
class FileBackedToCpuMoveOperation(MoveOperation):
    """Moves from FileBacked to CPU by one read, into the CPU's own memory.

    Examples:
        >>> import strideweave as sw
        >>> source = sw.FileBacked().new_like([1.0, 2.0, 3.0])
        >>> tensor = sw.Tensor(source, 1, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> sw.move(tensor, sw.CPU(2)).tolist()
        [2.0, 3.0]
    """

    source_class = FileBacked
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


register_move_operation(CPU, FileBacked, CpuToFileBackedMoveOperation)
register_move_operation(FileBacked, CPU, FileBackedToCpuMoveOperation)
