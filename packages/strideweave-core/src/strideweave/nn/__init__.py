"""Layers, losses and optimisers.

Matrices are flat and column-major: ``[rows, columns]`` has the layout ``(rows,columns):(1,rows)``.
Layers make their parameters on the CPU carrier of strideweave-compute.
"""

from strideweave.nn.activations import ReLU, Sigmoid, Tanh
from strideweave.nn.adam import Adam
from strideweave.nn.embedding import Embedding
from strideweave.nn.linear import Linear
from strideweave.nn.losses import CrossEntropyLoss, MSELoss
from strideweave.nn.sequential import Sequential
from strideweave.nn.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "CrossEntropyLoss",
    "Embedding",
    "Linear",
    "MSELoss",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
]
