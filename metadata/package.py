"""A package: one folder or one .zip with the model's files and ``model_metadata.json``.

Every file is bound by its SHA-256, and the metadata by its own: `metadata_sha256` is the hash of
the file with that field's digits zeroed, so one flipped byte anywhere is found. The digest of the
metadata is the identity of the package.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from .archive import LARGEST_METADATA, packed, unpacked
from .errors import DamagedPackage, PackageError, UnsafePackage
from .schema import ZEROS, FileEntry, ModelMetadata, encode, parse

METADATA = "model_metadata.json"
Role = Literal["checkpoint", "model", "report", "other"]
# Folders that this process has made for .zips, and its id; nothing else is ever removed.
_UNPACKED: dict[Path, int] = {}
_DIGEST = re.compile(rb'("metadata_sha256":\s*")([0-9a-f]{64})(")')


@dataclass(frozen=True)
class ModelPackage:
    """An opened package whose every file was verified."""

    path: Path
    metadata: ModelMetadata

    @property
    def digest(self) -> str:
        """The package's identity: 64 hexadecimal digits."""
        return self.metadata.metadata_sha256

    def file(self, role: Role) -> Path:
        """The file that plays `role`.

        Raises:
            PackageError: the package has none.
        """
        for entry in self.metadata.files:
            if entry.role == role:
                return self.path / entry.path
        raise PackageError(self.path, f"has no file with the role {role!r}")

    def discard(self) -> None:
        """Removes what a .zip was unpacked to, before the process ends; a folder that was opened,
        and one that was named for unpacking, stays."""
        _remove(self.path)

    @classmethod
    def write(
        cls, path: Path | str, metadata: ModelMetadata, files: Mapping[Role, Path | str]
    ) -> ModelPackage:
        """Writes a folder, or a .zip when `path` ends so; it appears whole or not at all.

        `files` are copied under their own names. A package that was at `path` is replaced.

        Raises:
            PackageError: a file cannot be read or the package cannot be written.
        """
        target = Path(path)
        try:
            with _beside(target) as folder:
                entries = tuple(_copy(Path(source), folder, role) for role, source in files.items())
                _write_metadata(folder, msgspec.structs.replace(metadata, files=entries))
                if target.suffix == ".zip":
                    archive = folder.with_suffix(".zip")
                    packed(folder, archive)
                    os.replace(archive, target)
                else:
                    _replace(folder, target)
        except OSError as error:
            raise PackageError(target, f"cannot be written: {error}") from error
        return cls.open(target)

    @classmethod
    def open(cls, path: Path | str, *, into: Path | str | None = None) -> ModelPackage:
        """Opens and verifies; a .zip is unpacked into `into`, or into a folder that ends with this
        process.

        Raises:
            DamagedPackage: a file is missing or not the one that was packed.
            UnsafePackage: a path leaves the folder, is a link, or is larger than allowed.
            MetadataError: the metadata does not fit the format.
            PackageError: there is nothing to open.
        """
        source = Path(path)
        if source.is_dir():
            return cls(source, verify(source))
        if not source.is_file():
            raise PackageError(source, "there is no such folder or .zip")
        folder = Path(into) if into else _scratch(source)
        unpacked(source, folder)
        return cls(folder, verify(folder))


def _scratch(source: Path) -> Path:
    """A folder for what `source` unpacks to; removed when this process ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="driftline-"))
    except OSError as error:
        raise PackageError(source, f"cannot be unpacked: {error}") from error
    _UNPACKED[folder] = os.getpid()
    return folder


@atexit.register
def _clear() -> None:
    for folder in list(_UNPACKED):
        _remove(folder)


def _remove(folder: Path) -> None:
    # Only by the process that unpacked it: its forks may end earlier.
    if _UNPACKED.pop(folder, None) == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def verify(folder: Path) -> ModelMetadata:
    """The metadata of a folder whose every file is the one that was packed.

    Raises:
        DamagedPackage, UnsafePackage, MetadataError: as `ModelPackage.open`.
    """
    data = _read_metadata(folder)
    metadata = parse(data)
    found = _DIGEST.search(data)
    zeroed = _DIGEST.sub(rb"\g<1>" + ZEROS.encode() + rb"\g<3>", data, count=1)
    if not found or hashlib.sha256(zeroed).hexdigest() != metadata.metadata_sha256:
        raise DamagedPackage(folder / METADATA, "its SHA-256 is not the one it was written with")
    for entry in metadata.files:
        _verify_file(folder, entry)
    return metadata


def _read_metadata(folder: Path) -> bytes:
    path = folder / METADATA
    if path.is_symlink():
        raise UnsafePackage(path, "is a link")
    if not path.is_file():
        raise DamagedPackage(path, "is missing; is this a driftline package?")
    if path.stat().st_size > LARGEST_METADATA:
        raise UnsafePackage(path, f"is larger than {LARGEST_METADATA} bytes")
    try:
        return path.read_bytes()
    except OSError as error:
        raise PackageError(path, f"cannot be read: {error}") from error


def _verify_file(folder: Path, entry: FileEntry) -> None:
    path = folder / entry.path
    parts = Path(entry.path).parts
    if Path(entry.path).is_absolute() or ".." in parts or "\\" in entry.path:
        raise UnsafePackage(folder, f"the path {entry.path!r} leaves the package")
    if any((folder / Path(*parts[:n])).is_symlink() for n in range(1, len(parts) + 1)):
        raise UnsafePackage(path, "is a link")
    if not path.is_file():
        raise DamagedPackage(path, "is missing")
    size = path.stat().st_size
    if size != entry.size:
        raise DamagedPackage(path, f"has {size} bytes, {entry.size} were packed")
    try:
        if sha256(path) != entry.sha256:
            raise DamagedPackage(path, "its SHA-256 is not the one it was packed with")
    except OSError as error:
        raise PackageError(path, f"cannot be read: {error}") from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, folder: Path, role: Role) -> FileEntry:
    to = folder / source.name
    if to.exists() or source.name == METADATA:
        raise PackageError(source, "its name is taken in the package")
    shutil.copyfile(source, to)
    os.chmod(to, 0o644)
    _sync(to)
    return FileEntry(path=to.name, role=role, size=to.stat().st_size, sha256=sha256(to))


def _write_metadata(folder: Path, metadata: ModelMetadata) -> None:
    zeroed = encode(msgspec.structs.replace(metadata, metadata_sha256=ZEROS))
    digest = hashlib.sha256(zeroed).hexdigest().encode()
    path = folder / METADATA
    path.write_bytes(_DIGEST.sub(rb"\g<1>" + digest + rb"\g<3>", zeroed, count=1))
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A new folder on the same file system as `target`, gone afterwards whatever happens."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        os.chmod(folder, 0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".zip").unlink(missing_ok=True)


def _replace(folder: Path, target: Path) -> None:
    """Renames `folder` to `target`; an older package there steps aside first."""
    if not target.exists():
        os.rename(folder, target)
        return
    if not (target / METADATA).is_file() and any(target.iterdir()):
        raise PackageError(target, "exists and is no package; it is not replaced")
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    os.rename(target, aside / "package")
    try:
        os.rename(folder, target)
    except OSError:
        os.rename(aside / "package", target)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
