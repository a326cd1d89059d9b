"""Classify handwritten digits with sixteen experts, of which two fit into fast memory.

A router sends each image to two experts, which are small networks, and mixes their answers. The
weights of all experts are one tensor with a tile per expert. The tiles lie in files; an expert that
is used enters memory, and the least recently used one leaves when there is no room. Images that go
to the same two experts form a batch, and the batches follow each other so that neighbours share an
expert.

The same training runs with all experts in memory, with room for two and with room for one: that
changes how long it takes, and not a single loss. The digits are those that scikit-learn ships::

    python examples/experts.py --picture residency.svg
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
from digits import CLASSES, PIXELS, REQUIRED_ACCURACY, Data, Floats, Integers, load
from timelines import Moment, draw, to_svg

import strideweave as sw
from strideweave import nn

Pair: TypeAlias = tuple[int, int]

EXPERTS = 16
CAPACITIES = {"all experts": None, "two experts": 2, "one expert": 1}
BATCH = 32
EXPERT_RATE, ROUTER_RATE = 0.3, 0.01


class Batch(NamedTuple):
    """Images that the router sends to the same two experts.

    Attributes:
        pair: The experts.
        rows: Which images.
    """

    pair: Pair
    rows: Integers


def tile_of(expert: int) -> sw.TileSelection:
    """Select the one tile that holds an expert: all its hidden units, with all their weights."""
    return sw.TileSelection([[expert], [0], [0]])


class Experts:
    """Networks with one hidden layer, in a tensor of (expert, hidden unit, weight of the unit).

    A hidden unit has a weight per pixel, a bias, and a weight per class.

    Args:
        weights: The initial values.
        capacity: How many experts may be in memory, or None for all.
    """

    def __init__(self, weights: Floats, capacity: int | None) -> None:
        stored = sw.copy(sw.from_numpy(np.asfortranarray(weights)), sw.FileBacked())
        experts, *extents = weights.shape
        self.tiles = sw.TiledEvictable(
            primary=sw.CPU(0),
            secondary=stored.carrier,
            grid_shape=(experts, 1, 1),
            tile_shape=(1, *extents),
            primary_capacity=capacity,
        )
        self.weights = sw.Parameter(sw.Tensor(self.tiles, 0, stored.layout))

    def answer(self, expert: int, images: sw.Tensor) -> sw.Tensor:
        """Give one expert's logits; its gradient will reach this one tile."""
        units = self.tiles.project(self.weights, tile_of(expert)).wait()
        pixels = units[0, :, :PIXELS]
        bias = units[0, :, PIXELS : PIXELS + 1]
        classes = units[0, :, PIXELS + 1 :]
        hidden = sw.relu(images @ pixels + sw.permute(bias, 1, 0))
        return hidden @ sw.permute(classes, 1, 0)

    def descend(self, rate: float) -> None:
        """Follow the gradient in the tiles that have one; the others are not even read."""
        gradient = self.weights.grad
        assert gradient is not None and isinstance(gradient.carrier, sw.TiledEvictable)
        slopes = gradient.carrier
        for stored in (slopes.primary_tiles, slopes.secondary_tiles):
            for expert, *_ in stored.coordinates:
                slope = slopes.project(gradient, tile_of(expert)).wait()
                self.tiles.update(slope * -rate, tile_of(expert), reduction="add")
        self.weights.grad = None


class Mixture:
    """The router, the experts and what their training has shown so far.

    Args:
        prototypes: A typical image per expert; an image goes to the experts with the nearest ones.
        weights: The initial weights of the experts.
        capacity: How many experts may be in memory, or None for all.

    Attributes:
        losses: The loss of every batch.
        samples_per_second: The pace of every epoch.
        timeline: What each batch of the last epoch used and left in memory.
    """

    def __init__(self, prototypes: Floats, weights: Floats, capacity: int | None) -> None:
        self.experts = Experts(weights, capacity)
        self.router = nn.Linear(PIXELS, len(prototypes), rng=Random(0))
        offsets = -np.square(prototypes).sum(axis=1, keepdims=True) / 2
        self.router.load_state_dict(
            {"weight": sw.from_numpy(prototypes), "bias": sw.from_numpy(offsets)}
        )
        self.router_optimiser = nn.SGD(self.router.parameters(), ROUTER_RATE)
        self.loss = nn.CrossEntropyLoss()
        self.losses: list[float] = []
        self.samples_per_second: list[float] = []
        self.timeline: list[Moment] = []

    def batches(self, images: Floats) -> Iterator[Batch]:
        """Sort images by the two experts that the router prefers for them now."""
        with sw.no_grad():
            preferences = self.router(sw.from_numpy(images)).numpy()
        pairs = np.sort(preferences.argsort(axis=1)[:, -2:], axis=1)
        for first, second in np.unique(pairs, axis=0).tolist():
            rows = np.flatnonzero((pairs == (first, second)).all(axis=1)).astype(np.int32)
            for start in range(0, len(rows), BATCH):
                yield Batch((first, second), rows[start : start + BATCH])

    def answer(self, images: Floats, pair: Pair) -> sw.Tensor:
        """Mix the logits of two experts by how much the router prefers the first one."""
        first, second = pair
        inputs = sw.from_numpy(images)
        preferences = self.router(inputs)
        share = sw.sigmoid(preferences[:, first : first + 1] - preferences[:, second : second + 1])
        ours, theirs = (self.experts.answer(expert, inputs) for expert in pair)
        return theirs + share * (ours - theirs)

    def train(self, data: Data, slowdown: float) -> float:
        """Visit all training images once.

        Args:
            data: The images.
            slowdown: A factor of both learning rates.

        Returns:
            The mean loss of the images.
        """
        self.timeline, total = [], 0.0
        self.router_optimiser.lr = ROUTER_RATE * slowdown
        started = time.perf_counter()
        for pair, rows in self.batches(data.train_images):
            answer = self.answer(data.train_images[rows], pair)
            loss: sw.Tensor = self.loss(answer, sw.from_numpy(data.train_labels[rows]))
            loss.backward()
            self.experts.descend(EXPERT_RATE * slowdown)
            self.router_optimiser.step()
            self.router_optimiser.zero_grad()
            self.losses.append(float(loss.item()))
            total += self.losses[-1] * len(rows)
            resident = {expert for expert, *_ in self.experts.tiles.primary_tiles.coordinates}
            self.timeline.append(Moment(used={*pair}, resident=resident))
        elapsed = time.perf_counter() - started
        self.samples_per_second.append(len(data.train_labels) / elapsed)
        return total / len(data.train_labels)

    def accuracy(self, images: Floats, labels: Integers) -> float:
        """Give the fraction of images that are classified rightly."""
        with sw.no_grad():
            rightly = [
                self.answer(images[rows], pair).numpy().argmax(axis=1) == labels[rows]
                for pair, rows in self.batches(images)
            ]
        return float(np.concatenate(rightly).mean())


def typical_images(images: Floats, count: int, seed: int) -> Floats:
    """Find centres of the images by k-means."""
    centres = np.random.default_rng(seed).permutation(images)[:count]
    for _ in range(20):
        distances = np.square(images[:, None] - centres).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for centre in np.unique(nearest):
            centres[centre] = images[nearest == centre].mean(axis=0)
    return centres


def initial_weights(hidden: int, seed: int) -> Floats:
    """Draw the weights of all experts uniformly, the closer to zero the more terms a sum has."""
    rng = np.random.default_rng(seed)
    inward = rng.uniform(-1, 1, (EXPERTS, hidden, PIXELS + 1)) * (2 / PIXELS) ** 0.5
    outward = rng.uniform(-1, 1, (EXPERTS, hidden, CLASSES)) * (2 / hidden) ** 0.5
    return np.concatenate([inward, outward], axis=2).astype(np.float32)


def print_table(models: dict[str, Mixture]) -> None:
    """Print what residency has cost each model in its training."""
    print(f"\n{'in memory':13}samples/s    hits  misses   MB read  MB written  seconds waited")
    for name, model in models.items():
        stats = model.experts.tiles.residency_stats()
        print(
            f"{name:11}{statistics.median(model.samples_per_second):11.0f}{stats.hits:8}"
            f"{stats.misses:8}{stats.bytes_in / 1e6:10.1f}{stats.bytes_out / 1e6:12.1f}"
            f"{stats.wait_seconds:16.3f}"
        )


def print_pictures(models: dict[str, Mixture], path: Path) -> None:
    """Print when which expert was in memory in the last epoch, and write it to a file too."""
    name = "two experts"
    print(f"\nthe experts during the batches of the last epoch, with room for {name}:")
    print(draw(models[name].timeline, EXPERTS))
    timelines = {f"{name} in memory": model.timeline for name, model in models.items()}
    path.write_text(to_svg(timelines, EXPERTS))
    print(f"a picture of all three is in {path}\n")


def main(arguments: list[str] | None = None) -> int:
    """Train with every capacity, compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=384, help="hidden units per expert")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--accuracy", type=float, default=REQUIRED_ACCURACY, help="the least on test data"
    )
    parser.add_argument("--picture", type=Path, default=Path("residency.svg"))
    options = parser.parse_args(arguments)

    data = load(options.seed)
    prototypes = typical_images(data.train_images, EXPERTS, options.seed)
    weights = initial_weights(options.hidden, options.seed)
    models = {name: Mixture(prototypes, weights, capacity) for name, capacity in CAPACITIES.items()}
    print(f"{EXPERTS} experts of {weights[0].nbytes / 1e6:.2f} MB each")
    for epoch in range(options.epochs):
        loss = [model.train(data, 1 - epoch / options.epochs) for model in models.values()]
        print(f"epoch {epoch + 1:2}/{options.epochs}  loss {loss[0]:.4f}", flush=True)
    print_table(models)
    print_pictures(models, options.picture)

    first, *others = models.values()
    if any(model.losses != first.losses for model in others):
        print("the losses depend on what is in memory", file=sys.stderr)
        return 1
    print(f"all {len(first.losses)} losses are the same, whatever was in memory")
    accuracy = first.accuracy(data.test_images, data.test_labels)
    print(f"test accuracy {accuracy:.3f}")
    if accuracy < options.accuracy:
        print(f"test accuracy {accuracy:.3f} is below {options.accuracy}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
