"""The floor says what matters; what is needed to see it follows from the floor."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift.floor import Floor, named
from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Continuous, Flag, Missing, Signal
from driftline.metadata.thresholds import Rule

RULE = Rule(psi=0.1, rise=0.01, inflation=1.0)


def flag(true: float, false: float) -> SignalReference:
    return SignalReference(
        Signal("f", "input", "f", Flag(Missing())), (false, true), round(true + false)
    )


def continuous(gaps: float) -> SignalReference:
    edges = tuple(float(edge) for edge in range(31))
    return SignalReference(
        Signal("x", "input", "x", Continuous(edges)), (gaps,) * 32, round(32 * gaps)
    )


def test_a_rate_matters_from_half_again_and_one_point_more() -> None:
    floor = Floor.of([flag(100, 900)], [RULE])
    assert floor.strength(np.zeros(1), np.array([0.16]))[0] == pytest.approx(1)
    assert floor.strength(np.zeros(1), np.array([0.05]))[0] == 0


def test_an_effect_is_measured_in_floors() -> None:
    floor = Floor.of([continuous(600)], [RULE])
    assert floor.strength(np.array([0.25]), np.zeros(1))[0] == pytest.approx(2.5)


def test_a_weaker_effect_a_burst_and_a_higher_demand_need_more_values() -> None:
    floor = Floor.of([continuous(600)], [RULE])
    one = np.ones(1)
    base = floor.needed(one, 10 * one, one)[0]
    assert 200 < base < 300
    assert floor.needed(0.5 * one, 10 * one, one)[0] > 2 * base
    assert floor.needed(one, 20 * one, one)[0] > 1.5 * base
    assert floor.needed(one, 10 * one, 3 * one)[0] == pytest.approx(3 * base, rel=0.01)


def test_a_small_reference_asks_for_no_more_than_itself_again() -> None:
    floor = Floor.of([continuous(2)], [RULE])
    assert floor.needed(np.ones(1), np.full(1, 10.0), np.ones(1))[0] <= 65


def test_naming_is_the_step_up_rule_of_weighted_e_values() -> None:
    shares = np.full(4, 0.25)
    demand = np.log(1000)
    log_m = np.log([2100.0, 2050.0, 1400.0, 1.0])
    # k = 1 needs 4,000, k = 2 two of 2,000, k = 3 three of 1,333.
    assert named(log_m, shares, demand).tolist() == [True, True, True, False]
    assert named(np.log([2100.0, 2050.0, 1300.0, 1.0]), shares, demand).sum() == 2
    assert named(np.log([3900.0, 1.0, 1.0, 1.0]), shares, demand).sum() == 0
    assert named(np.log([4100.0, 1.0, 1.0, 1.0]), shares, demand).sum() == 1


def test_whatever_is_named_the_mean_suffices_as_well() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        shares = random.dirichlet(np.ones(6))
        log_m = random.normal(5, 4, size=6)
        if named(log_m, shares, 6.0).any():
            assert np.logaddexp.reduce(log_m + np.log(shares)) >= 6.0 - 1e-9
