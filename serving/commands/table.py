"""Plain tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Aligned columns, the last one as long as it likes."""
    lines = [tuple(head), *rows] if head else list(rows)
    if not lines:
        return ""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]) - 1)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]
        ).rstrip()
        for line in lines
    )
