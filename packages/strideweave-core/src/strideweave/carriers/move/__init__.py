"""Movement: how the values of a Tensor get into another carrier, at once or in the background."""

from typing import TYPE_CHECKING

from strideweave._optional import MOVE_OPERATIONS, load_optional, present_names
from strideweave.carriers.move.entry import copy_async, move_async
from strideweave.carriers.move.handles import AwaitMove, AwaitResult
from strideweave.carriers.move.operations import ElementwiseMoveOperation, MoveOperation
from strideweave.carriers.move.registry import (
    dispatch_move,
    register_move_operation,
    registered_move_operation,
    unregister_move_operation,
)

__all__ = [
    "AwaitMove",
    "AwaitResult",
    "ElementwiseMoveOperation",
    "MoveOperation",
    "copy_async",
    "dispatch_move",
    "move_async",
    "register_move_operation",
    "registered_move_operation",
    "unregister_move_operation",
]
if TYPE_CHECKING:
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        BlockDeviceToCpuMoveOperation as BlockDeviceToCpuMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToBlockDeviceMoveOperation as CpuToBlockDeviceMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToFileBackedMoveOperation as CpuToFileBackedMoveOperation,
    )
    from strideweave.carriers.cpu import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        FileBackedToCpuMoveOperation as FileBackedToCpuMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        CpuToMetalMoveOperation as CpuToMetalMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToCpuMoveOperation as MetalToCpuMoveOperation,
    )
    from strideweave.carriers.metal import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        MetalToMetalMoveOperation as MetalToMetalMoveOperation,
    )
else:

    def __getattr__(name):
        value = load_optional(__name__, name, MOVE_OPERATIONS)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *present_names(MOVE_OPERATIONS)})
