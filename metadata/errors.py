"""Every error driftline raises on purpose.

::

    DriftlineError
    ├── FieldError            something named by a field does not fit; carries `field` and `reason`
    │   ├── MetadataError     model_metadata.json does not fit the format
    │   │   └── VersionError  it was written by a newer major version
    │   ├── InputError        an array, a row or a request does not fit the signature
    │   └── SettingError      a setting has an unknown name or an impossible value
    ├── PackageError          a package cannot be used; carries `path` and `reason`
    │   ├── DamagedPackage    a file is missing, truncated or not the one that was packed
    │   └── UnsafePackage     a file would leave the folder, is a link, or is too large
    ├── MergeError            counts or samples of different configurations were to be added
    ├── UnknownKind           no class is registered under that kind, or it is taken
    └── StoreError            the shared state cannot be read or written just now
"""

from __future__ import annotations

from pathlib import Path


class DriftlineError(Exception):
    """The root: catching it catches all that driftline raises on purpose."""


class FieldError(DriftlineError):
    """A named field does not fit; the message is ``field: reason``."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class MetadataError(FieldError):
    """The metadata does not fit the published format; the message names the file first."""

    FILE = "model_metadata.json"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        if field != self.FILE:
            self.args = (f"{self.FILE}: {self}",)


class VersionError(MetadataError):
    """The metadata was written by a newer major version than this reader knows."""


class InputError(FieldError):
    """An array, a row or a request does not fit what the model declares."""


class SettingError(FieldError):
    """A setting has an unknown name or a value that cannot be."""


class PackageError(DriftlineError):
    """A package cannot be used; the message is ``path: reason``."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = str(path)
        self.reason = reason


class DamagedPackage(PackageError):
    """A file is missing, truncated, or not the one that was packed."""


class UnsafePackage(PackageError):
    """A file would leave the package's folder, is a link, or is larger than allowed."""


class MergeError(DriftlineError):
    """Two states of different configurations were to be added."""


class UnknownKind(DriftlineError):
    """No class is registered under that kind, or the kind is taken already."""

    def __init__(self, family: str, kind: str, reason: str) -> None:
        super().__init__(f"{family} kind {kind!r}: {reason}")
        self.family = family
        self.kind = kind
        self.reason = reason


class StoreError(DriftlineError):
    """The shared state cannot be read or written just now; nothing is lost, try again."""
