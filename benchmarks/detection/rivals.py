"""What others do with the same rows: streaming detectors, and tests or distances by the window.

A rival takes the reference's rows and a stream ``[n, 20]``, and tells after how many requests of
the stream it alarms for any field, ``[alarms]`` ascending; those that go value by value stop at the
first beyond `until`. Fields are standardised by the reference where a setting has a scale. None
sees columns that it does not make itself, and all skip missing values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from river.drift import ADWIN, PageHinkley
from scipy.stats import kstwo, norm

from driftline.metadata.signals import Floats, Ints

from .table import CODES, NUMBERS

Rival = Callable[[Floats, Floats, int], Ints]
FIELDS = NUMBERS + 1
TESTED = 0.05
BUDGET = 1e-4
BINS = 10
LEAST = 1e-4


def adwin(delta: float) -> Rival:
    """river's ADWIN on each field."""
    return _streaming(lambda: ADWIN(delta=delta))


def page_hinkley() -> Rival:
    """river's PageHinkley on each standardised field, its own settings."""
    return _streaming(PageHinkley)


def _streaming(make: Callable[[], ADWIN | PageHinkley]) -> Rival:
    def alarms(reference: Floats, stream: Floats, until: int) -> Ints:
        z = (stream - reference.mean(axis=0)) / reference.std(axis=0)
        found: set[int] = set()
        soonest = len(stream)
        for column in range(FIELDS):
            detector = make()
            update = detector.update
            for at, value in enumerate(z[:soonest, column].tolist()):
                if value == value:
                    update(value)
                    if detector.drift_detected:
                        found.add(at + 1)
                        if at >= until:
                            soonest = at + 1
                            break
        return np.array(sorted(found), dtype=np.int64)

    return alarms


def ks(rows: int, level: float) -> Rival:
    """Two-sample Kolmogorov–Smirnov of each window with Bonferroni over the fields."""

    def alarms(reference: Floats, stream: Floats, until: int) -> Ints:
        n = len(reference)
        # scipy.stats.ks_2samp(mode="asymp") compares with this law.
        limit = kstwo.isf(level / FIELDS, round(n * rows / (n + rows)))
        over = np.zeros(len(stream) // rows, dtype=bool)
        for column in range(FIELDS):
            windows = _windows(stream[:, column], rows)
            over |= ks_statistic(np.sort(reference[:, column]), windows) > limit
        return (np.flatnonzero(over) + 1) * rows

    return alarms


def ks_statistic(reference: Floats, windows: Floats) -> Floats:
    """KS statistics of windows ``[w, rows]``; missing values are left out."""
    ordered = np.sort(windows, axis=1)
    m = np.isfinite(ordered).sum(axis=1)[:, None]
    place = np.arange(ordered.shape[1])
    # With ties the steps of both distributions are compared after all equal values.
    after = np.searchsorted(reference, ordered, side="right") / len(reference)
    before = np.searchsorted(reference, ordered, side="left") / len(reference)
    last = np.stack([np.searchsorted(row, row, side="right") for row in ordered]) / np.maximum(m, 1)
    first = np.stack([np.searchsorted(row, row, side="left") for row in ordered]) / np.maximum(m, 1)
    gap = np.maximum(np.abs(last - after), np.abs(first - before))
    return np.where(place < m, gap, 0.0).max(axis=1)


def distance(kind: str, rows: int, limit: float) -> Rival:
    """PSI or Jensen–Shannon distance on ten bins of equal reference mass above a fixed limit."""

    def alarms(reference: Floats, stream: Floats, until: int) -> Ints:
        over = np.zeros(len(stream) // rows, dtype=bool)
        for column in range(FIELDS):
            edges = bins(reference[:, column], column == NUMBERS)
            base = np.bincount(np.searchsorted(edges, reference[:, column], side="right"))
            base = np.pad(base, (0, len(edges) + 1 - len(base))) / len(reference)
            windows = binned(_windows(stream[:, column], rows), edges)
            over |= DISTANCES[kind](windows, base) > limit
        return (np.flatnonzero(over) + 1) * rows

    return alarms


def bins(values: Floats, category: bool) -> Floats:
    """Inner edges: the deciles, or between the codes with one bin for any further code."""
    if category:
        return np.arange(CODES) + 0.5
    return np.quantile(values, np.arange(1, BINS) / BINS)


def binned(windows: Floats, edges: Floats) -> Floats:
    """Shares of each window's values by bin, ``[w, bins]``; missing values are left out."""
    cells = np.where(np.isnan(windows), -1, np.searchsorted(edges, windows, side="right"))
    counts = np.stack([(cells == cell).sum(axis=1) for cell in range(len(edges) + 1)], axis=1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def psi(windows: Floats, base: Floats) -> Floats:
    """Population stability index, empty bins lifted to 1/10,000 as is usual."""
    q, p = np.maximum(windows, LEAST), np.maximum(base, LEAST)
    return np.asarray(((q - p) * np.log(q / p)).sum(axis=1))


def jensen_shannon(windows: Floats, base: Floats) -> Floats:
    """Jensen–Shannon distance, in nats."""
    from scipy.spatial.distance import jensenshannon

    return np.asarray(jensenshannon(windows, base[None, :], axis=1))


DISTANCES = {"psi": psi, "js": jensen_shannon}


def z(rows: int, level: float) -> Rival:
    """Mean and variance of each window against the reference's, Bonferroni over both and fields."""

    def alarms(reference: Floats, stream: Floats, until: int) -> Ints:
        limit = norm.isf(level / (4 * FIELDS))
        scaled = (stream - reference.mean(axis=0)) / reference.std(axis=0)
        windows = scaled[: len(stream) // rows * rows].reshape(-1, rows, FIELDS)
        m = np.isfinite(windows).sum(axis=1)
        mean = np.abs(np.nanmean(windows, axis=1)) * np.sqrt(m)
        spread = np.abs(np.nanvar(windows, axis=1, ddof=1) - 1) * np.sqrt((m - 1) / 2)
        over = (np.maximum(mean, spread) > limit).any(axis=1)
        return (np.flatnonzero(over) + 1) * rows

    return alarms


def _windows(values: Floats, rows: int) -> Floats:
    return values[: len(values) // rows * rows].reshape(-1, rows)


RIVALS: dict[str, Rival] = {
    "ADWIN": adwin(0.002),
    "ADWIN, strict": adwin(0.0001),
    "PageHinkley": page_hinkley(),
    "KS 50": ks(50, TESTED),
    "KS 500": ks(500, TESTED),
    "KS 500, 1/10,000": ks(500, BUDGET),
    "PSI 500": distance("psi", 500, 0.2),
    "JS 500": distance("js", 500, 0.1),
    "z 50": z(50, TESTED),
    "z 500, 1/10,000": z(500, BUDGET),
}
