"""The refusal of Tensors of several subtensors where only one is handled."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import strideweave.tensor.tensor as tensor_module

if TYPE_CHECKING:
    from strideweave.tensor.tensor import Tensor


def require_one_subtensor(tensor: "Tensor", attempt: str) -> None:
    """Refuse a Tensor of several subtensors.

    Args:
        tensor: Any Tensor.
        attempt: What it was given to, in the words of the message.

    Raises:
        NotImplementedError: The Tensor has several subtensors.
    """
    if tensor._deeper is not None:
        refuse_several(attempt)


def require_one_subtensor_each(operands: Iterable[object]) -> None:
    """Refuse the operands of an operation if one is a Tensor of several subtensors.

    Raises:
        NotImplementedError: One is.
    """
    for operand in operands:
        if isinstance(operand, tensor_module.Tensor) and operand._deeper is not None:
            refuse_several("operation execution")


def refuse_several(attempt: str) -> NoReturn:
    """Raise the refusal of an attempt."""
    raise NotImplementedError(
        f"Multi-subtensor Tensor {attempt} is not implemented; the operation was rejected before "
        "changing any constituent carrier"
    )
