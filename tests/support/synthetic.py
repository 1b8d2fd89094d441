"""Metadata and packages made without MindSpore, for tests of everything behind the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from driftline.metadata.fitting import fit_reference
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import Health
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import (
    Framework,
    ModelInfo,
    ModelMetadata,
    TensorSpec,
    TrainDataStats,
)
from driftline.metadata.signals import Column


def reference(rows: int = 4_991, columns: int = 3, seed: int = 7):
    """A reference of standard normal columns `a0…` and one categorical column `code`."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(rows, columns + 1))
    matrix[:, -1] = random.integers(0, 4, size=rows)
    sample = RowSample(columns + 1, seed=seed)
    sample.add(matrix)
    names = [Column(f"a{i}", "number") for i in range(columns)] + [Column("code", "category")]
    return fit_reference({"input": sample}, {"input": names}, source="held_out", seed=seed)


def metadata(**changes: Any) -> ModelMetadata:
    """Whole, valid metadata; `changes` replace fields."""
    plain = ModelMetadata(
        created="2026-01-02T03:04:05Z",
        model=ModelInfo(name="toy", version="1", architecture="Dense", parameters=8),
        framework=Framework(
            name="mindspore",
            version="2.10.0",
            mode="graph",
            device="CPU",
            python="3.11.7",
            numpy="1.26.4",
            driftline="0.1.0",
            host="test",
        ),
        inputs=(TensorSpec("x", "float32", (None, 4)),),
        outputs=(TensorSpec("y", "float32", (None, 2)),),
        train_data_stats=TrainDataStats(rows=100, label_distribution={"a": 0.5, "b": 0.5}),
        reference=reference(),
        health=Health(steps=10, epochs=1, seconds=1.5),
    )
    return msgspec.structs.replace(plain, **changes)


def package(path: Path, **changes: Any) -> ModelPackage:
    """A package at `path` whose checkpoint and model are a few fixed bytes."""
    source = path.parent / "files-of-the-package"
    source.mkdir(parents=True, exist_ok=True)
    (source / "model.ckpt").write_bytes(bytes(range(256)) * 4)
    (source / "model.mindir").write_bytes(b"graph" * 100)
    files = {"checkpoint": source / "model.ckpt", "model": source / "model.mindir"}
    return ModelPackage.write(path, metadata(**changes), files)
