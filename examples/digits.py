"""Classify handwritten digits, in StrideWeave and in plain NumPy side by side.

Both train the same two-layer network from the same initial weights on the same mini-batches, so
their losses agree up to rounding. The data are the UCI digits that scikit-learn ships::

    python examples/digits.py --epochs 20

With ``--carrier metal`` the network trains on a Metal GPU, after
``pip install 'strideweave-compute[metal]'``. Without such a GPU,
``STRIDEWEAVE_METAL_DEVICE=cpu`` in the environment runs the same kernels on MLX's CPU device.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import strideweave as sw
from strideweave import nn

Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int32]

PIXELS, HIDDEN, CLASSES = 64, 128, 10
LEARNING_RATE, BETA1, BETA2, EPSILON = 2e-3, 0.9, 0.999, 1e-8
CARRIERS: dict[str, type[sw.CPU | sw.Metal]] = {"cpu": sw.CPU, "metal": sw.Metal}
REQUIRED_ACCURACY = 0.95
LOSS_TOLERANCE = 1e-3


class Data(NamedTuple):
    """Images with one row per digit, and their classes."""

    train_images: Floats
    train_labels: Integers
    test_images: Floats
    test_labels: Integers


class History(NamedTuple):
    """What a training run achieved."""

    losses: list[float]
    accuracy: float
    samples_per_second: float


class Model(Protocol):
    """One implementation of the network and its training step."""

    name: str

    def step(self, images: Floats, labels: Integers) -> float:
        """Train on one mini-batch and return its loss."""

    def predict(self, images: Floats) -> Integers:
        """Return the most likely class of each image."""


class StrideWeaveModel:
    """The network as StrideWeave modules on one carrier class."""

    name = "strideweave"

    def __init__(self, seed: int, carrier_class: type[sw.CPU | sw.Metal] = sw.CPU) -> None:
        rng = Random(seed)
        self.carrier_class = carrier_class
        self.network = nn.Sequential(
            nn.Linear(PIXELS, HIDDEN, rng=rng),
            nn.ReLU(),
            nn.Linear(HIDDEN, CLASSES, rng=rng),
        ).to(carrier_class)
        self.loss = nn.CrossEntropyLoss()
        self.optimiser = nn.Adam(
            self.network.parameters(), LEARNING_RATE, betas=(BETA1, BETA2), eps=EPSILON
        )

    def step(self, images: Floats, labels: Integers) -> float:
        """Train on one mini-batch."""
        self.optimiser.zero_grad()
        loss: sw.Tensor = self.loss(self.network(self._placed(images)), self._placed(labels))
        loss.backward()
        self.optimiser.step()
        return float(loss.item())

    def predict(self, images: Floats) -> Integers:
        """Classify without recording a graph."""
        with sw.no_grad():
            logits = self.network(self._placed(images))
        return np.asarray(sw.argmax(logits, "image class -> image"), np.int32)

    def _placed(self, array: Floats | Integers) -> sw.Tensor:
        """Bring an array to the carrier class; the CPU looks at it where it is."""
        tensor = sw.from_numpy(array)
        if self.carrier_class is sw.CPU:
            return tensor
        return sw.copy(tensor, self.carrier_class(tensor.layout.cosize, dtype=tensor.dtype()))


class NumpyModel:
    """The same network, its gradient and Adam written out in NumPy."""

    name = "numpy"

    def __init__(self, weights: dict[str, sw.Tensor]) -> None:
        self.parameters = [np.array(tensor) for tensor in weights.values()]
        self.means = [np.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [np.zeros_like(parameter) for parameter in self.parameters]
        self.steps = 0

    def step(self, images: Floats, labels: Integers) -> float:
        """Train on one mini-batch."""
        hidden, logits = self._forward(images)
        rows = np.arange(len(labels))
        shifted = logits - logits.max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        sums = exponentials.sum(axis=1, keepdims=True)
        loss = np.mean(np.log(sums[:, 0]) - shifted[rows, labels])

        slope = exponentials / sums
        slope[rows, labels] -= 1
        slope /= len(labels)
        hidden_slope = (slope @ self.parameters[2]) * (hidden > 0)
        self._descend(
            hidden_slope.T @ images,
            hidden_slope.sum(axis=0)[:, None],
            slope.T @ hidden,
            slope.sum(axis=0)[:, None],
        )
        return float(loss)

    def predict(self, images: Floats) -> Integers:
        """Classify."""
        _, logits = self._forward(images)
        classes: Integers = logits.argmax(axis=1).astype(np.int32)
        return classes

    def _forward(self, images: Floats) -> tuple[Floats, Floats]:
        weight1, bias1, weight2, bias2 = self.parameters
        hidden = np.maximum(images @ weight1.T + bias1.T, 0)
        return hidden, hidden @ weight2.T + bias2.T

    def _descend(self, *gradients: Floats) -> None:
        self.steps += 1
        rate = LEARNING_RATE / (1 - BETA1**self.steps)
        for parameter, mean, square, gradient in zip(
            self.parameters, self.means, self.squares, gradients, strict=True
        ):
            mean += (1 - BETA1) * (gradient - mean)
            square += (1 - BETA2) * (gradient * gradient - square)
            parameter -= rate * mean / (np.sqrt(square / (1 - BETA2**self.steps)) + EPSILON)


def load(seed: int) -> Data:
    """Shuffle the 1797 digits and keep every fifth for testing."""
    pixels, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(classes))
    images = (pixels[order] / 16).astype(np.float32)
    labels = classes[order].astype(np.int32)
    tested = np.arange(len(order)) % 5 == 0
    return Data(images[~tested], labels[~tested], images[tested], labels[tested])


def batches(data: Data, size: int, seed: int) -> Iterator[tuple[Floats, Integers]]:
    """Visit all training images once, in an order that depends on the seed alone."""
    order = np.random.default_rng(seed).permutation(len(data.train_labels))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield data.train_images[chosen], data.train_labels[chosen]


def train(model: Model, data: Data, epochs: int, batch_size: int, seed: int) -> History:
    """Train a model, printing one line per epoch."""
    losses: list[float] = []
    accuracy, seconds = 0.0, 0.0
    for epoch in range(epochs):
        started = time.perf_counter()
        epoch_losses = [
            model.step(images, labels) for images, labels in batches(data, batch_size, seed + epoch)
        ]
        seconds += time.perf_counter() - started
        losses.append(sum(epoch_losses) / len(epoch_losses))
        accuracy = float(np.mean(model.predict(data.test_images) == data.test_labels))
        print(
            f"{model.name:11}  epoch {epoch + 1:2}/{epochs}  loss {losses[-1]:.4f}  "
            f"test accuracy {accuracy:.3f}",
            flush=True,
        )
    return History(losses, accuracy, epochs * len(data.train_labels) / seconds)


def main(arguments: list[str] | None = None) -> int:
    """Train both implementations, compare them, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--carrier", choices=CARRIERS, default="cpu")
    options = parser.parse_args(arguments)

    data = load(options.seed)
    ours = StrideWeaveModel(options.seed, CARRIERS[options.carrier])
    theirs = NumpyModel(ours.network.state_dict())
    histories = {
        model.name: train(model, data, options.epochs, options.batch_size, options.seed)
        for model in (ours, theirs)
    }

    print(f"\n{'':11}  accuracy  final loss  samples/s")
    for name, history in histories.items():
        print(
            f"{name:11}  {history.accuracy:8.3f}  {history.losses[-1]:10.4f}  "
            f"{history.samples_per_second:9.0f}"
        )
    ours_losses, their_losses = (history.losses for history in histories.values())
    difference = max(abs(a - b) for a, b in zip(ours_losses, their_losses, strict=True))
    print(f"largest difference of epoch losses: {difference:.1e}")

    if difference > LOSS_TOLERANCE:
        print(f"the losses differ by more than {LOSS_TOLERANCE}", file=sys.stderr)
        return 1
    accuracy = histories[ours.name].accuracy
    if accuracy < REQUIRED_ACCURACY:
        print(f"test accuracy {accuracy:.3f} is below {REQUIRED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
