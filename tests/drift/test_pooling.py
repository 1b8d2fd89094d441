"""Pooling: signals of one stream tell its bursts together, and burstier ones keep their own."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift.pooling import CHANCE, FURTHEST, SURE, UPPER, crowding, pooled

POOL, EACH = np.zeros(20, dtype=np.int64), np.ones(20)


def test_of_many_independent_signals_more_is_asked_of_one() -> None:
    """1.25 − (4/(n + 4))^0.75/4: for 20 independent ones 1.185, for those that are as one 1.039."""
    assert crowding(POOL, EACH)[0] == pytest.approx(1.25 - 0.2609 / 4, abs=1e-4)
    assert crowding(POOL, np.full(20, 0.05))[0] == pytest.approx(1.25 - 0.8459 / 4, abs=1e-4)
    assert crowding(np.arange(3), np.ones(3)).tolist() == [1, 1, 1]


def test_signals_that_differ_by_chance_alone_are_taken_for_one() -> None:
    """Of a hundred pools of twenty quiet signals most have one F, and it is 1."""
    random = np.random.default_rng(1)
    found = np.array(
        [pooled(np.exp(0.2 * random.normal(size=20)), POOL, EACH, 0.2) for _ in range(100)]
    )
    assert np.median(found) == pytest.approx(1.0, abs=0.02)
    assert (found.std(axis=1) < 0.02).mean() > 0.7
    assert found.mean() < 1.05


def test_what_is_more_than_chance_is_kept_by_share() -> None:
    """By hand: nine at e^0.5, nine at e^-0.5, two at 1: Σz² = 4.5; chance is 1.5 · 17 · 0.01."""
    excess = np.exp(np.repeat([0.5, 0.0, -0.5], [9, 2, 9]))
    kept = 1 - 1.5 * 17 * 0.01 / 4.5
    assert CHANCE == 1.5
    found = pooled(excess, POOL, EACH, 0.1)
    assert found[0] == pytest.approx(np.exp(0.5 * kept) * (1 + UPPER * kept * 0.1))


def test_none_is_drawn_further_than_some_deviations() -> None:
    """One at e¹ among nineteen that spread less than chance gives nothing away to them."""
    excess = np.ones(20)
    excess[3] = np.e
    found = pooled(excess, POOL, EACH, 0.4)
    assert found[3] == pytest.approx(np.exp(1 - FURTHEST * 0.4))
    assert found[0] == pytest.approx(1.0)


def test_two_or_three_signals_keep_what_they_have() -> None:
    """So few tell no middle that would be better than their own (n ≤ 3)."""
    found = pooled(np.array([1.0, 1.3, 2.0]), POOL[:3], EACH[:3], 0.2)
    assert found == pytest.approx(np.array([1.0, 1.3, 2.0]) * (1 + UPPER * 0.2))


def test_sure_bursts_of_all_are_everyones_with_room_for_the_modes() -> None:
    """A median surely above 1 is raised for all that do not differ; one by itself keeps its own."""
    assert pooled(np.full(20, 3.0), POOL, EACH, 0.2) == pytest.approx(np.full(20, 3.0 * SURE))
    alone = pooled(np.array([3.0]), POOL[:1], np.ones(1), 0.2)
    assert alone == pytest.approx([3.0 * (1 + UPPER * 0.2)])


def test_signals_that_err_as_one_are_not_surer_for_being_many() -> None:
    """Ten that vary as one: the standard error is that of one, so an excess of 1.5 with deviation
    0.2 is not sure, where ten independent ones are sure of it."""
    pool, excess = POOL[:10], np.full(10, 1.5)
    as_one = pooled(excess, pool, np.full(10, 0.1), 0.2)
    many = pooled(excess, pool, np.ones(10), 0.2)
    assert as_one[0] < 1.5 * SURE < many[0] * 1.001
