"""Each rule finds what it is for, once an episode, and nothing in a healthy training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from driftline.metadata.errors import UnknownKind
from driftline.train_side.point import Sample
from driftline.train_side.record import Record
from driftline.train_side.rules import (
    RULES,
    Episode,
    FrozenLearningRate,
    GradientConcentration,
    GradientDispersion,
    GradientExplosion,
    GradientVanishing,
    LossRise,
    NonFinite,
    Oscillation,
    OverTemperature,
    Rule,
    ThroughputDrop,
    View,
    default_rules,
)


def ask(
    rule: Rule, samples: Iterable[Mapping[str, float]], every: int = 1
) -> list[tuple[int, str]]:
    """Step and sentence of everything the rule says to a series of samples, 10 a second."""
    record, episode, found = Record(), Episode(rule), []
    for index, values in enumerate(samples, start=1):
        step = index * every
        sample = Sample(step=step, epoch=1, time=1_700_000_000 + index / 10, values=values)
        sentence = episode.ask(View(record.add(sample), record))
        if sentence is not None:
            found.append((step, sentence))
    return found


def test_explosion_names_the_layer_and_speaks_once_an_episode() -> None:
    calm = {"grad_norm": 1.0, "grad_norm/fc.weight": 1.0}
    wild = {"grad_norm": 250.0, "grad_norm/fc.weight": 240.0, "grad_norm/out.weight": 70.0}
    found = ask(GradientExplosion(), [calm] * 5 + [wild] * 10 + [calm] * 5 + [wild] * 3)
    assert found == [(6, "The gradient norm is 250, above 100 (largest in fc.weight: 240).")]
    found = ask(GradientExplosion(), ([wild] * 3 + [calm] * 25) * 2)
    assert [step for step, _ in found] == [1, 29]


def test_a_threshold_is_a_parameter() -> None:
    assert ask(GradientExplosion(limit=0.5), [{"grad_norm": 1.0}])
    assert not ask(GradientExplosion(), [{"grad_norm": 100.0}])


def test_vanishing_names_the_layer() -> None:
    values = {
        "grad_norm": 1.0,
        "grad_norm/0.weight": 0.0,
        "grad_norm/0.bias": 0.0,
        "grad_norm/2.weight": 1.0,
        "grad_norm/2.bias": 0.0,
    }
    assert ask(GradientVanishing(), [values] * 5) == [
        (3, "The gradient of 0 is below 1e-05: it does not learn.")
    ]
    found = ask(GradientVanishing(), [{"grad_norm": 1e-7}] * 5)
    assert found == [(3, "The gradient norm is 1e-07, below 1e-05: nothing is learned.")]


def test_gradients_that_were_not_measured_say_nothing() -> None:
    assert not ask(GradientVanishing(), [{"loss": 1.0}] * 50)


def test_concentration_and_dispersion() -> None:
    clipped = [{"grad_norm": 1.0 + 0.001 * (i % 2)} for i in range(60)]
    assert len(ask(GradientConcentration(), clipped)) == 1
    rare = [{"grad_norm": 1e4 if i == 40 else 0.01} for i in range(60)]
    assert len(ask(GradientDispersion(), rare)) == 1
    usual = [{"grad_norm": float(x)} for x in np.random.default_rng(0).gamma(4.0, size=500)]
    assert not ask(GradientConcentration(), usual)
    assert not ask(GradientDispersion(), usual)


def test_a_loss_that_rises_and_stays() -> None:
    found = ask(LossRise(), [{"loss": 1.0}] * 100 + [{"loss": 1.6}] * 100)
    assert found == [(151, "The loss is 1.6, above 1.5 times its mean of 1 since step 101.")]


def test_steps_between_samples_count_for_a_risen_loss() -> None:
    found = ask(LossRise(), [{"loss": 1.0}] * 20 + [{"loss": 2.0}] * 10, every=10)
    assert [step for step, _ in found] == [260]


def test_single_peaks_are_no_rise() -> None:
    noise = np.random.default_rng(0).exponential(size=1000)
    assert not ask(LossRise(), [{"loss": 1 + float(x)} for x in noise])


def test_oscillation_compares_with_five_epochs() -> None:
    record, episode, found = Record(), Episode(Oscillation()), []
    random = np.random.default_rng(0)
    for number, sd in enumerate([0.1] * 6 + [0.4, 0.4, 0.1], start=1):
        for loss in random.normal(1, sd, size=50):
            record.epochs.loss(float(loss))
        epoch = record.epochs.close(number)
        sentence = episode.ask(View({}, record, epoch))
        if sentence:
            found.append((number, sentence))
    assert found[0][0] == 7
    assert "standard deviation of 0.3" in found[0][1] or "of 0.4" in found[0][1]


@pytest.mark.parametrize("name", ["loss", "grad_norm", "param_norm"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_non_finite_names_what_it_is(name: str, value: float) -> None:
    found = ask(NonFinite(), [{name: value, "loss" if name != "loss" else "lr": 1.0}])
    assert len(found) == 1
    assert "not finite" in found[0][1]


def test_non_finite_names_the_parameter() -> None:
    values = {"loss": 1.0, "grad_norm": math.nan, "grad_norm/fc.weight": math.nan}
    ((_, sentence),) = ask(NonFinite(), [values])
    assert sentence == (
        "The gradient norm, the gradient of fc.weight are not finite (NaN or infinite)."
    )


def test_a_step_skipped_on_overflow_is_no_fault() -> None:
    assert not ask(NonFinite(), [{"loss": math.inf, "overflow": 1.0}])


def test_a_drop_of_throughput_says_what_it_waits_for() -> None:
    fast = [{"samples_per_second": 1000.0, "data_wait": 0.05}] * 60
    slow = [{"samples_per_second": 500.0, "data_wait": 0.6}] * 100
    ((step, sentence),) = ask(ThroughputDrop(), fast + slow)
    assert 60 < step <= 125
    assert sentence == (
        "Throughput is 500 samples/s, 50% under its baseline of 1000; 60% of the time it waits "
        "for data."
    )
    assert not ask(ThroughputDrop(), fast + slow[:30] + fast)


def test_a_hot_device_is_named() -> None:
    hot = {"gpu0/temperature_celsius": 60.0, "npu1/temperature_celsius": 91.0}
    values = hot | {"hottest_celsius": 91.0}
    ((_, sentence),) = ask(OverTemperature(), [values] * 5)
    assert sentence == "npu1 is at 91 °C, above 85 °C."
    assert not ask(OverTemperature(), [{"loss": 1.0}] * 5)


def test_a_learning_rate_that_does_nothing() -> None:
    ((step, sentence),) = ask(FrozenLearningRate(), [{"lr": 0.0}] * 10)
    assert step == 5
    assert "nothing is learned" in sentence
    frozen = [{"lr": 0.1, "lr_scheduled": 1.0}] * 40
    ((step, sentence),) = ask(FrozenLearningRate(steps=200), frozen, every=10)
    assert step == 250
    assert "has a schedule" in sentence
    assert not ask(FrozenLearningRate(steps=200), [{"lr": 0.1, "lr_scheduled": 0.0}] * 400)


def test_a_healthy_training_raises_nothing() -> None:
    random = np.random.default_rng(1)
    samples = []
    for step in range(3000):
        loss = 0.2 + 2 * (step + 1) ** -0.5
        samples.append(
            {
                "loss": loss * float(random.lognormal(0, 0.1)),
                "lr": 0.1,
                "grad_norm": float(random.lognormal(0, 0.4)),
                "param_norm": 10.0,
                "samples_per_second": float(random.normal(1000, 50)),
                "data_wait": 0.1,
            }
        )
    for rule in default_rules():
        assert not ask(rule, samples), rule.kind


def test_kinds_are_unique() -> None:
    assert set(RULES.kinds()) == {rule.kind for rule in default_rules()}
    with pytest.raises(UnknownKind, match="is taken"):

        @RULES.register
        class Another(Rule):
            kind = "oscillation"
