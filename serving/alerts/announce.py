"""Who is told what, once: from episodes to messages. Pure.

Every firing episode is told to every sink that wants it, once for each severity that it grows to,
and its end to every sink that was told. That one rule also covers an alert that grows worse until a
further route wants it, and a sink that is added while an alert fires.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from driftline.drift.verdict import Severity

from .alert import SEVERITIES, AlertState, Message, message_key, moment
from .episodes import Episode, Open
from .routes import Routes


def announce(
    going: Open, ended: Iterable[Episode], routes: Routes, now: float, group: float
) -> tuple[dict[str, Episode], list[Message]]:
    """The open episodes with who has been told, and the messages, in the order to be sent.

    An episode is first told `group` seconds after it was opened (or when it ends), so that the
    signals that follow the first one stand in the same message.
    """
    told: dict[str, Episode] = {}
    messages: list[Message] = []
    for each in ended:
        episode, firing = _told(each, routes, now)
        messages += firing
        messages += [_message(episode, "resolved", sink, now) for sink in episode.told]
    for key, episode in going.items():
        told[key] = episode
        age = now - episode.alert.opened.timestamp()
        # Opened is in milliseconds; and a clock that was set back must not hold an alert back.
        if age >= group - 1e-3 or age < -1e-3:
            told[key], firing = _told(episode, routes, now)
            messages += firing
    return told, messages


def _told(episode: Episode, routes: Routes, now: float) -> tuple[Episode, list[Message]]:
    alert = episode.alert
    before = episode.told
    new = [
        name
        for name, route in routes.items()
        if route.wants(alert) and (name not in before or _is_worse(alert.severity, before[name]))
    ]
    if not new:
        return episode, []
    episode = replace(episode, told={**before, **dict.fromkeys(new, alert.severity)})
    return episode, [_message(episode, "firing", name, now, before.get(name)) for name in new]


def _is_worse(severity: Severity, than: Severity) -> bool:
    return SEVERITIES.index(severity) > SEVERITIES.index(than)


def _message(
    episode: Episode, state: AlertState, sink: str, now: float, before: Severity | None = None
) -> Message:
    alert = episode.alert
    if state == "firing" and alert.state != "firing":  # told of its begin only when it ends
        alert = replace(alert, state="firing", until=None)
    return Message(
        key=message_key(alert.id, state, sink, None if before is None else alert.severity),
        sink=sink,
        state=state,
        severity=episode.told[sink],
        at=moment(now),
        alert=alert,
        before=before,
    )
