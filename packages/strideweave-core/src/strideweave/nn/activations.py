"""Activation functions as modules."""

from typing import final

import strideweave.functional as functional
from strideweave.module import Module
from strideweave.tensor.tensor import Tensor


@final
class ReLU(Module):
    """The rectifier: ``x`` where it is positive, else 0.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier)
        >>> sw.nn.ReLU()(x).tolist()
        [0.0, 2.0]
    """

    def forward(self, tensor: Tensor) -> Tensor:
        """Apply ``strideweave.relu``; see there for layouts, dtypes and errors."""
        return functional.relu(tensor)


@final
class Sigmoid(Module):
    """The logistic function ``1 / (1 + exp(-x))``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([0.0], carrier=ArrayCarrier)
        >>> sw.nn.Sigmoid()(x).tolist()
        [0.5]
    """

    def forward(self, tensor: Tensor) -> Tensor:
        """Apply ``strideweave.sigmoid``; see there for layouts, dtypes and errors."""
        return functional.sigmoid(tensor)


@final
class Tanh(Module):
    """The hyperbolic tangent.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([0.0], carrier=ArrayCarrier)
        >>> sw.nn.Tanh()(x).tolist()
        [0.0]
    """

    def forward(self, tensor: Tensor) -> Tensor:
        """Apply ``strideweave.tanh``; see there for layouts, dtypes and errors."""
        return functional.tanh(tensor)
