"""The report, its pictures and series, and the look-back."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore.train.callback import CheckpointConfig, ModelCheckpoint
from PIL import Image
from trainings import NAMES, Cnn, digits
from watched import Trained, cross_entropy, mlp, rows, train

from driftline.metadata.extract import Classification, Tabular
from driftline.metadata.extract import Image as ImageSignals
from driftline.metadata.package import ModelPackage
from driftline.train_side.fingerprint import FingerprintCallback
from driftline.train_side.lookback import Saved, look_back
from driftline.train_side.policies import Log, Stop
from driftline.train_side.rules import GradientExplosion
from driftline.train_side.settings import MonitorSettings, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("graph")]

SAMPLING = Sampling(every=1, deep_every=5)


def cnn_model() -> tuple[Any, Any]:
    network = Cnn()
    optimizer = ms.nn.Adam(network.trainable_params(), learning_rate=5e-3)
    return network, ms.Model(network, cross_entropy(), optimizer, metrics={"accuracy"})


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Digits, with checkpoints, a package, a metric of the user's and the report."""
    ms.set_context(mode=ms.GRAPH_MODE)
    folder = tmp_path_factory.mktemp("reported")
    images, labels, more, truth = digits()
    held_out = [(more[:200], truth[:200])]
    fingerprint = FingerprintCallback(
        folder / "package",
        inputs=ImageSignals(),
        task=Classification(classes=NAMES),
        model_name="digits",
        reference=held_out,
    )

    class Bleu(ms.Callback):
        def on_train_epoch_end(self, run_context: Any) -> None:
            trained["monitor"].add_metric("bleu", 0.1 * run_context.original_args().cur_epoch_num)

    trained: dict[str, Any] = {}

    class Finds(ms.Callback):
        def on_train_begin(self, run_context: Any) -> None:
            for each in run_context.original_args().list_callback:
                if type(each).__name__ == "TrainingMonitor":
                    trained["monitor"] = each

    saves = ModelCheckpoint(
        "net", str(folder / "saved"), CheckpointConfig(save_checkpoint_steps=10)
    )
    return train(
        folder / "run",
        make=cnn_model,
        data=ms.dataset.NumpySlicesDataset((images, labels), shuffle=False).batch(32),
        epochs=3,
        sinks=None,
        callbacks=[Finds(), Bleu(), fingerprint, saves],
        settings=MonitorSettings(sampling=SAMPLING),
    )


def text(trained: Trained) -> str:
    return (trained.folder / "training_report.md").read_text(encoding="utf-8")


def test_the_report_says_what_the_training_came_to(reported: Trained) -> None:
    report = text(reported)
    steps = len(reported.losses)
    assert "| ended | finished |" in report
    assert f"{steps} in 3 epochs" in report
    assert f"{reported.losses[-1]:.4g} at the end" in report
    assert f"| `bleu` | 0.3 | 0.1 (step {steps // 3}) | 0.3 (step {steps}) | 3 |" in report
    assert "## Loss curve\n\nloss ≈ " in report
    assert f"tensorboard --logdir {reported.folder / 'tensorboard'}\n" in report
    assert "Absent: NVIDIA GPU, Ascend NPU." in report
    assert "| mode | graph |" in report


def test_the_best_checkpoint_is_named_and_can_be_loaded(reported: Trained) -> None:
    (line,) = [each for each in text(reported).splitlines() if each.endswith("| best |")]
    path = line.split("`")[1]
    assert ms.load_checkpoint(path)


def test_pictures_are_pictures(reported: Trained) -> None:
    names = {path.stem for path in (reported.folder / "pictures").glob("*.png")}
    assert {"loss", "learning_rate", "gradient_norm", "throughput", "layers", "metrics"} <= names
    for name in names:
        assert f"(pictures/{name}.png)" in text(reported)
        with Image.open(reported.folder / "pictures" / f"{name}.png") as picture:
            picture.load()
            assert picture.size[0] > 500
            assert len(np.unique(np.asarray(picture.convert("L")))) > 10


def test_series_are_read_by_numpy(reported: Trained) -> None:
    with np.load(reported.folder / "series.npz") as series:
        assert np.allclose(series["loss"], reported.losses)
        assert series["loss@step"].tolist() == list(range(1, len(reported.losses) + 1))
        assert series["grad_norm/conv.weight@step"].tolist() == series["grad_norm@step"].tolist()
        assert series["bleu"].tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_the_package_was_loaded_again_and_asked(reported: Trained) -> None:
    samples = reported.folder / "final_eval_samples"
    with (samples / "predictions.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    _, _, more, truth = digits()
    assert [each["truth"] for each in found] == [NAMES[label] for label in truth[:16]]
    reported.network.set_train(False)
    logits = reported.network(ms.Tensor(more[:16])).asnumpy()
    assert [each["predicted"] for each in found] == [NAMES[each] for each in logits.argmax(1)]
    right = sum(each["truth"] == each["predicted"] for each in found)
    assert f"answered 16 held-out rows, {right} of them as labelled" in text(reported)
    with Image.open(samples / "samples.png") as picture:
        assert picture.size[0] > 500


def test_the_package_has_the_monitors_findings(reported: Trained) -> None:
    health = ModelPackage.open(reported.folder.parent / "package").metadata.health
    assert health is not None
    assert health.gradient_norm_quantiles == reported.monitor.health().gradient_norm_quantiles
    assert health.steps == len(reported.losses)


def test_the_order_of_callbacks_does_not_matter(tmp_path: Path) -> None:
    fingerprint = FingerprintCallback(
        tmp_path / "package",
        inputs=Tabular(fields=tuple(f"x{index}" for index in range(12))),
        task=Classification(classes=("a", "b", "c")),
        model_name="rows",
        reference=[rows(200, seed=5)],
    )
    settings = MonitorSettings(sampling=SAMPLING)
    trained = train(
        tmp_path / "run", callbacks=[fingerprint], last=True, epochs=1, settings=settings
    )
    health = ModelPackage.open(tmp_path / "package").metadata.health
    assert health is not None
    assert health.gradient_norm_quantiles == trained.monitor.health().gradient_norm_quantiles
    assert "package` was loaded again and answered 16 held-out rows" in text(trained)


def test_without_a_package_the_checkpoint_is_looked_back_at(tmp_path: Path) -> None:
    settings = MonitorSettings(sampling=SAMPLING, held_out=[rows(40, seed=3)])
    trained = train(tmp_path / "run", settings=settings)
    assert "final.ckpt` was loaded again and answered 16 held-out rows" in text(trained)
    assert "None was saved by MindSpore's `ModelCheckpoint`" in text(trained)


def test_a_look_back_that_fails_is_told(tmp_path: Path) -> None:
    settings = MonitorSettings(
        sampling=SAMPLING, held_out=[rows(40, seed=3)], package=tmp_path / "nothing"
    )
    trained = train(tmp_path / "run", settings=settings)
    assert "**Failed**" in text(trained)
    assert "no package was written by this training" in text(trained)


def test_a_checkpoint_of_other_values_fails_the_look_back(tmp_path: Path) -> None:
    network = mlp()
    ms.save_checkpoint(network, str(tmp_path / "a.ckpt"))
    saved = Saved(checkpoint=tmp_path / "a.ckpt", network=network)
    assert look_back(saved, [rows(20)], tmp_path / "samples").failure is None
    network[0].weight.set_data(network[0].weight + 1)
    found = look_back(saved, [rows(20)], tmp_path / "samples")
    assert found.failure == "ValueError: 0.weight was saved with other values"


def test_regressions_are_compared_by_their_error(tmp_path: Path) -> None:
    network = ms.nn.Dense(12, 1)
    ms.save_checkpoint(network, str(tmp_path / "a.ckpt"))
    x, _ = rows(20)
    found = look_back(
        Saved(checkpoint=tmp_path / "a.ckpt", network=network),
        [(x, x[:, :1])],
        tmp_path / "samples",
    )
    answered = network(ms.Tensor(x[:16])).asnumpy()
    assert found.error == pytest.approx(np.abs(answered - x[:16, :1]).mean(), rel=1e-5)


def test_a_stop_leaves_an_anomaly_report(tmp_path: Path) -> None:
    trained = train(
        tmp_path / "run",
        rules=[GradientExplosion(limit=1e-3)],
        policies={"gradient_explosion": (Log(), Stop())},
        epochs=50,
        settings=MonitorSettings(sampling=SAMPLING),
    )
    assert len(trained.losses) < 500
    report = (tmp_path / "run" / "anomaly_report.md").read_text()
    assert "**gradient_explosion** at step 2" in report
    assert "Lower the learning rate" in report
    assert "| ended | stopped |" in text(trained)
