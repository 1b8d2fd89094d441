"""Other ways to train: with evaluations, into the device's sink, at half precision, watched."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from mindspore.amp import FixedLossScaleManager
from mindspore.train import Model
from mindspore.train.callback import RunContext
from mindspore.train.callback._callback import InternalCallbackParam
from trainings import NAMES, TRAIN, Cnn, dataset, digits, train_digits

from driftline.metadata.package import ModelPackage
from driftline.train_side import Classification, FingerprintCallback, Image
from driftline.train_side.monitor import TrainingMonitor


def test_evaluations_within_a_fit_are_not_taken_for_training(callback_for, tmp_path):
    """`Model.fit` enters and leaves the callbacks, and reuses the parameters, at each of them."""
    images, labels, held_out, truth = digits()
    ms.set_context(mode=ms.GRAPH_MODE)
    network = Cnn()
    optimizer = nn.Adam(network.trainable_params())
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.fit(
        3,
        dataset({"image": images, "label": labels}),
        dataset({"image": held_out, "label": truth}),
        callbacks=[callback_for(tmp_path / "package")],
    )
    metadata = ModelPackage.open(tmp_path / "package").metadata
    assert (metadata.health.steps, metadata.health.epochs) == (39, 3)
    assert metadata.health.rows_seen == metadata.train_data_stats.rows == 3 * TRAIN
    assert len(metadata.health.loss_by_epoch) == 3


def test_in_sink_mode_statistics_come_from_a_pass_over_the_dataset(callback_for, tmp_path):
    """Driven by hand, as it is on a device: an epoch is one step end, and the batch is empty."""
    images, labels, _, _ = digits()
    ms.set_context(mode=ms.GRAPH_MODE)
    network = Cnn()
    params = InternalCallbackParam()
    params.update(
        cur_step_num=0,
        network=network,
        train_network=network,
        loss_fn=nn.CrossEntropyLoss(),
        train_dataset=dataset({"image": images, "label": labels}, shuffle=True),
        train_dataset_element=None,
        list_callback=[],
    )
    context = RunContext(params)
    with callback_for(tmp_path / "package") as callback:
        callback.on_train_begin(context)
        for epoch in (1, 2):
            params.cur_step_num = 13 * epoch
            params.train_dataset_element = ()
            params.net_outputs = Tensor(1.0 / epoch)
            callback.on_train_step_end(context)
            callback.on_train_epoch_end(context)
        callback.on_train_end(context)
    metadata = ModelPackage.open(tmp_path / "package").metadata
    assert (metadata.health.steps, metadata.health.rows_seen) == (26, 2 * TRAIN)
    assert metadata.health.loss_by_epoch == (1.0, 0.5)
    stats = metadata.train_data_stats
    assert stats.rows == TRAIN
    assert stats.image_mean == pytest.approx([images.mean(dtype=np.float64)])


@pytest.mark.parametrize(("level", "precision"), [("O1", "float32"), ("O3", "float16+float32")])
def test_half_precision_with_a_loss_scale_is_packaged_and_said_so(
    callback_for, tmp_path, level, precision
):
    manager = FixedLossScaleManager(128.0, drop_overflow_update=False)
    callback = callback_for(tmp_path / "package")
    train_digits("graph", callback, epochs=1, amp_level=level, loss_scale_manager=manager)
    metadata = ModelPackage.open(tmp_path / "package").metadata
    assert metadata.health.loss_scale == 128.0
    assert metadata.health.precision == precision
    assert metadata.outputs[0].dtype == ("float16" if level == "O3" else "float32")


@pytest.mark.parametrize("monitor_first", [True, False])
def test_what_a_monitor_found_is_packaged_wherever_it_stands(callback_for, tmp_path, monitor_first):
    monitor = TrainingMonitor(tmp_path / "run")
    callbacks = [monitor, callback_for(tmp_path / "package")]
    train_digits("graph", *(callbacks if monitor_first else callbacks[::-1]), epochs=1)
    health = ModelPackage.open(tmp_path / "package").metadata.health
    assert len(health.gradient_norm_quantiles) == 3
    assert health.steps == 13


def test_a_stop_that_another_callback_asked_for_is_an_end_like_any(callback_for, tmp_path):
    class Stops(ms.train.Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 5:
                run_context.request_stop()

    train_digits("graph", callback_for(tmp_path / "package"), Stops())
    assert ModelPackage.open(tmp_path / "package").metadata.health.steps == 5


def test_uint8_images_in_nhwc_keep_their_type(tmp_path):
    class Channels(nn.Cell):
        def __init__(self):
            super().__init__()
            self.flat = nn.Flatten()
            self.head = nn.Dense(64, 10)

        def construct(self, image):
            return self.head(self.flat(image.astype(ms.float32) / 16.0))

    images, labels, held_out, truth = digits()
    bytes_ = [(each * 16).astype(np.uint8).transpose(0, 2, 3, 1) for each in (images, held_out)]
    callback = FingerprintCallback(
        tmp_path / "package.zip",
        reference=[(bytes_[1], truth)],
        inputs=Image(layout="NHWC"),
        task=Classification(NAMES),
        model_name="digits",
    )
    network = Channels()
    model = Model(network, nn.CrossEntropyLoss(), nn.Adam(network.trainable_params()))
    model.train(1, dataset({"image": bytes_[0], "label": labels}), callbacks=[callback])
    metadata = ModelPackage.open(tmp_path / "package.zip").metadata
    assert (metadata.inputs[0].dtype, metadata.inputs[0].shape) == ("uint8", (None, 8, 8, 1))
    assert metadata.train_data_stats.image_mean == pytest.approx([bytes_[0].mean()])
