"""From a URL to a store."""

from __future__ import annotations

import re
from collections.abc import Callable

from driftline.metadata.errors import SettingError, UnknownKind

from .memory import MemoryStore
from .sqlite import SqliteStore
from .store import Store

Opener = Callable[[str], Store]


def open_store(url: str) -> Store:
    """The store at `url`; nothing is read, written or connected to before its first call.

    - ``memory:`` is this process alone;
    - a path, or ``sqlite:///relative`` and ``sqlite:////absolute``, is a SQLite file;
    - ``redis://[user:password@]host[:port][/number]``, or ``rediss://`` over TLS, is a Redis.

    Raises:
        SettingError: the URL says too little, or what it needs is not installed.
        UnknownKind: no store is registered under its scheme.
    """
    found = re.match(r"([a-z][a-z0-9+.-]*):(?=//|$)", url)
    if found is None:
        if not url or url.endswith("/"):
            raise SettingError("state", f"the path of a file is wanted, got {url!r}")
        return SqliteStore(url)
    opener = _OPENERS.get(found[1])
    if opener is None:
        raise UnknownKind("store", found[1], f"is none of {', '.join(sorted(_OPENERS))}")
    return opener(url)


def register_store(scheme: str, opener: Opener) -> None:
    """Lets `open_store` open URLs of another scheme.

    Raises:
        UnknownKind: the scheme is taken.
    """
    if scheme in _OPENERS:
        raise UnknownKind("store", scheme, "is registered already")
    _OPENERS[scheme] = opener


def _memory(url: str) -> Store:
    return MemoryStore()


def _sqlite(url: str) -> Store:
    path = url.removeprefix("sqlite:///")
    if path == url or not path or path.endswith("/"):
        raise SettingError("state", f"sqlite:///path of a file is wanted, got {url!r}")
    return SqliteStore(path)


def _redis(url: str) -> Store:
    try:
        from .redis import RedisStore
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed: pip install 'driftline[serve]'"
        raise SettingError("state", reason) from None
    return RedisStore(url)


_OPENERS: dict[str, Opener] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
}
