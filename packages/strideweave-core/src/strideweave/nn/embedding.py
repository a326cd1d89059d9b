"""A table of vectors."""

from array import array
from random import Random
from typing import final

import strideweave.friendly as friendly
import strideweave.functional as functional
from strideweave.module import Module, Parameter
from strideweave.nn.sizes import positive_integer
from strideweave.tensor.tensor import Tensor


@final
class Embedding(Module):
    """Looks up one row of a table per index; repeated indices add their gradients.

    Args:
        num_embeddings: Rows of the table, at least 1.
        embedding_dim: Length of a row, at least 1.
        rng: Draws every element from the standard normal distribution, in logical order; a fresh
            generator when None.
        name: The module's segment in paths.

    Attributes:
        weight: Float32 Parameter ``[num_embeddings, embedding_dim]`` on the CPU carrier.

    Raises:
        ValueError: A size is not a positive integer.
        ImportError: strideweave-compute is not installed.

    Examples:
        >>> import strideweave as sw
        >>> table = sw.nn.Embedding(5, 3)
        >>> indices = sw.friendly.tensor([4, 0, 4], dtype=sw.DType.Int32)
        >>> str(table(indices).layout)
        '(3,3):(1,3)'
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        rng: Random | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        rows = positive_integer("Embedding", "num_embeddings", num_embeddings)
        columns = positive_integer("Embedding", "embedding_dim", embedding_dim)
        draws = Random() if rng is None else rng
        self.weight = Parameter(friendly.zeros(rows, columns))
        self.weight[...] = array("f", [draws.gauss(0.0, 1.0) for _ in range(rows * columns)])

    def forward(self, indices: Tensor) -> Tensor:
        """Look up rows.

        Args:
            indices: Int32, any shape, on the carrier class of the weight.

        Returns:
            The modes of ``indices`` followed by the embedding dimension.

        Raises:
            TypeError: As ``strideweave.gather``.
            IndexError: An index is outside the table.
        """
        return functional.gather(self.weight, indices, 0)
