"""What makes a SQLite file ours, and how it came to be what it is now."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from driftline.metadata.errors import StoreError

APPLICATION_ID = 0x64726674  # "drft"

# One tuple of statements a version; never changed once released, only added to.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # No WITHOUT ROWID where rows are large: they would make the key's tree deep.
        "CREATE TABLE counts (series TEXT NOT NULL, bucket INTEGER NOT NULL, layout TEXT NOT NULL,"
        " data BLOB NOT NULL, touched REAL NOT NULL, PRIMARY KEY (series, bucket, layout))",
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID",
        # The last sequence of each source, in counts or in one log.
        "CREATE TABLE sources (scope TEXT NOT NULL, source TEXT NOT NULL, sequence INTEGER"
        " NOT NULL, seen REAL NOT NULL, PRIMARY KEY (scope, source)) WITHOUT ROWID",
        "CREATE TABLE documents (key TEXT PRIMARY KEY, version INTEGER NOT NULL,"
        " value BLOB NOT NULL)",
        # The last sequence outlives the entries, so that none is given twice.
        "CREATE TABLE logs (name TEXT PRIMARY KEY, last INTEGER NOT NULL, touched REAL NOT NULL)"
        " WITHOUT ROWID",
        "CREATE TABLE entries (log TEXT NOT NULL, sequence INTEGER NOT NULL, value BLOB NOT NULL,"
        " PRIMARY KEY (log, sequence))",
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL,"
        " since REAL NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
        # AUTOINCREMENT: a larger id is a younger record, also after the youngest was taken.
        "CREATE TABLE records (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"
        " value BLOB NOT NULL, until REAL NOT NULL)",
        "CREATE INDEX records_until ON records (until)",
        "CREATE TABLE pings (id INTEGER PRIMARY KEY, at REAL NOT NULL)",
    ),
)
VERSION = len(MIGRATIONS)


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """An open connection to our file at `path`, which is made or brought up to date if need be.

    Raises:
        StoreError: there is something else at `path`, or it was written by a newer driftline.
        sqlite3.Error: it cannot be opened, read or written just now.
    """
    if path.is_dir():
        raise StoreError(f"{path}: is a folder, a file is wanted")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}")
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        # One transaction: another process may be making the file between two looks at it.
        connection.execute("BEGIN")
        try:
            version = _version(connection, path)
        finally:
            connection.execute("ROLLBACK")
        if version < VERSION:
            _migrate(connection, path)
        # A crash of the process loses nothing; a power cut may lose the last commits, never the
        # file's consistency.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 4194304")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        if version > VERSION:
            raise StoreError(
                f"{path}: was written by a newer driftline"
                f" (schema {version}, this one knows {VERSION})"
            )
        return int(version)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or version or tables:
        raise StoreError(f"{path}: is another program's database, not a state file of driftline")
    return 0


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    # Both have to be set before the first table is made, and cannot be inside a transaction.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        for statements in MIGRATIONS[_version(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
