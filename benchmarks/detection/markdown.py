"""Markdown tables, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is words and the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "|:--|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def percent(share: float) -> str:
    """A share in per cent, three digits at the most."""
    return f"{100 * share:.3g} %"


def per(rate: float) -> str:
    """A rate as one in so many."""
    return "0" if rate <= 0 else f"1 in {1 / rate:,.0f}"
