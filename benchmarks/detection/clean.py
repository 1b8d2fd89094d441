"""False alarms on traffic that does not drift, beside the promise."""

from __future__ import annotations

import numpy as np

from driftline.metadata.signals import Floats, Ints

from . import table
from .fleet import Fleet, alarms, count
from .populations import ALONE, autoregressive, fitted
from .work import Found, Scale, Task

# The last one is the default budget: one false alarm in 30 days of buckets of a minute.
ALPHAS = (1e-3, 1e-4, 1 / 43_200)
REFERENCES = (200, 2_000, 20_000)
ROWS = 50
BUCKETS = 200
BATCH = 40
RHOS = (0.0, 0.5, 0.9, 0.98)
# So few requests a bucket that a burst outlasts it.
FEW = 5
# Of fewer independent requests an hour nobody can tell bursts from drift; shown, not promised.
FEWEST = 10
# Before so many buckets exist, how bursty traffic is cannot be estimated.
FIRST = 20
TOGETHER = "a table of 20 fields"


def tasks(scale: Scale) -> list[Task]:
    """One task for each population, reference size and dependence in time."""
    from .daily import daily_traffic, few_requests

    windows = scale.windows
    found = [Task(daily_traffic, {"windows": windows, "seed": 90})]
    sizes = REFERENCES if scale.name == "long" else REFERENCES[1:2]
    found += [Task(together, {"size": size, "windows": windows, "seed": 50}) for size in sizes]
    for seed, rho in enumerate(RHOS):
        found.append(Task(bursts, {"rho": rho, "windows": windows, "seed": 70 + seed}))
    for seed, rho in enumerate(RHOS[2:]):
        few = {"rho": rho, "windows": windows, "seed": 60 + seed, "rows": FEW}
        found.append(Task(bursts, few))
        found.insert(0, Task(few_requests, few))
    for seed, rho in enumerate(RHOS[1:]):
        found.append(Task(mixed, {"rho": rho, "windows": windows, "seed": 80 + seed}))
    many = {"bursty": 3, "signals": 20}
    found.append(Task(mixed, {"rho": 0.5, "windows": windows, "seed": 84, **many}))
    for seed, rho in enumerate(RHOS[1:]):
        found.append(Task(common, {"rho": rho, "windows": windows, "seed": 95 + seed}))
    for seed, name in enumerate(ALONE):
        for size in REFERENCES:
            found.append(
                Task(alone, {"name": name, "size": size, "windows": windows, "seed": seed})
            )
    return found


def alone(name: str, size: int, windows: int, seed: int) -> Found:
    """One signal of independent values and its flags, a reference of its own for each stream."""
    kind, draw = ALONE[name]

    def batch(random: np.random.Generator) -> tuple[Fleet, Ints]:
        fits = random.integers(2**31, size=BATCH).tolist()
        references = [fitted(draw(random, size)[:, None], [kind], fit) for fit in fits]
        counts = [count(each, draw(random, BUCKETS * ROWS)[:, None], ROWS) for each in references]
        return Fleet(references), np.concatenate(counts, axis=1)

    return {"traffic": name, "reference": size, **_run(batch, windows, [seed, size], 0)}


def bursts(rho: float, windows: int, seed: int, rows: int = ROWS) -> Found:
    """One signal whose values hang together, after the first 20 buckets of `rows` requests."""

    def batch(random: np.random.Generator) -> tuple[Fleet, Ints]:
        references = [
            fitted(random.standard_normal((2_000, 1)), ["number"], 0) for _ in range(BATCH)
        ]
        values = autoregressive(random, BATCH, BUCKETS * rows, rho)
        counts = [count(*each, rows) for each in zip(references, values[..., None], strict=True)]
        return Fleet(references), np.concatenate(counts, axis=1)

    found = _run(batch, windows, [seed, 0], FIRST)
    few = "" if rows == ROWS else f", {rows} requests a bucket"
    independent = 60 * rows * (1 - rho) / (1 + rho)
    return {
        "traffic": f"AR(1), ρ = {rho:g}{few}",
        "reference": 2_000,
        "promised": independent >= FEWEST,
        **found,
    }


def mixed(rho: float, windows: int, seed: int, bursty: int = 2, signals: int = 10) -> Found:
    """Some of many signals hang together in time; after the first 20 buckets."""

    def batch(random: np.random.Generator) -> tuple[Fleet, Ints]:
        references, counts = [], []
        for _ in range(10):
            held = random.standard_normal((2_000, signals))
            references.append(fitted(held, ["number"] * signals, 0))
            rows = random.standard_normal((BUCKETS * ROWS, signals))
            rows[:, :bursty] = autoregressive(random, bursty, BUCKETS * ROWS, rho).T
            counts.append(count(references[-1], rows, ROWS))
        return Fleet(references), np.concatenate(counts, axis=1)

    found = _run(batch, windows, [seed, 0], FIRST)
    name = f"{bursty} of {signals} signals AR(1), ρ = {rho:g}"
    return {"traffic": name, "reference": 2_000, **found}


def common(rho: float, windows: int, seed: int) -> Found:
    """Ten signals with a common mode, which hangs together in time; after the first 20 buckets."""

    def mode(random: np.random.Generator, scene: Floats) -> Floats:
        return 0.8 * scene[:, None] + 0.6 * random.standard_normal((len(scene), 10))

    def batch(random: np.random.Generator) -> tuple[Fleet, Ints]:
        references, counts = [], []
        for _ in range(10):
            held = mode(random, random.standard_normal(2_000))
            references.append(fitted(held, ["number"] * 10, 0))
            scene = autoregressive(random, 1, BUCKETS * ROWS, rho)[0]
            counts.append(count(references[-1], mode(random, scene), ROWS))
        return Fleet(references), np.concatenate(counts, axis=1)

    found = _run(batch, windows, [seed, 0], FIRST)
    return {"traffic": f"10 signals, common mode AR(1), ρ = {rho:g}", "reference": 2_000, **found}


def together(size: int, windows: int, seed: int) -> Found:
    """All signals of the table that delays are measured on."""

    def batch(random: np.random.Generator) -> tuple[Fleet, Ints]:
        fitter = table.extractor(random)
        references = [table.reference_of(fitter, table.clean(random, size)) for _ in range(10)]
        counts = []
        for each in references:
            rows: Floats = fitter.extract(table.clean(random, BUCKETS * ROWS))
            counts.append(count(each, rows, ROWS))
        return Fleet(references), np.concatenate(counts, axis=1)

    return {"traffic": TOGETHER, "reference": size, **_run(batch, windows, [seed, size], 0)}


def _run(batch, windows: int, seed: list[int], first: int) -> Found:  # type: ignore[no-untyped-def]
    """Alarms and windows until them, over batches of streams until there are enough windows.

    A stream is followed to its first alarm. M less the number of started buckets is a
    supermartingale, so by optional stopping alarms over windows have the expectation α at most.
    """
    random = np.random.default_rng([*seed, 1])
    alarmed = np.zeros(len(ALPHAS), dtype=np.int64)
    looked = np.zeros(len(ALPHAS), dtype=np.int64)
    streams = 0
    while looked.min() < windows and looked.max() < 3 * windows:
        fleet, cells = batch(random)
        found = alarms(fleet, cells, ALPHAS, first)
        alarmed += (found >= 0).sum(axis=1)
        looked += np.where(found >= 0, found + 1, len(cells)).sum(axis=1) - first * len(fleet)
        streams += len(fleet)
    return {
        "streams": streams,
        "rates": [
            {"alpha": alpha, "alarms": int(hits), "windows": int(seen)}
            for alpha, hits, seen in zip(ALPHAS, alarmed, looked, strict=True)
        ],
    }
