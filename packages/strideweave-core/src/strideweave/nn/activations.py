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
    """The leaky rectifier: ``x`` where it is not negative, else ``0.01 * x``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.LeakyReLU()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [-0.01, 2.0]
    """

    _function = staticmethod(functional.leaky_relu)


@final
class ELU(_Activation):
    """The exponential linear unit: ``x`` where it is positive, else ``exp(x) - 1``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.ELU()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [-0.6321, 2.0]
    """

    _function = staticmethod(functional.elu)


@final
class GELU(_Activation):
    """The Gaussian error linear unit in its exact form, ``x`` times the normal distribution.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.GELU()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [-0.1587, 1.9545]
    """

    _function = staticmethod(functional.gelu)


@final
class SiLU(_Activation):
    """The sigmoid-weighted unit ``x * sigmoid(x)``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.SiLU()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [-0.2689, 1.7616]
    """

    _function = staticmethod(functional.silu)


@final
class Sigmoid(_Activation):
    """The logistic function ``1 / (1 + exp(-x))``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.Sigmoid()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [0.2689, 0.8808]
    """

    _function = staticmethod(functional.sigmoid)


@final
class Softplus(_Activation):
    """The smooth rectifier ``log(1 + exp(x))``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.Softplus()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [0.3133, 2.1269]
    """

    _function = staticmethod(functional.softplus)


@final
class Tanh(_Activation):
    """The hyperbolic tangent.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> result = sw.nn.Tanh()(sw.friendly.tensor([-1.0, 2.0], carrier=ArrayCarrier))
        >>> [round(value, 4) for value in result.tolist()]
        [-0.7616, 0.964]
    """

    _function = staticmethod(functional.tanh)
