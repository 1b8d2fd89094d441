"""HTTP with hard limits on time and size, and without a secret in any log."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
from msgspec import Struct

from driftline.metadata.errors import SettingError

from .deadline import DeadlineAdapter
from .sink import Outcome, SinkSettings

CONNECT_SECONDS = 3.05
READ_SECONDS = 5.0
HEAD_SECONDS = 8.0
BODY_SECONDS = 5.0
BODY_BYTES = 16_384
LONGEST_PAUSE = 3600.0
# The message itself is at fault; anything else (a token, an address, a limit) can be mended while
# it waits. 410 Gone: by the CloudEvents webhook specification nothing is to be sent any more.
REFUSED = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 422, 431})


class Reply(Struct, frozen=True):
    """An answer: status, lower-case headers, the first 16 KiB of the body."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


class Unreached(Exception):
    """No whole answer came; the message says why, and names no address."""


def address(settings: SinkSettings) -> str:
    """The sink's URL.

    Raises:
        SettingError: there is none, or it is no http(s) URL.
    """
    url = settings.url.reveal() if settings.url is not None else ""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise SettingError(f"sinks.{settings.name}.url", "an http or https URL is wanted")
    return url


def post(url: str, body: bytes, headers: Mapping[str, str], *, want_body: bool = True) -> Reply:
    """The answer to one POST; redirects are not followed, and the whole takes some 20 s at most.

    Raises:
        Unreached: nothing or only a part of an answer came.
    """
    logging.getLogger("urllib3.connectionpool").addFilter(_QUIET)  # once; again does nothing
    _QUIET.active = True
    try:
        with (
            _session() as session,
            session.post(
                url,
                data=body,
                headers={"User-Agent": "driftline", "Connection": "close", **headers},
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
                stream=True,
            ) as response,
        ):
            found = {name.lower(): value for name, value in response.headers.items()}
            text = _read(response) if want_body else b""
            return Reply(response.status_code, found, text)
    # str(error) holds the URL, and the URL may hold a token: only the error's class is told.
    except (requests.RequestException, OSError, ValueError) as error:
        raise Unreached(_plain(error)) from None
    finally:
        _QUIET.active = False


def judged(reply: Reply, now: float) -> Outcome | None:
    """What the HTTP status alone says; None for 2xx."""
    if 200 <= reply.status < 300:
        return None
    reason = f"HTTP {reply.status}"
    if reply.status in REFUSED:
        return Outcome("refused", reason)
    return Outcome("retry", reason, retry_after(reply.headers, now))


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds that ``Retry-After`` asks for, a number or a date; 0 without, an hour at most."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (TypeError, ValueError, IndexError):
            return 0.0
    return min(max(seconds, 0.0), LONGEST_PAUSE) if seconds == seconds else 0.0


def _session() -> requests.Session:
    # A new one each time: alerts are rare, and a kept connection is often dead when it is needed.
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, DeadlineAdapter(HEAD_SECONDS))
    return session


def _read(response: requests.Response) -> bytes:
    # Byte by byte (out of the socket's buffer), so that a body that drips cannot outlast the
    # deadline: each read of a larger piece would wait for the whole piece.
    deadline = time.monotonic() + BODY_SECONDS
    found = bytearray()
    for piece in response.iter_content(1):
        found += piece
        if len(found) >= BODY_BYTES:
            break
        if time.monotonic() > deadline:
            raise requests.Timeout
    return bytes(found)


def _plain(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "timed out"
    if isinstance(error, requests.exceptions.SSLError):
        return "TLS failed"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return type(error).__name__


class _Quiet(logging.Filter, threading.local):
    """Keeps urllib3 from logging the paths of our requests, which may hold tokens."""

    active = False

    def filter(self, record: logging.LogRecord) -> bool:
        return not self.active


_QUIET = _Quiet()
