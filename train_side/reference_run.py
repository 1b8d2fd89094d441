"""Held-out data, batch by batch, through the network as it will serve."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from driftline.metadata.errors import InputError

from .batches import Array, Batch, batches
from .network import Cell, predict
from .order import Order
from .parts import parts_of
from .reference_pass import ReferencePass
from .signature import Signature
from .statistics import DataStatistics

# Without a reference so many training rows stand in: as many as a sample keeps.
STAND_IN_ROWS = 20_000


class ReferenceRun:
    """The reference pass of one rank, with the signature that it shows.

    Args:
        order: whose `reference` is read, or else the training data.
        network: as it will serve.
        dataset: the training data.
        stats: with the fitted extractors of the inputs.
        rank: this process's.
    """

    def __init__(
        self, order: Order, network: Cell, dataset: Any, stats: DataStatistics, rank: int
    ) -> None:
        self.inputs, self.outputs = Signature(), Signature()
        self.first: Batch
        self.first_outputs: dict[str, Array]
        self._order, self._stats, self._rank = order, stats, rank
        self._network, self._dataset = network, dataset

    def run(self) -> ReferencePass:
        """The finished pass.

        Raises:
            InputError: there is no batch, or one does not fit.
        """
        network, source = self._network, self._source()
        first = next(source, None)
        if first is None or not first.rows:
            raise InputError("reference", "holds no batch")
        names = self._stats.names
        if len(first.inputs) != len(names):
            reason = f"({', '.join(names)}, label) expected, got {len(first.inputs) + 1} parts"
            raise InputError("reference", reason)
        self.first, self.first_outputs = first, predict(network, first.inputs)
        outputs = self.first_outputs
        tasks = parts_of(self._order.task, list(outputs), "task")
        found = ReferencePass(self._stats.parts, tasks, rank=self._rank)
        for batch in itertools.chain([first], source):
            if batch is not first:
                outputs = predict(network, batch.inputs)
            self.inputs.observe(dict(zip(names, batch.inputs, strict=True)))
            self.outputs.observe(outputs)
            found.add(names, batch, outputs)
        return found

    def _source(self) -> Iterator[Batch]:
        if self._order.reference is None:
            return batches(self._dataset, most_rows=STAND_IN_ROWS)
        return batches(self._order.reference)
