"""A bench: simulated traffic of some signals, judged by the evidence that judges real traffic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Floats, Ints

from .block import block_of
from .change import Change
from .evidence import Evidence


class Bench:
    """Streams of independent requests for signals of one kind and one number of cells.

    Each stream has true cell probabilities of its own, drawn from what the reference leaves open
    (its Dirichlet law), so a small reference shows in what is seen.

    Args:
        signals: `T` of them.
        inflation: requests that count as one independent one, ``[T]``.
        streams: of each signal.
        random: the source of all chance.
    """

    def __init__(
        self,
        signals: Sequence[SignalReference],
        inflation: Floats,
        streams: int,
        random: np.random.Generator,
    ) -> None:
        cells, kind = len(signals[0].weights), signals[0].signal.kind
        offsets = np.arange(len(signals) + 1) * cells
        self._block = block_of(kind, signals, offsets, int(offsets[-1]), range(len(signals)))
        self._evidence = Evidence(self._block)
        self._inflation = inflation
        self._random = random
        drawn = random.standard_gamma(
            self._block.weights[:, None, :], (len(signals), streams, cells)
        )
        self.truths: Floats = drawn / drawn.sum(axis=2, keepdims=True)

    def power(
        self, changes: Sequence[Change], sizes: Floats, requests: int, demand: Floats
    ) -> Floats:
        """Share of streams whose `requests` after the change reach ln E ≥ `demand`; all ``[T]``."""
        after = np.stack(
            [change(p, size) for change, p, size in zip(changes, self.truths, sizes, strict=True)]
        )
        counts = self._random.multinomial(requests, after / after.sum(axis=2, keepdims=True))
        log_e = self._evidence(counts.astype(np.float64), self._inflation)
        return np.asarray((log_e >= demand[:, None]).mean(axis=1))

    def highest(self, looks: Ints) -> Floats:
        """The largest ln E of each stream without a change, looked at after so many requests.

        Shape ``[T, streams]``.
        """
        counts = np.zeros(self.truths.shape)
        found = np.full(self.truths.shape[:2], -np.inf)
        for more in np.diff(looks, prepend=0).tolist():
            counts += self._random.multinomial(more, self.truths)
            found = np.maximum(found, self._evidence(counts, self._inflation))
        return found
