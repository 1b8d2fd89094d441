"""A report is one file that needs nothing else, says what the service says, and is small."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import served
from click.testing import CliRunner

from driftline.metadata.errors import SettingError, StoreError
from driftline.serving.cli import cli
from driftline.serving.hooks.session import Plan
from driftline.serving.offline import svg
from driftline.serving.offline.contents import of_service, of_store
from driftline.serving.offline.page import page, write
from driftline.serving.offline.recorded import read
from driftline.serving.offline.replay import replay
from driftline.serving.offline.summary import next_steps
from driftline.serving.stores import open_store

LARGEST = 500_000
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Well(HTMLParser):
    """Collects attributes and text; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def of_replay(package, tmp_path, shift: float, rows: int = 3_000):
    plan = Plan(package, "memory:")
    traffic = served.rows(rows, 21)
    traffic[rows // 2 :, 0] += shift
    path = tmp_path / "t.npz"
    np.savez(path, x=traffic, logits=traffic @ served.weights())
    found = replay(plan, read(str(path), package.metadata), rows_per_bucket=250)
    return of_store(plan, found.store, float(found.standing.at), "a <test> & more")


@pytest.fixture(scope="module")
def drifted(package, tmp_path_factory):
    return of_replay(package, tmp_path_factory.mktemp("drifted"), 1.5)


def test_it_needs_nothing_else_and_is_small(drifted):
    text = page(drifted)
    assert len(text.encode()) < LARGEST
    read_well = Well(text)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in read_well.found}
    for _, attributes in read_well.found:
        assert not {"src", "href"} & attributes.keys()
    assert not re.search(r"url\(|@import|https?://", text)


def test_it_says_first_how_it_stands_what_changed_and_what_to_do(drifted):
    words = " ".join(Well(page(drifted)).words)
    words = re.sub(r"\s+", " ", words)
    first = words.index("The traffic is no longer what the model was trained on.")
    assert first < words.index("What changed") < words.index("What to do")
    assert words.index("What to do") < words.index("All signals") < words.index("About the model")
    assert "a0 rose by" in words
    assert "Look at where a0" in words
    assert "a <test> & more" in words  # escaped, and shown as it is


def test_every_signal_stands_in_the_table_and_the_changed_ones_have_pictures(drifted):
    text = page(drifted)
    for each in drifted.drift["signals"]:
        assert f'<td class="name">{each["name"]}</td>' in text
    changed = [e for e in drifted.drift["signals"] if e["state"] in ("drift", "warning")]
    assert text.count("<svg") == 1 + min(len(changed), 12)
    assert text.count('role="img"') == text.count("<svg")


def test_quiet_traffic_reads_quietly(package, tmp_path):
    contents = of_replay(package, tmp_path, 0.0)
    text = page(contents)
    assert "looks like what the model was trained on" in text
    assert "What changed" not in text
    assert "Nothing needs to be done." in text


def test_nothing_at_all_is_a_report_too(package):
    from driftline.serving.stores.memory import MemoryStore

    contents = of_store(Plan(package, "memory:"), MemoryStore(), 1_800_000_000.0, "nothing")
    assert "No requests have come." in page(contents)


def test_hundreds_of_signals_stay_within_the_size(tmp_path):
    wide = served.package(tmp_path / "package", columns=200)
    plan = Plan(wide, "memory:")
    traffic = served.rows(1_000, 3, columns=200, shift=2.0)
    path = tmp_path / "t.npz"
    np.savez(path, x=traffic)
    found = replay(plan, read(str(path), wide.metadata))
    text = page(of_store(plan, found.store, float(found.standing.at), "wide"))
    assert len(text.encode()) < LARGEST
    assert "more signals" in text


def test_next_steps_name_what_is_most_pressing_first():
    def drift(*signals, **more):
        plain = {"state": "drift" if signals else "stable", "accuracy": {}, "latency": {}}
        return plain | {"signals": list(signals)} | more

    def signal(name, group="input", state="drift"):
        return {"name": name, "group": group, "state": state, "effect": {"psi": 1.0}}

    assert next_steps(drift()) == ["Nothing needs to be done."]
    steps = next_steps(drift(signal("a:missing"), signal("b:unseen")))
    assert steps[0].startswith("Values are missing")
    assert steps[1].startswith("There are new categories")
    only = next_steps(drift(signal("predicted_class", "output")))
    assert only[0].startswith("Only what the model answers has changed")
    harm = next_steps(drift(signal("a"), accuracy={"labelled": {"harmful": True}}))
    assert harm[0].startswith("Labels show that accuracy has fallen")
    slow = next_steps(drift(latency={"regressed": True}))
    assert slow[0].startswith("Answers take longer than usual")


@pytest.mark.parametrize(
    "cells",
    [
        {"edges": [], "labels": [], "reference": [1.0], "window": [1.0]},
        {"edges": [0.0], "labels": [], "reference": [0.5, 0.5], "window": [None, None]},
        {"values": list(range(9)) * 11, "labels": [], "reference": [0.01] * 100,
         "window": [0.01] * 100},
        {"values": [0, 1], "labels": ["<b>", '"q"'], "reference": [0.5, 0.4, 0.1],
         "window": [0, 0, 1]},
        {"labels": [], "reference": [0.99, 0.01], "window": [0.5, 0.5]},
    ],
)  # fmt: skip
def test_any_distribution_has_a_picture(cells):
    text = str(svg.distribution(cells, "<odd> & name"))
    Well(text)
    assert "<b>" not in text
    assert "nan" not in text.lower()


def test_evidence_of_any_length_has_a_picture():
    for length in (2, 3, 5_000):
        points = [
            {"at": f"2027-01-{1 + n % 28:02d}T00:00:00Z", "state": "drift", "evidence": n - 50.0}
            for n in range(length)
        ]
        points.sort(key=lambda each: each["at"])
        text = str(svg.evidence(points, 4.6))
        Well(text)
        assert len(text) < 100_000


# From a service -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_running_service_and_its_store_give_the_same_report(serve, package, tmp_path):
    state = str(tmp_path / "state.db")
    server = serve("--workers", "1", "--bucket", "2s", "--state", state, "--token", "s3cret",
                   ready=False)  # fmt: skip
    headers = {"Authorization": "Bearer s3cret"}
    served.until(lambda: up(server), 60)
    server.predict(served.rows(400, 3).tolist(), headers=headers)
    served.until(lambda: server.get("/drift", headers=headers).json()["window"]["rows"] == 400, 20)
    out = tmp_path / "live.html"
    run = CliRunner().invoke
    done = run(cli, ["report", server.address, "--token", "s3cret", "--out", str(out)])
    assert done.exit_code == 0, done.output
    other = tmp_path / "store.html"
    words = ["report", str(package.path), "--state", state, "--bucket", "2s", "--out", str(other)]
    assert run(cli, words).exit_code == 0
    for path in (out, other):
        assert "<b>400</b><span>rows in the window</span>" in path.read_text()
    refused = run(cli, ["report", server.address, "--out", str(out)], env={"DRIFTLINE_TOKEN": ""})
    assert refused.exit_code == 2
    assert "answers 401" in refused.stderr


def up(server) -> bool:
    for line in server.lines():
        message = line.get("message", "")
        if message.startswith("Listening at: "):
            server.address = message.removeprefix("Listening at: ").split(" ")[0]
    return bool(server.address) and server.get("/readyz").ok


def test_what_is_no_service_is_said(package, tmp_path):
    with pytest.raises(StoreError, match="cannot be asked"):
        of_service("127.0.0.1:9", None)


def test_a_state_that_is_not_there_makes_no_report_and_no_file(package, tmp_path):
    """Whatever is wrong with it: no file, no folder, or nothing of this package in it."""
    out, empty = tmp_path / "r.html", tmp_path / "empty.db"
    store = open_store(str(empty))
    store.ping()
    store.close()
    for state, said in (
        (tmp_path / "nothere.db", f"state: there is no file {tmp_path / 'nothere.db'}"),
        (f"sqlite:///{tmp_path}/nothere.db", "state: there is no file"),
        (tmp_path / "none" / "x.db", "state: there is no file"),
        (tmp_path, "state: there is no file"),
        (empty, "has no verdict on this package, toy/1/"),
        ("memory:", "has no verdict on this package, toy/1/"),
    ):
        words = ["report", str(package.path), "--state", str(state), "--out", str(out)]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 2, state
        assert said in done.stderr
        assert {each.name.split("-")[0] for each in tmp_path.iterdir()} == {"empty.db"}


def test_evidence_is_drawn_where_some_of_the_timeline_has_none():
    points = [
        {"at": f"2027-01-01T00:0{n}:00Z", "state": "stable", "evidence": told}
        for n, told in enumerate([None, 1.0, None, 2.0])
    ]
    Well(str(svg.evidence(points, 4.6)))


def test_a_place_that_cannot_be_written_is_named(drifted, tmp_path):
    with pytest.raises(SettingError, match="cannot be written"):
        write(str(tmp_path / "none" / "r.html"), drifted)
    target = tmp_path / "r.html"
    assert write(str(target), drifted) == target.stat().st_size
