"""Activation functions as modules: no parameters, no options."""

from typing import ClassVar, final

import strideweave.functional as functional
from strideweave.module import Module
from strideweave.tensor.tensor import Tensor


class _Activation(Module):
    _function: ClassVar["staticmethod[[Tensor], Tensor]"]

    def forward(self, tensor: Tensor) -> Tensor:
        """Apply the function of the same name in ``strideweave``.

        Args:
            tensor: A tensor of any carrier, layout and dtype that the function accepts.

        Returns:
            The function's result; its errors propagate.
        """
        return self._function(tensor)


@final
class ReLU(_Activation):
    """The rectifier: ``x`` where it is positive, else 0.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.nn.ReLU()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier)).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(functional.relu)


@final
class LeakyReLU(_Activation):
    """The leaky rectifier: ``x`` where it is not negative, else ``0.01 * x``."""

    _function = staticmethod(functional.leaky_relu)


@final
class ELU(_Activation):
    """The exponential linear unit: ``x`` where it is positive, else ``exp(x) - 1``."""

    _function = staticmethod(functional.elu)


@final
class GELU(_Activation):
    """The Gaussian error linear unit in its exact form, ``x`` times the normal distribution."""

    _function = staticmethod(functional.gelu)


@final
class SiLU(_Activation):
    """The sigmoid-weighted unit ``x * sigmoid(x)``."""

    _function = staticmethod(functional.silu)


@final
class Sigmoid(_Activation):
    """The logistic function ``1 / (1 + exp(-x))``."""

    _function = staticmethod(functional.sigmoid)


@final
class Softplus(_Activation):
    """The smooth rectifier ``log(1 + exp(x))``."""

    _function = staticmethod(functional.softplus)


@final
class Tanh(_Activation):
    """The hyperbolic tangent."""

    _function = staticmethod(functional.tanh)
