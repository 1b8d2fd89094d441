"""The training page, in a real browser against a real board."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from boards import Board, points, until
from playwright.sync_api import Page, expect

Open = Callable[..., Page]

STEPS = """() => {
  const traces = document.querySelector('[data-metric="loss"] .plot')?.data ?? [];
  return [...new Set(traces.flatMap((trace) => trace.mode === "lines" ? [...trace.x] : []))];
}"""
RANGES = """() => [...document.querySelectorAll(".chart .plot")]
  .filter((plot) => plot._fullLayout)
  .map((plot) => plot._fullLayout.xaxis.range.map((end) => Math.round(end)))"""


def drawn(page: Page) -> list[int]:
    """The steps that stand in the chart of the loss."""
    return page.evaluate(STEPS)


def address(board: Board, *runs: str) -> str:
    return f"{board.address}/training#{urlencode([('run', run) for run in runs])}"


def test_nothing_yet_says_what_to_do(start_board: Callable[..., Board], open_page: Open) -> None:
    """And the first run that reports is opened by itself."""
    board = start_board()
    page = open_page(f"{board.address}/training")
    expect(page.get_by_role("heading", name="No training has reported yet")).to_be_visible()
    expect(page.locator("#snippet")).to_contain_text(f'board="{board.address}"')
    board.push("digits", 1, points(0, 20))
    expect(page.get_by_role("heading", name="digits")).to_be_visible()
    expect(page.locator("#empty")).to_be_hidden()
    until(lambda: len(drawn(page)) == 20, 10, "the curve")


def test_history_then_live(shared: Board, run: str, open_page: Open) -> None:
    """A page that is opened late has what was before; what comes is added; all of it once."""
    for sequence in range(1, 11):
        shared.push(run, sequence, points(20 * (sequence - 1), 20, bleu=0.1))
    page = open_page(address(shared, run))
    until(lambda: drawn(page) == list(range(200)), 10, "the history")
    expect(page.locator("#link")).to_have_text("Live")
    for sequence in range(11, 16):
        shared.push(run, sequence, points(200 + 4 * (sequence - 11), 4, bleu=0.2))
    until(lambda: drawn(page) == list(range(220)), 10, "the new points")
    tiles = page.locator("#tiles")
    for text in ("Step", "219", "Loss", "0.3717", "Learning rate", "bleu", "0.2"):
        expect(tiles).to_contain_text(text)
    for section in ("Main curves", "Your metrics"):
        expect(page.get_by_role("heading", name=section)).to_be_visible()


def test_a_board_that_was_killed_is_rejoined_and_nothing_is_missed(
    start_board: Callable[..., Board], open_page: Open
) -> None:
    board = start_board()
    board.push("digits", 1, points(0, 30))
    page = open_page(f"{board.address}/training")
    page.watch.expected += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION"]
    until(lambda: drawn(page) == list(range(30)), 10, "the history")
    board.kill()
    expect(page.locator("#link")).to_have_text("Reconnecting")
    expect(page.get_by_role("alert")).to_contain_text("does not answer", timeout=20_000)
    board.start()
    for sequence in range(2, 8):
        board.push("digits", sequence, points(30 + 10 * (sequence - 2), 10))
    until(lambda: drawn(page) == list(range(90)), 30, "the points that came meanwhile")
    expect(page.locator("#link")).to_have_text("Live")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_zoom_on_one_chart_moves_the_others(shared: Board, run: str, open_page: Open) -> None:
    for sequence in range(1, 6):
        shared.push(run, sequence, points(100 * (sequence - 1), 100))
    page = open_page(address(shared, run))
    until(lambda: len(drawn(page)) == 500, 10, "the history")
    until(lambda: len(page.evaluate(RANGES)) == 4, 10, "four charts")
    box = page.locator('[data-metric="loss"] .plot .nsewdrag').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + 62, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 64, steps=4)
    page.mouse.up()

    def zoomed() -> bool:
        ranges = page.evaluate(RANGES)
        low, high = ranges[0]
        return 80 < low < 120 and 280 < high < 320 and all(each == ranges[0] for each in ranges)

    until(zoomed, 10, "the zoom of all")
    expect(page.locator("#range")).to_contain_text("to")
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    expect(page.locator(".chart .cursor:visible")).to_have_count(4)
    page.get_by_role("button", name="Whole run").click()
    until(lambda: page.evaluate(RANGES)[0] == [0, 499], 10, "the whole run")


def test_the_keyboard_moves_cursor_and_zoom(shared: Board, run: str, open_page: Open) -> None:
    shared.push(run, 1, points(0, 101))
    page = open_page(address(shared, run))
    until(lambda: len(drawn(page)) == 101, 10, "the history")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    chart = page.locator('[data-metric="loss"]')
    chart.focus()
    chart.press("Home")
    expect(chart.locator(".values")).to_have_text("2")
    chart.press("ArrowRight")
    expect(chart.locator(".values")).to_contain_text("1.961")
    chart.press("End")
    expect(chart.locator(".values")).to_contain_text("0.6667")
    chart.press("+")
    until(lambda: page.evaluate(RANGES)[0] == [50, 100], 5, "the zoom")
    chart.press("0")
    until(lambda: page.evaluate(RANGES)[0] == [0, 100], 5, "the whole")


def test_runs_are_laid_over_one_another(shared: Board, run: str, open_page: Open) -> None:
    shared.push(f"{run}-a", 1, points(0, 50))
    shared.push(run, 1, points(0, 80))
    page = open_page(address(shared, run))
    page.get_by_label(f"Lay {run}-a over the others").check()
    swatches = page.locator('[data-metric="loss"] .values .swatch')
    expect(swatches).to_have_count(2)
    assert swatches.nth(0).get_attribute("class") != swatches.nth(1).get_attribute("class")
    expect(page).to_have_url(address(shared, run, f"{run}-a"))
    page.reload()
    expect(page.locator('[data-metric="loss"] .values li')).to_have_count(2)


def test_events_stand_on_the_curves_with_their_sentence(
    shared: Board, run: str, open_page: Open
) -> None:
    event = {
        "step": 60,
        "time": time.time(),
        "rule": "gradient_explosion",
        "severity": "critical",
        "sentence": "The gradient norm rose to 118, above the limit of 100.",
    }
    shared.push(run, 1, points(0, 100), [event])
    page = open_page(address(shared, run))
    row = page.locator("#events li")
    expect(row).to_contain_text("critical")
    expect(row).to_contain_text("The gradient norm rose to 118")
    marks = """() => document.querySelector('[data-metric="loss"] .plot').layout?.shapes
      ?.map((shape) => shape.x0)"""
    until(lambda: page.evaluate(marks) == [60], 10, "the mark")
    row.get_by_role("button", name="Show step 60 on the curves").click()
    until(lambda: page.evaluate(RANGES)[0] == [55, 65], 10, "the zoom to it")


def test_layers_out_of_line_are_named(shared: Board, run: str, open_page: Open) -> None:
    odd = {"grad_norm/dead.weight": 1e-6, "grad_norm/wild.weight": 40.0}
    shared.push(run, 1, points(0, 60, **odd))
    page = open_page(address(shared, run))
    expect(page.get_by_role("heading", name="Gradient norm by layer")).to_be_visible()
    expect(page.locator("#layers-odd")).to_contain_text("wild.weight")
    expect(page.locator("#layers-odd")).to_contain_text("dead.weight")
    expect(page.locator("#layer-names li")).to_have_count(5)
    page.locator("#heat").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#layers-at")).to_contain_text("step 59")


NAUGHTY = "<img src=x onerror=alert(1)>"


def test_names_from_clients_are_text(shared: Board, run: str, open_page: Open) -> None:
    event = {
        "step": 5,
        "time": time.time(),
        "rule": NAUGHTY,
        "severity": NAUGHTY,
        "sentence": f"<script>alert(2)</script>{NAUGHTY}",
    }
    more: dict[str, Any] = {NAUGHTY: 1.0, f"grad_norm/{NAUGHTY}": 2.0, "<b>bold</b>": 3.0}
    shared.push(run + NAUGHTY, 1, points(0, 30, **more), [event])
    page = open_page(address(shared, run + NAUGHTY))
    expect(page.locator("#run-name")).to_have_text(run + NAUGHTY)
    expect(page.locator("#runs")).to_contain_text(NAUGHTY)
    until(lambda: len(drawn(page)) == 30, 10, "the curve")
    expect(page.locator("#events")).to_contain_text("<script>alert(2)</script>")
    expect(page.locator("#layer-names")).to_contain_text(NAUGHTY)
    assert page.locator("main img, main script, aside img").count() == 0


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1440, "height": 900}])
def test_nothing_is_wider_than_the_screen(
    shared: Board, run: str, open_page: Open, size: dict[str, int]
) -> None:
    long = "a_metric_with_quite_a_long_name_" * 3
    name = f"{run}-quite-a-long-name-of-a-run"[:100]
    shared.push(name, 1, points(0, 30, **{long: 1.0}))
    page = open_page(address(shared, name), viewport=size)
    until(lambda: len(drawn(page)) == 30, 10, "the curve")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
