"""Packages opened for as long as this process lives: what a .zip unpacks to is gone afterwards."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from driftline.metadata.package import ModelPackage


def opened(path: Path | str) -> ModelPackage:
    """As `ModelPackage.open`; a .zip is unpacked to a folder that ends with this process.

    Raises:
        PackageError, MetadataError: as `ModelPackage.open`.
    """
    if not Path(path).is_file():
        return ModelPackage.open(path)
    folder = Path(tempfile.mkdtemp(prefix="driftline-"))
    atexit.register(_remove, folder, os.getpid())
    return ModelPackage.open(path, into=folder)


def _remove(folder: Path, owner: int) -> None:
    """Only by the process that unpacked it: its forks may end earlier."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
