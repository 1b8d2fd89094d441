"""The drift page, in a real browser against a real service."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import requests
from boards import until
from playwright.sync_api import Page, expect

Open = Callable[..., Page]
NAUGHTY = "<img src=x onerror=alert(1)>"


def test_drift_appears_with_signal_onset_and_sentence(
    start_service: Callable[..., Any], open_page: Open
) -> None:
    """From nothing to stable to drift, on a page that is open all the while."""
    traffic = start_service()
    page = open_page(traffic.server.address + "/")
    state = page.locator("#state")
    expect(state).to_have_text("No data")
    expect(page.locator("#next")).to_contain_text("Send a prediction to /predict")
    traffic.send(60)
    expect(state).to_have_text("Stable", timeout=30_000)
    expect(page.locator("#requests")).to_contain_text("3,000 rows")
    time.sleep(2)  # so that the onset has a bucket of its own
    began = time.time()
    traffic.send(60, shift=0.8)
    expect(state).to_have_text("Drift", timeout=30_000)
    expect(page.locator("#sentence")).to_contain_text("a2")
    first = page.locator("#signals tr").first
    expect(first).to_have_attribute("data-signal", "a2")
    expect(first.locator(".state")).to_have_text("Drift")
    onset = first.locator("time").get_attribute("datetime")
    assert onset is not None
    assert abs(datetime.fromisoformat(onset).timestamp() - began) <= 4
    expect(page.get_by_role("button", name="a2", exact=True).first).to_be_visible()

    first.get_by_role("button", name="a2").click()
    detail = page.locator("#signals tr.detail")
    expect(detail.locator(".said")).to_contain_text("a2 rose by")
    expect(detail.locator("svg.histogram rect")).not_to_have_count(0)
    expect(detail).to_contain_text("standard deviation")
    shapes = "() => document.querySelector('tr.detail .plot')?.layout?.shapes?.length"
    until(lambda: page.evaluate(shapes) == 1, 10, "the mark of the onset")
    first.get_by_role("button", name="a2").click()
    expect(detail).to_have_count(0)

    alert = page.locator("#alerts li").first
    expect(alert).to_contain_text("Drift in a2", timeout=30_000)
    alert.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_label("Your name")).to_be_focused()  # who is it?
    page.keyboard.type("Ada")
    alert.get_by_role("button", name="Acknowledge").click()
    expect(alert).to_contain_text("taken on by Ada")
    told = requests.get(traffic.server.address + "/alerts").json()["open"][0]
    assert told["acknowledged"]["by"] == "Ada"


def test_names_from_the_package_are_text(drifted: Any, open_page: Open) -> None:
    page = open_page(drifted.server.address + "/")
    expect(page.locator("#state")).to_have_text("Drift")
    expect(page.locator("#mix-body")).to_contain_text(NAUGHTY)
    page.locator("#find-signal").fill("onerror")
    row = page.locator("#signals tr").first
    expect(row).to_contain_text(f"p_{NAUGHTY}")
    row.get_by_role("button").click()
    expect(page.locator("#signals tr.detail .said")).to_contain_text(NAUGHTY)
    assert page.locator("main img").count() == 0


def test_signals_are_found_by_name_and_group(drifted: Any, open_page: Open) -> None:
    page = open_page(drifted.server.address + "/")
    rows = page.locator("#signals tr")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Show all").click()
    expect(rows).not_to_have_count(25)
    page.locator("#group").select_option("output")
    expect(rows.first).to_contain_text("Outputs")
    page.locator("#find-signal").fill("no such signal")
    expect(page.get_by_text("No signal matches.")).to_be_visible()


def test_a_chip_of_the_verdict_opens_its_signal(drifted: Any, open_page: Open) -> None:
    page = open_page(drifted.server.address + "/")
    page.locator(".chip", has_text="a2").click()
    expect(page.locator('tr[data-signal="a2"] button')).to_be_focused()
    expect(page.locator("tr.detail .said")).to_contain_text("a2")


def test_a_store_that_is_away_is_said_in_a_banner(
    start_service: Callable[..., Any], open_page: Open
) -> None:
    """Predictions go on; and the banner goes when the store is back."""
    traffic = start_service()
    traffic.send(5)
    page = open_page(traffic.server.address + "/")
    expect(page.locator("#state")).not_to_have_text("Loading…")
    words = traffic.server.process.args
    lock = sqlite3.connect(words[words.index("--state") + 1], isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        banner = page.get_by_role("alert")
        expect(banner).to_contain_text("store cannot be reached", timeout=40_000)
        traffic.send(3)
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    expect(banner).to_be_hidden(timeout=40_000)


def test_without_a_place_among_the_streams_the_page_polls(
    start_service: Callable[..., Any], open_page: Open
) -> None:
    traffic = start_service("--workers", "1", "--threads", "4")
    addresses = [traffic.server.address + "/"] * 3
    pages = [open_page(address) for address in addresses]
    for page in pages:
        page.watch.expected += ["503"]
    links = [page.locator("#link") for page in pages]
    until(
        lambda: sorted(link.inner_text() for link in links) == ["Asking every 2 s", "Live", "Live"],
        20,
        "two streams and one page that polls",
    )
    traffic.send(40)
    for page in pages:
        expect(page.locator("#requests")).to_contain_text("2,000 rows", timeout=20_000)
