"""Text that has to fit a receiver's limit, cut where a reader does not stumble."""

from __future__ import annotations

from collections.abc import Iterable

MORE = "…"


def fitted(lines: Iterable[str], last: str, limit: int, *, joint: str = "\n") -> str:
    """As many whole lines as fit, then `last`, in at most `limit` bytes of UTF-8.

    Where lines had to go, ``…`` stands for them; a first line that is too long by itself is cut
    between characters.
    """
    lines = list(lines)
    if size(last) > limit // 2:
        last = cut(last, limit // 2)
    whole = joint.join([*lines, last] if last else lines)
    if size(whole) <= limit:
        return whole
    end = joint + MORE + (joint + last if last else "")
    room = limit - size(end)
    kept: list[str] = []
    for line in lines:
        if size(joint.join([*kept, line])) > room:
            break
        kept.append(line)
    if not kept and lines:
        kept = [cut(lines[0], room)]
    return joint.join(kept) + end


def cut(text: str, limit: int) -> str:
    """The text in at most `limit` bytes of UTF-8, ending in ``…`` where something was cut."""
    if size(text) <= limit:
        return text
    kept = text.encode()[: max(limit - size(MORE), 0)]
    return kept.decode(errors="ignore") + MORE


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text.encode())
