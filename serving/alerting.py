"""From settings to alert settings: the file, the plain options, and the log in any case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from driftline.metadata.errors import SettingError

from .alerts import file
from .alerts.alerts import AlertSettings
from .alerts.sink import SinkSettings
from .secret import Secret
from .settings import Settings


def alerts_of(settings: Settings, environment: Mapping[str, str]) -> AlertSettings:
    """Whom the settings want to be told.

    A plain option wins over the file; the sinks of both are told. The log is told in any case.

    Raises:
        SettingError: the file or an option says what cannot be.
    """
    found = AlertSettings()
    if settings.alerts is not None:
        found = file.read(settings.alerts, environment)
    chosen: dict[str, Any] = {
        "quiet_seconds": settings.alert_quiet,
        "group_seconds": settings.alert_group,
        "language": settings.alert_language,
        "link_base": settings.alert_link,
    }
    found = replace(found, **{name: value for name, value in chosen.items() if value is not None})
    sinks = [*found.sinks, *sinks_in(settings.alert_sinks)]
    if settings.alert_webhook is not None:
        url, secret = settings.alert_webhook, settings.alert_secret
        sinks.append(SinkSettings(name="webhook", kind="cloudevents", url=url, secret=secret))
    if not any(each.kind == "log" for each in sinks):
        sinks.insert(0, SinkSettings(name="log", kind="log"))
    return replace(found, sinks=tuple(sinks))


def sinks_in(text: Secret | None) -> list[SinkSettings]:
    """The sinks of ``"slack=https://… feishu=https://…"``; a second one of a kind is ``slack-2``.

    Raises:
        SettingError: a part is no ``kind=URL``.
    """
    found: list[SinkSettings] = []
    for part in text.reveal().split() if text is not None else ():
        kind, equals, url = part.partition("=")
        if not equals or not kind or not url:
            raise SettingError("alert_sinks", "kind=URL is wanted, such as slack=https://…")
        before = sum(each.kind == kind for each in found)
        name = kind if not before else f"{kind}-{before + 1}"
        found.append(SinkSettings(name=name, kind=kind, url=Secret(url)))
    return found
