"""What a user can get wrong is told before the training begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftline.metadata.errors import SettingError
from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.policies import POLICIES, Log
from driftline.train_side.settings import MonitorSettings, Sampling


@pytest.mark.parametrize("budget", [0.0, -1.0, 1.5])
def test_a_budget_is_a_share(budget: float) -> None:
    with pytest.raises(SettingError, match=r"^budget"):
        Sampling(budget=budget)


@pytest.mark.parametrize("name", ["every", "deep_every"])
def test_intervals_are_at_least_one(name: str) -> None:
    with pytest.raises(SettingError, match=rf"^{name}"):
        Sampling(**{name: 0})


@pytest.mark.parametrize("run", ["", "a/b", "a" * 101, "..", "a b"])
def test_a_run_has_a_name_that_an_address_can_hold(run: str) -> None:
    with pytest.raises(SettingError, match=r"^run"):
        MonitorSettings(run=run)


def test_policies_are_for_rules_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no rule 'explosion'"):
        TrainingMonitor(tmp_path, policies={"explosion": (Log(),)})


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    monitor = TrainingMonitor(tmp_path / "run", board="http://127.0.0.1:9")
    assert monitor.health() is None
    monitor.add_metric("bleu", 0.3)
    assert not (tmp_path / "run").exists()


def test_policies_are_found_by_their_kind() -> None:
    assert {"log", "save_checkpoint", "stop"} <= set(POLICIES.kinds())
