"""Every sentence that a training's rules have is known in Chinese, with all its values."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from boards import Board, points
from playwright.sync_api import Page, expect

from driftline.serving.pages.words_events import EVENTS, in_chinese
from driftline.serving.runs.summary import LIFE, RunEvent
from driftline.serving.runs.wire import event
from driftline.train_side.rules import RULES
from driftline.train_side.rules.rule import Rule

NAN = float("nan")
LAYERS = ("conv1.weight", "conv2.weight", "dense.weight", "head.weight", "norm.weight")


def asked(rule: Rule, values: dict[str, float], times: int = 1, **record: Any) -> str:
    """What the rule says when it is asked for the last time."""
    said = None
    for at in range(times):
        about = SimpleNamespace(step=at * 100, time=at * 10.0)
        for name, value in record.items():
            setattr(about, name, value)
        said = rule.check(SimpleNamespace(values=values, record=about, epoch=None))
    assert said is not None
    return said


def layers(norm: float, count: int) -> dict[str, float]:
    return {f"grad_norm/{name}": norm for name in LAYERS[:count]}


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence of each rule, said by the rule itself."""
    made = {kind: RULES.get(kind) for kind in RULES.kinds()}
    yield "frozen_learning_rate", asked(made["frozen_learning_rate"](), {"lr": 0.0})
    frozen = made["frozen_learning_rate"](steps=100)
    yield frozen.kind, asked(frozen, {"lr": 1e-3, "lr_scheduled": 1.0}, 3)
    yield "gradient_concentration", asked(made["gradient_concentration"](), {"grad_cv": 0.012})
    yield "gradient_dispersion", asked(made["gradient_dispersion"](), {"grad_cv": 7.25})
    for count in (0, 3):
        values = {"grad_norm": 12345.678} | layers(99.5, count)
        yield "gradient_explosion", asked(made["gradient_explosion"](), values)
    yield "gradient_vanishing", asked(made["gradient_vanishing"](), {"grad_norm": 1e-9})
    for count in (1, 2, 5):
        values = {"grad_norm": 1.0} | layers(1e-9, count)
        yield "gradient_vanishing", asked(made["gradient_vanishing"](), values)
    rise = made["loss_rise"](steps=0)
    for _ in range(12):
        rise.check(SimpleNamespace(values={"loss": 1.0}, record=SimpleNamespace(step=1)))
    yield rise.kind, asked(rise, {"loss": 3.75})
    for values in (
        {"loss": NAN},
        {"loss": NAN, "lr": NAN},
        {"grad_norm": NAN, "param_norm": NAN} | layers(NAN, 1),
        {"loss": NAN} | layers(NAN, 5),
    ):
        yield "non_finite", asked(made["non_finite"](), values)
    closed = [SimpleNamespace(number=at, loss=SimpleNamespace(sd=1.0, count=9)) for at in range(6)]
    closed[-1].loss.sd = 4.5
    epochs = SimpleNamespace(closed=closed)
    yield "oscillation", asked(made["oscillation"](), {}, epochs=epochs)
    hot = {"hottest_celsius": 91.0, "npu3/temperature_celsius": 91.0}
    yield "over_temperature", asked(made["over_temperature"](), hot)
    for waiting in (0.1, 0.8):
        drop, recent = made["throughput_drop"](), {"samples_per_second": 100.0}
        for _ in range(25):
            drop.check(SimpleNamespace(values=recent, record=SimpleNamespace(time=0.0)))
        now = {"samples_per_second": [50.0], "data_wait": [waiting]}

        def of(name: str, window: int, now: dict[str, list[float]] = now) -> list[float]:
            return now[name]

        yield drop.kind, asked(drop, recent, 3, recent=of)


SAID = list(sentences())
LIVED = [
    ("ended", "The training has finished."),
    ("ended", "The training has stopped."),
    ("ended", "It ended: interrupted by SIGTERM."),
    ("resumed", "The process before this one stopped without an end after step 40, at 2026-01-01."),
    (
        "resumed",
        "The process before this one ended after step 40, at 2026-01-01: interrupted by X.",
    ),
]


def test_every_rule_is_asked_here() -> None:
    assert {kind for kind, _ in SAID} == set(RULES.kinds())
    assert EVENTS.keys() == set(RULES.kinds()) | LIFE


@pytest.mark.parametrize(("kind", "sentence"), SAID + LIVED)
def test_a_sentence_is_known_with_its_values(kind: str, sentence: str) -> None:
    said = in_chinese(kind, sentence)
    assert said is not None
    names = "|".join([*map(re.escape, LAYERS), *(each.partition(".")[0] for each in LAYERS)])
    left = re.sub(rf"{names}|npu3|NaN|°C|SIGTERM|\bX\b|\d[\de.+-]*", "", said)
    assert not re.search(r"[A-Za-z]", left), said
    numbers = r"\d[\d.]*(?:e[-+]\d+)?"
    assert sorted(re.findall(numbers, said)) == sorted(re.findall(numbers, sentence.rstrip(".")))
    assert in_chinese(kind, f"rank 3: {sentence}") == f"进程 3:{said}"


def test_what_nobody_knows_is_told_as_it_came() -> None:
    assert in_chinese("a_rule_of_mine", "The training has finished.") is None
    assert in_chinese("loss_rise", "Something else.") is None
    assert "sentence_zh" not in event(RunEvent(1, 1.0, "mine", "info", "It is so."))


def test_a_sentence_of_a_hostile_client_takes_no_time() -> None:
    began = time.perf_counter()
    for kind, said in EVENTS.items():
        for english, _ in said:
            for part in re.split(r"\{\w+\}", english):
                in_chinese(kind, (part * 2_000)[:2_000])
                in_chinese(kind, english[:30] + (part * 2_000)[:1_900])
    assert time.perf_counter() - began < 2


def test_the_chinese_page_speaks_chinese(
    shared: Board, run: str, open_page: Callable[..., Page]
) -> None:
    """And shows the words of a rule that it does not know."""
    told = [
        {"step": 5, "time": 1e9, "rule": kind, "severity": "critical", "sentence": sentence}
        for kind, sentence in (*SAID[4:5], ("mine", "My own words."))
    ]
    shared.push(run, 1, points(0, 10), told)
    page = open_page(f"{shared.address}/training#run={run}", locale="zh-CN")
    expect(page.locator("#events")).to_contain_text("梯度范数为 1.23e+04,高于 100")
    expect(page.locator("#events")).to_contain_text("My own words.")
    expect(page.locator("#events")).not_to_contain_text("The gradient norm")
    page.get_by_role("link", name="English").click()
    expect(page.locator("#events")).to_contain_text("The gradient norm is 1.23e+04")
