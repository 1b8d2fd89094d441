"""Sentences: plain words with numbers, in two languages."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from driftline.drift import Breach, Effect, MultivariateVerdict, SignalVerdict, Verdict, sentence

EFFECT = Effect(
    psi=0.41, js=0.2, w1_sd=0.8, mean_shift_sd=0.8, cell="≥ 2", rate=0.2, reference_rate=0.03
)
SIGNAL = SignalVerdict(
    name="mean_0",
    group="input",
    kind="continuous",
    state="drift",
    evidence_log10=6.3,
    effect=EFFECT,
    severity="major",
    onset=1_700_057_100,
    reference_size=5000,
    window_size=250,
    needed=300,
    inflation=1.0,
    sentence="",
)
WHOLE = Verdict(
    state="drift",
    evidence_log10=5.1,
    onset=1_700_057_100,
    window_from=1_700_053_800,
    window_to=1_700_057_400,
    window_rows=3000,
    alpha=1 / 43200,
    independent=False,
    signals=(SIGNAL,),
    breaches=(),
    sentence="",
)


TOGETHER = MultivariateVerdict(
    name="input together",
    group="input",
    state="drift",
    evidence_log10=6.3,
    distance=0.84,
    moved={"age": 0.31, "income": -0.24, "height": 0.2, "weight": 0.1},
    severity="major",
    onset=1_700_057_100,
    reference_size=5000,
    window_size=250,
    needed=300,
    inflation=1.0,
    sentence="",
)


def flag(rate: float) -> SignalVerdict:
    effect = replace(
        EFFECT, mean_shift_sd=None, w1_sd=None, cell="", rate=rate, reference_rate=0.001
    )
    return replace(SIGNAL, name="age:missing", kind="flag", effect=effect)


def test_a_shift_is_told_with_size_time_effect_and_rarity() -> None:
    said = sentence(SIGNAL)
    assert said == (
        "mean_0 rose by 0.8 σ since 2023-11-15 14:05Z; PSI 0.41 (major); without a change such "
        "evidence comes less than once in 3 years."
    )
    assert "fell by 0.8 σ" in sentence(replace(SIGNAL, effect=replace(EFFECT, mean_shift_sd=-0.8)))


def test_signals_together_are_told_with_those_that_moved_most() -> None:
    said = sentence(TOGETHER)
    assert said == (
        "input together: moved by 0.84 σ since 2023-11-15 14:05Z, most age +0.31 σ, "
        "income -0.24 σ, height +0.20 σ (major); without a change such evidence comes less than "
        "once in 3 years."
    )
    assert sentence(TOGETHER, "zh").startswith("自 2023-11-15 14:05Z 起输入信号整体移动了 0.84 σ")
    for state, words in {
        "stable": "as in the reference (250 values)",
        "insufficient_data": "about 300 are needed",
        "no_data": "no values in the window",
    }.items():
        assert words in sentence(replace(TOGETHER, state=state))
        assert "σ" not in sentence(replace(TOGETHER, state=state), "zh")


def test_the_whole_is_told_by_those_together_only_where_no_signal_says_as_much() -> None:
    quiet = replace(SIGNAL, state="warning")
    both = replace(WHOLE, multivariates=(TOGETHER,))
    assert sentence(both).startswith("Drift in mean_0 since")
    small = replace(both, signals=(quiet,))
    assert sentence(small).startswith("input together: moved by 0.84 σ")
    assert sentence(small).endswith("None of them has drifted by itself.")
    sure = replace(
        WHOLE, state="warning", signals=(), multivariates=(replace(TOGETHER, state="warning"),)
    )
    assert sentence(sure).endswith("None of them has surely changed by itself.")


def test_a_rate_is_told_in_percent() -> None:
    assert "age:missing rose from 0.1 % to 5 %" in sentence(flag(0.05))


def test_a_change_of_shape_names_the_cell() -> None:
    stuck = replace(SIGNAL, effect=replace(EFFECT, mean_shift_sd=0.02, cell="= 0.3"))
    assert "mean_0 changed; = 0.3 went from 3 % to 20 %" in sentence(stuck)


@pytest.mark.parametrize(
    ("evidence", "width", "span"),
    [(2.0, 60, "1 h"), (4.0, 60, "6 d"), (1.0, 1, "10 s"), (20.0, 60, "a thousand years")],
)
def test_rarity_is_the_bucket_times_the_evidence(evidence: float, width: int, span: str) -> None:
    assert f"less than once in {span}." in sentence(
        replace(SIGNAL, evidence_log10=evidence), width=width
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("state", ["no_data", "insufficient_data", "stable", "warning", "drift"])
def test_every_state_has_a_sentence_in_both_languages(state, language) -> None:
    signal = replace(SIGNAL, state=state)
    whole = replace(WHOLE, state=state, signals=(signal,))
    for said in (sentence(signal, language), sentence(whole, language)):
        assert said
        assert said[-1] in ".。"
        assert "None" not in said
        assert ("。" in said) == (language == "zh")


def test_independence_is_said_where_it_was_assumed() -> None:
    said = sentence(replace(WHOLE, independent=True))
    assert said.endswith("This assumes independent requests.")
    assert "assumes" not in sentence(WHOLE)


def test_many_signals_are_counted_not_listed() -> None:
    many = tuple(replace(SIGNAL, name=f"mean_{index}") for index in range(9))
    assert "and 6 more since" in sentence(replace(WHOLE, signals=many))


def test_a_joint_change_names_nobody() -> None:
    stable = replace(SIGNAL, state="stable")
    said = sentence(replace(WHOLE, state="warning", signals=(stable,)))
    assert said.startswith("The signals together have changed since 2023-11-15 14:05Z")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_breached_limit_is_told_with_both_numbers(language) -> None:
    said = sentence(Breach("mean_0", "mean_change", 0.05, 0.0812, ""), language)
    assert "mean_0" in said
    assert "0.0812" in said
    assert "0.05" in said


def test_a_verdict_told_in_one_language_can_be_told_in_the_other() -> None:
    told = replace(WHOLE, signals=(replace(SIGNAL, sentence=sentence(SIGNAL, "zh")),))
    assert "。" not in sentence(told, "en")
