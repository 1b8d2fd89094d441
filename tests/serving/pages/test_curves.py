"""How curves are drawn: on a log axis, smoothed, or as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from boards import Board, points, until
from playwright.sync_api import Page, expect

DRAWN = """(name) => {
  const plot = document.querySelector(`[data-metric="${name}"] .plot`);
  return (plot?.data ?? []).map((trace) => [...trace.y]);
}"""
AXES = """() => [...document.querySelectorAll(".chart .plot")].filter((plot) => plot._fullLayout)
  .map((plot) => [plot._fullLayout.yaxis.type, ...plot._fullLayout.yaxis.range])"""
SLIDE = """(value) => {
  const slider = document.getElementById("smoothing");
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}"""


@pytest.fixture
def page(shared: Board, run: str, open_page: Callable[..., Page]) -> Page:
    """A run of 60 steps, in a browser that keeps what is chosen to itself."""
    shared.push(run, 1, points(0, 30, wide=0.02))
    shared.push(run, 2, points(30, 30, wide=3.0))
    page = open_page(f"{shared.address}/training#run={run}", color_scheme="light")
    until(lambda: len((drawn(page, "grad_norm") or [[]])[-1]) == 60, 20, "the curves")
    return page


def drawn(page: Page, name: str) -> list[list[float]]:
    traces: list[list[float]] = page.evaluate(DRAWN, name)
    return traces


def mean(values: list[float], weight: float) -> list[float]:
    """An exponential mean without the bias of its start."""
    found, total, mass = [], 0.0, 0.0
    for value in values:
        total = weight * total + (1 - weight) * value
        mass = weight * mass + 1 - weight
        found.append(total / mass)
    return found


def test_a_log_axis_is_for_all_charts_and_stays(page: Page) -> None:
    def axes() -> list[Any]:
        return [kind for kind, *_ in page.evaluate(AXES)]

    assert axes() == ["linear"] * 5
    page.get_by_label("Log scale").check()
    until(lambda: axes() == ["log"] * 5, 10, "the log axes")
    _, low, high = page.evaluate(AXES)[0]
    # In powers of ten around the least and the largest loss, 0.917 and 2.
    assert low < -0.0375 < 0.301 < high
    assert high - low < 1
    # Each mark says its whole number, 0.05 and not 5.
    marks = page.locator('[data-metric="wide"] .ytick text')
    told = [float(each) for each in marks.all_text_contents()]
    assert len(told) >= 3
    assert all(0.01 < each < 5 for each in told)
    page.reload()
    until(lambda: axes() == ["log"] * 5, 20, "the log axes after a reload")
    page.get_by_label("Log scale").uncheck()
    until(lambda: axes() == ["linear"] * 5, 10, "the plain axes")


def test_smoothing_draws_the_mean_and_keeps_the_values_behind_it(page: Page) -> None:
    raw = [1.0 + (step % 7) / 10 for step in range(60)]
    page.evaluate(SLIDE, "0")
    until(lambda: drawn(page, "grad_norm") == [raw], 10, "the values alone")
    page.evaluate(SLIDE, "0.9")
    expect(page.locator("#smoothing-value")).to_have_text("0.90")
    until(lambda: len(drawn(page, "grad_norm")) == 2, 10, "the mean before the values")
    behind, before = drawn(page, "grad_norm")
    assert behind == raw
    assert before == pytest.approx(mean(raw, 0.9))
    # A mean of what is exact would only tell it late.
    assert drawn(page, "lr") == [[0.001] * 60]
    # The value that is read beside the curve is the measured one.
    chart = page.locator('[data-metric="grad_norm"]')
    expect(chart.locator(".values")).to_have_text("1.300")


def test_the_axis_says_what_it_counts(page: Page) -> None:
    titles = (
        """() => [...document.querySelectorAll(".chart .xtitle")].map((each) => each.textContent)"""
    )
    until(lambda: page.evaluate(titles) == ["steps"] * 5, 10, "the words")
    page.get_by_label("Along").select_option("time")
    until(lambda: page.evaluate(titles) == ["min since the start"] * 5, 10, "the other words")
