"""Settings: one frozen struct, read once from the command line and the environment.

The command line wins over ``DRIFTLINE_*`` variables, and these over what is built in. Nothing else
in the room reads the environment.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from driftline.drift.thresholds import check_limit
from driftline.metadata.allowed import naming_allowed
from driftline.metadata.errors import SettingError

from .model.predictor import SIZES
from .secret import Secret
from .series import SLOW_BUCKET
from .stores.opening import check_place

PREFIX = "DRIFTLINE_"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Variables that carry a secret's file name instead of the secret.
_FILES = {
    "token_file": "token",
    "alert_secret_file": "alert_secret",
    "alert_sinks_file": "alert_sinks",
}


# What Kubernetes tells of a service that is named driftline.
_LINK = re.compile(r"DRIFTLINE_(SERVICE_(HOST|PORT\w*)|PORT_\d+_\w+)=.*|DRIFTLINE_PORT=\w+://.*")


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be chosen about a service.

    - `package`: folder or .zip of the packaged model.
    - `host`, `port`: where to listen; port 0 takes a free one.
    - `workers`, `threads`: processes, and threads in each.
    - `state`: a file (SQLite) or the URL of a store; counts, verdicts and alerts live there.
    - `bucket`: seconds a time bucket lasts.
    - `false_alarms`: such as ``"1 per 30d"``; None takes what the package says.
    - `thresholds`: a file that goes over the package's thresholds (`limits.py`).
    - `low_confidence`, `latency_ms`: plain limits; None takes what the file or the package says.
    - `alerts`: a file that says whom to tell and how (`alerts/file.py`); an option below wins over
      what it says.
    - `alert_sinks`: receivers as ``kind=URL``, separated by spaces.
    - `alert_webhook`, `alert_secret`: where CloudEvents go, and what signs them.
    - `alert_quiet`: seconds a condition must be clear before its alert is resolved; `alert_group`:
      seconds a new alert waits for what comes in the same moment.
    - `alert_language`: of messages to people, en or zh; `alert_link`: the address of the pages in
      them.
    - `token`: the bearer token clients must send; `allow_anonymous` lets a service without one
      listen beyond loopback.
    - `refresh_folder`: where packages with a refreshed reference are written; None is the folder
      that the served one lies in.
    - `predictor`: ``module:function``, called with the package, where it is no MindIR.
    - `network`: ``module:function`` that returns the network of a package with a checkpoint only.
    - `max_body`, `max_instances`: bytes and rows that one request may have.
    - `max_pixels`: pixels that the images of a request may have together, before resizing.
    - `batch_sizes`: the batch sizes that are warmed up; batches are padded to the next one.
    - `batch_rows`: rows of requests that are joined at the most; None is the largest warmed size, 1
      joins none. How many it is best to join is learnt under load.
    - `batch_wait_ms`: milliseconds for which a request waits for others, where there were others.
    - `log_level`: of the program's own log lines.
    """

    package: str
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    workers: Annotated[int, Meta(ge=1, le=64)] = 2
    threads: Annotated[int, Meta(ge=1, le=64)] = 4
    state: str = "driftline-state.db"
    bucket: Annotated[int, Meta(ge=1, le=SLOW_BUCKET)] = 60
    false_alarms: str | None = None
    thresholds: str | None = None
    low_confidence: float | None = None
    latency_ms: float | None = None
    alerts: str | None = None
    alert_sinks: Secret | None = None
    alert_webhook: Secret | None = None
    alert_secret: Secret | None = None
    alert_quiet: Annotated[float, Meta(ge=0, le=86400)] | None = None
    alert_group: Annotated[float, Meta(ge=0, le=3600)] | None = None
    alert_language: Literal["en", "zh"] | None = None
    alert_link: Annotated[str, Meta(pattern=r"^https?://[^\s]+$")] | None = None
    token: Secret | None = None
    allow_anonymous: bool = False
    refresh_folder: Annotated[str, Meta(min_length=1)] | None = None
    predictor: Annotated[str, Meta(pattern=r"^[\w.]+:\w+$")] | None = None
    network: Annotated[str, Meta(pattern=r"^[\w.]+:\w+$")] | None = None
    max_body: Annotated[int, Meta(ge=1024, le=2**30)] = 16 * 2**20
    max_instances: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024
    max_pixels: Annotated[int, Meta(ge=1, le=2**25)] = 2**25
    batch_rows: Annotated[int, Meta(ge=1)] | None = None
    batch_wait_ms: Annotated[float, Meta(ge=0, le=1000)] = 2.0
    batch_sizes: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)] = SIZES
    log_level: str = "info"


FIELDS = Settings.__struct_fields__


def load(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """The settings from the command line's options (None: not given) and the environment.

    Raises:
        SettingError: naming the setting that is unknown, impossible or missing.
    """
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and not _LINK.fullmatch(f"{variable}={text}"):
            name = variable.removeprefix(PREFIX).lower()
            if name not in FIELDS and name not in _FILES:
                raise SettingError(variable, "is no setting of driftline")
            values[name] = _from_text(name, text)
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if name not in FIELDS and name not in _FILES:
            raise SettingError(name, "is no setting of driftline")
        if value is not None:
            chosen[name] = _from_text(name, value) if isinstance(value, str) else value
    return checked(_read_in(values) | _read_in(chosen))


def _read_in(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the contents of the files that secrets are in."""
    for file, name in _FILES.items():
        if file in values:
            if name in values:
                raise SettingError(file, f"{name} is given too; take one of them")
            values[name] = _secret_in(file, str(values.pop(file)))
    return values


def checked(values: Mapping[str, Any]) -> Settings:
    """Settings whose every value is possible, alone and beside the others.

    Raises:
        SettingError: naming the setting.
    """
    if not values.get("package"):
        raise SettingError("package", "the folder or .zip of a packaged model is wanted")
    try:
        settings = msgspec.convert(values, Settings, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `")
        reason = naming_allowed(reason, Settings, path.rstrip("`"))
        raise SettingError(path.rstrip("`").removeprefix("$."), reason) from None
    if SLOW_BUCKET % settings.bucket:
        raise SettingError("bucket", f"{settings.bucket} s do not divide an hour")
    if settings.workers > 1 and settings.state.startswith("memory:"):
        raise SettingError("state", "memory is one worker's own; take a file, or --workers 1")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise SettingError("log_level", "must be debug, info, warning or error")
    for limit in ("low_confidence", "latency_ms"):
        check_limit(limit, getattr(settings, limit))
    check_place(settings.state)
    if settings.refresh_folder is not None and not Path(settings.refresh_folder).is_dir():
        raise SettingError("refresh_folder", f"there is no folder {settings.refresh_folder}")
    if not settings.token and not settings.allow_anonymous and not is_loopback(settings.host):
        reason = f"{settings.host} is reached by others; set a token, or --allow-anonymous"
        raise SettingError("host", reason)
    return settings


def is_loopback(host: str) -> bool:
    """True when only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def seconds(text: str, field: str) -> int:
    """``"90"``, ``"60s"``, ``"5m"`` or ``"1h"`` in seconds.

    Raises:
        SettingError: it is none of these.
    """
    found = re.fullmatch(r"\s*(\d{1,9})\s*([smhd]?)\s*", text)
    if not found:
        raise SettingError(field, f"a duration such as 60s or 5m is wanted, got {text!r}")
    return int(found[1]) * _UNITS[found[2] or "s"]


def _from_text(name: str, text: str) -> Any:
    if name in ("bucket", "alert_quiet", "alert_group"):
        return seconds(text, name)
    if name == "batch_sizes":
        return [part.strip() for part in text.split(",")]
    if name in ("token", "alert_secret", "alert_webhook", "alert_sinks"):
        return _secret(name, text)
    return text


def _secret(name: str, text: str) -> Secret:
    if not text or not text.isprintable():
        raise SettingError(name, "must be printable and not empty")
    return Secret(text)


def _secret_in(file: str, path: str) -> Secret:
    try:
        text = Path(path).read_text().strip()
        # Receivers stand one a line in a file, and no address has a space.
        return _secret(file, " ".join(text.split()) if _FILES[file] == "alert_sinks" else text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(file, f"cannot be read: {error}") from None


def _decode(kind: type, value: object) -> object:
    if kind is Secret:
        return value if isinstance(value, Secret) else Secret(str(value))
    raise NotImplementedError(kind)
