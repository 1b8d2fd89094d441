"""From settings to alert settings: the file, the plain options, and the log in any case."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from driftline.metadata.errors import SettingError

from .alerts import file
from .alerts.alerts import AlertSettings
from .alerts.sink import SinkSettings
from .secret import Secret
from .settings import Settings

Told = str | os.PathLike[str] | AlertSettings
"""A file as `alerts/file.py` describes it, or the settings themselves."""


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
    return _logged(replace(found, sinks=tuple(sinks)))


def told(given: Told | None, environment: Mapping[str, str]) -> AlertSettings:
    """Whom a library's user wants to be told; the log in any case.

    Raises:
        SettingError: the file says what cannot be, or cannot be read.
    """
    if given is None:
        return _logged(AlertSettings())
    if isinstance(given, AlertSettings):
        return _logged(given)
    return _logged(file.read(os.fspath(given), environment))


def _logged(found: AlertSettings) -> AlertSettings:
    if any(each.kind == "log" for each in found.sinks):
        return found
    return replace(found, sinks=(SinkSettings(name="log", kind="log"), *found.sinks))


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
