"""Recorded traffic through the monitor: what a service would have said, and what files may hold."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import served
from click.testing import CliRunner

from driftline.metadata.errors import InputError, SettingError
from driftline.serving.cli import cli
from driftline.serving.evaluation.standing import Service
from driftline.serving.hooks.session import Plan
from driftline.serving.offline.recorded import read
from driftline.serving.offline.replay import replay

NOW = 1_800_000_000


def traffic(count: int = 3_000, changed: int = 2_000) -> np.ndarray:
    rows = served.rows(count, 21)
    rows[changed:, 0] += 1.5
    return rows


def written(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


@pytest.fixture
def plan(package) -> Plan:
    return Plan(package, "memory:")


def test_a_change_is_found_at_its_row(package, tmp_path):
    plan, rows = Plan(package, "memory:", bucket=300), traffic()
    times = NOW + np.arange(3_000) * 3.0
    path = written(tmp_path / "t.npz", x=rows, logits=rows @ served.weights(), time=times)
    found = replay(plan, read(path, plan.package.metadata, "time"))
    assert found.rows == 3_000
    assert [each.state for each in found.changes][-2:] == ["stable", "drift"]
    called = found.changes[-1]
    assert called.row in (2_100, 2_200)
    assert found.standing.verdict.onset == NOW + 6_000
    assert found.starts[found.standing.verdict.onset] == 2_001
    groups = {each.group for each in found.standing.verdict.signals if each.state == "drift"}
    assert groups == {"input", "output"}


def test_a_replay_says_what_the_service_says_of_the_same_rows(client, plan, tmp_path):
    """The same counts, so the same evidence to the last digit."""
    rows = served.rows(600, 5)
    client.post("/predict", json={"instances": rows.tolist()})
    session = client.engine.monitor.session
    session.flush()
    at = max(session.store.read(plan.series.model(60), plan.package.metadata.reference.layout,
                                0, 2**40))  # fmt: skip
    session.evaluator.turn(at + 59)
    served_now = session.store.get(plan.series.verdict)[1]
    path = written(
        tmp_path / "t.npz", x=rows, logits=rows @ served.weights(), when=np.full(600, at + 1.0)
    )
    found = replay(plan, read(path, plan.package.metadata, "when"))
    ours, theirs = found.standing.verdict, msgspec.json.decode(served_now)["verdict"]
    assert ours.evidence_log10 == theirs["evidence_log10"]
    assert [each.evidence_log10 for each in ours.signals] == [
        each["evidence_log10"] for each in theirs["signals"]
    ]


def test_without_times_rows_go_into_buckets_by_number(plan, tmp_path):
    path = written(tmp_path / "t.npz", x=traffic())
    found = replay(plan, read(path, plan.package.metadata), rows_per_bucket=250)
    assert len(found.starts) == 12
    assert list(found.starts.values()) == list(range(1, 3_001, 250))
    assert found.changes[-1].state == "drift"
    assert found.changes[-1].row in (2_250, 2_500)


def test_outputs_are_predicted_where_none_were_recorded(plan, package, tmp_path):
    path = written(tmp_path / "t.npz", x=served.rows(500, 3))
    recorded = read(path, package.metadata)
    assert recorded.outputs is None
    without = replay(plan, recorded)
    assert without.standing.service.predictions == 0
    found = replay(plan, recorded, model=served.load(package))
    assert found.standing.service.predictions == 500


def test_latency_is_not_in_a_recording(plan, tmp_path):
    path = written(tmp_path / "t.npz", x=served.rows(500, 3))
    service: Service = replay(plan, read(path, plan.package.metadata)).standing.service
    assert service.requests == 500
    assert (service.p95_ms, service.slow) == (None, 0.0)


def test_rows_are_sorted_by_time_and_a_bucket_may_be_empty(plan, tmp_path):
    times = NOW + np.repeat([7_200.0, 0.0], 200)
    path = written(tmp_path / "t.npz", x=served.rows(400, 3), time=times)
    found = replay(plan, read(path, plan.package.metadata, "time"))
    assert list(found.starts) == [NOW, NOW + 7_200]


def test_a_very_long_recording_wants_longer_buckets(plan, tmp_path):
    rows = 100_001
    path = written(tmp_path / "t.npz", x=served.rows(rows, 3), time=NOW + np.arange(rows) * 60.0)
    with pytest.raises(InputError, match="take a longer --bucket"):
        replay(plan, read(path, plan.package.metadata, "time"))


# Files --------------------------------------------------------------------------------------


def table(path: Path, rows: np.ndarray, **changes: str) -> str:
    names = ["a0", "a1", "a2", "size"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["when", *names, "ignored"])
        for index, row in enumerate(rows.tolist()):
            cells = dict(zip(names, [*row[:3], served.WORDS[int(row[3])]], strict=True))
            if index == 0:
                cells |= changes
            writer.writerow([f"2027-01-15T08:{index // 60:02d}:{index % 60:02d}Z",
                             *cells.values(), "x"])  # fmt: skip
    return str(path)


def test_a_table_is_read_by_column_name_with_words_and_missing_cells(package, tmp_path):
    rows = served.rows(100, 9)
    path = table(tmp_path / "t.csv", rows, a0="", a1="oops", size="never heard of")
    recorded = read(path, package.metadata, "when")
    matrix = recorded.inputs["x"]
    assert recorded.times[:2].tolist() == [1_800_000_000, 1_800_000_001]
    np.testing.assert_allclose(matrix[1:], rows[1:], rtol=1e-6)
    assert np.isnan(matrix[0, 0])  # empty is missing
    assert np.isinf(matrix[0, 1])  # text where a number belongs: counted as of a wrong type
    assert matrix[0, 3] == -1  # a word that nobody knows


def test_csv_and_npz_of_the_same_rows_say_the_same(plan, tmp_path):
    rows = served.rows(300, 9)
    times = NOW + np.arange(300.0)
    metadata = plan.package.metadata
    one = replay(plan, read(table(tmp_path / "t.csv", rows), metadata, "when"))
    two = replay(plan, read(written(tmp_path / "t.npz", x=rows, t=times), metadata, "t"))
    assert one.standing.verdict.evidence_log10 == pytest.approx(two.standing.verdict.evidence_log10)


def test_parquet_takes_pyarrow(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SettingError, match="pip install pyarrow"):
        read(str(tmp_path / "t.parquet"), package.metadata)


@pytest.mark.parametrize(
    ("arrays", "time", "field", "reason"),
    [
        ({"y": np.zeros((3, 4))}, None, "x", "which holds y"),
        ({"x": np.zeros((0, 4))}, None, "x", "at least one"),
        ({"x": np.zeros((3, 4)), "logits": np.zeros((2, 3))}, None, "logits", "3 rows"),
        ({"x": np.zeros((3, 4))}, "t", "t", "is not in the file"),
        ({"x": np.zeros((3, 4)), "t": np.zeros(2)}, "t", "t", "3 times"),
        ({"x": np.zeros((3, 4)), "t": np.full(3, 1.8e12)}, "t", "t", "milliseconds"),
        ({"x": np.zeros((3, 4)), "t": np.array(["soon"] * 3)}, "t", "t", "row 1: 'soon'"),
        ({"x": np.zeros(()), "t": np.zeros(3)}, None, "x", "rows are wanted"),
        ({"x": np.zeros((3, 5))}, None, "x", "shape [n, 4] expected, got [3, 5]"),
        ({"x": np.zeros((3, 1, 4))}, None, "x", "shape [n, 4] expected, got [3, 1, 4]"),
        ({"x": np.array([["a"] * 4])}, None, "x", "numbers expected, got strings"),
    ],
)
def test_arrays_that_do_not_fit_are_named(package, tmp_path, arrays, time, field, reason):
    with pytest.raises(InputError) as caught:
        read(written(tmp_path / "t.npz", **arrays), package.metadata, time)
    assert caught.value.field == field
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("t.csv", b"a0,a1\n1,2\n", "a2"),
        ("t.csv", b"", "has no row"),
        ("t.csv", b"a0,a1,a2,size\n1,2\n", "another number of cells"),
        ("t.csv", b"\xff\xfe\x00", "cannot be read"),
        ("t.npz", b"PK nonsense", "cannot be read"),
        ("t.npy", b"", "cannot be read"),
    ],
)
def test_files_that_cannot_be_read_say_why(package, tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=reason):
        read(str(tmp_path / name), package.metadata)


def test_pickled_arrays_are_refused(package, tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="cannot be read"):
        read(str(path), package.metadata)


# The command --------------------------------------------------------------------------------


def run(*words: str):
    return CliRunner().invoke(cli, list(words))


def test_the_command_tells_changes_and_ends_with_one_on_drift(package, tmp_path):
    path = written(tmp_path / "t.npz", x=traffic(), time=NOW + np.arange(3_000) * 3.0)
    done = run("replay", str(package.path), path, "--time-column", "time", "--bucket", "5m")
    assert done.exit_code == 1, done.output
    assert "3,000 rows in 30 buckets of 300 s" in done.output
    assert "row 2,001, 2027-01-15T09:40:00Z" in done.output
    assert "a0 rose by" in done.output


def test_the_command_ends_with_zero_when_nothing_drifted(package, tmp_path):
    path = written(tmp_path / "t.npz", x=served.rows(1_500, 4))
    done = run("replay", str(package.path), path, "--predictor", "served:load", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["rows"] == 1_500
    assert told["verdict"]["state"] == "stable"
    assert [each["state"] for each in told["changes"]][-1] == "stable"


def test_the_command_ends_with_two_when_it_cannot_say(package, tmp_path):
    for words in (
        ("replay", str(tmp_path / "none"), "t.npz"),
        ("replay", str(package.path), str(tmp_path / "none.npz")),
        ("replay", str(package.path), str(tmp_path / "none.txt")),
    ):
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert done.stderr.startswith("driftline: ")
