"""A fleet of streams says of each what `judge` says of it alone."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.detection import single, table
from benchmarks.detection.fleet import (
    CALLED,
    END,
    HOUR,
    WIDTH,
    Fleet,
    Look,
    alarms,
    count,
    promise,
)
from benchmarks.detection.populations import ALONE, fitted
from driftline.drift import Ring, judge
from driftline.metadata.counts import Counts

ALPHA = 1e-3


def rings(reference, rows, buckets):
    """A ring as the service makes it: `layout.count` bucket by bucket."""
    parts = np.split(rows, buckets)
    return Ring.of(
        WIDTH,
        {END + WIDTH * at: reference.layout.count("input", part) for at, part in enumerate(parts)},
    )


def test_counts_are_those_of_the_layout() -> None:
    random = np.random.default_rng(1)
    fitter = table.extractor(random)
    reference = table.reference_of(fitter, table.clean(random, 500))
    rows = fitter.extract(table.clean(random, 200))
    rows[3, 2], rows[5, 7] = np.nan, np.inf
    own = [reference.layout.count("input", part).cells for part in np.split(rows, 4)]
    np.testing.assert_array_equal(count(reference, rows, 50), own)


def test_streams_may_have_different_signals() -> None:
    random = np.random.default_rng(6)
    references = [fitted(random.normal(size=(300, n)), ["number"] * n, n) for n in (1, 3)]
    rows = [random.normal(size=(250, n)) for n in (1, 3)]
    cells = [count(*each, 50) for each in zip(references, rows, strict=True)]
    joint = Fleet(references).joint(Look(np.concatenate(cells, axis=1)))
    for each, own, found in zip(references, rows, joint, strict=True):
        verdict = judge(each, rings(each, own, 5))
        assert verdict.evidence_log10 == pytest.approx(found / np.log(10), abs=1e-9)


@pytest.mark.parametrize("buckets", [3, 30])
def test_joint_evidence_is_that_of_the_verdict(buckets: int) -> None:
    random = np.random.default_rng(2)
    kind, draw = ALONE["spike at zero"]
    references = [fitted(draw(random, 800)[:, None], [kind], seed) for seed in range(4)]
    rows = [draw(random, 50 * buckets)[:, None] * 1.2 for _ in references]
    cells = [count(*each, 50) for each in zip(references, rows, strict=True)]
    joint = Fleet(references).joint(Look(np.concatenate(cells, axis=1)))
    for each, own, found in zip(references, rows, joint, strict=True):
        verdict = judge(each, rings(each, own, buckets))
        assert verdict.evidence_log10 == pytest.approx(found / np.log(10), abs=1e-9)


def test_first_alarms_are_those_of_the_verdict_bucket_by_bucket() -> None:
    random = np.random.default_rng(3)
    references = [fitted(random.normal(size=(900, 2)), ["number"] * 2, seed) for seed in range(3)]
    rows = [random.normal(size=(24 * 50, 2)) for _ in references]
    rows[0][600:, 1] += 0.7
    rows[1][900:, 0] = 0.3
    cells = [count(*each, 50) for each in zip(references, rows, strict=True)]
    found = alarms(Fleet(references), np.concatenate(cells, axis=1), [ALPHA])[0]
    for reference, own, first in zip(references, rows, found.tolist(), strict=True):
        called = [
            judge(reference, rings(reference, own[: 50 * n], n), thresholds=promise(ALPHA)).state
            in CALLED
            for n in range(1, 25)
        ]
        assert first == (called.index(True) if True in called else -1)
    assert found[2] == -1 < min(found[0], found[1])


def test_both_rings_are_those_of_the_verdict() -> None:
    random = np.random.default_rng(4)
    references = [fitted(random.normal(size=(2000, 1)), ["number"], seed) for seed in range(2)]
    cells = [count(each, random.normal(size=(50 * 200, 1)) + 0.1, 50) for each in references]
    whole = np.concatenate(cells, axis=1)
    hours = np.add.reduceat(whole, [0, 60, 120, 180])
    joint = Fleet(references).joint(Look(whole[-60:], hours), ALPHA)
    for each, own, found in zip(references, cells, joint, strict=True):
        layout = each.layout
        empty = layout.zeros()

        def kept(part, layout=layout, empty=empty):
            return Counts(layout, part, empty.moments, empty.rows)

        fast = Ring.of(WIDTH, {END + WIDTH * at: kept(own[at]) for at in range(140, 200)})
        slow = {END + HOUR * at: kept(own[60 * at : 60 * at + 60].sum(axis=0)) for at in range(4)}
        verdict = judge(each, fast, slow=Ring.of(HOUR, slow), thresholds=promise(ALPHA))
        assert verdict.evidence_log10 == pytest.approx(found / np.log(10), abs=1e-9)


def test_a_single_look_is_that_of_the_verdict() -> None:
    random = np.random.default_rng(5)
    fitter = table.extractor(random)
    reference = table.reference_of(fitter, table.clean(random, 800))
    windows = [fitter.extract(table.clean(random, 40) + shift) for shift in (0.0, 0.3, 0.8, 0.0)]
    places = [single.places(reference, {"input": each}) for each in windows]
    called = single.called(reference, single.counted(reference, places), 0.05)
    own = [
        judge(reference, rings(reference, each, 1), thresholds=promise(0.05)).state in CALLED
        for each in windows
    ]
    assert called.tolist() == own
    assert set(own) == {True, False}
