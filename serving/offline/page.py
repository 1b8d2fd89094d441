"""A report as one HTML file that needs nothing else: no script, no font, no address."""

from __future__ import annotations

import math
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from driftline.metadata.errors import SettingError

from . import svg
from .contents import Contents, Told, ordered
from .summary import headline, next_steps

MOST_SIGNALS = 250
MOST_ALERTS = 30
_FOLDER = Path(__file__).parent / "templates"


def write(path: str, contents: Contents) -> int:
    """Writes the report to `path`, whole or not at all; its size in bytes.

    Raises:
        SettingError: it cannot be written there.
    """
    text = page(contents).encode()
    target = Path(path)
    try:
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_bytes(text)
        os.replace(beside, target)
    except OSError as error:
        raise SettingError("report", f"{path} cannot be written: {error}") from None
    return len(text)


def page(contents: Contents, now: float | None = None) -> str:
    """The report's HTML."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=_percent, number=_number, ms=_ms, when=_when, plain=_plain, count=_count
    )
    drift = contents.drift
    alpha = drift["false_alarm"]["alpha"]
    needed = -math.log10(alpha) if alpha > 0 else None
    signals = ordered(drift)
    details = {each["name"]: each for each in contents.details}
    return environment.get_template("report.html").render(
        source=contents.source,
        metadata=contents.metadata,
        drift=drift,
        headline=headline(drift),
        next_steps=next_steps(drift),
        needed=needed,
        evidence=svg.evidence(contents.timeline, needed) if len(contents.timeline) > 1 else None,
        signals=signals[:MOST_SIGNALS],
        more_signals=max(0, len(signals) - MOST_SIGNALS),
        pictures=[
            (
                each,
                details[each["name"]],
                svg.distribution(details[each["name"]]["cells"], each["name"]),
            )
            for each in signals
            if each["name"] in details
        ],
        alerts=_alerts(contents.alerts),
        made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now)),
        driftline=version("driftline"),
    )


def _alerts(told: Told) -> list[Told]:
    return [*told.get("open", ()), *told.get("past", ())][:MOST_ALERTS]


def _plain(sentence: str) -> str:
    """The first part of a sentence: what changed, without how sure that is."""
    return sentence.split("; PSI")[0].split("; without")[0].rstrip(".") + "."


def _percent(value: float | None) -> str:
    # Plus nothing, so that no small loss becomes minus nought.
    return "–" if value is None else f"{round(value, 3) + 0.0:.1%}".replace("%", " %")


def _number(value: Any, digits: int = 2) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g} ms"


def _when(text: str | None) -> str:
    return "–" if not text else text[:16].replace("T", " ") + " UTC"
