"""What a person on call reads, in both languages; and conditions made of verdicts."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from driftline.drift.verdict import Breach, Effect, MultivariateVerdict, SignalVerdict, Verdict
from driftline.serving.alerts import Alert, Message, from_breaches, from_verdict
from driftline.serving.alerts.alert import Kind
from driftline.serving.alerts.log import Log
from driftline.serving.alerts.words import told


def test_a_firing_alert_says_what_how_much_since_when_how_sure_and_where(kit: Any) -> None:
    words = told(kit.message(signal_count=12), "en")
    assert words.title == "[major] Drift: digits/1"
    assert words.lines == (
        "Drift in mean since 14:05Z.",
        "Since 2027-01-15 07:58:00Z, told 2027-01-15 08:00:05Z.",
        "Evidence 10^6.2 (10^4.6 needed): more than enough",
        "Look at the signals below: a changed source, unit or preprocessing first, then whether "
        "the population itself moved.",
    )
    assert words.signals == ("mean (input, major): mean rose by 0.8 σ", "and 11 more")
    assert words.link == "https://drift.example/"


def test_the_same_in_chinese(kit: Any) -> None:
    words = told(kit.message(signal_count=12), "zh")
    assert words.title == "[严重] 数据漂移:digits/1"
    assert words.lines[0] == "自 14:05Z 起 mean 出现漂移。"
    assert words.lines[2] == "证据强度 10^6.2(阈值 10^4.6):远超阈值"
    assert words.signals == ("mean(input,严重):mean 上升了 0.8 σ", "另有 11 个信号")


def test_an_alert_that_has_grown_worse_says_so_in_its_title(kit: Any) -> None:
    message = msgspec.structs.replace(kit.message(), before="moderate")
    assert told(message, "en").title == "[major, worse than moderate] Drift: digits/1"
    assert told(message, "zh").title == "[严重,由中等加重] 数据漂移:digits/1"
    assert told(message, "en").lines == told(kit.message(), "en").lines


def test_growing_worse_is_in_the_programs_own_log(
    kit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    message = msgspec.structs.replace(kit.message(), before="moderate")
    Log(kit.sink("http://unused/", kind="log")).send(message)
    assert caplog.messages[0].startswith("[major, worse than moderate] Drift: digits/1")


def test_an_end_says_how_long_it_lasted_and_what_it_was(kit: Any) -> None:
    words = told(kit.message("resolved", name="night"), "en")
    assert words.title == "[resolved] Drift: digits/1 · night"
    assert words.lines == (
        "Over since 2027-01-15 08:10:00Z; it lasted 12 min.",
        "It was: Drift in mean since 14:05Z.",
    )
    words = told(kit.message("resolved"), "zh")
    assert words.title == "[已恢复] 数据漂移:digits/1"
    assert words.lines[0] == "自 2027-01-15 08:10:00Z 起恢复,持续 12 分钟。"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_words(kit: Any, kind: Any, language: Any) -> None:
    words = told(kit.message(kind=kind, evidence_log10=None, signals=(), signal_count=0), language)
    assert len(words.lines) == 3
    assert all(words.lines)
    assert not words.signals


def test_alerts_and_messages_survive_json(kit: Any) -> None:
    for state in ("firing", "resolved"):
        message = kit.message(state)
        encoded = msgspec.json.encode(message)
        assert msgspec.json.decode(encoded, type=Message) == message
        newer = msgspec.json.decode(encoded)
        newer["alert"]["not_known_yet"] = 1
        assert msgspec.convert(newer, Message) == message
        assert msgspec.json.decode(msgspec.json.encode(message.alert), type=Alert) == message.alert


def signal(name: str, state: Any, **changes: Any) -> SignalVerdict:
    values: dict[str, Any] = {
        "name": name,
        "group": "input",
        "kind": "continuous",
        "state": state,
        "evidence_log10": 7.0,
        "effect": Effect(psi=0.3, js=0.2, w1_sd=0.8, mean_shift_sd=0.8),
        "severity": "major",
        "onset": 1_800_000_000,
        "reference_size": 5000,
        "window_size": 300,
        "needed": 100,
        "inflation": 1.0,
        "sentence": "",
    }
    return SignalVerdict(**(values | changes))


def verdict(state: Any, *signals: SignalVerdict, **changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "state": state,
        "evidence_log10": 5.0,
        "onset": 1_800_000_000,
        "window_from": 1_799_999_000,
        "window_to": 1_800_000_060,
        "window_rows": 300,
        "alpha": 1e-4,
        "independent": False,
        "signals": signals,
        "breaches": (),
        "sentence": "",
    }
    return Verdict(**(values | changes))


def test_a_verdict_of_drift_is_a_condition_that_fires() -> None:
    """It names the drifting signals and no others, in both languages."""
    found = from_verdict(
        verdict(
            "drift",
            signal("mean", "drift"),
            signal("spread", "drift", severity="minor", effect=None),
            signal("calm", "stable"),
            signal("small", "warning"),
        ),
        "digits",
        "1",
    )
    assert found.firing is True
    assert found.severity == "major"
    assert found.since == 1_800_000_000
    assert found.since_text in found.sentence_en
    assert found.since_text in found.sentence_zh
    assert found.needed_log10 == pytest.approx(4.0)
    assert [each.name for each in found.signals] == ["mean", "spread"]
    assert "mean" in found.sentence_en
    assert "漂移" in found.sentence_zh
    assert "σ" in found.signals[0].sentence.zh


def test_signals_that_drift_only_together_fire_with_their_own_severity() -> None:
    many = MultivariateVerdict(
        name="input together",
        group="input",
        state="drift",
        evidence_log10=6.0,
        distance=0.7,
        moved={"mean": 0.4, "spread": -0.3},
        severity="major",
        onset=1_800_000_000,
        reference_size=1_000,
        window_size=300,
        needed=100,
        inflation=1.0,
        sentence="",
    )
    found = from_verdict(
        verdict("drift", signal("mean", "warning", severity="minor"), multivariates=(many,)),
        "digits",
        "1",
    )
    assert (found.firing, found.severity, found.signals) == (True, "major", ())
    assert found.groups == ("input",), "so that it goes to those who want its group"
    assert found.sentence_en.startswith("input together: moved by 0.7 σ")
    assert "mean +0.40 σ" in found.sentence_zh


@pytest.mark.parametrize(
    ("state", "firing"),
    [("stable", False), ("warning", False), ("insufficient_data", None), ("no_data", None)],
)
def test_other_verdicts_clear_or_say_nothing(state: Any, firing: bool | None) -> None:
    assert from_verdict(verdict(state), "digits", "1").firing is firing


def test_breaches_are_a_condition_of_their_own() -> None:
    breach = Breach("latency_ms", "mean_high", 200.0, 310.0, "")
    found = from_breaches(verdict("stable", breaches=(breach,)), "digits", "1")
    assert (found.kind, found.firing) == ("limit", True)
    assert found.since is None, "the window goes back further than the breach"
    assert "latency_ms" in found.sentence_en
    assert "latency_ms" in found.sentence_zh
    assert from_breaches(verdict("stable"), "digits", "1").firing is False
    assert from_breaches(verdict("no_data"), "digits", "1").firing is None
