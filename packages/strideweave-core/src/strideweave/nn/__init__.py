"""Layers, losses and optimisers.

Matrices are flat and column-major: ``[rows, columns]`` has the layout ``(rows,columns):(1,rows)``.
Layers make their parameters on the CPU carrier of strideweave-compute.
"""

from strideweave.nn.activations import (
    ELU,
    GELU,
    LeakyReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softplus,
    Tanh,
)
from strideweave.nn.adam import Adam
from strideweave.nn.embedding import Embedding
from strideweave.nn.linear import Linear
from strideweave.nn.losses import CrossEntropyLoss, MSELoss
from strideweave.nn.sequential import Sequential
from strideweave.nn.sgd import SGD

__all__ = [
    "ELU",
    "GELU",
    "SGD",
    "Adam",
    "CrossEntropyLoss",
    "Embedding",
    "LeakyReLU",
    "Linear",
    "MSELoss",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Tanh",
]
