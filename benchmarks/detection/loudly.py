"""The protocol of "Failing Loudly": a sample of images at a single look, is it from elsewhere?

Ours sees the image's and the classifier's signals that the package makes by itself; BBSDs
(Lipton, Wang and Smola 2018; the best of the paper) tests each softmax output by
Kolmogorov–Smirnov with Bonferroni. Both compare with the same held-out images at the same α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import kstwo

from driftline.metadata.extract import Classification, Image
from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Floats, Ints

from . import images
from .rivals import ks_statistic
from .single import called, counted, places
from .work import Found, Scale, Task

ALPHA = 0.05
SIZES = (10, 20, 50, 100, 200, 500, 1_000, 10_000)
SHARES = (0.1, 0.5, 1.0)
NONE = "none"
SIGN = 0.1
# Keep a row of class k with this probability, so that the classes' shares shift.
TILT = 0.8 ** np.arange(10)
KNOCKED = np.where(np.arange(10) == 0, 0.0, 1.0)
LABELS = {"a class knocked out": KNOCKED, "label shift": TILT}


@dataclass(frozen=True)
class Seen:
    """A set of images as both methods see it: places of our cells, and the softmax outputs."""

    places: Ints
    softmax: Floats


def tasks(scale: Scale) -> list[Task]:
    """One for each collection."""
    names = ("MNIST", "Fashion-MNIST")
    return [
        Task(protocol, {"name": each, "draws": scale.draws, "size": scale.images}) for each in names
    ]


def protocol(name: str, draws: int, size: int) -> Found:
    """Share of samples called, by shift, share of images touched and sample size."""
    from .network import gradient_sign, logits, trained

    collection = images.fashion(size) if name == "Fashion-MNIST" else images.digits(size)
    if collection is None:
        return {"collection": name, "skipped": "the package dataset-fashion-mnist is not installed"}
    network = trained(collection, seed=5)
    random = np.random.default_rng(6)
    held, (traffic, labels) = collection.held_out[0], collection.traffic
    image = Image().fit(held)
    output = Classification(tuple(str(each) for each in range(10)))
    scores = logits(network, held)
    reference = _reference(image, output, held, scores)
    softmax = np.sort(output.probabilities(scores), axis=0)

    def seen(some: images.Images) -> Seen:
        scores = logits(network, some)
        matrices = {"input": image.extract(some), "output": output.extract(scores)}
        return Seen(places(reference, matrices), output.probabilities(scores))

    clean = seen(traffic)
    shifted = {kind: seen(change(random, traffic)) for kind, change in images.PIXELS.items()}
    shifted["gradient sign, 0.1"] = seen(gradient_sign(network, traffic, labels, SIGN))
    found = []
    for kind in (NONE, *shifted, *LABELS):
        for share in SHARES if kind != NONE else (0.0,):
            for rows in [each for each in SIZES if each <= len(traffic)]:
                times = 10 * draws if kind == NONE else draws
                times = max(min(times, 200_000 // rows), 5)
                keep = 1 - share * (1 - LABELS[kind][labels]) if kind in LABELS else None
                ours, theirs = [], []
                for _ in range(times):
                    chosen = random.permutation(len(traffic))
                    if keep is not None:
                        chosen = chosen[random.random(len(chosen)) < keep[chosen]]
                    chosen = chosen[:rows]
                    touched = random.random(len(chosen)) < share
                    other = shifted.get(kind, clean)
                    ours.append(_either(touched, other.places, clean.places, chosen))
                    theirs.append(_either(touched, other.softmax, clean.softmax, chosen))
                hits = called(reference, counted(reference, ours), ALPHA)
                found.append(
                    {
                        "shift": kind,
                        "share": share,
                        "rows": rows,
                        "samples": times,
                        "driftline": float(hits.mean()),
                        "BBSDs": float(np.mean([_bbsd(softmax, each) for each in theirs])),
                    }
                )
    right = float((logits(network, traffic).argmax(axis=1) == labels).mean())
    return {"collection": name, "accuracy": right, "held_out": len(held), "found": found}


def _either(touched: np.ndarray, other: np.ndarray, clean: np.ndarray, chosen: Ints) -> np.ndarray:
    return np.where(touched[:, None], other[chosen], clean[chosen])


def _bbsd(softmax: Floats, sample: Floats) -> bool:
    """Whether any of the ten tests has p < α/10; the reference's columns are sorted."""
    n, m = len(softmax), len(sample)
    limit = kstwo.isf(ALPHA / softmax.shape[1], round(n * m / (n + m)))
    gaps = [ks_statistic(softmax[:, k], sample[None, :, k])[0] for k in range(softmax.shape[1])]
    return max(gaps) > limit


def _reference(
    image: Image, output: Classification, held: images.Images, scores: Floats
) -> Reference:
    samples = {}
    for group, part, rows in (("input", image, held), ("output", output, scores)):
        samples[group] = RowSample(len(part.columns()))
        samples[group].add(part.extract(rows))
    columns = {"input": image.columns(), "output": output.columns()}
    return fit_reference(samples, columns, source="held_out")
