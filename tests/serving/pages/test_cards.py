"""What the drift page says beside the verdict: latency, confidence, accuracy, health, and how old
it all is. Where a state is rare it is put into the service's own answer, which must have its place.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import served
from boards import free_port
from playwright.sync_api import Page, Route, expect

from driftline.metadata.package import ModelPackage

Open = Callable[..., Page]


def laid_over(told: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The answer with some values replaced; one that the service does not give is an error.

    What is told by names of anybody's is empty where there is nothing to tell.
    """
    if not told:
        return change
    assert change.keys() <= told.keys(), change.keys() - told.keys()
    new = {
        key: laid_over(told[key], value)
        if isinstance(value, dict) and isinstance(told[key], dict)
        else value
        for key, value in change.items()
    }
    return told | new


@pytest.fixture
def opened(drifted: Any, open_page: Open) -> Iterator[Callable[[dict[str, Any]], Page]]:
    """The page of a service that has seen drift, with some of its answer replaced."""

    def make(change: dict[str, Any]) -> Page:
        def answer(route: Route) -> None:
            route.fulfill(json=laid_over(drifted.server.drift(), change))

        page = open_page(drifted.server.address + "/", lambda page: page.route("**/drift", answer))
        pages.append(page)
        expect(page.locator("#state")).to_have_text("Drift")
        return page

    pages: list[Page] = []
    yield make
    for page in pages:
        page.unroute_all(behavior="ignoreErrors")


ESTIMATE = {"value": 0.842, "low": 0.81, "high": 0.87, "unreliable": False}
LATENCY = {
    "p50_ms": 1.25, "p95_ms": 4.5, "p99_ms": 250.0, "slow_share": 0.03, "error_share": 0.02,
    "limit_ms": 200.0, "regressed": True, "sentence": "Requests take longer.",
    "baseline": {"applies": True, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0},
}  # fmt: skip


def test_latency_stands_beside_its_baseline(opened: Callable[..., Page]) -> None:
    page = opened({"latency": LATENCY})
    rows = page.locator("#latency tr")
    expect(rows).to_have_text(
        ["p501.25 msbaseline 1 ms", "p954.50 msbaseline 2 ms", "p99250 msbaseline 3 ms"]
    )
    expect(page.locator("#latency")).to_contain_text("Requests take longer.")
    expect(page.locator("#latency .bad")).to_have_text("3.0 % above 200 ms · 2.0 % failed")
    expect(page.locator("#latency use")).to_have_attribute("href", "#i-warning")


def test_without_a_baseline_latency_stands_alone(drifted: Any, open_page: Open) -> None:
    """As the service measured it itself."""
    page = open_page(drifted.server.address + "/")
    rows = page.locator("#latency tr")
    expect(rows).to_have_count(3)
    shown = [float(each.split()[0]) for each in rows.locator("td:nth-child(2)").all_inner_texts()]
    assert 0 < shown[0] <= shown[1] <= shown[2] < 10_000
    expect(rows.locator("td:nth-child(3)")).to_have_text(["", "", ""])


def test_confidence_stands_beside_the_reference(opened: Callable[..., Page]) -> None:
    told = {"mean": 0.6123, "reference_mean": 0.7456, "limit": 0.3, "low_share": 0.126}
    card = opened({"confidence": told}).locator("#confidence")
    expect(card.locator(".big")).to_have_text("0.612 mean")
    expect(card).to_contain_text("reference 0.746")
    expect(card).to_contain_text("12.6 % below 0.3")
    expect(card.locator("svg rect")).not_to_have_count(0)


LABELLED = {
    "value": 0.7, "low": 0.6, "high": 0.8, "harmful": True, "sentence": "Labels show harm.",
}  # fmt: skip
# What the service knows → what the card says, and what the verdict says.
ACCURACIES = (
    (
        {"packaged": 0.901, "estimated": ESTIMATE, "labelled": None},
        ["84.2 % estimated", "81.0 % to 87.0 %", "packaged 90.1 %"],
        "Accuracy is estimated at 84.2 %, 5.9 points below the package.",
    ),
    (
        {"packaged": 0.85, "estimated": ESTIMATE | {"unreliable": True}, "labelled": None},
        ["84.2 % estimated", "not to be relied on"],
        "Whether accuracy suffers is not known yet",
    ),
    (
        {"packaged": 0.901, "estimated": ESTIMATE, "labelled": LABELLED},
        ["70.0 % with labels", "60.0 % to 80.0 %", "estimated 84.2 %", "packaged 90.1 %"],
        "Labels show harm.",
    ),
    (
        {"packaged": None, "estimated": None, "labelled": None},
        ["no estimate yet"],
        "Whether accuracy suffers is not known yet",
    ),
)


def test_accuracy_says_how_it_is_known(opened: Callable[..., Page]) -> None:
    """On one page, that takes each answer as it comes."""
    change: dict[str, Any] = {}
    page = opened(change)
    for told, card, verdict in ACCURACIES:
        change["accuracy"] = told
        for said in card:
            expect(page.locator("#accuracy")).to_contain_text(said)
        expect(page.locator("#sure")).to_contain_text(verdict)


def test_accuracy_is_estimated_from_a_real_package(drifted: Any, open_page: Open) -> None:
    """After a major drift the estimate is shown with a doubt."""
    page = open_page(drifted.server.address + "/")
    expect(page.locator("#accuracy .big")).to_contain_text("estimated")
    packaged = drifted.server.drift()["accuracy"]["packaged"]
    expect(page.locator("#accuracy")).to_contain_text(f"packaged {100 * packaged:.1f} %")


def test_what_would_be_seen_by_now_is_said_of_an_opened_signal(
    drifted: Any, open_page: Open
) -> None:
    told = drifted.server.drift()
    row = next(each for each in told["sensitivity"]["rows"] if each["signal"] == "a2")
    size = next(each for each in told["signals"] if each["name"] == "a2")["window_size"]
    reached = {int(n): v for n, v in row["mean_shift_sd"].items() if int(n) <= size and v}
    page = open_page(drifted.server.address + "/")
    page.locator("#signals").get_by_role("button", name="a2", exact=True).click()
    seen = page.locator("tr.detail section").filter(has_text="What would be seen by now")
    expect(seen).to_contain_text(f"With {max(reached):,} values a shift of the mean by ")
    expect(seen).to_contain_text("An effect at the floor is seen with about")


def test_the_health_of_the_monitor_is_told_part_by_part(opened: Callable[..., Page]) -> None:
    change: dict[str, Any] = {}
    page = opened(change)
    health = page.locator("#health dd")
    expect(health).to_have_text(["well", "well", "well", "none"])
    expect(page.locator("#health .bad")).to_have_count(0)
    ill = {"evaluator": "silent for 40 s", "alerts": "slack: 3 waiting", "dropped": {"rows": 7}}
    change["health"] = ill
    expect(health).to_have_text(["well", "silent for 40 s", "slack: 3 waiting", "rows: 7"])
    expect(page.locator("#health .bad")).to_have_count(2)


def test_an_alert_of_a_training_says_which_one(drifted: Any, open_page: Open) -> None:
    """And leads to it: a board takes the events of many."""
    told = drifted.server.get("/alerts").json()
    run = "<b>digits</b> & co"
    told["open"] = [told["open"][0] | {"kind": "training", "model": "training", "version": run}]
    answer = "**/alerts"
    page = open_page(
        drifted.server.address + "/",
        lambda page: page.route(answer, lambda route: route.fulfill(json=told)),
    )
    link = page.locator("#alerts a")
    expect(link).to_have_text(run)
    link.click()
    expect(page).to_have_url(re.compile(r"/training#run=%3Cb%3Edigits%3C%2Fb%3E\+%26\+co$"))
    page.unroute_all(behavior="ignoreErrors")


def test_an_opened_signal_is_readable_on_a_phone(drifted: Any, open_page: Open) -> None:
    """Its table stays a table, and the marks of its axis stand apart."""
    page = open_page(drifted.server.address + "/", viewport={"width": 390, "height": 844})
    page.locator("#signals").get_by_role("button", name="a2", exact=True).click()
    detail = page.locator("tr.detail")
    expect(detail.locator(".said")).not_to_be_empty()
    for row in detail.locator("table tr").all():
        boxes = [cell.bounding_box() for cell in row.locator("th, td").all()]
        assert len(boxes) == 3
        assert len({box["y"] for box in boxes if box}) == 1
    expect(detail.locator("thead")).to_be_visible()
    ticks = detail.locator(".xtick text")
    expect(ticks).not_to_have_count(0)
    assert all("rotate" not in str(tick.get_attribute("transform")) for tick in ticks.all())
    marks = [each.bounding_box() for each in detail.locator(".axis span:visible").all()]
    assert len(marks) == 3
    for left, right in pairwise(each for each in marks if each):
        assert left["x"] + left["width"] < right["x"]


def test_numbers_that_are_rounded_say_no_more_than_they_know(drifted: Any, open_page: Open) -> None:
    page = open_page(drifted.server.address + "/")
    expect(page.locator("#state")).to_have_text("Drift")
    said = page.evaluate(
        """async () => {
          const all = performance.getEntriesByType("resource").map((each) => each.name);
          const load = (name) => import(all.find((each) => each.endsWith(`/${name}`)));
          const [{ signed }, { pairs }] = [await load("format.js"), await load("bars.js")];
          const rare = pairs([{ name: "a", reference: 0.0003, window: 0.5 }]).lastChild.textContent;
          return [signed(-0.001), signed(0.001), signed(-0.3), signed(0.3), rare];
        }"""
    )
    assert said == ["0.00", "0.00", "−0.30", "+0.30", "0.03 % → 50.0 %"]


def test_an_old_verdict_is_said_in_a_banner_until_there_is_a_new_one(
    opened: Callable[..., Page],
) -> None:
    old = datetime.fromtimestamp(time.time() - 300, UTC).isoformat().replace("+00:00", "Z")
    change = {"evaluated": old}
    page = opened(change)
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("The verdict is 5 min")
    change.clear()
    expect(banner).to_be_hidden()


def test_a_service_that_was_killed_is_rejoined(
    naughty_package: ModelPackage, tmp_path: Path, open_page: Open
) -> None:
    """The page says that it is away; once it is back what came meanwhile is there."""
    words = ("--bucket", "1s", "--state", str(tmp_path / "state.db"), "--threads", "8")
    words += ("--port", str(free_port()))
    server = served.Server(naughty_package.path, tmp_path / "first.log", *words).ready()
    rows = served.rows(50, 1).tolist()
    try:
        for _ in range(20):
            assert server.predict(rows).ok
        page = open_page(server.address + "/")
        page.watch.expected += ["ERR_CONNECTION", "ERR_INCOMPLETE_CHUNKED"]  # type: ignore[attr-defined]
        expect(page.locator("#requests")).to_contain_text("1,000 rows")
        expect(page.locator("#link")).to_have_text("Live")
        for pid in [server.process.pid, *server.workers()]:
            os.kill(pid, signal.SIGKILL)
        server.process.wait(10)
        expect(page.locator("#link")).to_have_text("Reconnecting")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        server = served.Server(naughty_package.path, tmp_path / "second.log", *words).ready()
        for _ in range(20):
            assert server.predict(rows).ok
        expect(page.locator("#link")).to_have_text("Live")
        expect(page.get_by_role("alert")).to_be_hidden()
        expect(page.locator("#requests")).to_contain_text("2,000 rows")
    finally:
        server.stop()
