"""The page: tables and pictures out of results, by a template that says what each means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import pages_clean, pages_delays, pages_loudly, pages_small
from .versions import versions

Results = dict[str, Any]
PARTS = {
    "clean": pages_clean.page,
    "delays": pages_delays.page,
    "loudly": pages_loudly.page,
    "small": pages_small.page,
    "speed": pages_small.speed,
}
HEAD = """# How soon drift is seen, and how often stable traffic is called drift

Made by `make bench-detect` (`python -m benchmarks.detect`).
`--quick` runs a small sample of it, `--long` 10⁶ windows a setting, `--only delays` one section.
All chance is seeded. Versions: {versions}.
"""

MIXED = """**One warning.** The sections were made with different states of `drift/` and `metadata/`
({codes}): these are not the figures of one version. A whole `make bench-detect` makes them so.
"""


def write(results: Results, folder: Path) -> Path:
    """Writes ``detection.md`` and its pictures under `folder`, of the sections that have results.

    Returns:
        the page.
    """
    pictures = folder / "detection"
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [HEAD.format(versions=versions())]
    shown = {name: results[name].get("code") for name in PARTS if name in results}
    if len(set(shown.values())) > 1 or None in shown.values():
        told = ", ".join(f"{name} {code or 'unknown'}" for name, code in shown.items())
        parts.append(MIXED.format(codes=told))
    for name, page in PARTS.items():
        if name in results:
            text = page(results[name]["found"], pictures)
            parts.append(text + _scale(results[name]["scale"]))
    path = folder / "detection.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _scale(name: str) -> str:
    if name == "full":
        return ""
    return f"\nThese are the numbers of a run with `--{name}`.\n"
