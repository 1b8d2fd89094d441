"""Documents that benchmarks write a part of, between markers of its own."""

from __future__ import annotations

from pathlib import Path


def put(document: Path, title: str, name: str, heading: str, text: str) -> None:
    """Replaces the part `name` by `text`; makes document and part where they are not there yet."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    document.parent.mkdir(parents=True, exist_ok=True)
    old = document.read_text() if document.exists() else f"{title}\n"
    if begin not in old:
        old += f"\n## {heading}\n\n{begin}\n{end}\n"
    before, _, rest = old.partition(begin)
    document.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")
