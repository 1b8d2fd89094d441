"""How soon drift is seen, and how often stable traffic is called drift: ``make bench-detect``.

Runs the sections of `detection` and writes ``docs/detection.md`` with its pictures. All chance is
seeded. Each section's results are kept in ``build/detection.json``: one can run by itself, and the
page still shows the others. It is written when there are results of all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Before NumPy is loaded, here and in each process: the processes are the parallelism.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("GLOG_v", "3")

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from benchmarks.detection import (  # noqa: E402
    clean,
    delays,
    document,
    loudly,
    pages_clean,
    small,
    speed,
)
from benchmarks.detection.versions import code_digest  # noqa: E402
from benchmarks.detection.work import SCALES, Found, Task  # noqa: E402

SECTIONS = {"small": small, "loudly": loudly, "delays": delays, "clean": clean, "speed": speed}
# Timed with nothing else running.
ALONE = "speed"


def main(arguments: list[str] | None = None) -> int:
    """Runs what is asked for and writes the page; 1 where a promise was not kept."""
    parser = argparse.ArgumentParser(prog="benchmarks.detect", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_const", const="quick", dest="scale")
    size.add_argument("--long", action="store_const", const="long", dest="scale")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="a section; repeatable")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "detection.json")
    given = parser.parse_args(arguments)
    scale = SCALES[given.scale or "full"]
    began = time.monotonic()
    code = code_digest(ROOT)
    kept = json.loads(given.results.read_text()) if given.results.exists() else {}
    chosen = given.only or list(SECTIONS)
    work = {name: SECTIONS[name].tasks(scale) for name in SECTIONS if name in chosen}
    for name, found, whole in _run(work, given.processes):
        if whole:
            kept[name] = {"scale": scale.name, "found": found, "code": code}
            given.results.parent.mkdir(parents=True, exist_ok=True)
            given.results.write_text(json.dumps(kept))
            if set(SECTIONS) <= set(kept):
                document.write(kept, given.docs)
            print(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    lacking = [name for name in SECTIONS if name not in kept]
    what = f"not written, for want of {', '.join(lacking)}:" if lacking else "written:"
    print(f"{what} {given.docs / 'detection.md'}, {(time.monotonic() - began) / 60:.1f} minutes")
    broken = pages_clean.broken(kept["clean"]["found"]) if "clean" in chosen else []
    for each in broken:
        print(f"more false alarms than promised: {each}")
    return 1 if broken else 0


def _run(work: dict[str, list[Task]], processes: int):  # type: ignore[no-untyped-def]
    """After each task a section's results so far, in order, and whether those are all."""
    bars = Progress(
        TextColumn("{task.description:<8}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        disable=not sys.stdout.isatty(),
    )
    with bars:
        lines = {name: bars.add_task(name, total=len(tasks)) for name, tasks in work.items()}
        together = [
            (name, at) for name, tasks in work.items() if name != ALONE for at in range(len(tasks))
        ]
        found: dict[str, dict[int, Found]] = {name: {} for name in work}
        if together:
            # Spawned, not forked: MindSpore's threads do not survive a fork.
            context = multiprocessing.get_context("spawn")
            with context.Pool(processes, initializer=_quiet) as pool:
                asked = [(name, at, work[name][at]) for name, at in together]
                for name, at, one in pool.imap_unordered(_call, asked):
                    found[name][at] = one
                    bars.advance(lines[name])
                    yield name, _ordered(found[name]), len(found[name]) == len(work[name])
        for at, task in enumerate(work.get(ALONE, [])):
            found[ALONE][at] = task()
            bars.advance(lines[ALONE])
            yield ALONE, _ordered(found[ALONE]), len(found[ALONE]) == len(work[ALONE])


def _ordered(found: dict[int, Found]) -> list[Found]:
    return [found[key] for key in sorted(found)]


def _call(asked: tuple[str, int, Task]) -> tuple[str, int, Found]:
    name, at, task = asked
    return name, at, task()


def _quiet() -> None:
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    raise SystemExit(main())
