"""One episode is told once, also where few samples show what a rule looks at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from mindspore import nn
from sessions import opened

from driftline.train_side.obeying import obeyed
from driftline.train_side.point import Notice, Sample, stamp
from driftline.train_side.probes import Step
from driftline.train_side.record import Record
from driftline.train_side.rules import (
    Episode,
    FrozenLearningRate,
    GradientExplosion,
    GradientVanishing,
    LossRise,
    NonFinite,
    Oscillation,
    OverTemperature,
    Rule,
    View,
)
from driftline.train_side.snapshot import Snapshots

LIGHT = {"loss": 1.0, "lr": 0.1}
DEEP = LIGHT | {"grad_norm": 1.0, "param_norm": 1.0}


def notice(step: int) -> Notice:
    return Notice(
        time=stamp(1.7e9), step=step, rule="non_finite", severity="critical", sentence="It is NaN."
    )


def told(rule: Rule, samples: Iterable[Mapping[str, float]]) -> list[int]:
    """The steps at which the rule speaks."""
    record, episode, found = Record(), Episode(rule), []
    for step, values in enumerate(samples, start=1):
        sample = Sample(step=step, epoch=1, time=1.7e9 + step, values=values)
        if episode.ask(View(record.add(sample), record)) is not None:
            found.append(step)
    return found


def sampled(deep: Mapping[str, float], count: int = 400) -> list[Mapping[str, float]]:
    return [deep if step % 50 == 0 else LIGHT for step in range(1, count + 1)]


@pytest.mark.parametrize("name", ["param_norm", "grad_norm", "grad_norm/fc", "param_norm/fc"])
def test_what_stays_not_finite_is_told_once(name: str) -> None:
    assert told(NonFinite(), sampled(DEEP | {name: math.nan})) == [50]


def test_deep_samples_that_are_finite_again_end_the_episode() -> None:
    wrong, right = DEEP | {"param_norm": math.nan}, DEEP
    assert told(NonFinite(), [wrong, *[right] * 20, wrong]) == [1, 22]
    assert told(NonFinite(), [wrong, *[right] * 19, wrong]) == [1]


def test_a_loss_that_is_finite_again_needs_no_deep_sample() -> None:
    assert told(NonFinite(), [LIGHT | {"loss": math.nan}, *[LIGHT] * 20] * 2) == [1, 22]


def test_a_learning_rate_alone_is_looked_at() -> None:
    assert told(NonFinite(), [{"lr": math.nan}]) == [1]


def test_a_layer_is_waited_for_where_each_step_tells_the_norm_of_all() -> None:
    """As in mindformers: between two samples by layer there are many without."""
    deep = {"grad_norm": 1.0, "grad_norm/dead.weight": 0.0, "grad_norm/fc.weight": 1.0}
    samples = [deep if step % 50 == 0 else {"grad_norm": 1.0} for step in range(1, 401)]
    assert told(GradientVanishing(), samples) == [150]


def test_a_hot_device_is_believed_though_others_are_read_more_often() -> None:
    hot = {"npu0/temperature_celsius": 95.0, "hottest_celsius": 95.0}
    cool = {"host/temperature_celsius": 50.0, "hottest_celsius": 50.0}
    assert told(OverTemperature(), [cool, cool, hot, cool, cool, hot] * 5) == [6]


def test_a_norm_that_is_no_number_does_not_end_an_explosion() -> None:
    wild, nan = {"grad_norm": 1e6}, {"grad_norm": math.nan}
    assert told(GradientExplosion(), [wild, *[nan] * 30, wild]) == [1]


def test_a_loss_that_is_no_number_does_not_end_a_rise() -> None:
    usual, risen, nan = {"loss": 1.0}, {"loss": 3.0}, {"loss": math.nan}
    samples = [*[usual] * 50, *[risen] * 60, *[nan] * 30, *[risen] * 60]
    assert told(LossRise(), samples) == [101]


def test_a_schedule_that_is_not_always_asked_is_still_frozen() -> None:
    whole, part = {"lr": 0.1, "lr_scheduled": 1.0}, {"lr": 0.1}
    assert told(FrozenLearningRate(steps=10), [whole, part] * 100) == [19]


def test_an_epoch_without_losses_is_no_calm_one() -> None:
    record, episode, found = Record(), Episode(Oscillation()), []
    for number, swing in enumerate([0.1] * 6 + [5.0, None, 20.0], start=1):
        for sign in (-1, 1) * 5 if swing is not None else ():
            record.epochs.loss(1 + sign * swing)
        if episode.ask(View({}, record, record.epochs.close(number))) is not None:
            found.append(number)
    assert found == [7]


def test_a_fault_that_stays_has_one_snapshot(tmp_path: Path) -> None:
    session = opened(tmp_path)
    snapshots = Snapshots(session)
    for step, values in enumerate(sampled(DEEP | {"param_norm": math.nan}), start=1):
        snapshots.look(Step(step, 1), values)
    assert session.close("finished", 10)
    assert [path.name for path in (tmp_path / "faults").iterdir()] == ["step-50"]


def test_a_run_keeps_five_checkpoints_of_faults(tmp_path: Path) -> None:
    """The first one, from before the damage, and the latest."""
    session = opened(tmp_path)
    network = nn.Dense(2, 1)
    for step in range(1, 11):
        session.wishes.want_checkpoint(notice(step))
        assert obeyed(session, network, step) is None
    faults = tmp_path / "faults"
    names = [f"non_finite-step{step}.ckpt" for step in (1, 7, 8, 9, 10)]
    assert sorted(path.name for path in faults.iterdir()) == sorted(names)
    assert session.saved == [faults / name for name in names]
    assert session.close("finished", 10)


def test_a_run_keeps_three_snapshots_over_all_its_lives(tmp_path: Path) -> None:
    for life in range(4):
        session = opened(tmp_path)
        Snapshots(session).look(Step(life, 1), {"loss": math.nan})
        assert session.close("killed", 10)
    assert len(list((tmp_path / "faults").iterdir())) == 3
