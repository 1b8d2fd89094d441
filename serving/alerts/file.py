"""Alert settings from a file: one TOML or JSON document for whom to tell, and how.

::

    quiet = "5m"
    group = "5s"
    language = "en"
    link = "https://drift.example"

    [[sinks]]
    name = "on-call"
    kind = "slack"
    url_file = "/run/secrets/slack"        # or url_env = "SLACK_URL", or url = "https://…"
    route = { severity = "moderate", kinds = ["drift", "accuracy"] }

    [tolerance]
    low_confidence = 0.1

An address and a secret may stand in a file or a variable of their own, so that this one can be
shown to anybody.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from driftline.drift.verdict import Language
from driftline.metadata.errors import SettingError

from ..secret import Secret
from ..settings import seconds
from .alerts import AlertSettings
from .routes import Route
from .sink import SinkSettings
from .tolerance import Tolerance

Duration = str | int | float
LONGEST_QUIET, LONGEST_GROUP = 86_400, 3_600


class _Sink(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    kind: str
    url: str | None = None
    url_file: str | None = None
    url_env: str | None = None
    secret: str | None = None
    secret_file: str | None = None
    secret_env: str | None = None
    route: Route = Route()
    language: Language | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    sinks: tuple[_Sink, ...] = ()
    quiet: Duration = 300
    group: Duration = 5
    language: Language = "en"
    link: str = ""
    tolerance: Tolerance = Tolerance()


def read(path: str, environment: Mapping[str, str]) -> AlertSettings:
    """The settings in the file at `path`, JSON where it ends in ``.json``, else TOML.

    Raises:
        SettingError: naming what is unknown, impossible or cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        raw = msgspec.json.decode(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("alerts", f"{path} cannot be read: {error}") from None
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError("alerts", f"{path}: {error}") from None
    try:
        found = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        field = f"alerts{'.' if where else ''}{where.rstrip('`').lstrip('.')}"
        raise SettingError(field, reason) from None
    folder = Path(path).parent
    return AlertSettings(
        sinks=tuple(_sink(each, folder, environment) for each in found.sinks),
        quiet_seconds=_seconds(found.quiet, "alerts.quiet", LONGEST_QUIET),
        group_seconds=_seconds(found.group, "alerts.group", LONGEST_GROUP),
        language=found.language,
        link_base=found.link,
        tolerance=found.tolerance,
    )


def _sink(each: _Sink, folder: Path, environment: Mapping[str, str]) -> SinkSettings:
    def secret(what: str) -> Secret | None:
        given: dict[str, str] = {
            how: value
            for how in (what, f"{what}_file", f"{what}_env")
            if (value := getattr(each, how)) is not None
        }
        field = f"alerts.sinks.{each.name}.{what}"
        if not given:
            return None
        if len(given) > 1:
            raise SettingError(field, f"is given more than once: {', '.join(given)}")
        ((how, value),) = given.items()
        if how.endswith("_file"):
            try:
                value = (folder / value).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SettingError(field, f"cannot be read: {error}") from None
        elif how.endswith("_env"):
            if value not in environment:
                raise SettingError(field, f"there is no variable {value}")
            value = environment[value]
        if not value or not value.isprintable():
            raise SettingError(field, "must be printable and not empty")
        return Secret(value)

    return SinkSettings(
        name=each.name,
        kind=each.kind,
        url=secret("url"),
        secret=secret("secret"),
        route=each.route,
        language=each.language,
    )


def _seconds(given: Duration, field: str, most: int) -> float:
    """As the option of that name is read, and within the same bound."""
    found = seconds(given, field) if isinstance(given, str) else given
    if not 0 <= found <= most:
        raise SettingError(field, f"must be 0 to {most} seconds, got {given}")
    return float(found)
