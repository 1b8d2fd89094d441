"""A small package without MindSpore: scikit-learn's wine, a linear model in NumPy.

``driftline serve PACKAGE --predictor examples.ops.package:load`` serves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from driftline.metadata.extract import EXTRACTORS, Classification, Number, Tabular
from driftline.metadata.fitting import fit_reference
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import Health, Quality
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import (
    Extraction,
    Framework,
    ModelInfo,
    ModelMetadata,
    TensorSpec,
    TrainDataStats,
)

Rows = NDArray[np.float32]
REFERENCE_ROWS = 4_000


def wines(count: int, seed: int) -> Rows:
    """Rows like those of the data set: drawn again, each a little different."""
    random = np.random.default_rng(seed)
    x = load_wine().data
    rows = x[random.integers(0, len(x), count)]
    return (rows + random.normal(0, 0.15, rows.shape) * x.std(axis=0)).astype(np.float32)


class Linear:
    """Logits of a linear model."""

    def __init__(self, weights: NDArray[np.float32]) -> None:
        self._weights = weights

    def predict(self, arrays: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        """Logits of the rows of ``x``; the last weight of each class is its bias."""
        return {"logits": arrays["x"] @ self._weights[:-1] + self._weights[-1]}


def load(package: ModelPackage) -> Linear:
    """The package's model."""
    return Linear(np.load(package.file("model")))


def write(path: Path) -> ModelPackage:
    """Trains, measures and packs; the same each time."""
    data = load_wine()
    scaler = StandardScaler().fit(data.data)
    fitted = LogisticRegression(C=0.3).fit(scaler.transform(data.data), data.target)
    slopes = fitted.coef_ / scaler.scale_
    bias = fitted.intercept_ - slopes @ scaler.mean_
    weights = np.vstack([slopes.T, bias]).astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    model = path.parent / "weights.npy"
    np.save(model, weights)
    table = Tabular(tuple(Number(name.replace("/", " ")) for name in data.feature_names))
    seen = wines(REFERENCE_ROWS, seed=1)
    table = table.fit(seen)
    task = Classification(tuple(str(name) for name in data.target_names))
    logits = Linear(weights).predict({"x": seen})["logits"]
    samples = {}
    for group, matrix in (("input", table.extract(seen)), ("output", task.extract(logits))):
        samples[group] = RowSample(matrix.shape[1], seed=2)
        samples[group].add(matrix)
    columns = {"input": table.columns(), "output": task.columns()}
    accuracy = float((fitted.predict(scaler.transform(data.data)) == data.target).mean())
    metadata = ModelMetadata(
        created="2026-01-02T03:04:05Z",
        model=ModelInfo(
            name="wine", version="1", architecture="Linear", parameters=int(weights.size)
        ),
        framework=Framework(
            name="numpy", version=np.__version__, mode="eager", device="CPU", python="3.11",
            numpy=np.__version__, driftline="0.1.0", host="example",
        ),
        inputs=(TensorSpec("x", "float32", (None, data.data.shape[1])),),
        outputs=(TensorSpec("logits", "float32", (None, 3)),),
        extractions=(
            Extraction("input", "x", EXTRACTORS.encode(table)),
            Extraction("output", "logits", EXTRACTORS.encode(task)),
        ),
        class_names=task.classes,
        train_data_stats=TrainDataStats(rows=len(data.data)),
        reference=fit_reference(samples, columns, source="held_out", seed=2),
        quality=Quality(rows=len(data.data), accuracy=accuracy),
        health=Health(steps=1, epochs=1, seconds=1.0),
    )  # fmt: skip
    package = ModelPackage.write(path, metadata, {"model": model})
    model.unlink()
    return package
