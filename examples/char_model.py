"""Predict the next character of the Python documentation with one block of causal attention.

The text is what ``help()`` says about topics, which every Python ships. Every tenth topic is held
out. What its characters tell about their successors sets the mark to beat: no model that sees only
the previous character can have a lower loss on that same text than its bigram entropy::

    python examples/char_model.py --steps 600

NumPy's threads wait for each other many times a step. Where other programs keep the processors
busy, ``OPENBLAS_NUM_THREADS=1`` in the environment makes training several times faster.
"""

import argparse
import math
import sys
import time
from collections import Counter
from itertools import pairwise
from pydoc_data.topics import topics
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import strideweave as sw
from strideweave import nn
from strideweave.friendly import full, ones
from strideweave.nn.init import kaiming_uniform_

Integers: TypeAlias = NDArray[np.int32]

LENGTH, WIDTH, HEADS = 48, 64, 4
HEAD_WIDTH = WIDTH // HEADS
LEARNING_RATE = 1.5e-2
HELD_OUT_EVERY = 10


class Text(NamedTuple):
    """Characters as numbers, for training and for testing."""

    training: Integers
    held_out: Integers
    characters: str


class Normalization(sw.Module):
    """Scales every vector along the last mode to the mean square 1, then by learnt factors."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.factors = sw.Parameter(ones(1, 1, width))
        self._epsilon = full(1, 1, 1, value=1e-5)

    def forward(self, values: sw.Tensor) -> sw.Tensor:
        """Normalize ``[time, sequence, width]``."""
        time_steps, sequences, _ = values.shape.leaves
        mean_square = sw.reshape(sw.mean(values * values), sw.Shape(time_steps, sequences, 1))
        return values * sw.rsqrt(mean_square + self._epsilon) * self.factors


class Attention(sw.Module):
    """Causal attention of several heads; its weights have one nested mode (head, width of it)."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (_square(rng) for _ in range(4))
        later = np.triu(np.full((LENGTH, LENGTH), -np.inf, np.float32), 1)
        self._mask = sw.from_numpy(later[:, :, None, None])

    def forward(self, values: sw.Tensor) -> sw.Tensor:
        """Mix ``[time, sequence, width]`` over what came before in each sequence."""
        query, key, value = (
            sw.einsum(values, weight, "time batch width, (head part) width -> time batch head part")
            for weight in (self.query, self.key, self.value)
        )
        scores = sw.einsum(
            query, key, "time batch head part, past batch head part -> time past batch head"
        )
        weights = sw.softmax(scores * HEAD_WIDTH**-0.5 + self._mask, axis=1)
        mixed = sw.einsum(
            weights, value, "time past batch head, past batch head part -> time batch head part"
        )
        return sw.einsum(
            mixed, self.output, "time batch head part, (head part) width -> time batch width"
        )


def _square(rng: Random) -> sw.Parameter:
    """Make a weight of the shape ``((head, part), width)``."""
    layout = sw.Layout(
        sw.Shape((HEADS, HEAD_WIDTH), WIDTH), sw.Stride((HEAD_WIDTH * WIDTH, WIDTH), 1)
    )
    weight = sw.Parameter(sw.CPU(layout.cosize), 0, layout)
    kaiming_uniform_(weight, WIDTH, rng=rng)
    return weight


class CharacterModel(sw.Module):
    """One transformer block over embedded characters and positions."""

    def __init__(self, characters: int, rng: Random) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH, rng=rng)
        self.positions = nn.Embedding(LENGTH, WIDTH, rng=rng)
        self.before_attention = Normalization(WIDTH)
        self.attention = Attention(rng)
        self.before_network = Normalization(WIDTH)
        self.network = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH, rng=rng), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH, rng=rng)
        )
        self.before_logits = Normalization(WIDTH)
        self.logits = nn.Linear(WIDTH, characters, rng=rng)
        self._places = sw.from_numpy(np.arange(LENGTH, dtype=np.int32)[:, None])

    def forward(self, characters: sw.Tensor) -> sw.Tensor:
        """Give ``[time and sequence, character]`` logits for ``[time, sequence]`` characters."""
        hidden = self.embedding(characters) + self.positions(self._places)
        hidden = hidden + self.attention(self.before_attention(hidden))
        rows = sw.Shape(characters.size(), WIDTH)
        changed = self.network(sw.reshape(self.before_network(hidden), rows))
        hidden = hidden + sw.reshape(changed, hidden.shape)
        logits: sw.Tensor = self.logits(sw.reshape(self.before_logits(hidden), rows))
        return logits


def load() -> Text:
    """Number the characters of all topics and hold every tenth topic out."""
    names = sorted(topics)
    characters = "".join(sorted(set("".join(topics.values()))))
    numbers = {character: number for number, character in enumerate(characters)}
    parts: tuple[list[int], list[int]] = [], []
    for position, name in enumerate(names):
        part = parts[position % HELD_OUT_EVERY == 0]
        part.extend(numbers[character] for character in topics[name])
    training, held_out = (np.array(part, np.int32) for part in parts)
    return Text(training, held_out, characters)


def bigram_entropy(text: Integers) -> float:
    """Average -log p(successor | character) in nats, p being the frequencies in this very text."""
    characters = text.tolist()
    pairs = Counter(pairwise(characters))
    firsts = Counter(characters[:-1])
    surprise = sum(count * math.log(firsts[first] / count) for (first, _), count in pairs.items())
    return surprise / (len(characters) - 1)


def excerpts(text: Integers, starts: Integers) -> tuple[sw.Tensor, sw.Tensor]:
    """Cut sequences out of a text, as ``[time, sequence]``, and their successors as one mode."""
    cut = text[np.arange(LENGTH + 1)[:, None] + starts]
    return sw.from_numpy(cut[:-1]), sw.from_numpy(cut[1:].reshape(-1, order="F"))


def held_out_loss(model: CharacterModel, text: Integers, batch_size: int) -> float:
    """Average the loss over all full sequences of a text."""
    starts = np.arange(0, len(text) - LENGTH, LENGTH, dtype=np.int32)
    loss_of, total = nn.CrossEntropyLoss(), 0.0
    with sw.no_grad():
        for first in range(0, len(starts), batch_size):
            part = starts[first : first + batch_size]
            characters, successors = excerpts(text, part)
            total += len(part) * float(loss_of(model(characters), successors).item())
    return total / len(starts)


def train(model: CharacterModel, text: Text, steps: int, batch_size: int, seed: int) -> float:
    """Train, print the losses five times, and return the loss on the text held out."""
    random = np.random.default_rng(seed)
    loss_of = nn.CrossEntropyLoss()
    optimiser = nn.Adam(model.parameters(), LEARNING_RATE)
    held_out = math.nan
    losses: list[float] = []
    for step in range(1, steps + 1):
        optimiser.lr = LEARNING_RATE * min(1, step / 50) * (1 - (step - 1) / steps)
        starts = random.integers(0, len(text.training) - LENGTH, batch_size, np.int32)
        characters, successors = excerpts(text.training, starts)
        optimiser.zero_grad()
        loss: sw.Tensor = loss_of(model(characters), successors)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.item()))
        if step % max(1, steps // 5) == 0 or step == steps:
            held_out = held_out_loss(model, text.held_out, 4 * batch_size)
            print(
                f"step {step:5}/{steps}  loss {sum(losses) / len(losses):.3f}  "
                f"held out {held_out:.3f}",
                flush=True,
            )
            losses.clear()
    return held_out


def main(arguments: list[str] | None = None) -> int:
    """Train the model, compare it with the bigram entropy, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    text = load()
    entropy = bigram_entropy(text.held_out)
    print(
        f"{len(text.training)} characters to train on, {len(text.held_out)} held out, "
        f"{len(text.characters)} different ones; bigram entropy of what is held out {entropy:.3f}"
    )
    model = CharacterModel(len(text.characters), Random(options.seed))
    started = time.perf_counter()
    loss = train(model, text, options.steps, options.batch_size, options.seed)
    seconds = time.perf_counter() - started
    print(f"loss {loss:.3f}, bigram entropy {entropy:.3f} nats per character, {seconds:.1f} s")
    if loss >= entropy:
        print("the loss did not fall below the bigram entropy", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
