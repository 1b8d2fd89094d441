"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty if there are no rows."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *lines])


def escaped(text: str) -> str:
    """Text that stands in a cell as it is."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def number(value: float | None) -> str:
    """Four digits; a dash for what is not known."""
    return "–" if value is None else f"{value:.4g}"


def duration(seconds: float) -> str:
    """``1 h 02 min``, ``3 min 20 s``, ``4.2 s``."""
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{seconds:.1f} s"
