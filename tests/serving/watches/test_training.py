"""What the watch over trainings says: findings of rules fire, the course of a life does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftline.serving.runs.push import Push, TrainingEvent
from driftline.serving.runs.runs import Runs
from driftline.serving.runs.summary import LIFE
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.watches.training import TrainingWatch
from driftline.train_side.point import Notice
from driftline.train_side.reading import read_journal
from driftline.train_side.runs import RunFolder

NOW = 1_800_000_000.0


def push(runs: Runs, run: str, sequence: int, at: float, rule: str, severity: str) -> None:
    event = TrainingEvent(step=7, time=at, rule=rule, severity=severity, sentence="It broke.")
    runs.push(run, Push(sequence=sequence, events=(event,)))


def test_an_event_of_a_training_fires_for_ten_minutes():
    store = MemoryStore()
    runs, watch = Runs(store), TrainingWatch(store)
    assert watch(NOW) == []
    push(runs, "digits", 1, NOW, "gradient_explosion", "critical")
    (found,) = watch(NOW + 1)
    assert (found.model, found.version, found.name) == ("training", "digits", "gradient_explosion")
    assert (found.firing, found.severity, found.since) == (True, "major", NOW)
    assert found.sentence_en == "Step 7: It broke."
    assert watch(NOW + 602)[0].firing is False
    push(runs, "digits", 2, NOW + 700, "gradient_explosion", "critical")
    assert watch(NOW + 701)[0].firing is True


def test_rules_and_runs_are_conditions_of_their_own():
    store = MemoryStore()
    runs, watch = Runs(store), TrainingWatch(store)
    push(runs, "a", 1, NOW, "x", "warning")
    push(runs, "a", 2, NOW, "y", "info")
    push(runs, "b", 1, NOW, "x", "unheard-of")
    found = {(each.version, each.name): each.severity for each in watch(NOW + 1)}
    assert found == {("a", "x"): "moderate", ("a", "y"): "minor", ("b", "x"): "moderate"}


def test_what_arrives_late_is_told_but_what_lies_long_back_at_the_start_is_not():
    store = MemoryStore()
    runs = Runs(store)
    push(runs, "old", 1, NOW - 5000, "x", "warning")
    watch = TrainingWatch(store)
    assert watch(NOW)[0].firing is False
    push(runs, "late", 1, NOW - 5000, "x", "warning")
    found = {each.version: each.firing for each in watch(NOW + 5)}
    assert found == {"old": False, "late": True}


# Notes of a training's life -------------------------------------------------------------------


def told(folder: Path) -> list[TrainingEvent]:
    """What a training left in its journal for a board."""
    found = [each for each in read_journal(folder) if isinstance(each, Notice)]
    return [
        TrainingEvent(each.step, NOW, each.rule, each.severity, each.sentence) for each in found
    ]


def lived(folder: Path, *reasons: str | None) -> list[TrainingEvent]:
    """The events of processes that trained in one folder, and ended so, or not at all."""
    for reason in reasons:
        place = RunFolder(folder, run="digits")
        place.start({})
        if reason is not None:
            place.end(40, reason, 0)
        place.journal.close()
    return told(folder)


@pytest.mark.parametrize("reason", ["finished", "stopped"])
def test_a_training_that_ends_by_itself_is_no_alert(tmp_path: Path, reason: str) -> None:
    """As the training itself says it: nothing fires, and nothing is counted as found."""
    (event,) = lived(tmp_path, reason)
    assert event.rule == "ended"
    store = MemoryStore()
    Runs(store).push("digits", Push(sequence=1, events=(event,)))
    assert TrainingWatch(store)(NOW + 1) == []
    summary = Runs(store).summary("digits")
    assert summary is not None
    assert (summary.events, summary.last_event is not None) == (0, True)


def test_a_training_that_goes_on_is_no_alert(tmp_path: Path) -> None:
    """Its process vanished; the next one says so, and that is no finding of a rule either."""
    (event,) = lived(tmp_path, None, None)
    assert event.rule == "resumed"
    store = MemoryStore()
    Runs(store).push("digits", Push(sequence=1, events=(event,)))
    assert TrainingWatch(store)(NOW + 1) == []


def test_an_end_by_an_error_fires_until_the_training_goes_on(tmp_path: Path) -> None:
    broke, resumed = lived(tmp_path, "ValueError: no such file", None)
    store = MemoryStore()
    runs, watch = Runs(store), TrainingWatch(store)
    runs.push("digits", Push(sequence=1, events=(broke,)))
    (found,) = watch(NOW + 1)
    assert (found.name, found.firing, found.severity) == ("ended", True, "moderate")
    assert "ValueError" in found.sentence_en
    assert runs.summary("digits").events == 1
    runs.push("digits", Push(sequence=2, events=(resumed,)))
    assert watch(NOW + 2)[0].firing is False


def test_every_note_that_a_training_makes_is_known(tmp_path: Path) -> None:
    """What a run's folder says under a new name would be an alert."""
    said = lived(tmp_path, "finished") + lived(tmp_path / "b", None, "stopped")
    said += lived(tmp_path / "c", None, None)
    assert {each.rule for each in said} == LIFE
