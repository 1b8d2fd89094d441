"""What a packaged training tells, against what can be computed without driftline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from mindspore import Tensor
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.metrics import confusion_matrix
from trainings import NAMES, TRAIN, digits, regression, train_digits, two_inputs

from driftline.metadata.package import ModelPackage


@pytest.fixture
def metadata(packaged):
    return packaged.package.metadata


@pytest.fixture(scope="session")
def logits(packaged):
    """The final network's answers to the held-out images, in one batch."""
    network = packaged.trained.network
    network.set_train(False)
    return network(Tensor(digits()[2])).asnumpy().astype(np.float64)


def test_losses_are_bit_identical_with_and_without_the_callback(plain, packaged):
    assert packaged.trained.losses == plain.losses


def test_parameters_are_bit_identical_with_and_without_the_callback(plain, packaged):
    with_callback, without = packaged.trained.parameters(), plain.parameters()
    assert with_callback.keys() == without.keys()
    for name, values in without.items():
        np.testing.assert_array_equal(with_callback[name], values)


def test_random_generators_stand_where_they_stood(plain, packaged):
    assert packaged.trained.random == plain.random


def test_training_flags_and_phases_are_as_they_were(plain, packaged):
    assert packaged.trained.flags == plain.flags


def test_the_package_says_which_model_it_is(metadata, mode, packaged):
    assert (metadata.model.name, metadata.model.version) == ("digits", "1")
    assert metadata.model.architecture == "Cnn"
    sizes = [values.size for values in packaged.trained.parameters().values()]
    assert metadata.model.parameters == sum(sizes)
    assert metadata.framework.mode == mode
    assert metadata.class_names == NAMES


def test_the_signature_is_that_of_the_batches(metadata):
    image, output = metadata.inputs[0], metadata.outputs[0]
    assert (image.name, image.dtype, image.shape) == ("image", "float32", (None, 1, 8, 8))
    assert (output.name, output.dtype, output.shape) == ("output", "float32", (None, 10))


def test_image_mean_and_std_are_over_all_training_pixels(metadata):
    images = digits()[0].astype(np.float64)
    stats = metadata.train_data_stats
    assert stats.rows == 2 * TRAIN  # two epochs
    assert stats.image_mean == pytest.approx([images.mean()], rel=1e-9)
    assert stats.image_std == pytest.approx([images.std()], rel=1e-9)


def test_label_distribution_is_that_of_the_training_labels(metadata):
    shares = np.bincount(digits()[1], minlength=10) / TRAIN
    assert metadata.train_data_stats.label_distribution == pytest.approx(
        dict(zip(NAMES, shares, strict=True))
    )


def test_the_reference_is_of_the_held_out_rows(metadata):
    images = digits()[2].astype(np.float64)
    assert metadata.reference.source == "held_out"
    column = next(each for each in metadata.reference.columns if each.name == "mean_0")
    assert column.count == len(images)
    means = images.mean(axis=(1, 2, 3))
    assert column.mean == pytest.approx(means.mean(), rel=1e-9)
    assert column.sd == pytest.approx(means.std(ddof=1), rel=1e-9)


def test_accuracy_and_confusion_are_those_of_the_final_network(metadata, logits):
    labels = digits()[3]
    predicted = logits.argmax(axis=1)
    assert metadata.quality.rows == len(labels)
    assert metadata.quality.accuracy == pytest.approx((predicted == labels).mean())
    np.testing.assert_array_equal(metadata.quality.confusion, confusion_matrix(labels, predicted))


def test_the_temperature_has_the_least_negative_log_likelihood(metadata, logits):
    labels = digits()[3]

    def loss(temperature):
        return -log_softmax(logits / temperature, axis=1)[np.arange(len(labels)), labels].mean()

    best = minimize(lambda t: loss(t[0]), [1.0], method="Nelder-Mead", tol=1e-10).x[0]
    assert metadata.quality.temperature == pytest.approx(best, rel=1e-3)


def test_calibration_errors_are_those_of_fifteen_equal_bins(metadata, logits):
    labels = digits()[3]
    for temperature, found in (
        (1.0, metadata.quality.ece_before),
        (metadata.quality.temperature, metadata.quality.ece_after),
    ):
        p = softmax(logits / temperature, axis=1)
        top, right = p.max(axis=1), p.argmax(axis=1) == labels
        edges = np.linspace(0, 1, 16)
        gaps = [
            abs((top[inside] - right[inside]).sum())
            for low, high in pairwise(edges)
            if (inside := (top > low) & (top <= high)).any()
        ]
        assert found == pytest.approx(sum(gaps) / len(labels), rel=1e-3)


def test_the_reference_of_confidence_is_calibrated(metadata, logits):
    p = softmax(logits / metadata.quality.temperature, axis=1)
    column = next(each for each in metadata.reference.columns if each.name == "top_probability")
    assert column.mean == pytest.approx(p.max(axis=1).mean(), abs=1e-5)


def test_health_tells_steps_epochs_and_losses(metadata, packaged):
    losses = np.array(packaged.trained.losses)
    health = metadata.health
    assert (health.steps, health.epochs, health.rows_seen) == (26, 2, 2 * TRAIN)
    by_epoch = losses.reshape(2, 13)
    assert health.loss_by_epoch == pytest.approx(by_epoch.mean(axis=1))
    assert health.loss_sd_by_epoch == pytest.approx(by_epoch.std(axis=1, ddof=1))
    assert health.final_loss == losses[-1]
    assert health.best_loss == losses.min()
    assert health.finite is True
    assert (health.seed, health.precision, health.ranks) == (5, "float32", 1)


def test_the_loss_curve_is_fitted_to_every_step(metadata):
    assert metadata.loss_curve.points == 26
    assert metadata.loss_curve.power > 0


def test_latency_was_measured_on_single_rows(metadata):
    latency = metadata.latency
    assert 0 < latency.p50 <= latency.p95 <= latency.p99
    assert sum(latency.counts) == latency.calls > 1
    assert latency.host == metadata.framework.host


def test_nothing_is_missing_that_would_have_to_be_noted(metadata):
    assert metadata.notes == ()


def test_several_inputs_are_found_under_the_datasets_names(two_packaged):
    metadata = two_packaged.package.metadata
    assert [(spec.name, spec.shape) for spec in metadata.inputs] == [
        ("numbers", (None, 3)),
        ("tokens", (None, 6)),
    ]
    assert {each.prefix for each in metadata.extractions if each.group == "input"} == {
        "numbers.",
        "tokens.",
    }
    names = {each.name for each in metadata.reference.signals}
    assert {"numbers.a", "tokens.length", "predicted_class", "residual"} <= names


def test_an_output_is_chosen_by_its_name(two_packaged):
    metadata = two_packaged.package.metadata
    network = two_packaged.trained.network
    network.set_train(False)
    data = two_inputs(300, seed=2)
    _, logits = network(Tensor(data["numbers"]), Tensor(data["tokens"]))
    right = logits.asnumpy().argmax(axis=1) == data["label"]
    assert metadata.quality.accuracy == pytest.approx(right.mean())
    groups = {each.source: each.group for each in metadata.extractions}
    assert (groups["output_1"], groups["output_0"]) == ("output", "embedding")


def test_thresholds_are_those_that_were_given(two_packaged, metadata):
    assert two_packaged.package.metadata.thresholds.low_confidence == 0.6
    assert metadata.thresholds.low_confidence == 0.3


def test_an_embedding_is_fitted_on_other_rows_than_its_reference(two_packaged):
    rows = {
        each.name: each.count
        for each in two_packaged.package.metadata.reference.columns
        if each.group == "embedding"
    }
    assert rows["residual"] == 300 - 300 // 4


def test_a_regression_tells_its_errors(regression_packaged):
    quality = regression_packaged.package.metadata.quality
    data = regression(300, seed=2)
    network = regression_packaged.trained.network
    network.set_train(False)
    error = network(Tensor(data["x"])).asnumpy().astype(np.float64) - data["y"]
    assert quality.mae == pytest.approx(np.abs(error).mean(), rel=1e-5)
    assert quality.rmse == pytest.approx(np.sqrt((error**2).mean()), rel=1e-5)
    assert quality.accuracy is None


def test_a_regression_tells_the_moments_of_its_target(regression_packaged):
    label = regression_packaged.package.metadata.train_data_stats.label
    target = regression(600, seed=1)["y"].astype(np.float64)
    assert label.mean == pytest.approx(target.mean(), rel=1e-6)
    assert (label.low, label.high) == (target.min(), target.max())


def test_inputs_of_plain_arrays_have_the_training_datasets_names(regression_packaged):
    assert [spec.name for spec in regression_packaged.package.metadata.inputs] == ["x"]


def test_without_a_reference_training_batches_stand_in_and_are_called_so(
    callback_for, tmp_path, log
):
    path = tmp_path / "package"
    train_digits("graph", callback_for(path, reference=None), epochs=1)
    metadata = ModelPackage.open(path).metadata
    assert metadata.reference.source == "training_batches"
    assert metadata.quality.rows == TRAIN
    assert any("optimistic" in note for note in metadata.notes)
    assert any("optimistic" in message for message in log.messages)


def test_one_callback_packages_one_training_after_the_other(callback_for, tmp_path):
    """The second package replaces the first, and tells of the second training alone."""
    path = tmp_path / "package"
    callback = callback_for(path)
    first = train_digits("graph", callback, epochs=1)
    digest = ModelPackage.open(path).digest
    again = train_digits("graph", callback, epochs=2)
    package = ModelPackage.open(path)
    assert package.digest != digest
    health = package.metadata.health
    assert (len(first.losses), health.steps, health.epochs) == (13, 26, 2)
    assert health.final_loss == again.losses[-1]
    assert [each.name for each in tmp_path.iterdir()] == ["package"]
