"""Ascend devices, by what ``npu-smi info`` prints."""

from __future__ import annotations

import itertools
import logging
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping

from .probe import GAUGES, Gauge

log = logging.getLogger("driftline")

COMMAND = ("npu-smi", "info")
SECONDS = 5.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BUS = re.compile(r"\w{4}:\w{2}:\w{2}\.\w|NA")
_USAGE = re.compile(r"(\d+)\s*/\s*(\d+)")


@GAUGES.register
class Ascend(Gauge):
    """``npu<n>/util_percent``, ``…/memory_bytes``, ``…/temperature_celsius``, ``…/power_watts``.

    `n` counts chips, as the table does from top to bottom. Nothing where the command is missing,
    fails, or takes more than 5 s; a field that the table does not give is left out.

    Args:
        every: seconds between readings; each starts a process.
        run: gives the command's output, or None.
    """

    kind = "ascend"

    def __init__(self, *, every: float = 15.0, run: Callable[[], str | None] | None = None) -> None:
        self.every = every
        self._run = run or _npu_smi
        self._failures = 0

    def read(self) -> Mapping[str, float]:
        """The values of all chips."""
        if self._failures >= 3:
            return {}
        text = self._run()
        if text is None:
            self._failures += 1
            return {}
        self._failures = 0
        return parsed(text)


def parsed(text: str) -> dict[str, float]:
    """The values in the table; each chip has two rows of three cells.

    The first row has name, health, and (power, temperature, …); the second has chip, bus, and
    (AICore share, memory, HBM where the chip has one), each usage as ``used / total`` in MB.
    """
    rows = [_cells(line) for line in text.splitlines()]
    values: dict[str, float] = {}
    chip = -1
    for first, second in itertools.pairwise(rows):
        if len(first) != 3 or len(second) != 3 or not _BUS.fullmatch(second[1]):
            continue
        chip += 1
        values |= {f"npu{chip}/{name}": value for name, value in _chip(first[2], second[2])}
    return values


def _chip(first: str, second: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    power, temperature, *_ = [*first.split(), "", ""]
    if _NUMBER.fullmatch(power):
        found.append(("power_watts", float(power)))
    if _NUMBER.fullmatch(temperature):
        found.append(("temperature_celsius", float(temperature)))
    share = second.split()[0] if second.split() else ""
    if _NUMBER.fullmatch(share):
        found.append(("util_percent", float(share)))
    usages = [(int(used), int(total)) for used, total in _USAGE.findall(second)]
    used, total = max(usages, key=lambda pair: pair[1], default=(0, 0))
    if total:  # a chip with HBM shows 0 / 0 for the other memory
        found += [("memory_bytes", used * 1024.0**2), ("memory_percent", 100.0 * used / total)]
    return found


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _npu_smi() -> str | None:
    if shutil.which(COMMAND[0]) is None:
        return None
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        log.debug("npu-smi: %s", error)
        return None
    return done.stdout
