"""From a URL to a store."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from driftline.metadata.errors import SettingError, UnknownKind

from .memory import MemoryStore
from .sqlite import SqliteStore
from .store import Store

Opener = Callable[[str], Store]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?=//|$)")


def open_store(url: str) -> Store:
    """The store at `url`; nothing is read, written or connected to before its first call.

    - ``memory:`` is this process alone;
    - a path, or ``sqlite:///relative`` and ``sqlite:////absolute``, is a SQLite file;
    - ``redis://[user:password@]host[:port][/number]``, or ``rediss://`` over TLS, is a Redis.

    Raises:
        SettingError: the URL says too little, or what it needs is not installed.
        UnknownKind: no store is registered under its scheme.
    """
    found = _SCHEME.match(url)
    if found is None:
        if not url or url.endswith("/"):
            raise SettingError("state", f"the path of a file is wanted, got {url!r}")
        return SqliteStore(url)
    opener = _OPENERS.get(found[1])
    if opener is None:
        raise UnknownKind("store", found[1], f"is none of {', '.join(sorted(_OPENERS))}")
    return opener(url)


def existing_store(url: str) -> Store:
    """As `open_store`, of what is there already: no file is made.

    Raises:
        SettingError, UnknownKind: as `open_store`; or there is no such file.
    """
    path = _file(url)
    if path is not None and not path.is_file():
        raise SettingError("state", f"there is no file {path}")
    return open_store(url)


def check_place(url: str) -> None:
    """Passes if a store can begin at `url`, as far as its folder tells; asked once, at the start.

    Not asked by `open_store`: a folder that is lost while a service runs is an outage of its store,
    which stops nothing.

    Raises:
        SettingError: there is no folder for the file, or a folder in its place.
    """
    path = _file(url)
    if path is None:
        return
    if path.is_dir():
        raise SettingError("state", f"{path} is a folder, a file is wanted")
    if not path.absolute().parent.is_dir():
        raise SettingError("state", f"there is no folder {path.parent}")


def register_store(scheme: str, opener: Opener) -> None:
    """Lets `open_store` open URLs of another scheme.

    Raises:
        UnknownKind: the scheme is taken.
    """
    if scheme in _OPENERS:
        raise UnknownKind("store", scheme, "is registered already")
    _OPENERS[scheme] = opener


def _file(url: str) -> Path | None:
    """The file that the store at `url` is; None where it is none."""
    found = _SCHEME.match(url)
    if found is None:
        return Path(url)
    return Path(url.removeprefix("sqlite:///")) if found[1] == "sqlite" else None


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
