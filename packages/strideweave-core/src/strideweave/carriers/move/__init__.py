"""Movement: how the values of a Tensor get into another carrier, at once or in the background."""

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
