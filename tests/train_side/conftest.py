"""Trainings that many tests look at: each runs once a session."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from trainings import (
    NAMES,
    Trained,
    TwoInputs,
    dataset,
    digits,
    regression,
    train_digits,
    train_regression,
    train_two_inputs,
    two_inputs,
)

from driftline.metadata.package import ModelPackage
from driftline.train_side import (
    Classification,
    FingerprintCallback,
    Image,
    Regression,
    Tabular,
    Thresholds,
    Tokens,
    Vector,
)


@dataclass
class Packaged:
    """A training that was packaged."""

    trained: Trained
    package: ModelPackage


@pytest.fixture(scope="session", params=["graph", "pynative"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def plain(mode: str) -> Trained:
    """Digits without a callback of ours."""
    return train_digits(mode, frozen=True)


@pytest.fixture(scope="session")
def packaged(mode: str, tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    """The same training, packaged."""
    path = tmp_path_factory.mktemp("digits") / "package"
    callback = digits_callback(path)
    trained = train_digits(mode, callback, frozen=True)
    return Packaged(trained, ModelPackage.open(path))


@pytest.fixture(scope="session")
def two_packaged(mode: str, tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    """Two inputs, two outputs, a training cell of the user's own."""
    path = tmp_path_factory.mktemp("two") / "package.zip"
    network = TwoInputs()
    callback = FingerprintCallback(
        path,
        reference=dataset(two_inputs(300, seed=2)),
        inputs={"numbers": Tabular(("a", "b", "c")), "tokens": Tokens(vocabulary=20)},
        task={"output_1": Classification(("no", "yes")), "output_0": Vector()},
        model_name="two",
        model_version="7",
        network=network,
        thresholds=Thresholds(low_confidence=0.6),
    )
    return Packaged(train_two_inputs(mode, network, callback), ModelPackage.open(path))


@pytest.fixture(scope="session")
def regression_packaged(tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    """A regression, with a reference of plain arrays."""
    path = tmp_path_factory.mktemp("regression") / "package"
    held_out = regression(300, seed=2)
    callback = FingerprintCallback(
        path,
        reference=[(held_out["x"][at : at + 50], held_out["y"][at : at + 50])
                   for at in range(0, 300, 50)],
        inputs=Tabular(("a", "b", "c", "d")),
        task=Regression(("price",)),
        model_name="price",
    )  # fmt: skip
    return Packaged(train_regression("graph", callback), ModelPackage.open(path))


def digits_callback(path: Path, **changes: object) -> FingerprintCallback:
    _, _, images, labels = digits()
    settings: dict[str, object] = {
        "reference": dataset({"image": images, "label": labels}),
        "inputs": Image(),
        "task": Classification(NAMES),
        "model_name": "digits",
        "model_version": "1",
    }
    return FingerprintCallback(path, **{**settings, **changes})  # type: ignore[arg-type]


@pytest.fixture
def callback_for():
    """A digits callback for a path, with changes."""
    return digits_callback


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the logger ``driftline`` says."""
    with caplog.at_level(logging.INFO, logger="driftline"):
        yield caplog
