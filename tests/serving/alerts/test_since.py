"""Since when an alert says that it holds."""

from __future__ import annotations

from typing import Any

from driftline.serving.alerts.alert import moment
from driftline.serving.alerts.condition import minute
from driftline.serving.alerts.episodes import advance

QUIET = 300.0


def test_an_alert_never_says_that_it_began_after_it_was_opened(kit: Any) -> None:
    """With more data the onset is estimated anew and may move on; what was told first stays, in
    the sentences too. A signal that joined later says when it did."""

    def condition(onset: float) -> Any:
        since = minute(onset)
        signals = [kit.signal(name, sentence=kit.text(f"{name} since {at}", f"自 {at} 起 {name}"))
                   for name, at in (("mean", since), ("late", minute(kit.now + 600)))]  # fmt: skip
        return kit.condition(
            since=onset, since_text=since, signals=tuple(signals),
            sentence_en=f"Drift in mean since {since}.", sentence_zh=f"自 {since} 起 mean 漂移。",
        )  # fmt: skip

    first = minute(kit.now - 120)
    going, _ = advance({}, [condition(kit.now - 120)], kit.now, QUIET)
    going, _ = advance(going, [condition(kit.now + 60)], kit.now + 660, QUIET)
    (episode,) = going.values()
    alert = episode.alert
    assert alert.since == moment(kit.now - 120)
    assert alert.sentence == kit.text(f"Drift in mean since {first}.", f"自 {first} 起 mean 漂移。")
    said = {each.name: each.sentence.en for each in alert.signals}
    assert said == {
        "mean": f"mean since {first}",
        "late": f"late since {minute(kit.now + 600)}",
    }


def test_an_onset_ahead_of_this_clock_is_told_as_the_time_of_opening(kit: Any) -> None:
    """The verdict may come from a machine whose clock is ahead."""
    ahead = kit.now + 120
    said = f"Drift since {minute(ahead)}."
    condition = kit.condition(since=ahead, since_text=minute(ahead), sentence_en=said)
    going, _ = advance({}, [condition], kit.now, QUIET)
    (episode,) = going.values()
    assert episode.alert.since == episode.alert.opened
    assert episode.alert.sentence.en == f"Drift since {minute(kit.now)}."
