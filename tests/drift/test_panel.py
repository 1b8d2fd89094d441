"""A panel judges signals of all kinds and sizes at once, each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift.evidence import log_evidence
from driftline.drift.panel import FLAG_SHARE, TOGETHER_SHARE, Panel
from driftline.metadata.reference import Reference


@pytest.fixture(scope="module")
def mixed(fit) -> Reference:
    """Number without ties, with atoms, constant; categories of 3 and some 60; a flag."""
    random = np.random.default_rng(1)
    n = 3000
    rows = np.stack(
        [
            random.normal(size=n),
            np.where(random.random(n) < 0.5, 0.0, np.round(random.exponential(size=n), 1)),
            np.full(n, 7.0),
            random.integers(0, 3, n),
            random.integers(0, 60, n),
            random.random(n) < 0.03,
        ],
        axis=1,
    ).astype(np.float64)
    return fit(rows, ["number", "number", "number", "category", "category", "flag"])


def test_each_signal_has_the_evidence_it_has_alone(mixed: Reference) -> None:
    random = np.random.default_rng(2)
    panel, layout = Panel(mixed), mixed.layout
    flat = random.integers(0, 9, size=(5, layout.total)).astype(np.float64)
    inflation = random.uniform(1, 3, size=panel.signals)
    found = np.empty((panel.signals, 5))
    for block, evidence in zip(panel.blocks, panel.evidence, strict=True):
        found[block.where] = evidence(block.gather(flat), inflation[block.where])
    for index, each in enumerate(mixed.signals):
        low, high = layout.offsets[index : index + 2]
        alone = log_evidence(each, flat[:, low:high], float(inflation[index]))
        np.testing.assert_allclose(found[index], alone, atol=1e-8)


def test_gathering_keeps_all_counts_and_pads_with_none(mixed: Reference) -> None:
    panel, layout = Panel(mixed), mixed.layout
    flat = np.arange(2 * layout.total, dtype=np.float64).reshape(2, -1)
    total = sum(block.gather(flat).sum() for block in panel.blocks)
    assert total == flat.sum()


@pytest.mark.parametrize("most", [2, 8, 10])
def test_merging_keeps_all_counts(mixed: Reference, most: int) -> None:
    for block in Panel(mixed).blocks:
        counts = np.random.default_rng(3).integers(0, 9, (*block.weights.shape, 4))
        counts = np.moveaxis(counts, 2, 1) * block.real[:, None, :]
        np.testing.assert_array_equal(
            block.merged(counts.astype(float), most).sum(axis=2), counts.sum(axis=2)
        )


def test_flags_weigh_a_share_of_a_main_signal(mixed: Reference) -> None:
    panel = Panel(mixed)
    assert panel.shares.sum() == pytest.approx(1)
    shares = panel.shares[: panel.signals]
    assert shares[panel.flags].max() == pytest.approx(FLAG_SHARE * shares.max())
    assert panel.shares[panel.signals :].sum() == pytest.approx(TOGETHER_SHARE)


def test_a_flag_of_where_values_lie_knows_its_main_signal(mixed: Reference) -> None:
    panel, names = Panel(mixed), [each.name for each in mixed.signals]
    main = {name: panel.main[at] for at, name in enumerate(names)}
    assert names[main["x0:out_of_range"]] == "x0"
    assert names[main["x4:unseen"]] == "x4"
    assert main["x0:missing"] == main["x5"] == main["x0"] == -1


def test_a_panel_is_made_once(mixed: Reference) -> None:
    assert Panel.of(mixed) is Panel.of(mixed)
