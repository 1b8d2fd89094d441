"""A folder for files on their way into a package."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .interrupts import Interrupts


@contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """A new hidden folder on the file system of `beside`, whose parents are made.

    It is gone afterwards, also after an error, Ctrl-C or SIGTERM; MindSpore makes of a Ctrl-C a
    SIGTERM, at which no ``finally`` runs.
    """
    beside.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{beside.name}.export.", dir=beside.parent))
    interrupts = Interrupts(lambda name, dies: shutil.rmtree(folder, ignore_errors=True))
    interrupts.install()
    try:
        yield folder
    finally:
        interrupts.remove()
        shutil.rmtree(folder, ignore_errors=True)
