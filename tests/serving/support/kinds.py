"""Packages of every kind of task, their models in NumPy: images, numbers, several labels, several
inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import served

from driftline.metadata.extract import EXTRACTORS, Classification, Image, Joined, Regression, Vector
from driftline.metadata.fitting import fit_reference
from driftline.metadata.package import ModelPackage
from driftline.metadata.preprocess import PREPROCESSINGS, ImagePreprocessing
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import Extraction, ModelMetadata, TensorSpec, TrainDataStats

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Kind:
    """A model as a function of arrays by name, what describes them, and rows it was fitted on."""

    model: Callable[[Arrays], dict[str, np.ndarray]]
    inputs: dict[str, np.ndarray]
    describes: dict[str, Any]
    open_lengths: tuple[str, ...] = ()
    preprocessing: dict[str, Any] = field(default_factory=dict)

    def predict(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """So that a kind is a predictor too."""
        return self.model(arrays)

    def metadata(self) -> ModelMetadata:
        outputs = self.model(self.inputs)
        embeddings = {
            name: array
            for name, array in outputs.items()
            if isinstance(self.describes.get(name), Vector)
        }
        groups = {
            "input": self.inputs,
            "output": {n: a for n, a in outputs.items() if n not in embeddings},
            "embedding": embeddings,
        }
        groups = {group: arrays for group, arrays in groups.items() if arrays}
        fitted = {
            name: each.fit((self.inputs | outputs)[name]) for name, each in self.describes.items()
        }
        samples, columns, extractions = {}, {}, []
        for group, arrays in groups.items():
            parts = {name: fitted[name] for name in arrays if name in fitted}
            joined = Joined(parts)
            columns[group] = joined.columns()
            samples[group] = RowSample(len(columns[group]), seed=1)
            samples[group].add(joined.extract(arrays))
            for name, part in parts.items():
                prefix = f"{name}." if len(parts) > 1 else ""
                extractions.append(Extraction(group, name, EXTRACTORS.encode(part), prefix))
        return msgspec.structs.replace(
            served.metadata(),
            inputs=tuple(self._spec(*each) for each in self.inputs.items()),
            outputs=tuple(self._spec(*each) for each in outputs.items()),
            extractions=tuple(extractions),
            preprocessing={n: PREPROCESSINGS.encode(p) for n, p in self.preprocessing.items()},
            class_names=(),
            train_data_stats=TrainDataStats(rows=1),
            reference=fit_reference(samples, columns, source="held_out", seed=1),
        )

    def package(self, path: Path) -> ModelPackage:
        return ModelPackage.write(path, self.metadata(), {})

    def _spec(self, name: str, array: np.ndarray) -> TensorSpec:
        shape = array.shape[1:]
        if name in self.open_lengths:
            shape = (shape[0], None, None)
        return TensorSpec(name, array.dtype.name, (None, *shape))


_R = np.random.default_rng(8)
PIXELS = _R.random(size=(400, 3, 6, 5)).astype(np.float32)
ROWS = _R.normal(size=(400, 4)).astype(np.float32)
W = _R.normal(size=(4, 3)).astype(np.float32)
PREPROCESSING = ImagePreprocessing(size=(6, 5), mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.3))

KINDS = {
    "image": Kind(
        lambda arrays: {"y": arrays["image"].mean(axis=(2, 3))},
        {"image": PIXELS},
        {"image": Image(), "y": Classification(("a", "b", "c"))},
        preprocessing={"image": PREPROCESSING},
    ),
    "any size": Kind(
        lambda arrays: {"y": arrays["image"].mean(axis=(2, 3))},
        {"image": PIXELS},
        {"image": Image(), "y": Classification(("a", "b", "c"))},
        open_lengths=("image",),
        preprocessing={"image": ImagePreprocessing()},
    ),
    "regression": Kind(
        lambda arrays: {"price": arrays["x"] @ W[:, 0]},
        {"x": ROWS},
        {"x": Vector(), "price": Regression(("price",))},
    ),
    "targets": Kind(
        lambda arrays: {"y": arrays["x"] @ W[:, :2]},
        {"x": ROWS},
        {"x": Vector(), "y": Regression(("low", "high"))},
    ),
    "binary": Kind(
        lambda arrays: {"y": arrays["x"] @ W[:, :1]},
        {"x": ROWS},
        {"x": Vector(), "y": Classification(("no", "yes"), head="sigmoid")},
    ),
    "multilabel": Kind(
        lambda arrays: {"y": arrays["x"] @ W},
        {"x": ROWS},
        {"x": Vector(), "y": Classification(("a", "b", "c"), head="multilabel")},
    ),
    "several": Kind(
        lambda arrays: {
            "kind": arrays["x"] @ W + arrays["image"].mean(axis=(2, 3)),
            "price": arrays["x"] @ W[:, 0],
        },
        {"x": ROWS, "image": PIXELS},
        {
            "x": Vector(),
            "image": Image(),
            "kind": Classification(("a", "b", "c")),
            "price": Regression(("price",)),
        },
        preprocessing={"image": PREPROCESSING},
    ),
    "embedding": Kind(
        lambda arrays: {"kind": arrays["x"] @ W, "inner": np.tanh(arrays["x"])},
        {"x": ROWS},
        {"x": Vector(), "kind": Classification(("a", "b", "c")), "inner": Vector()},
    ),
    "unexplained": Kind(
        lambda arrays: {"kind": arrays["x"] @ W, "raw": arrays["x"] * 2},
        {"x": ROWS},
        {"x": Vector(), "kind": Classification(("a", "b", "c"))},
    ),
}
