"""One process that makes digits, for training, for the reference and for traffic.

scikit-learn's 8 × 8 digits are parted once into two pools that share no image. A draw takes an
image of a pool, places it on a 12 × 12 grey ground at a random shift and adds noise. The held-out
reference and the clean traffic are fresh draws from the *same* pool by the *same* process: a few
images replayed many times would be a distribution of their own, and a good monitor would say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.float32]  # [n, 1, 12, 12], 0 to 1
Labels = NDArray[np.int32]  # [n]

SIZE = 12
GROUND, INK = 0.15, 0.85
NOISE = 0.05
NAMES = tuple(str(digit) for digit in range(10))


@dataclass(frozen=True)
class Pool:
    """Images that draws are made from."""

    images: Images
    labels: Labels

    def draw(self, n: int, seed: int) -> tuple[Images, Labels]:
        """`n` fresh draws; the same seed gives the same ones."""
        random = np.random.default_rng(seed)
        chosen = random.integers(0, len(self.labels), size=n)
        drawn = np.full((n, 1, SIZE, SIZE), GROUND, dtype=np.float32)
        across, down = random.integers(0, SIZE - 8 + 1, size=(2, n))
        for row, (image, x, y) in enumerate(zip(chosen, across, down, strict=True)):
            drawn[row, 0, y : y + 8, x : x + 8] = self.images[image]
        return with_noise(drawn, NOISE, random), self.labels[chosen]


def pools(seed: int = 0) -> tuple[Pool, Pool]:
    """The pool that training sees and the one it does not."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (GROUND + (INK - GROUND) * digits.images / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = order[:1100], order[1100:]
    return Pool(images[first], labels[first]), Pool(images[second], labels[second])


def with_noise(images: Images, sd: float, random: np.random.Generator) -> Images:
    """What a sensor sees: Gaussian noise, and no value beyond black and white."""
    seen = images + random.normal(0, sd, size=images.shape)
    return np.clip(seen, 0.0, 1.0).astype(np.float32)


def noisy(images: Images, random: np.random.Generator) -> Images:
    """A sensor that got noisy: three times the usual noise."""
    return with_noise(images, 3 * NOISE, random)


def faded(images: Images, random: np.random.Generator) -> Images:
    """A lens that got dirty: half the contrast."""
    del random
    return (0.5 + 0.5 * (images - 0.5)).astype(np.float32)


def stuck(images: Images, random: np.random.Generator) -> Images:
    """A sensor with one row of pixels stuck at white."""
    del random
    broken = images.copy()
    broken[:, :, 5, :] = 1.0
    return broken


CORRUPTIONS: dict[str, Callable[[Images, np.random.Generator], Images]] = {
    "noise": noisy,
    "low contrast": faded,
    "stuck row": stuck,
}


def corrupted(images: Images, seed: int) -> Images:
    """Each image with one of the corruptions, in turn."""
    random = np.random.default_rng(seed)
    kinds = list(CORRUPTIONS.values())
    parts = [kinds[i % len(kinds)](images[i : i + 1], random) for i in range(len(images))]
    return np.concatenate(parts)
