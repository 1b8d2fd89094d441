"""A part of a store: documents and logs under a prefix of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .store import Entry, Lease, Store


class Scoped:
    """A store whose documents and logs have `prefix` before their names; the rest is shared."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: str) -> tuple[int, bytes] | None:
        """As `Store.get`."""
        return self._store.get(self._prefix + key)

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """As `Store.put`."""
        return self._store.put(self._prefix + key, value, lease=lease, name=name)

    def keys(self, prefix: str) -> list[str]:
        """As `Store.keys`."""
        found = self._store.keys(self._prefix + prefix)
        return [key.removeprefix(self._prefix) for key in found]

    def append(self, log: str, values: Sequence[bytes], **more: Any) -> bool:
        """As `Store.append`."""
        return self._store.append(self._prefix + log, values, **more)

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """As `Store.entries`."""
        return self._store.entries(self._prefix + log, after, limit)

    def logs(self, prefix: str) -> list[str]:
        """As `Store.logs`."""
        return [log.removeprefix(self._prefix) for log in self._store.logs(self._prefix + prefix)]
