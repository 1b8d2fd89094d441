"""Predictors pad, cut and warm; a real MindIR and a real checkpoint answer as MindSpore did."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import requests
import served

from driftline.metadata.errors import InputError, PackageError, SettingError
from driftline.metadata.package import ModelPackage
from driftline.metadata.schema import TensorSpec
from driftline.serving.model.predictor import Padded, load

X = (TensorSpec("x", "float32", (None, 2)),)
Y = (TensorSpec("y", "float32", (None,)),)


class Network:
    """Sums rows; notes the batch sizes it met, and whether two calls ever overlapped."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.inside = 0
        self.overlapped = False

    def __call__(self, arrays):
        self.inside += 1
        self.overlapped |= self.inside > 1
        self.sizes.append(len(arrays[0]))
        found = [arrays[0].sum(axis=1)]
        self.inside -= 1
        return found


@pytest.mark.parametrize("rows", [0, 1, 2, 4, 5, 8, 9, 16, 21])
def test_any_number_of_rows_meets_only_the_warmed_batch_sizes(rows):
    network = Network()
    padded = Padded(network, X, Y, (1, 4, 8))
    padded.warm()
    x = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    found = padded.predict({"x": x})["y"]
    np.testing.assert_array_equal(found, x.sum(axis=1))
    assert set(network.sizes) == {1, 4, 8}


def test_a_batch_size_that_the_signature_fixes_is_kept():
    network = Network()
    padded = Padded(network, (TensorSpec("x", "float32", (4, 2)),), Y, (1, 8))
    assert padded.predict({"x": np.ones((6, 2), np.float32)})["y"].tolist() == [2.0] * 6
    assert set(network.sizes) == {4}


def test_one_call_at_a_time():
    network = Network()
    padded = Padded(network, X, Y, (1, 4))
    x = np.ones((1, 2), np.float32)
    threads = [
        threading.Thread(target=lambda: [padded.predict({"x": x}) for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not network.overlapped


def test_new_shapes_are_compiled_up_to_a_bound(monkeypatch):
    monkeypatch.setattr("driftline.serving.model.predictor.MOST_SHAPES", 3)
    padded = Padded(Network(), (TensorSpec("x", "float32", (None, None)),), Y, (1,))
    for width in (1, 2, 3, 1, 2, 3):
        padded.predict({"x": np.ones((1, width), np.float32)})
    with pytest.raises(InputError, match="different shapes"):
        padded.predict({"x": np.ones((1, 4), np.float32)})


def test_shapes_that_the_network_fails_on_use_up_no_places(monkeypatch):
    """However many lengths a client tries in vain, a new good one is answered; and one that
    failed for a passing reason is answered later."""
    monkeypatch.setattr("driftline.serving.model.predictor.MOST_SHAPES", 3)
    narrowest = 100

    def call(arrays):
        if arrays[0].shape[1] < narrowest:
            raise ValueError("too narrow")
        return [arrays[0].sum(axis=1)]

    padded = Padded(call, (TensorSpec("x", "float32", (None, None)),), Y, (1,))
    for width in range(1, 51):
        with pytest.raises(ValueError, match="too narrow"):
            padded.predict({"x": np.ones((1, width), np.float32)})
    for width in (100, 101):
        padded.predict({"x": np.ones((1, width), np.float32)})
    narrowest = 0
    assert padded.predict({"x": np.ones((1, 7), np.float32)})["y"] == [7.0]
    with pytest.raises(InputError, match="different shapes"):
        padded.predict({"x": np.ones((1, 8), np.float32)})


def test_lengths_that_are_open_are_guessed_at_warm_up_and_no_guess_ends_a_start():
    def call(arrays):
        if arrays[0].shape[1] < 100:
            raise ValueError("too small")
        return [arrays[0].sum(axis=1)]

    spec = (TensorSpec("x", "float32", (None, None)),)
    Padded(call, spec, Y, (1, 4)).warm()
    Padded(lambda arrays: 1 / 0, spec, Y, (1, 4)).warm()
    with pytest.raises(ZeroDivisionError):
        Padded(lambda arrays: 1 / 0, X, Y, (1, 4)).warm()


def test_an_input_that_is_not_there_is_named():
    with pytest.raises(InputError, match="x: is missing"):
        Padded(Network(), X, Y, (1,)).predict({})


def test_what_cannot_be_loaded_is_said(package, tmp_path):
    with pytest.raises(SettingError, match="cannot be imported"):
        load(package, predictor="nowhere:at_all")
    bare = ModelPackage.write(tmp_path / "bare", served.metadata(), {})
    with pytest.raises(PackageError, match="no exported model"):
        load(bare)


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    pytest.importorskip("mindspore")
    folder = tmp_path_factory.mktemp("mindir")
    program = Path(served.HERE) / "mindir.py"
    subprocess.run([sys.executable, str(program), str(folder)], check=True, timeout=240)
    return folder


def package_of(exported: Path, path: Path, **files: str) -> tuple[Path, np.ndarray, np.ndarray]:
    made = ModelPackage.write(
        path, served.metadata(), {role: exported / name for role, name in files.items()}
    )
    with np.load(exported / "expected.npz") as expected:
        return made.path, expected["rows"], expected["logits"]


def probabilities(answers) -> np.ndarray:
    return np.array([list(each["probabilities"].values()) for each in answers])


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.slow
def test_two_workers_with_a_real_mindir_answer_as_mindspore_did(serve, exported, tmp_path):
    path, rows, logits = package_of(exported, tmp_path / "package", model="toy.mindir")
    server = serve("--workers", "2", "--threads", "4", "--predictor", "", where=path)
    expected = softmax(logits)
    for start, stop in ((0, 1), (0, 3), (0, 40), (5, 70)):
        answer = server.predict(rows[start:stop].tolist())
        found = probabilities(answer.json()["predictions"])
        np.testing.assert_allclose(found, expected[start:stop], atol=1e-6)

    own = threading.local()

    def one(index: int) -> None:
        if not hasattr(own, "session"):
            own.session = requests.Session()
        body = {"instances": [rows[index].tolist()]}
        answer = own.session.post(server.address + "/predict", json=body, timeout=30)
        found = probabilities(answer.json()["predictions"])
        np.testing.assert_allclose(found[0], expected[index], atol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, [index % 70 for index in range(600)]))
    served.until(lambda: server.drift()["window"]["requests_total"] == 604)
    assert server.stop() == 0


@pytest.mark.slow
def test_a_real_checkpoint_is_served_through_its_network_and_through_no_other(
    serve, exported, tmp_path
):
    path, rows, logits = package_of(exported, tmp_path / "package", checkpoint="toy.ckpt")
    words = ("--workers", "1", "--predictor", "")
    server = serve(*words, "--network", "mindir:network", where=path)
    found = probabilities(server.predict(rows[:5].tolist()).json()["predictions"])
    np.testing.assert_allclose(found, softmax(logits)[:5], atol=1e-6)
    server.stop()
    other = serve(*words, "--network", "mindir:other_network", where=path, ready=False)
    assert other.process.wait(60) != 0
    assert "are missing" in other.said()
