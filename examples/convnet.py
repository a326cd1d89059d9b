"""Classify handwritten digits with a small convolutional network.

Two convolutions, a maximum over squares of four pixels and an affine layer read the same data as
``digits.py``, as 8 x 8 images::

    python examples/convnet.py --epochs 12
"""

import argparse
import sys
import time
from math import prod
from random import Random

import numpy as np
from digits import Data, Floats, Integers, batches, load

import strideweave as sw
from strideweave import nn
from strideweave.friendly import zeros
from strideweave.nn.init import kaiming_uniform_

SIDE, CLASSES = 8, 10
CHANNELS = 16, 32
LEARNING_RATE = 2e-3
REQUIRED_ACCURACY = 0.97


class Convolution(sw.Module):
    """A 3 x 3 convolution with a border of zeros and a bias.

    Args:
        in_channels: Channels of the images.
        out_channels: Channels of the result.
        rng: Draws the weights.
    """

    def __init__(self, in_channels: int, out_channels: int, *, rng: Random) -> None:
        super().__init__()
        extents = (out_channels, in_channels, 3, 3)
        self.weight = sw.Parameter(zeros(*extents))
        kaiming_uniform_(self.weight, prod(extents[1:]), rng=rng)
        self.bias = sw.Parameter(zeros(1, out_channels, 1, 1))

    def forward(self, images: sw.Tensor) -> sw.Tensor:
        """Convolve ``[image, channel, row, column]``; the bias is broadcast by stride zero."""
        return sw.conv_general(images, self.weight, (1, 1), ((1, 1), (1, 1))) + self.bias


class MaxPool(sw.Module):
    """The maximum over every square of 2 x 2 pixels."""

    def forward(self, images: sw.Tensor) -> sw.Tensor:
        """Halve both sides of ``[image, channel, row, column]``.

        A row number is two numbers, its place in a square and the square's: the nested modes of a
        view say so, and the command reduces the inner ones.
        """
        count, channels, rows, columns = images.shape.leaves
        squares = sw.reshape(images, sw.Shape(count, channels, (2, rows // 2), (2, columns // 2)))
        return sw.reduce_max(
            squares, "image channel (a row) (b column) -> image channel row column"
        )


class Network(sw.Module):
    """Two convolutions, a maximum over squares, and an affine layer over all that they found."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        first, second = CHANNELS
        self.features = nn.Sequential(
            Convolution(1, first, rng=rng),
            nn.ReLU(),
            Convolution(first, second, rng=rng),
            nn.ReLU(),
            MaxPool(),
        )
        self.classifier = nn.Linear(second * (SIDE // 2) ** 2, CLASSES, rng=rng)

    def forward(self, images: sw.Tensor) -> sw.Tensor:
        """Give ``[image, class]`` logits for ``[image, channel, row, column]``."""
        features: sw.Tensor = self.features(images)
        rows = sw.reshape(features, sw.Shape(images.shape[0], self.classifier.in_features))
        logits: sw.Tensor = self.classifier(rows)
        return logits


def as_images(rows: Floats) -> sw.Tensor:
    """Look at rows of pixels as images of one channel, without copying them."""
    return sw.from_numpy(rows.reshape(-1, 1, SIDE, SIDE))


def predict(network: Network, rows: Floats) -> Integers:
    """Return the most likely class of each image."""
    with sw.no_grad():
        logits = network(as_images(rows))
    classes: Integers = sw.argmax(logits, "image class -> image").numpy()
    return classes


def train(network: Network, data: Data, epochs: int, batch_size: int, seed: int) -> float:
    """Train, print one line per epoch, and return the accuracy on the test images."""
    loss_of = nn.CrossEntropyLoss()
    optimiser = nn.Adam(network.parameters(), LEARNING_RATE)
    accuracy = 0.0
    for epoch in range(epochs):
        optimiser.lr = LEARNING_RATE * (1 - epoch / epochs)
        losses = []
        for rows, labels in batches(data, batch_size, seed + epoch):
            optimiser.zero_grad()
            loss: sw.Tensor = loss_of(network(as_images(rows)), sw.from_numpy(labels))
            loss.backward()
            optimiser.step()
            losses.append(float(loss.item()))
        accuracy = float(np.mean(predict(network, data.test_images) == data.test_labels))
        print(
            f"epoch {epoch + 1:2}/{epochs}  loss {sum(losses) / len(losses):.4f}  "
            f"test accuracy {accuracy:.4f}",
            flush=True,
        )
    return accuracy


def main(arguments: list[str] | None = None) -> int:
    """Train the network and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    data = load(options.seed)
    network = Network(Random(options.seed))
    started = time.perf_counter()
    accuracy = train(network, data, options.epochs, options.batch_size, options.seed)
    print(f"test accuracy {accuracy:.4f} after {time.perf_counter() - started:.1f} s")
    if accuracy < REQUIRED_ACCURACY:
        print(f"that is below {REQUIRED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
