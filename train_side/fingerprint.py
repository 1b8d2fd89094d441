"""The callback that packages a trained model with all that training knew of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mindspore.train.callback import Callback

from driftline.metadata.preprocess import Preprocessing
from driftline.metadata.thresholds import Thresholds

from .collector import Collector
from .conclusion import STAND_IN, Ended, Share, monitored, write_package
from .network import inference_network
from .order import Order, dataset_statistics, new_statistics
from .parts import Chosen
from .ranks import exchanged, rank_and_size
from .watch import TrainingWatch

log = logging.getLogger("driftline")


class FingerprintCallback(Callback):
    """At the end of a training there is a package at `path`, or the reason in the log.

    During training it copies batches to NumPy in the training thread; statistics are made on
    another one. At the end the final network, out of training mode, answers `reference`; from that
    come the references of inputs and outputs, calibration, quality. Parameters, training flags,
    random states and losses stay what they are without it.

    No error of its own ends a training: it is logged by the logger ``driftline`` with its
    traceback, and no package is written. Nor is one after an interrupted training.

    What a `TrainingMonitor` beside it finds goes into the metadata too, in whatever order the two
    stand. With several ranks all samples are merged, and rank 0 writes.

    Args:
        path: a folder, or a file whose name ends in ``.zip``; an older package there is replaced.
        reference: data the training did not see: a MindSpore dataset, or an iterable of
            (inputs…, label) arrays, as the network sees them. Without it batches of the training
            data stand in, and confidences are then optimistic.
        inputs: the extractor of the first input, or extractors by input name. Names are the
            dataset's columns, or else ``input``, or ``input_0``, ….
        task: the extractor of the first output, or extractors by output name: ``output``, or
            ``output_0``, … where there are several. The first says what is right; others than
            `Classification` and `Regression` describe embeddings.
        model_name: the name it is served under.
        model_version: its version.
        network: the cell from inputs to predictions; needed only for ``Model(train_cell)`` whose
            cells do not show it.
        thresholds: what is worth attention in production, if not the defaults.
        preprocessing: what the dataset was mapped with, of the first input or by input name; the
            service does the same to encoded images and rows by name.

    Raises:
        SettingError: an extractor or a name is not such.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        inputs: Chosen,
        task: Chosen,
        model_name: str,
        model_version: str = "1",
        reference: Any = None,
        network: Any = None,
        thresholds: Thresholds | None = None,
        preprocessing: Mapping[str, Preprocessing] | Preprocessing | None = None,
    ) -> None:
        super().__init__()
        self._order = Order(
            path=Path(path),
            inputs=inputs,
            task=task,
            model_name=model_name,
            model_version=model_version,
            reference=reference,
            thresholds=thresholds,
            preprocessing=preprocessing,
        )
        self._order.check()
        self._network = network
        self._collector: Collector | None = None
        self._watch: TrainingWatch | None = None
        self._error: Exception | None = None
        self._steps_before = self._entered = 0

    def on_train_begin(self, run_context: Any) -> None:
        """Finds the network; a training that does not show it is told before it takes hours."""
        self._forget()
        with self._fence():
            params = run_context.original_args()
            self._steps_before = int(params.get("cur_step_num") or 0)
            self._watch = TrainingWatch()
            self._serving(params)
            self._order.check_place()
            if self._order.reference is None and rank_and_size()[0] == 0:
                log.warning(STAND_IN)

    def on_train_step_end(self, run_context: Any) -> None:
        """Takes the loss and a copy of the batch."""
        watch = self._watch
        if watch is None or self._error is not None:
            return
        with self._fence():
            params = run_context.original_args()
            steps = int(params.get("cur_step_num")) - self._steps_before - watch.steps
            element = params.get("train_dataset_element")
            if element:
                rows = int(element[0].shape[0])
                self._collect(element, params)
            else:  # sink mode: batches never come to the host
                rows = int(params.get("train_dataset").get_batch_size())
            watch.step(params.get("net_outputs"), rows=rows * steps, steps=steps)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Closes the epoch's losses."""
        if self._watch is not None:
            with self._fence():
                self._watch.epoch()

    def on_train_end(self, run_context: Any) -> None:
        """Runs the reference pass, and writes the package."""
        ended: Ended | None = None
        with self._fence():
            ended = self._ended(run_context.original_args())
        with self._fence():
            # Every rank comes here, also one that has failed: the others must not wait for it.
            shares = exchanged(lambda: self._share(ended))
            if ended is not None:
                package = write_package(self._order, ended, shares)
                if package is not None:
                    log.info("package written: %s", package.path)
        self._forget()

    def __enter__(self) -> FingerprintCallback:
        """`Model.fit` enters once more for each evaluation; only the outermost counts."""
        self._entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves nothing running, and nothing of the training in memory."""
        self._entered = max(self._entered - 1, 0)
        if not self._entered:
            self._forget()

    def _collect(self, element: Any, params: Any) -> None:
        if self._collector is None:
            statistics = new_statistics(self._order, params.get("train_dataset"), len(element) - 1)
            self._collector = Collector(statistics)
        self._collector.offer(element)
        if self._collector.error is not None:
            raise self._collector.error

    def _ended(self, params: Any) -> Ended | None:
        watch = self._watch
        if watch is None or self._error is not None:
            return None
        watch.stop()
        manager = params.get("loss_scale_mananger")
        return Ended(
            network=self._serving(params),
            watch=watch,
            dataset=params.get("train_dataset"),
            loss_scale=float(manager.get_loss_scale()) if manager is not None else None,
            monitored=monitored(params),
        )

    def _share(self, ended: Ended | None) -> Share:
        """What this rank has seen; raises what went wrong before, so that every rank hears."""
        if ended is None:
            raise self._error or RuntimeError("on_train_begin was never called")
        if self._collector is None:
            return Share(dataset_statistics(self._order, ended.dataset), ended.watch.rows)
        found = self._collector.finish()
        left = self._collector.skipped + self._collector.dropped
        if left:
            taken = self._collector.taken
            ended.notes.append(
                f"Statistics of the training data are of {taken} of {taken + left} batches: "
                f"{self._collector.skipped} were skipped to save time, "
                f"{self._collector.dropped} dropped because the queue was full."
            )
        return Share(found, ended.watch.rows)

    def _serving(self, params: Any) -> Any:
        return self._network if self._network is not None else inference_network(params)

    @contextmanager
    def _fence(self) -> Iterator[None]:
        """Keeps errors from the training: one is logged, and ends this callback's work."""
        try:
            yield
        except Exception as error:
            if error is not self._error:
                log.exception("no package will be written to %s", self._order.path)
            self._error = error

    def _forget(self) -> None:
        if self._collector is not None:
            self._collector.close()
        self._collector = self._watch = self._error = None
        self._steps_before = 0
