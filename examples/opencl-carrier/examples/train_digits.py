"""Train a classifier of handwritten digits on an OpenCL device.

Parameters, mini-batches, activations and gradients live in OpenCLBuffers; kernels compute them.
The data are the UCI digits that scikit-learn ships::

    python examples/train_digits.py --epochs 10
"""

import argparse
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
import strideweave as sw
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from strideweave import DType, nn

from strideweave_opencl import DeviceInfo, KernelUse, OpenCLBuffer

Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int32]

PIXELS, HIDDEN, CLASSES = 64, 128, 10
REQUIRED_ACCURACY = 0.95


class Data(NamedTuple):
    """Images with one row per digit, and their classes."""

    train_images: Floats
    train_labels: Integers
    test_images: Floats
    test_labels: Integers


class Report(NamedTuple):
    """What a training run achieved, and with which kernels."""

    losses: list[float]
    accuracy: float
    launches: dict[str, int]


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


def on_device(array: Floats | Integers) -> sw.Tensor:
    """Copy an array into OpenCL memory: one span read, one span write."""
    host: sw.Tensor = sw.from_numpy(array)
    return sw.move(host, OpenCLBuffer(array.size, dtype=host.dtype(), uninitialized=True))


def train(data: Data, epochs: int, batch_size: int, seed: int) -> Report:
    """Train a two-layer network on the device, printing one line per epoch."""
    rng = Random(seed)
    network = nn.Sequential(
        nn.Linear(PIXELS, HIDDEN, rng=rng), nn.ReLU(), nn.Linear(HIDDEN, CLASSES, rng=rng)
    ).to(OpenCLBuffer)
    criterion, optimiser = nn.CrossEntropyLoss(), nn.Adam(network.parameters(), lr=2e-3)
    use = OpenCLBuffer(0, dtype=DType.Float32).require_facet(KernelUse)
    before = use.launches()
    test_images = on_device(data.test_images)
    losses: list[float] = []
    accuracy = 0.0
    for epoch in range(epochs):
        total = 0.0
        for images, labels in batches(data, batch_size, seed + epoch):
            optimiser.zero_grad()
            loss: sw.Tensor = criterion(network(on_device(images)), on_device(labels))
            loss.backward()
            optimiser.step()
            total += float(loss.item()) * len(labels)
        losses.append(total / len(data.train_labels))
        with sw.no_grad():
            classes = sw.argmax(network(test_images), "image class -> image")
        predicted = np.asarray(classes)
        accuracy = float(np.mean(predicted == data.test_labels))
        print(f"epoch {epoch + 1:2}/{epochs}  loss {losses[-1]:.4f}  test accuracy {accuracy:.3f}")
    launches = {
        kernel_id: count - before.get(kernel_id, 0)
        for kernel_id, count in use.launches().items()
        if count > before.get(kernel_id, 0)
    }
    return Report(losses, accuracy, launches)


def main(arguments: list[str] | None = None) -> int:
    """Train, print which patterns served, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    device = OpenCLBuffer(0, dtype=DType.Float32).require_facet(DeviceInfo)
    print(f"{device.name}, {device.version}")
    started = time.perf_counter()
    report = train(load(options.seed), options.epochs, options.batch_size, options.seed)
    print(f"\n{time.perf_counter() - started:.1f} s, served by")
    for kernel_id, count in sorted(report.launches.items(), key=lambda entry: -entry[1]):
        print(f"{count:8}  {kernel_id}")
    if report.accuracy < REQUIRED_ACCURACY:
        print(f"test accuracy {report.accuracy:.3f} is below {REQUIRED_ACCURACY}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
