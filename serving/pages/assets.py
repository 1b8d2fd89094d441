"""Static files of the pages: read once, named by their content, and plotly from its own package."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import mimetypes
import re
from functools import lru_cache
from pathlib import Path

from . import values

FOLDER = Path(__file__).parent / "static"
PLOTLY = "plotly.min.js"
# Written from a table in Python, so that the page and the service cannot differ.
VALUES = "values.js"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@lru_cache(maxsize=1)
def version() -> str:
    """A name of all files' contents: it stands in their addresses, so they can be kept for ever."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    digest.update(values.module().encode())
    plotly = plotly_file()
    digest.update(str(plotly.stat().st_size if plotly else 0).encode())
    return digest.hexdigest()[:12]


@lru_cache(maxsize=64)
def asset(name: str, *, packed: bool) -> tuple[bytes, str] | None:
    """A file's bytes, gzipped where `packed`, and its type; None where there is no such file."""
    data = values.module().encode() if name == VALUES else _read(name)
    if data is None:
        return None
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    kind = kind or "application/octet-stream"
    return (gzip.compress(data, 6, mtime=0) if packed else data), kind


def _read(name: str) -> bytes | None:
    path = plotly_file() if name == PLOTLY else FOLDER / name
    if path is None or "/" in name or "\\" in name or not path.is_file():
        return None
    return path.read_bytes()


@lru_cache(maxsize=1)
def plotly_styles() -> tuple[str, ...]:
    """Ids of the style elements that plotly would write into the page for maps, unless there are
    elements with these ids already. The pages show no maps and allow no inline style."""
    path = plotly_file()
    text = path.read_text(encoding="utf-8") if path else ""
    return tuple(re.findall(r'document\.getElementById\("([0-9a-f]{64})"\)', text))


def plotly_file() -> Path | None:
    """plotly's script, where the installed plotly keeps it; found without importing plotly."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "package_data" / PLOTLY
    return path if path.is_file() else None
