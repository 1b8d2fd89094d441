"""What goes wrong inside the callback, or around it: the training's own result is untouched."""

from __future__ import annotations

import os
import threading

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from mindspore.train import Callback, Model
from trainings import Cnn, TwoInputs, dataset, digits, train_digits, train_two_inputs

from driftline.metadata.errors import SettingError
from driftline.metadata.package import ModelPackage
from driftline.metadata.thresholds import Rule, Thresholds
from driftline.train_side import Classification, FingerprintCallback, Image, Tabular
from driftline.train_side import conclusion as module


class Interrupts(Callback):
    """Raises at one step."""

    def __init__(self, error: BaseException, step: int = 10) -> None:
        super().__init__()
        self.error, self.step = error, step

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.step:
            raise self.error


def collectors():
    return [each for each in threading.enumerate() if each.name == "driftline-collector"]


def assert_reported(log, reason):
    """Once, with its traceback."""
    found = [each for each in log.records if each.levelname == "ERROR"]
    assert [each.getMessage().partition(" to ")[0] for each in found] == [
        "no package will be written"
    ]
    assert found[0].exc_info is not None
    assert reason in str(found[0].exc_info[1])


def test_an_error_of_an_extractor_does_not_end_the_training(
    plain, mode, callback_for, tmp_path, log
):
    """An image extractor for three channels, and images of one."""
    callback = callback_for(tmp_path / "package", inputs=Image(channels=3))
    trained = train_digits(mode, callback, frozen=True)
    assert trained.losses == plain.losses
    assert_reported(log, "3 channels expected")
    assert list(tmp_path.iterdir()) == []
    assert collectors() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("the user's own")])
def test_an_interrupted_training_leaves_nothing(callback_for, tmp_path, error):
    callback = callback_for(tmp_path / "package")
    with pytest.raises(type(error)):
        train_digits("graph", callback, Interrupts(error))
    assert list(tmp_path.iterdir()) == []
    assert collectors() == []
    assert callback._collector is None
    assert callback._watch is None


def test_an_interrupted_training_leaves_the_older_package(callback_for, packaged, tmp_path):
    before = packaged.package.digest
    callback = callback_for(packaged.package.path)
    with pytest.raises(KeyboardInterrupt):
        train_digits("graph", callback, Interrupts(KeyboardInterrupt()))
    assert type(packaged.package).open(packaged.package.path).digest == before


@pytest.mark.parametrize("mode", ["graph"], scope="session", indirect=True)
def test_an_error_while_packaging_leaves_nothing_and_restores_the_network(
    plain, mode, callback_for, tmp_path, log, monkeypatch
):
    def fails(call):
        raise OSError("disk full")

    monkeypatch.setattr(module, "latency_baseline", fails)
    trained = train_digits(mode, callback_for(tmp_path / "package"), frozen=True)
    assert (trained.losses, trained.flags, trained.random) == (
        plain.losses,
        plain.flags,
        plain.random,
    )
    assert_reported(log, "disk full")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_reference_is_told(callback_for, tmp_path, log):
    train_digits("graph", callback_for(tmp_path / "package", reference=[]), epochs=1)
    assert_reported(log, "reference: holds no batch")


def test_a_reference_of_another_number_of_parts_is_told(callback_for, tmp_path, log):
    _, _, images, labels = digits()
    reference = [(images, images, labels)]
    train_digits("graph", callback_for(tmp_path / "package", reference=reference), epochs=1)
    assert_reported(log, "(image, label) expected, got 3 parts")


def test_a_wrong_number_of_classes_is_told(callback_for, tmp_path, log):
    callback = callback_for(tmp_path / "package", task=Classification(("a", "b")))
    train_digits("graph", callback, epochs=1)
    assert_reported(log, "2 scores a row expected, got 10")


def test_a_threshold_for_a_signal_that_is_not_there_is_told_when_packaging(
    callback_for, tmp_path, log
):
    """And not by every service that is given the package."""
    thresholds = Thresholds(signals={"brightnes": Rule(psi=0.2)})
    train_digits("graph", callback_for(tmp_path / "package", thresholds=thresholds), epochs=1)
    assert_reported(log, "signals.brightnes")
    assert not (tmp_path / "package").exists()


def test_an_unknown_input_is_told_at_the_first_step(callback_for, tmp_path, log):
    callback = callback_for(tmp_path / "package", inputs={"picture": Image()})
    train_digits("graph", callback, epochs=1)
    assert_reported(log, "'picture' is none of image")


def test_a_training_cell_that_hides_its_network_is_told_at_the_beginning(tmp_path, log):
    callback = FingerprintCallback(
        tmp_path / "package",
        inputs=Tabular(("a", "b", "c")),
        task=Classification(("no", "yes")),
        model_name="two",
    )
    trained = train_two_inputs("graph", TwoInputs(), callback, epochs=1)
    assert len(trained.losses) == 10
    assert_reported(log, "give FingerprintCallback(network=…)")


def test_a_standard_training_cell_shows_its_network(callback_for, tmp_path):
    images, labels, _, _ = digits()
    ms.set_context(mode=ms.GRAPH_MODE)
    network = Cnn()
    with_loss = nn.WithLossCell(network, nn.CrossEntropyLoss())
    step = nn.TrainOneStepCell(with_loss, nn.Adam(network.trainable_params()))
    data = dataset({"image": images, "label": labels})
    Model(step).train(1, data, callbacks=[callback_for(tmp_path / "package")])
    assert (tmp_path / "package").is_dir()


def test_something_else_at_the_path_is_told_before_the_training(callback_for, tmp_path, log):
    path = tmp_path / "notes"
    path.mkdir()
    (path / "mine.txt").write_text("keep")
    train_digits("graph", callback_for(path), epochs=1)
    assert_reported(log, "exists and is no package")
    assert (path / "mine.txt").read_text() == "keep"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_told_before_the_training(callback_for, tmp_path, log):
    tmp_path.chmod(0o500)
    train_digits("graph", callback_for(tmp_path / "package"), epochs=1)
    assert_reported(log, "is no folder that can be written to")


def test_labels_outside_the_classes_are_noted(callback_for, tmp_path):
    images, labels, held_out, truth = digits()
    ms.set_context(mode=ms.GRAPH_MODE)
    network = Cnn()
    model = Model(
        network, nn.CrossEntropyLoss(ignore_index=-1), nn.Adam(network.trainable_params())
    )
    masked = np.where(labels == 3, -1, labels).astype(np.int32)
    reference = [(held_out, np.where(truth == 3, -1, truth).astype(np.int32))]
    callback = callback_for(tmp_path / "package", reference=reference)
    model.train(1, dataset({"image": images, "label": masked}), callbacks=[callback])
    metadata = ModelPackage.open(tmp_path / "package").metadata
    assert (
        f"{(labels == 3).sum()} of {len(labels)} training labels are none of the classes."
        in metadata.notes
    )
    assert metadata.quality.rows == (truth != 3).sum()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"inputs": "image"}, "inputs"),
        ({"inputs": {}}, "inputs"),
        ({"task": None}, "task"),
        ({"model_name": "a/b"}, "model_name"),
        ({"model_version": ""}, "model_version"),
        ({"thresholds": Thresholds(false_alarms="seldom")}, "false_alarms"),
        ({"thresholds": Thresholds(false_alarms="1 per 1m")}, "false_alarms"),
        ({"thresholds": Thresholds(groups={"inputs": Rule()})}, "groups.inputs"),
    ],
)
def test_impossible_settings_are_refused_where_they_are_given(
    callback_for, tmp_path, changes, field
):
    with pytest.raises(SettingError) as caught:
        callback_for(tmp_path / "package", **changes)
    assert caught.value.field == field
