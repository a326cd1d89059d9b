"""Adam."""

from collections.abc import Hashable, Iterable
from typing import final

from strideweave.module import Parameter
from strideweave.nn.optimizer import (
    Elements,
    Optimizer,
    finite_real,
    positive_real,
    read_elements,
    rounded_map,
    write_elements,
    zeros_like,
)
from strideweave.tensor.tensor import Tensor


@final
class Adam(Optimizer):
    """Adaptive moment estimation.

    A step with the gradient ``g`` adds ``weight_decay * p`` to it, updates the running means ``m``
    of g and ``v`` of g*g, corrects both for their start at zero, and subtracts
    ``lr * m / (sqrt(v) + eps)``. All of it is binary64; ``m``, ``v`` and ``p`` are rounded once
    when stored. A parameter without a gradient does not age.

    Args:
        parameters: Float32 parameters; repeated ones count once.
        lr: The learning rate.
        betas: Decay of the running means of g and of g*g, each in [0, 1).
        eps: Added to the denominator, above 0.
        weight_decay: The fraction of the parameter added to its gradient, at least 0.

    Raises:
        TypeError: ``parameters`` is not iterable or holds something else, or a setting is no
            number.
        ValueError: There is no parameter, or a setting is outside its range or not finite.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> weight = sw.Parameter(sw.friendly.tensor([1.0], carrier=ArrayCarrier))
        >>> weight.grad = sw.friendly.tensor([0.5], carrier=ArrayCarrier)
        >>> sw.nn.Adam([weight], lr=0.1).step()
        >>> round(weight.item(), 6)
        0.9
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        self._betas = _checked_betas(betas)
        self._eps = positive_real("Adam", "eps", eps)
        self._weight_decay = finite_real("Adam", "weight_decay", weight_decay)
        if self._weight_decay < 0:
            raise ValueError(f"Adam: weight_decay must not be negative, got {weight_decay!r}")
        self._moments: dict[Hashable, _Moments] = {}

    def _update(self, key: Hashable, slots: Tensor, gradient: Tensor) -> None:
        values, slopes = read_elements(slots, gradient)
        moments = self._moments.get(key)
        if moments is None:
            moments = self._moments[key] = _Moments(zeros_like(values), zeros_like(values))
        moments.steps += 1
        lr, eps, decay, (beta1, beta2) = self.lr, self._eps, self._weight_decay, self._betas
        correction1, correction2 = 1 - beta1**moments.steps, 1 - beta2**moments.steps

        def mean(m: Elements, p: Elements, g: Elements) -> Elements:
            return beta1 * m + (1 - beta1) * (g + decay * p)

        def mean_square(v: Elements, p: Elements, g: Elements) -> Elements:
            decayed = g + decay * p
            return beta2 * v + (1 - beta2) * decayed * decayed

        def moved(p: Elements, m: Elements, v: Elements) -> Elements:
            return p - lr * (m / correction1) / ((v / correction2) ** 0.5 + eps)

        moments.mean = rounded_map(mean, moments.mean, values, slopes)
        moments.mean_square = rounded_map(mean_square, moments.mean_square, values, slopes)
        write_elements(slots, rounded_map(moved, values, moments.mean, moments.mean_square))


@final
class _Moments:
    """The state of one parameter or part: its steps so far, and binary32 means of g and of g*g."""

    __slots__ = ("mean", "mean_square", "steps")

    def __init__(self, mean: Elements, mean_square: Elements) -> None:
        self.steps = 0
        self.mean = mean
        self.mean_square = mean_square


def _checked_betas(betas: object) -> tuple[float, float]:
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"Adam: betas must be a pair of real numbers, got {betas!r}")
    first, second = (
        finite_real("Adam", f"betas[{position}]", beta) for position, beta in enumerate(betas)
    )
    for position, beta in enumerate((first, second)):
        if not 0 <= beta < 1:
            raise ValueError(f"Adam: betas[{position}] must lie in [0, 1), got {beta!r}")
    return first, second
