"""Packages whose model is NumPy, and servers of them: what the service does, without MindSpore."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import requests

from driftline.metadata.extract import EXTRACTORS, Category, Classification, Number, Tabular
from driftline.metadata.fitting import fit_reference
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import LATENCY_EDGES, Health, LatencyBaseline
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import (
    Extraction,
    Framework,
    ModelInfo,
    ModelMetadata,
    TensorSpec,
    TrainDataStats,
)

CLASSES = ("red", "green", "blue")
WORDS = ("low", "mid", "high")
HERE = Path(__file__).parent


def rows(count: int, seed: int, columns: int = 4, shift: float = 0.0) -> np.ndarray:
    """Standard normal columns and one code of three, as float32."""
    random = np.random.default_rng(seed)
    matrix = random.normal(shift, 1.0, size=(count, columns)).astype(np.float32)
    matrix[:, -1] = random.integers(0, 3, count)
    return matrix


def weights(columns: int = 4) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(columns, len(CLASSES))).astype(np.float32)


class NumpyModel:
    """Logits of a linear model. Inputs that begin with 666 fail; with 777 they take 0.3 s."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def predict(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        x = arrays["x"]
        if (x[:, 0] == 666).any():
            raise RuntimeError("the model broke, secret path /srv/model")
        if (x[:, 0] == 777).any():
            time.sleep(0.3)
        return {"logits": x @ self.matrix}


def load(package: ModelPackage) -> NumpyModel:
    """What ``--predictor served:load`` names."""
    return NumpyModel(np.load(package.file("model")))


def load_nothing(package: ModelPackage) -> NumpyModel:
    """A model that does not load."""
    from driftline.metadata.errors import PackageError

    raise PackageError(package.path, "its model does not load: test")


def metadata(columns: int = 4, reference_rows: int = 4_991, **changes: Any) -> ModelMetadata:
    """A table with named columns, the last one a category, and three classes."""
    fields = [*(Number(f"a{i}") for i in range(columns - 1)), Category("size", WORDS)]
    table, task = Tabular(tuple(fields), joint=False), Classification(CLASSES)
    seen = rows(reference_rows, 99, columns)
    samples = {"input": table.extract(seen), "output": task.extract(seen @ weights(columns))}
    kept = {}
    for group, matrix in samples.items():
        kept[group] = RowSample(matrix.shape[1], seed=3)
        kept[group].add(matrix)
    reference = fit_reference(
        kept, {"input": table.columns(), "output": task.columns()}, source="held_out", seed=3
    )
    plain = ModelMetadata(
        created="2026-01-02T03:04:05Z",
        model=ModelInfo(name="toy", version="1", architecture="Linear", parameters=12),
        framework=Framework(
            name="numpy",
            version=np.__version__,
            mode="eager",
            device="CPU",
            python="3.11",
            numpy=np.__version__,
            driftline="0.1.0",
            host="test",
        ),
        inputs=(TensorSpec("x", "float32", (None, columns)),),
        outputs=(TensorSpec("logits", "float32", (None, len(CLASSES))),),
        extractions=(
            Extraction("input", "x", EXTRACTORS.encode(table)),
            Extraction("output", "logits", EXTRACTORS.encode(task)),
        ),
        class_names=CLASSES,
        train_data_stats=TrainDataStats(rows=reference_rows),
        reference=reference,
        latency=LatencyBaseline(
            p50=0.001,
            p95=0.002,
            p99=0.003,
            calls=100,
            edges=LATENCY_EDGES,
            counts=(100, *(0 for _ in LATENCY_EDGES)),
            host="test",
        ),
        health=Health(steps=10, epochs=1, seconds=1.5),
    )
    return msgspec.structs.replace(plain, **changes)


def package(path: Path, columns: int = 4, **changes: Any) -> ModelPackage:
    """Such a package on disk."""
    model = path.parent / "model.npy"
    np.save(model, weights(columns))
    return ModelPackage.write(path, metadata(columns, **changes), {"model": model})


def put_second(path: Path, scratch: Path) -> None:
    """Version 2 in place of the package at `path`; `scratch` is a folder beside it."""
    (scratch / "other").mkdir()
    model = ModelInfo(name="toy", version="2", architecture="Dense", parameters=12)
    other = package(scratch / "other" / "package", model=model)
    shutil.rmtree(path)
    other.path.rename(path)


class Server:
    """``driftline serve`` in a process group of its own; ended by `stop`."""

    def __init__(
        self,
        package: Path,
        log: Path,
        *words: str,
        before: tuple[str, ...] = (),
        **environment: str,
    ) -> None:
        self.log = log
        command = [sys.executable, "-m", "driftline.serving.cli", "serve", str(package)]
        own = {
            name: value for name, value in os.environ.items() if not name.startswith("DRIFTLINE_")
        }
        own |= {"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
        if "--predictor" in words and not words[words.index("--predictor") + 1]:
            at = words.index("--predictor")
            words = (*words[:at], *words[at + 2 :])
        elif "--predictor" not in words:
            words = (*words, "--predictor", "served:load")
        if "--port" not in words:
            words = (*words, "--port", "0")
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [*before, *command, *words],
                stdout=out,
                stderr=out,
                env=own | environment,
            )
        self.session = requests.Session()
        self.address = ""
        asked = dict(pairwise(words)).get("--workers", "1")
        self._workers = int(asked) if asked.isdecimal() else 1

    def ready(self, seconds: float = 60.0) -> Server:
        """Waits until it answers and each of its workers was begun."""

        def up() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}:\n{self.said()}")
            for line in self.lines():
                message = line.get("message", "")
                if message.startswith("Listening at: "):
                    self.address = message.removeprefix("Listening at: ").split(" ")[0]
            begun = len(self.workers()) >= self._workers
            return begun and bool(self.address) and self.get("/readyz").ok

        until(up, seconds)
        return self

    def lines(self) -> list[dict[str, Any]]:
        """Its log lines that are JSON."""
        found = []
        for line in self.said().splitlines():
            if line.startswith("{"):
                found.append(json.loads(line))
        return found

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def get(self, path: str, **more: Any) -> requests.Response:
        return requests.get(self.address + path, timeout=30, **more)

    def predict(self, instances: Any, **more: Any) -> requests.Response:
        body = json.dumps({"instances": instances})
        headers = {"Content-Type": "application/json", **more.pop("headers", {})}
        url = self.address + "/predict"
        return self.session.post(url, data=body, headers=headers, timeout=30, **more)

    def drift(self) -> dict[str, Any]:
        answer = self.get("/drift")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in children.read_text().split()]

    def stop(self, seconds: float = 30.0) -> int:
        """Ends it by SIGTERM and gives its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                for pid in [*self.workers(), self.process.pid]:
                    os.kill(pid, signal.SIGKILL)
                self.process.wait(10)
        return self.process.returncode


def until(ready: Callable[[], Any], seconds: float = 30.0, every: float = 0.05) -> Any:
    """The first true value of `ready`."""
    deadline = time.monotonic() + seconds
    problem: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if value := ready():
                return value
        except requests.RequestException as error:
            problem = error
        time.sleep(every)
    raise AssertionError(f"not within {seconds} s (last problem: {problem!r})")
