"""One case of each way an extractor can be set up; a new kind needs one line in `CASES`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.metadata.extract import (
    Category,
    Classification,
    Image,
    Number,
    Regression,
    Tabular,
    Tokens,
    Vector,
)

NAMES = tuple("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class Case:
    """An extractor, the shape of one row it takes, and the type of its values."""

    extractor: object
    row: tuple[int, ...]
    dtype: str = "float64"
    low: int = 0
    high: int = 200

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        random = np.random.default_rng(seed)
        shape = (n, *self.row)
        if np.dtype(self.dtype).kind in "iu":
            return random.integers(self.low, self.high, size=shape).astype(self.dtype)
        return random.normal(size=shape).astype(self.dtype)

    def fitted(self):
        return self.extractor.fit(self.batch(200, seed=99))


class Shares(Case):
    """Rows of probabilities."""

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        rows = np.random.default_rng(seed).random((n, *self.row)) ** 3 + 1e-9
        return rows / rows.sum(axis=1, keepdims=True)


class Unit(Case):
    """Values between 0 and 1."""

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).random((n, *self.row))


MIXED = (Number("x"), Number("y"), Number("z"), Category("c", ("red", "green")), Category("d"))

CASES: dict[str, Case] = {
    "image": Case(Image(), (3, 6, 5)),
    "image nhwc": Case(Image(layout="NHWC"), (6, 5, 3), "float32"),
    "image uint8": Case(Image(channels=1), (1, 4, 4), "uint8"),
    "image bounds": Case(Image(channels=2, low=(0.0, -1.0), high=2.5), (2, 1, 3)),
    "tabular": Case(Tabular(MIXED), (5,)),
    "tabular numbers": Case(Tabular(("a", "b")), (2,), "float32"),
    "tabular codes": Case(Tabular((Category("c", ("u", "v")),)), (1,), "int64", -1, 2),
    "tokens": Case(Tokens(vocabulary=150, pad_id=0, unk_id=1), (12,), "int32"),
    "tokens bare": Case(Tokens(buckets=0), (7,), "int64"),
    "vector": Case(Vector(), (24,), "float32"),
    "vector one": Case(Vector(projections=0, rank=1), (1,)),
    "classification": Case(Classification(NAMES[:3]), (3,), "float32"),
    "classification many": Case(Classification(NAMES, temperature=1.7), (26,)),
    "classification probabilities": Shares(
        Classification(NAMES[:4], head="probabilities", temperature=0.8), (4,)
    ),
    "classification sigmoid": Case(Classification(("no", "yes"), head="sigmoid"), (1,)),
    "classification sigmoid_probability": Unit(
        Classification(("no", "yes"), head="sigmoid_probability", temperature=2.0), (1,)
    ),
    "classification multilabel": Case(Classification(NAMES[:5], head="multilabel"), (5,)),
    "classification multilabel_probability": Unit(
        Classification(NAMES[:2], head="multilabel_probability"), (2,)
    ),
    "regression": Case(Regression(("price", "days")), (2,)),
    "regression one": Case(Regression(), (1,)),
}


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """To the last bit."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()
