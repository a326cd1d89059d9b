"""Stochastic gradient descent."""

from collections.abc import Hashable
from typing import final

from strideweave.nn.optimizer import Optimizer, read_elements, rounded_map, write_elements
from strideweave.tensor.tensor import Tensor


@final
class SGD(Optimizer):
    """Gradient descent: ``p - lr * g`` in binary64, rounded once.

    Args:
        parameters: Float32 parameters; repeated ones count once.
        lr: The learning rate.

    Raises:
        TypeError: ``parameters`` is not iterable or holds something else, ``lr`` is no number.
        ValueError: There is no parameter, or ``lr`` is not positive and finite.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> weight = sw.Parameter(sw.friendly.tensor([1.0, 2.0], carrier=ArrayCarrier))
        >>> weight.grad = sw.friendly.tensor([2.0, 0.0], carrier=ArrayCarrier)
        >>> sw.nn.SGD([weight], lr=0.25).step()
        >>> weight.tolist()
        [0.5, 2.0]
    """

    def _update(self, key: Hashable, slots: Tensor, gradient: Tensor) -> None:
        lr = self.lr
        values, slopes = read_elements(slots, gradient)
        write_elements(slots, rounded_map(lambda p, g: p - lr * g, values, slopes))
