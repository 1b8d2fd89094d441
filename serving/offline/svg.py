"""Pictures as inline SVG: a distribution beside its reference, and evidence over time.

Colours are of the page's style sheet, so that they follow it into print and the dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT = 460, 170
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 10, 34
MOST_BARS = 24
WIDEST = 44
MOST_POINTS = 400
LEAST_EVIDENCE = -2.0
TIMES_NEEDED = 4.0


def distribution(cells: dict[str, Any], title: str) -> Markup:
    """Bars of the reference and of the window, cell by cell; neighbours are joined when many."""
    reference, window = list(cells["reference"]), [each or 0.0 for each in cells["window"]]
    names = _names(cells, len(reference))
    if names == ["no", "yes"]:  # how often it is not so says nothing more
        reference, window, names = reference[1:], window[1:], names[1:]
    if "edges" in cells and len(reference) > MOST_BARS:
        reference, window, names = _joined(reference, window, names)
    elif len(reference) > MOST_BARS:
        kept = sorted(range(len(reference)), key=lambda k: -max(reference[k], window[k]))
        kept = sorted(kept[: MOST_BARS - 1])
        rest = [k for k in range(len(reference)) if k not in kept]
        reference = [reference[k] for k in kept] + [sum(reference[k] for k in rest)]
        window = [window[k] for k in kept] + [sum(window[k] for k in rest)]
        names = [names[k] for k in kept] + ["others"]
    top = max(*reference, *window, 1e-9)
    across = (WIDTH - LEFT - RIGHT) / len(reference)
    down = HEIGHT - TOP - BOTTOM
    parts = [_scale(top, down)]
    for index, (then, now, name) in enumerate(zip(reference, window, names, strict=True)):
        middle, wide = LEFT + (index + 0.5) * across, min(across * 0.42, WIDEST)
        hint = f"<title>{escape(name)}: {then:.1%} in the reference, {now:.1%} now</title>"
        high, low = down * then / top, down * now / top
        parts.append(
            f'<g>{hint}<rect class="then" x="{middle - wide:.1f}" y="{TOP + down - high:.1f}" '
            f'width="{wide:.1f}" height="{high:.1f}"/>'
            f'<rect class="now" x="{middle:.1f}" y="{TOP + down - low:.1f}" '
            f'width="{wide:.1f}" height="{low:.1f}"/></g>'
        )
    every = max(1, round(len(names) / 6))
    parts += [
        _text(LEFT + (index + 0.5) * across, HEIGHT - BOTTOM + 16, _short(name), "middle")
        for index, name in enumerate(names)
        if index % every == 0
    ]
    return _svg("".join(parts), f"{title}: shares of values in the reference and now")


def evidence(timeline: Sequence[dict[str, Any]], needed: float | None) -> Markup:
    """The evidence of all signals together over time, and the line at which it is called drift."""
    step = max(1, -(-len(timeline) // MOST_POINTS))
    chosen = [*timeline[::step], *(timeline[-1:] if (len(timeline) - 1) % step else [])]
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in chosen]
    width, down = 2 * WIDTH, HEIGHT - TOP - BOTTOM
    # Evidence may grow to thousands; what matters is where it crosses the line.
    most = max(1.0, TIMES_NEEDED * (needed or 0.0))
    found = [LEAST_EVIDENCE if (e := each["evidence"]) is None else float(e) for each in chosen]
    values = [min(max(each, LEAST_EVIDENCE), most) for each in found]
    top = max([*values, 1.3 * (needed or 0.0), 1.0]) * 1.08
    span = max(times[-1] - times[0], 1.0)

    def x(at: float) -> float:
        return LEFT + (width - LEFT - RIGHT) * (at - times[0]) / span

    def y(value: float) -> float:
        return TOP + down * (1 - (value - LEAST_EVIDENCE) / (top - LEAST_EVIDENCE))

    parts: list[str] = []
    for each, at, until in zip(chosen, times, [*times[1:], times[-1]], strict=True):
        if each["state"] in ("drift", "warning"):
            parts.append(
                f'<rect class="in-{each["state"]}" x="{x(at):.1f}" y="{TOP}" '
                f'width="{max(x(until) - x(at), 1.5):.1f}" height="{down}"/>'
            )
    if needed is not None:
        parts.append(
            f'<line class="needed" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(needed):.1f}" '
            f'y2="{y(needed):.1f}"/>' + _text(width - RIGHT, y(needed) - 5, "called drift", "end")
        )
    line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in zip(times, values, strict=True))
    parts.append(f'<polyline class="line" points="{line}"/>')
    cut = "≥ " if max(found) > most else ""
    for value, sign in ((0.0, ""), (top / 1.08, cut)):
        parts.append(_text(LEFT - 5, y(value) + 4, f"{sign}{value:.0f}", "end"))
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        shown = datetime.fromisoformat(chosen[round(share * (len(chosen) - 1))]["at"])
        at = LEFT + share * (width - LEFT - RIGHT)
        parts.append(_text(at, HEIGHT - BOTTOM + 16, f"{shown:%m-%d %H:%M}", anchor))
    return _svg("".join(parts), "Evidence of a change over time", width)


def _svg(inside: str, label: str, width: int = WIDTH) -> Markup:
    base = HEIGHT - BOTTOM
    return Markup(
        f'<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{escape(label)}">{inside}'
        f'<line class="axis" x1="{LEFT}" x2="{width - RIGHT}" y1="{base}" y2="{base}"/></svg>'
    )


def _scale(top: float, down: float) -> str:
    text = f"{top:.0%}" if top >= 0.1 else f"{top:.1%}"
    return _text(LEFT - 5, TOP + 8, text, "end") + _text(LEFT - 5, TOP + down, "0", "end")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= 12 else text[:11] + "…"


def _names(cells: dict[str, Any], size: int) -> list[str]:
    if cells.get("labels"):
        return [*map(str, cells["labels"]), *["other"] * size][:size]
    if "values" in cells:
        return [*(f"{each:g}" for each in cells["values"]), "other"][:size]
    if "edges" in cells:
        edges = [f"{each:.3g}" for each in cells["edges"]]
        return [f"< {edges[0]}", *(f"≥ {each}" for each in edges)] if edges else ["all"]
    return ["no", "yes"][:size]


def _joined(
    reference: list[float], window: list[float], names: list[str]
) -> tuple[list[float], list[float], list[str]]:
    """Neighbouring cells as one, so that at most so many bars are left."""
    size = -(-len(reference) // MOST_BARS)
    starts = range(0, len(reference), size)
    return (
        [sum(reference[k : k + size]) for k in starts],
        [sum(window[k : k + size]) for k in starts],
        [names[k] for k in starts],
    )
