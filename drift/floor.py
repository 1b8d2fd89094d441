"""The floor: from where on an effect is worth a person's attention, and what it takes to see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Floats, Ints
from driftline.metadata.thresholds import Rule

from .freedom import slowed
from .multivariate import Together

Truths = NDArray[np.bool_]
# What a mixture of alternatives costs beside the one that fits, in nats; measured at mean shifts.
MIXTURE = 2.0


@dataclass(frozen=True, eq=False)
class Floor:
    """Floors of all members, each array ``[T]``.

    The *strength* of an effect is its multiple of the floor. For a flag the effect is the rise of
    its rate above the reference's `rate`, and the floor ``rise + rate / 2``: a rate matters from
    one and a half times the usual and one point more (by default). For other signals it is the
    corrected PSI, and the floor `psi`. Signals together have `directions` to move in, others 0.
    """

    flag: Truths
    level: Floats
    rate: Floats
    rows: Floats
    directions: Floats

    @classmethod
    def of(
        cls,
        signals: Sequence[SignalReference],
        rules: Sequence[Rule],
        together: Sequence[Together] = (),
    ) -> Floor:
        """The floors of `signals` under their resolved `rules`, and of those `together`.

        That of signals together is √K times that of one, for K directions: if all of them moved by
        what is not worth a look in one, it is not yet worth a look; if a few moved by that, it is.
        Where something is let pass in one signal, it is let pass in those together.
        """
        flag = np.array([each.signal.kind == "flag" for each in signals], dtype=bool)
        total = np.array([sum(each.weights) for each in signals])
        last = np.array([each.weights[-1] for each in signals])
        rate = np.where(flag, last / total, 0.0)
        rise = np.array([rule.rise or 0.0 for rule in rules])
        psi = np.array([rule.psi or 0.0 for rule in rules])
        level = np.maximum(np.where(flag, rise + rate / 2, psi), 1e-6)
        return cls(
            np.append(flag, np.zeros(len(together), dtype=bool)),
            np.append(level, [level[each.where].max() * each.directions**0.5 for each in together]),
            np.append(rate, np.zeros(len(together))),
            np.append(total, [each.rows for each in together]),
            np.append(np.zeros(len(signals)), [each.directions for each in together]),
        )

    def strength(self, psi: Floats, rate: Floats) -> Floats:
        """Multiples of the floor of corrected PSIs and (for flags) rates, ``[T]`` or ``[T, B]``."""
        flag, level, usual, _, _ = self._like(psi)
        return np.asarray(np.where(flag, np.maximum(rate - usual, 0.0), psi) / level)

    def needed(
        self, strength: Floats, demand: Floats, inflation: Floats, freedom: Floats | float = np.inf
    ) -> Ints:
        """Values after which an effect of that `strength` gives `demand` nats of evidence.

        All are ``[T]`` or ``[T, B]``; `freedom` is what each value adds to the degrees of freedom
        with which `inflation` is known. A request adds the Kullback–Leibler divergence of the
        change: half the PSI, or that of the two rates. What is known of the reference limits it: m
        values against R weigh like 1/(1/m + 1/R). Where the reference is too small to show the
        effect at all, twice the smallest that it can show is meant.
        """
        flag, level, usual, total, directions = self._like(strength)
        # What it costs not to know the direction: see `multivariate`, at the shift that decides.
        unknown = directions / 2 * np.log1p(4 * demand / np.maximum(directions, 1))
        demand = demand + MIXTURE + unknown
        with np.errstate(divide="ignore", invalid="ignore"):
            high = np.minimum(usual + strength * level, 1 - 1e-9)
            rises = high * np.log(high / usual)
            rises += (1 - high) * np.log((1 - high) / (1 - usual))
        gain = np.where(flag, rises, strength * level / 2)
        # A rate that was all but 0 is known well enough by any reference.
        limit = np.where(flag & (usual < 0.05), np.inf, total)
        gain = np.maximum(gain, 2 * demand / limit)
        gain = slowed(gain / inflation, np.asarray(freedom)) * inflation
        return np.ceil(inflation / np.maximum(gain / demand - 1 / limit, 1e-12)).astype(np.int64)

    def _like(self, values: Floats) -> tuple[Truths, Floats, Floats, Floats, Floats]:
        """The five arrays with as many axes as `values`."""
        shape = (-1,) + (1,) * (values.ndim - 1)
        level, rate, rows, directions = (
            each.reshape(shape) for each in (self.level, self.rate, self.rows, self.directions)
        )
        return self.flag.reshape(shape), level, rate, rows, directions


def named(log_m: Floats, shares: Floats, demand: float) -> Truths:
    """Signals named by weighted e-BH at α = exp(−demand) (Wang and Ramdas 2022).

    The k signals with the largest share · M are named when each of these is at least 1/(α k); the
    largest such k. The overall mean is then at least 1/α as well.
    """
    value = log_m + np.log(shares)
    order = np.argsort(-value, kind="stable")
    enough = value[order] >= demand - np.log(np.arange(1, len(order) + 1))
    count = int(np.max(np.flatnonzero(enough), initial=-1)) + 1
    found = np.zeros(len(log_m), dtype=bool)
    found[order[:count]] = True
    return found
