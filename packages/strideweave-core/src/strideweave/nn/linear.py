"""The affine layer."""

from random import Random
from typing import final

import strideweave.friendly as friendly
import strideweave.functional as functional
from strideweave.module import Module, Parameter
from strideweave.nn.init import kaiming_uniform_
from strideweave.nn.sizes import positive_integer
from strideweave.tensor.tensor import Tensor
from strideweave.tensor.views import permute


@final
class Linear(Module):
    """Maps each row of features to ``weight @ row + bias``.

    Args:
        in_features: Features of a row, at least 1.
        out_features: Outputs per row, at least 1.
        bias: Whether there is a bias.
        rng: Draws all of the weight, then the bias, uniformly within 1/sqrt(in_features); a fresh
            generator when None.
        name: The module's segment in paths.

    Attributes:
        in_features: Features of a row.
        out_features: Outputs per row.
        weight: Float32 Parameter ``[out_features, in_features]`` on the CPU carrier.
        bias: Float32 Parameter ``[out_features, 1]``, or None.

    Raises:
        ValueError: A size is not a positive integer.
        ImportError: strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> layer = sw.nn.Linear(3, 2)
        >>> str(layer(sw.friendly.ones(4, 3)).layout)
        '(4,2):(1,4)'
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        rng: Random | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.in_features = positive_integer("Linear", "in_features", in_features)
        self.out_features = positive_integer("Linear", "out_features", out_features)
        draws = Random() if rng is None else rng
        self.weight = Parameter(friendly.zeros(out_features, in_features))
        kaiming_uniform_(self.weight, in_features, rng=draws)
        self.bias: Parameter | None = None
        if bias:
            self.bias = Parameter(friendly.zeros(out_features, 1))
            kaiming_uniform_(self.bias, in_features, rng=draws)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to a batch of rows.

        Args:
            x: ``[batch, in_features]``, two flat modes, on the carrier class of the weight.

        Returns:
            ``[batch, out_features]``, column-major.

        Raises:
            TypeError: ``x`` is no Tensor, or on another carrier class.
            ValueError: ``x`` has another form.
        """
        if not isinstance(x, Tensor):
            raise TypeError(
                f"Linear: x must be a Tensor, got {type(x).__qualname__}; "
                "strideweave.from_numpy makes one of an array"
            )
        layout = x.layout
        if len(layout) != 2 or layout.depth != 1:
            raise ValueError(f"Linear: x must be a flat two-mode tensor, got {layout!r}")
        if layout.leaf_extents[1] != self.in_features:
            raise ValueError(
                f"Linear: x must have {self.in_features} input features, got {layout!r}"
            )
        product = functional.matmul(x, self.weight)
        if self.bias is None:
            return product
        # The sum broadcasts the bias over the batch by stride zero.
        return functional.add(product, permute(self.bias, 1, 0))
