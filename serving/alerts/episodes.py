"""Episodes: from what holds now to alerts that begin once and end once.

Pure: the episodes so far, the conditions and the time in; the episodes and those that ended out.
An episode begins when its condition fires. It ends when the condition has been clear for the whole
quiet period, so a condition that flaps at its threshold is one episode, and however it flaps at
most one begins and one ends per quiet period. Time in which nobody could say whether it holds
counts for neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from driftline.drift.verdict import Severity

from .alert import SEVERITIES, Acknowledgement, Alert, SignalNote, Text, moment, worst
from .condition import Condition, minute

# A condition that nobody speaks of any more (a model version taken out of service) ends this long
# after it was last spoken of; far above the time that a restart takes.
ABSENT_SECONDS = 3600.0
# The figures in a firing alert's sentence change with every request; they are renewed this often,
# and at once when the alert gets worse or names other signals.
REFRESH_SECONDS = 60.0


class Episode(Struct, frozen=True):
    """One alert with what is needed to end it; times in Unix seconds.

    `told` maps the sinks that have heard of it to the severity of which they last did. Of the
    time since `clear_since`, what lies after `unseen_since` was not seen to be clear.
    """

    alert: Alert
    refreshed: float
    told: dict[str, Severity] = {}
    clear_since: float | None = None
    absent_since: float | None = None
    unseen_since: float | None = None


Open = Mapping[str, Episode]
"""The episodes that go on, by the key of their condition."""


class Acknowledged(Struct, frozen=True):
    """Somebody's word that they take the alert `id` on."""

    id: str
    word: Acknowledgement


def advance(
    episodes: Open, conditions: Iterable[Condition], now: float, quiet: float, link_base: str = ""
) -> tuple[dict[str, Episode], list[Episode]]:
    """The episodes that go on at `now`, and those that end; `quiet` in seconds.

    Of several conditions with one key the first that fires counts.
    """
    current: dict[str, Condition] = {}
    for each in conditions:
        held = current.get(each.key)
        if held is None or (each.firing and not held.firing):
            current[each.key] = each
    going: dict[str, Episode] = {}
    ended: list[Episode] = []
    for key, episode in episodes.items():
        moved = _moved(episode, current.get(key), now)
        over = _over(moved, now, quiet)
        if over is None:
            going[key] = moved
        else:
            ended.append(over)
    for key, condition in current.items():
        if condition.firing and key not in episodes:
            going[key] = Episode(_begun(condition, now, link_base), refreshed=now)
    return going, ended


def acknowledge(episodes: Open, words: Iterable[Acknowledged]) -> dict[str, Episode]:
    """The episodes with who took them on; the first word counts, words for others are dropped."""
    first: dict[str, Acknowledgement] = {}
    for each in words:
        first.setdefault(each.id, each.word)
    return {
        key: replace(episode, alert=replace(episode.alert, acknowledged=first[episode.alert.id]))
        if episode.alert.acknowledged is None and episode.alert.id in first
        else episode
        for key, episode in episodes.items()
    }


def _moved(episode: Episode, condition: Condition | None, now: float) -> Episode:
    if condition is None:
        return replace(_unseen(episode, now), absent_since=_earlier(episode.absent_since, now))
    if episode.absent_since is not None:
        episode = replace(episode, absent_since=None)
    if condition.firing is None:
        return _unseen(episode, now)
    if condition.firing:
        return _refreshed(replace(episode, clear_since=None, unseen_since=None), condition, now)
    return _clear(episode, now)


def _unseen(episode: Episode, now: float) -> Episode:
    if episode.clear_since is None:
        return episode
    return replace(episode, unseen_since=_earlier(episode.unseen_since, now))


def _clear(episode: Episode, now: float) -> Episode:
    clear = _earlier(episode.clear_since, now)
    if episode.unseen_since is not None:
        # The clock of the quiet period stood meanwhile.
        clear += now - min(max(episode.unseen_since, clear), now)
    return replace(episode, clear_since=clear, unseen_since=None)


def _earlier(since: float | None, now: float) -> float:
    # A time after now comes of a clock that was set back since.
    return now if since is None else min(since, now)


def _over(episode: Episode, now: float, quiet: float) -> Episode | None:
    alert, clear, absent = episode.alert, episode.clear_since, episode.absent_since
    if absent is not None and now - absent >= max(ABSENT_SECONDS, quiet):
        said = alert.sentence
        sentence = Text(f"No longer watched. Before: {said.en}", f"已不再监测。此前:{said.zh}")
        alert = replace(alert, state="resolved", until=moment(absent), sentence=sentence)
        return replace(episode, alert=alert)
    # A condition that is absent or unknown proves nothing; only one that is seen clear ends.
    seen = absent is None and episode.unseen_since is None
    if clear is not None and seen and now - clear >= quiet:
        return replace(episode, alert=replace(alert, state="resolved", until=moment(clear)))
    return None


def _begun(condition: Condition, now: float, link_base: str) -> Alert:
    # Of the time and not of a counter: a store that was emptied must not give an id out again.
    identity = f"{condition.key}@{now:.3f}".encode()
    since = moment(now if condition.since is None else min(condition.since, now))
    page = "/training" if condition.kind == "training" else "/"
    return Alert(
        id=f"{condition.kind}-{hashlib.sha256(identity).hexdigest()[:20]}",
        kind=condition.kind,
        model=condition.model,
        version=condition.version,
        name=condition.name,
        state="firing",
        severity=condition.severity,
        since=since,
        opened=moment(now),
        sentence=_dated(Text(condition.sentence_en, condition.sentence_zh), condition, since),
        evidence_log10=condition.evidence_log10,
        needed_log10=condition.needed_log10,
        signals=_signals(condition, since),
        signal_count=len(condition.signals),
        groups=condition.groups,
        link=link_base.rstrip("/") + page if link_base else "",
    )


def _refreshed(episode: Episode, condition: Condition, now: float) -> Episode:
    alert = episode.alert
    severity = max(alert.severity, condition.severity, key=SEVERITIES.index)
    known = {each.name for each in alert.signals}
    seen = {each.name for each in worst(condition.signals)}
    same = severity == alert.severity and known == seen and condition.groups == alert.groups
    if same and 0 <= now - episode.refreshed < REFRESH_SECONDS:
        return episode
    since = min(alert.since, alert.opened)
    since = since if condition.since is None else min(since, moment(condition.since))
    alert = replace(
        alert,
        severity=severity,
        since=since,
        sentence=_dated(Text(condition.sentence_en, condition.sentence_zh), condition, since),
        evidence_log10=condition.evidence_log10,
        needed_log10=condition.needed_log10,
        signals=_signals(condition, since),
        signal_count=len(condition.signals),
        groups=condition.groups,
    )
    return replace(episode, alert=alert, refreshed=now)


def _signals(condition: Condition, since: datetime) -> tuple[SignalNote, ...]:
    return tuple(
        replace(each, sentence=_dated(each.sentence, condition, since))
        for each in worst(condition.signals)
    )


def _dated(text: Text, condition: Condition, since: datetime) -> Text:
    # With more data the begin is estimated anew, and may come to lie after what was told already,
    # even after the alert was opened.
    said = condition.since_text
    if not said or condition.since is None or moment(condition.since) <= since:
        return text
    told = minute(since.timestamp())
    return Text(text.en.replace(said, told), text.zh.replace(said, told))
