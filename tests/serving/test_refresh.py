"""A new reference from stable traffic: written beside the served package, never in its place."""

from __future__ import annotations

import time

import msgspec
import numpy as np
import pytest
import served

from driftline.drift.judge import judge
from driftline.drift.ring import Ring
from driftline.metadata.package import ModelPackage
from driftline.metadata.thresholds import Thresholds
from driftline.serving.api.refresh import BESIDE
from driftline.serving.evaluation import refresh as pure
from driftline.serving.evaluation.timeline import Point
from driftline.serving.hooks.columns import Columns

ROWS = 3_000


def traffic(client, count: int = ROWS, shift: float = 0.0, seed: int = 0) -> None:
    for start in range(0, count, 500):
        rows = served.rows(500, seed + start, shift=shift)
        assert client.post("/predict", json={"instances": rows.tolist()}).status_code == 200
    session = client.engine.monitor.session
    session.flush()
    session.evaluator.turn(time.time())


def ask(client, **words):
    return client.post("/reference/refresh", json={"version": "2", **words})


@pytest.fixture
def mine(client_of, tmp_path):
    """A client of a package of its own, in a folder of its own."""
    (tmp_path / "mine").mkdir()
    return client_of(package=served.package(tmp_path / "mine" / "toy"), bucket=3600)


def test_a_stable_stretch_becomes_a_new_version_beside_the_served_one(mine, tmp_path):
    traffic(mine)
    answer = ask(mine, by="ada")
    assert answer.status_code == 201, answer.text
    told = answer.get_json()
    written = ModelPackage.open(tmp_path / "mine" / "toy-2")
    assert told["path"] == str(written.path)
    assert told["digest"] == written.digest
    before, after = mine.engine.metadata, written.metadata
    assert (after.model.name, after.model.version) == ("toy", "2")
    assert after.reference.source == "production"
    assert after.reference.layout == before.reference.layout
    assert after.sensitivity is None
    note = after.notes[-1]
    assert before.reference.multivariates
    assert after.reference.multivariates == ()
    assert "signals are not judged together" in note
    for word in ("by ada (request ", mine.engine.package.digest, f"{ROWS:,} rows of input"):
        assert word in note
    # The served one is what it was.
    assert ModelPackage.open(mine.engine.package.path).digest == mine.engine.package.digest
    assert [each.sha256 for each in after.files] == [each.sha256 for each in before.files]


def test_its_weights_are_the_counts_plus_a_half_and_its_moments_those_of_the_traffic(mine):
    traffic(mine)
    reference = ModelPackage.open(ask(mine).get_json()["path"]).metadata.reference
    rows = np.concatenate([served.rows(500, start) for start in range(0, ROWS, 500)])
    a0 = next(each for each in reference.signals if each.name == "a0")
    cells = np.bincount(a0.signal.partition.cells(rows[:, 0].astype(float)))
    assert a0.weights == pytest.approx(tuple(cells + 0.5))
    assert a0.rows == ROWS
    column = next(each for each in reference.columns if each.name == "a0")
    assert column.count == ROWS
    assert column.mean == pytest.approx(rows[:, 0].mean(), abs=1e-6)
    assert column.sd == pytest.approx(rows[:, 0].std(ddof=1), rel=1e-6)


def test_like_traffic_is_stable_against_it_and_other_traffic_is_not(mine):
    traffic(mine)
    reference = ModelPackage.open(ask(mine).get_json()["path"]).metadata.reference
    columns = mine.engine.columns

    def state(shift: float) -> str:
        layout, rows = reference.layout, served.rows(4_000, 77, shift=shift)
        outputs = {"logits": rows @ served.weights()}
        counts = layout.count("input", columns.matrix("input", {"x": rows}))
        counts = counts + layout.count("output", columns.matrix("output", outputs))
        return judge(reference, Ring.of(60, {0: counts})).state

    assert (state(0.0), state(1.0)) == ("stable", "drift")


def test_nothing_is_written_where_the_traffic_makes_no_reference(mine, tmp_path):
    def refused() -> str:
        answer = ask(mine)
        assert answer.status_code == 409
        assert [each.name for each in (tmp_path / "mine").iterdir() if "toy" in each.name] == [
            "toy"
        ]
        return answer.get_json()["error"]["code"]

    assert refused() == "not_stable"  # nothing was evaluated
    traffic(mine, 500)
    assert refused() == "too_few_rows"
    traffic(mine, 1_500, shift=1.5, seed=50)
    assert refused() == "not_stable"


@pytest.mark.parametrize(
    ("words", "status", "field"),
    [
        ({"version": "1"}, 409, "version"),
        ({"version": "../2"}, 422, "version"),
        ({"version": 2}, 422, "version"),
        ({"path": "../out"}, 422, "path"),
        ({"path": "/tmp/out"}, 422, "path"),
        ({"path": ".."}, 422, "path"),
        ({"path": "a/b"}, 422, "path"),
        ({"path": "toy"}, 409, "path"),
        ({"by": "a\nb"}, 422, "by"),
        ({"more": 1}, 422, "body"),
    ],
)
def test_what_cannot_be_asked_is_refused(mine, words, status, field):
    traffic(mine)
    answer = ask(mine, **words)
    assert (answer.status_code, answer.get_json()["error"]["field"]) == (status, field)


def test_what_is_there_is_never_replaced(mine, tmp_path):
    traffic(mine)
    assert ask(mine).status_code == 201
    again = ask(mine)
    assert (again.status_code, again.get_json()["error"]["code"]) == (409, "exists")
    assert ask(mine, path="other").status_code == 201
    (tmp_path / "mine" / "link").symlink_to(tmp_path)
    assert ask(mine, path="link").status_code == 409


def test_beside_an_archive_an_archive_is_written(mine, tmp_path):
    mine.application.config[BESIDE] = str(tmp_path / "mine" / "toy.zip")
    traffic(mine)
    path = tmp_path / "mine" / "toy-2.zip"
    assert ask(mine).get_json()["path"] == str(path)
    into = ModelPackage.open(path, into=tmp_path / "unpacked")
    assert into.metadata.model.version == "2"


def test_a_folder_that_takes_no_package_is_told_and_left_as_it_was(mine, tmp_path, monkeypatch):
    traffic(mine)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("driftline.metadata.package._copy", full)
    answer = ask(mine)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (503, "not_written")
    assert not (tmp_path / "mine" / "toy-2").exists()


def test_only_what_came_after_the_last_alarm_is_taken():
    points = [Point(at, state, 0.0, None, 1, {}) for at, state in
              [(60, "stable"), (120, "drift"), (180, "warning"), (240, "stable")]]  # fmt: skip
    assert pure.quiet_since(points, whole=True) == 180
    assert pure.quiet_since(points[:1], whole=True) == 0
    assert pure.quiet_since(points[:1], whole=False) == 60
    reference = served.metadata().reference
    counts = reference.layout.zeros()
    with pytest.raises(pure.Unsuited, match="0 rows of input since"):
        pure.stretch(reference, {60: {120: counts, 180: counts}}, 180, Thresholds())


def test_of_two_rings_the_one_with_more_rows_is_taken_and_bursts_count_for_less(engine_of):
    reference = served.metadata().reference
    layout, columns = reference.layout, engine_of().columns

    def counts(rows: np.ndarray):
        outputs = {"logits": rows @ served.weights()}
        found = layout.count("input", columns.matrix("input", {"x": rows}))
        return found + layout.count("output", columns.matrix("output", outputs))

    buckets = {at * 60: counts(served.rows(200, at)) for at in range(40)}
    hours = {0: counts(served.rows(1_500, 99))}
    found = pure.stretch(reference, {60: buckets, 3600: hours}, -1, Thresholds())
    assert (found.width, found.since, found.until) == (60, 0, 2_400)
    verdict = msgspec.structs.replace(
        found.verdict,
        signals=tuple(msgspec.structs.replace(s, inflation=4.0) for s in found.verdict.signals),
    )
    bursty = pure.Stretch(60, 0, 2_400, found.counts, verdict)
    made = pure.refreshed(served.metadata(), bursty, "2", pure.Audit("a", 0.0, "d"))
    a0 = next(each for each in made.reference.signals if each.name == "a0")
    assert sum(a0.weights) == pytest.approx(8_000 / 4 + len(a0.weights) / 2)


def test_a_stretch_of_hours_is_judged_under_a_promise_that_is_looser_than_an_hour():
    """It used to be a SettingError, and so a 500."""
    metadata = served.metadata()
    layout = metadata.reference.layout
    columns = Columns(metadata)
    rows = np.concatenate([served.rows(500, start) for start in range(0, ROWS, 500)])
    counts = layout.count("input", columns.matrix("input", {"x": rows}))
    outputs = {"logits": rows @ served.weights()}
    counts = counts + layout.count("output", columns.matrix("output", outputs))
    loose = Thresholds(false_alarms="1 per 1h")
    assert pure.stretch(metadata.reference, {3600: {7200: counts}}, 0, loose).width == 3600


def test_where_the_packages_folder_takes_nothing_another_one_may_be_named(client_of, tmp_path):
    """As in a container that mounts the package read-only."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "state").mkdir()
    package = served.package(tmp_path / "mine" / "toy")
    client = client_of(package=package, bucket=3600, refresh_folder=str(tmp_path / "state"))
    traffic(client)
    answer = ask(client)
    assert answer.status_code == 201, answer.text
    assert answer.get_json()["path"] == str(tmp_path / "state" / "toy-2")
    assert ModelPackage.open(tmp_path / "state" / "toy-2").metadata.model.version == "2"
    assert ask(client, path="../mine/other").status_code == 422


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(mine, monkeypatch):
    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    traffic(mine)
    monkeypatch.setattr("pathlib.Path.mkdir", read_only)
    error = ask(mine)
    told = error.get_json()["error"]
    assert (error.status_code, told["code"]) == (503, "not_written")
    assert str(mine.engine.package.path.parent) in told["message"]
    assert "Read-only file system" in told["message"]
    assert "--refresh-folder" in told["message"]
