"""Pooling: signals of one stream tell its bursts together, and a burstier one keeps its own."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift.pooling import SURE, UPPER, own_shares, pooled

POOL = np.zeros(20, dtype=np.int64)
OWN = own_shares(POOL, np.ones(20))


def test_a_share_of_ones_own_falls_with_the_number_of_independent_signals() -> None:
    """(4/(n + 4))^0.75: 20 independent ones keep 0.26; those that are as one keep 0.85; one all."""
    assert OWN[0] == pytest.approx((1 / 6) ** 0.75)
    assert own_shares(POOL, np.full(20, 0.05))[0] == pytest.approx(0.8**0.75)
    assert own_shares(np.arange(3), np.ones(3)).tolist() == [1, 1, 1]


def test_signals_that_differ_by_chance_alone_are_taken_for_one() -> None:
    """Their spread is what chance gives, so nothing of it is kept: all have the pool's own."""
    random = np.random.default_rng(1)
    excess = np.exp(0.2 * random.normal(size=20) * 0.95)
    found = pooled(excess, POOL, OWN, 0.2)
    assert np.ptp(found) < 0.02
    assert found.max() < 1.05


def test_what_is_more_than_chance_is_kept_by_share() -> None:
    """By hand: half at e^0.4 and half at e^-0.4 around 1 spread 0.16; of chance 0.04 three quarters
    remain of each's share."""
    excess = np.exp(np.where(POOL + np.arange(20) < 10, 0.4, -0.4))
    excess[[9, 19]] = 1.0
    spread = 18 / 20 * 0.16
    kept = OWN[0] * (1 - 0.04 / spread)
    found = pooled(excess, POOL, OWN, 0.2)
    assert found[0] == pytest.approx(np.exp(0.4 * kept) * (1 + UPPER * kept * 0.2))


def test_sure_bursts_of_all_are_everyones_with_room_for_the_modes() -> None:
    """A median surely above 1 is raised; a signal by itself keeps what it is."""
    assert pooled(np.full(20, 3.0), POOL, OWN, 0.2)[0] >= 3.0
    same = pooled(np.full(20, 3.0), POOL, np.zeros(20) + 1e-9, 0.2)
    assert same == pytest.approx(np.full(20, 3.0 * SURE))
    alone = pooled(np.array([3.0]), POOL[:1], np.ones(1), 0.2)
    assert alone == pytest.approx([3.0 * (1 + UPPER * 0.2)])
