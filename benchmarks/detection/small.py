"""Small windows without drift: how often each method calls one of 30, 50 or 100 rows."""

from __future__ import annotations

import numpy as np

from . import table
from .fleet import count
from .rivals import FIELDS, TESTED, Rival, distance, ks, z
from .single import called
from .work import Found, Scale, Task

ROWS = (30, 50, 100)
REFERENCE = 4_991
ALPHAS = (0.05, 1e-3)
BATCH = 1_000


def rivals(rows: int) -> dict[str, Rival]:
    """The usual settings; the plain KS test looks at each field at 5 %."""
    return {
        "PSI > 0.2": distance("psi", rows, 0.2),
        "PSI > 0.1": distance("psi", rows, 0.1),
        "JS > 0.1": distance("js", rows, 0.1),
        "KS, p < 0.05": ks(rows, TESTED * FIELDS),
        "KS, Bonferroni": ks(rows, TESTED),
        "z, Bonferroni": z(rows, TESTED),
    }


def tasks(scale: Scale) -> list[Task]:
    """One for each number of rows."""
    return [Task(quiet, {"rows": rows, "windows": scale.windows}) for rows in ROWS]


def quiet(rows: int, windows: int) -> Found:
    """Share of windows called; a fresh reference for every thousand windows."""
    random = np.random.default_rng([7, rows])
    hits = {f"driftline, α = {alpha:g}": 0 for alpha in ALPHAS}
    hits |= dict.fromkeys(rivals(rows), 0)
    seen = 0
    while seen < windows:
        fitter = table.extractor(random)
        clean = table.clean(random, REFERENCE)
        reference = table.reference_of(fitter, clean)
        stream = table.clean(random, BATCH * rows)
        cells = count(reference, fitter.extract(stream), rows)
        for alpha in ALPHAS:
            hits[f"driftline, α = {alpha:g}"] += int(called(reference, cells, alpha).sum())
        for name, rival in rivals(rows).items():
            hits[name] += len(rival(clean, stream, len(stream)))
        seen += BATCH
    return {"rows": rows, "windows": seen, "hits": hits}
