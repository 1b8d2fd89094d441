"""A package as one .zip: packed without compression tricks, unpacked without trust."""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from .errors import DamagedPackage, PackageError, UnsafePackage

LARGEST_METADATA = 64 * 1024**2
LARGEST_TOTAL = 64 * 1024**3
MOST_FILES = 1000


def packed(folder: Path, archive: Path) -> None:
    """Writes every file of `folder` into a new .zip."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                out.write(path, path.relative_to(folder).as_posix())


def unpacked(archive: Path, folder: Path) -> None:
    """Extracts `archive` into `folder`.

    Raises:
        UnsafePackage: a name leaves the folder, is a link, or the content is larger than allowed.
        DamagedPackage: it is not a whole .zip.
        PackageError: it cannot be read, or `folder` not be written.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            members = source.infolist()
            _refuse_unsafe(archive, members)
            folder.mkdir(parents=True, exist_ok=True)
            for member in members:
                if member.is_dir():
                    continue
                to = folder / member.filename
                to.parent.mkdir(parents=True, exist_ok=True)
                with source.open(member) as content, to.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DamagedPackage(archive, f"is not a whole .zip: {error}") from None
    except OSError as error:
        raise PackageError(archive, f"cannot be unpacked: {error}") from error


def _refuse_unsafe(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_FILES:
        raise UnsafePackage(archive, f"has more than {MOST_FILES} files")
    # zipfile never reads more than the declared size, so the declared sizes are a bound.
    if sum(member.file_size for member in members) > LARGEST_TOTAL:
        raise UnsafePackage(archive, f"unpacks to more than {LARGEST_TOTAL} bytes")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise UnsafePackage(archive, f"the path {name!r} leaves the package")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise UnsafePackage(archive, f"{name!r} is a link")
        if name in seen:
            raise UnsafePackage(archive, f"{name!r} is there twice")
        seen.add(name)
