"""Requests a second and latency of `/predict`: batched, unbatched, unwatched, and Flask's floor.

Eight clients (wrk) send one row a request to each of four services in turn, round by round, so
that a slow moment of the machine falls on all of them; ratios are of the same round, and their
median is told. All are started anew several times: one process is up to a tenth quicker than
another of the same program, for as long as it lives. With and without the monitor they are one
process. Each has one worker with eight threads under gunicorn, and one thread for arithmetic.

Run it with ``make bench-serve``; it writes its table into ``docs/performance.md``. Wants ``wrk``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.document import put
from benchmarks.serving.apps import APPLICATIONS
from benchmarks.serving.load import SCRIPT, Measured, Server
from benchmarks.serving.models import NAMES, rows

CLIENTS = 8
DOCUMENT = Path("docs/performance.md")
INTRODUCTION = "`make bench-serve` writes this table."
HEAD = (
    "| model | application | requests/s | of unbatched | p50, ms | p99, ms | p99 of unbatched |",
    "|---|---|---:|---:|---:|---:|---:|",
)
LABELS = {
    "batched": "driftline, batched",
    "off": "batched, monitor off",
    "unbatched": "driftline, unbatched",
    "floor": "bare Flask route",
}
# Which application each is, and where.
VARIANTS = {
    "batched": ("batched", "/predict"),
    "off": ("batched", "/off/predict"),
    "unbatched": ("unbatched", "/predict"),
    "floor": ("floor", "/predict"),
}
Rounds = dict[str, list[Measured]]


def main() -> int:
    """Measures, prints and writes the table; 0 when batching and monitor keep to their aims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4, help="after each start")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--models", nargs="*", default=NAMES)
    parser.add_argument("--dry", action="store_true", help="print only")
    chosen = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed", file=sys.stderr)
        return 2
    lines, good = list(HEAD), True
    ratios = []
    for name in chosen.models:
        found = measured(name, chosen.starts, chosen.rounds, chosen.seconds)
        lines += table(name, found)
        on = paired(found, "batched", "off")
        gain = paired(found, "batched", "unbatched")
        good &= gain >= 1.4 and on >= 0.98
        ratios.append(f"{name} {on:.3f} ± {error(found, 'batched', 'off'):.3f}")
    lines += [
        "",
        f"Requests/s with the monitor on, of those with it off, in one process: {', '.join(ratios)}"
        " (median, and the standard error of the mean; the judge, which may use 0.5 % of a core,"
        " goes on in both).",
    ]
    text = "\n".join(
        [INTRODUCTION, "", *lines, "", *conditions(chosen.starts, chosen.rounds, chosen.seconds)]
    )
    print(text)
    if not chosen.dry:
        put(DOCUMENT, "# Performance", "serving", "Serving", text)
    return 0 if good else 1


def measured(name: str, starts: int, rounds: int, seconds: int) -> Rounds:
    """All rounds of one model; the first one after each start is not counted."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        package, bodies = folder / "package", folder / "bodies.jsonl"
        words = [sys.executable, "-m", "benchmarks.serving.models", name, str(package)]
        subprocess.run(words, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        texts = [json.dumps({"instances": [row]}) for row in rows(name)]
        bodies.write_text("\n".join(texts) + "\n")
        script = folder / "post.lua"
        script.write_text(SCRIPT.format(bodies=bodies))
        order = list(VARIANTS)
        found: Rounds = {variant: [] for variant in order}
        for start in range(starts):
            with started(folder, package, texts[0].encode()) as servers:
                for turn in range(rounds + 1):
                    # Begun by another one each time: what comes first would else always do so.
                    first = (start + turn) % len(order)
                    for variant in (*order[first:], *order[:first]):
                        application, path = VARIANTS[variant]
                        one = servers[application].loaded(script, path, CLIENTS, seconds)
                        if turn:
                            found[variant].append(one)
    return found


@contextmanager
def started(folder: Path, package: Path, body: bytes) -> Iterator[dict[str, Server]]:
    """All applications, each with an empty state, and up."""
    servers: dict[str, Server] = {}
    with tempfile.TemporaryDirectory(dir=folder) as states, ExitStack() as ending:
        answer = ""
        for name in APPLICATIONS:
            own = (name, str(package), str(Path(states) / f"{name}.db"), answer)
            servers[name] = Server(folder, *own, threads=CLIENTS)
            ending.callback(servers[name].stop)
            answer = servers[name].answer(body).decode()
        yield servers


def paired(found: Rounds, one: str, other: str, what: str = "rate") -> float:
    """The median over the rounds of what `one` had, of what the `other` had in the same round."""
    pairs = zip(found[one], found[other], strict=True)
    return statistics.median(getattr(a, what) / getattr(b, what) for a, b in pairs)


def error(found: Rounds, one: str, other: str) -> float:
    """The standard error of the mean ratio of the rates."""
    pairs = zip(found[one], found[other], strict=True)
    ratios = [a.rate / b.rate for a, b in pairs]
    return statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("inf")


def table(name: str, found: Rounds) -> list[str]:
    """One line an application."""
    lines = []
    for variant, rounds in found.items():
        rate, p50, p99 = (
            statistics.median(getattr(each, what) for each in rounds)
            for what in ("rate", "p50", "p99")
        )
        gain = paired(found, variant, "unbatched")
        tail = paired(found, variant, "unbatched", "p99")
        told = f"{rate:,.0f} | {gain:.2f} | {p50:.1f} | {p99:.1f} | {tail:.2f}"
        lines.append(f"| {name} | {LABELS[variant]} | {told} |")
    return lines


def conditions(starts: int, rounds: int, seconds: int) -> list[str]:
    """Under which the table came to be."""
    cores = len(os.sched_getaffinity(0))
    return [
        f"{CLIENTS} clients, one row a request, {starts} starts of all, {rounds} rounds of"
        f" {seconds} s after each, in turn;"
        f" Python {platform.python_version()}, {cores} cores shared with the clients. Medians; a"
        " ratio is of the same round."
    ]


if __name__ == "__main__":
    raise SystemExit(main())
