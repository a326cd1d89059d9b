"""Initial values of parameters, written in place."""

from array import array
from math import sqrt
from random import Random

from strideweave.module import Parameter
from strideweave.nn.distinct import distinct_slots
from strideweave.tensor.tensor import tensor_over

__all__ = ["fill_", "kaiming_uniform_"]


def fill_(parameter: Parameter, value: float) -> None:
    """Write one value to every element.

    Args:
        parameter: A mutable parameter of any dtype and layout whose only aliasing is broadcasting.
        value: A number that the parameter's dtype accepts.

    Raises:
        TypeError: The dtype does not accept the value.
        ValueError: The layout aliases in another way.
        RuntimeError: The parameter is not mutable, or its carrier is released.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> bias = sw.Parameter(sw.friendly.zeros(3, carrier=ArrayCarrier))
        >>> sw.nn.init.fill_(bias, 0.5)
        >>> bias.tolist()
        [0.5, 0.5, 0.5]
    """
    layout = distinct_slots(parameter.layout)
    tensor_over(parameter.carrier, parameter.offset, layout)[...] = value


def kaiming_uniform_(parameter: Parameter, fan_in: int, *, rng: Random) -> None:
    """Draw every element from the uniform distribution on [-b, b], b being 1/sqrt(fan_in).

    Args:
        parameter: A mutable Float32 parameter in an injective layout.
        fan_in: The number of inputs of a unit, at least 1.
        rng: Its ``uniform`` is called once per element in logical order, first mode fastest.

    Raises:
        TypeError: The parameter is not Float32.
        ValueError: ``fan_in`` is not positive, or the layout aliases.
        RuntimeError: The parameter is not mutable, or its carrier is released.

    Examples:
        >>> import random
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> weight = sw.Parameter(sw.friendly.zeros(1, 2, carrier=ArrayCarrier))
        >>> sw.nn.init.kaiming_uniform_(weight, 2, rng=random.Random(0))
        >>> [round(value, 4) for value in sw.friendly.to_list(weight)]
        [0.4871, 0.3648]
    """
    if fan_in <= 0:
        raise ValueError(f"kaiming_uniform_: fan_in must be positive, got {fan_in}")
    if not parameter.layout.is_injective:
        raise ValueError(
            f"kaiming_uniform_: the layout must be injective, got {parameter.layout!r}"
        )
    bound = 1.0 / sqrt(fan_in)
    parameter[...] = array("f", [rng.uniform(-bound, bound) for _ in range(parameter.size())])
