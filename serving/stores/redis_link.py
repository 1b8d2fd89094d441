"""The way to a Redis server: one try each call, in any thread, on either side of a fork."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from driftline.metadata.errors import SettingError, StoreError

from .redis_scripts import Script


class RedisLink:
    """Connections to the server at `url`, pooled for each process; none is made before its use.

    `where` names the server and the database, without a password.

    Raises:
        SettingError: `url` is none.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._client, self._pid = self._fresh(), os.getpid()
        options = self._client.get_connection_kwargs()
        host = f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        self.where = f"redis {options.get('path', host)}/{options.get('db', 0)}"

    @contextmanager
    def reached(self) -> Iterator[redis.Redis]:
        """A client whose failures are `StoreError`.

        Raises:
            StoreError: the server does not answer in time, or refuses; never names a password.
        """
        if self._pid != os.getpid():
            # The old sockets are the parent's: dropping them here only closes copies.
            self._client, self._pid = self._fresh(), os.getpid()
        try:
            yield self._client
        except (redis.RedisError, OSError) as error:
            raise StoreError(f"{self.where}: {error}") from error

    def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Any:
        """The reply of a script.

        Raises:
            StoreError: as `reached`; then it has run, or will, or never will.
        """
        with self.reached() as client:
            try:
                return client.evalsha(script.sha, len(keys), *keys, *args)
            except redis.exceptions.NoScriptError:
                return client.eval(script.text, len(keys), *keys, *args)

    def close(self) -> None:
        """Closes the idle connections; another call opens new ones."""
        self._client.connection_pool.disconnect(inuse_connections=False)

    def _fresh(self) -> redis.Redis:
        try:
            pool = redis.ConnectionPool.from_url(
                self._url,
                socket_timeout=self._timeout,
                socket_connect_timeout=self._timeout,
                socket_keepalive=True,
                # Whoever calls knows whether a call may be repeated; the client does not.
                retry=Retry(NoBackoff(), 0),
                retry_on_error=[],
                # The replies read here are those of the older protocol, which proxies speak too.
                protocol=2,
            )
        except ValueError as error:
            raise SettingError("state", f"is no URL of a Redis server: {error}") from None
        return redis.Redis(connection_pool=pool)
