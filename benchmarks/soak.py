"""Whether a service grows: resident memory of its workers and size of its files under long load.

Two workers serve the MLP of `make bench-serve` with buckets of 5 s, so that the fast ring comes
round in five minutes; a client predicts, labels and reads at a low, steady rate.

Run it with ``make soak`` (``MINUTES=30``); it writes its table into ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.document import put
from benchmarks.serving.gentle import Gentle
from benchmarks.serving.models import rows

DOCUMENT = Path("docs/reliability.md")
SAMPLE = 10.0
GROWTH = 0.02
HEAD = "| minute | workers, MB each | state, KB | write-ahead log, KB | requests |"
Sample = tuple[float, list[float], int, int, int]


def main() -> int:
    """Loads, measures, prints and writes the table; 0 when memory stayed flat and all was well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="predictions a second")
    parser.add_argument("--warm", type=float, default=0.25, help="share that is warm-up")
    parser.add_argument("--dry", action="store_true", help="print only")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        samples, answers = soaked(Path(place), chosen.minutes, chosen.rate)
    before = [each for each in samples if each[0] <= chosen.warm * chosen.minutes * 60]
    after = samples[len(before) :]
    third = max(1, len(after) // 3)
    growth = [
        statistics.median(each[1][worker] for each in after[-third:])
        / statistics.median(each[1][worker] for each in after[:third])
        - 1
        for worker in range(len(samples[0][1]))
    ]
    text = "\n".join(
        [
            *table(samples),
            "",
            f"`make soak MINUTES={chosen.minutes:g}`, {chosen.rate:g} predictions a second. Growth"
            f" of resident memory from the first to the last third after the warm-up"
            f" (the first {chosen.warm:.0%}): "
            + ", ".join(f"{each:+.2%}" for each in growth)
            + ".",
            "",
            "Answers: " + ", ".join(f"{name} × {n:,}" for name, n in sorted(answers.items())) + ".",
        ]
    )
    print(text)
    if not chosen.dry:
        put(DOCUMENT, "# Reliability", "soak", "Long load", text)
    well = all(name.split(" ")[-1] in ("200", "304") for name in answers)
    return 0 if well and max(growth) <= GROWTH else 1


def soaked(folder: Path, minutes: float, rate: float) -> tuple[list[Sample], dict[str, int]]:
    """What was measured each `SAMPLE` seconds, and the answers by route and status."""
    package, state, log = folder / "package", folder / "state.db", folder / "log"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.serving.models", "MLP", str(package)]
    subprocess.run(words, check=True, env=environment)
    words = [sys.executable, "-m", "driftline.serving.cli", "serve", str(package), "--port", "0"]
    words += ["--state", str(state), "--bucket", "5s", "--workers", "2"]
    with log.open("wb") as out:
        server = subprocess.Popen(words, stdout=out, stderr=out, env=environment)
    client = None
    try:
        client = Gentle(address(server, log), rows("MLP", 1)[0], "red", rate)
        wait(lambda: client.seen["/predict 200"] > 0, server, log)
        pids = children(server.pid)
        began = time.monotonic()
        samples: list[Sample] = []
        while (spent := time.monotonic() - began) < minutes * 60:
            memory = [resident(pid) for pid in pids]
            sizes = [size(state), size(state.with_name("state.db-wal"))]
            asked = client.seen["/predict 200"]
            samples.append((spent, memory, sizes[0], sizes[1], asked))
            time.sleep(max(0.0, began + len(samples) * SAMPLE - time.monotonic()))
        if children(server.pid) != pids:
            raise RuntimeError("a worker died on the way:\n" + log.read_text())
        client.stop()
        return samples, dict(client.seen)
    finally:
        if client is not None:
            client.stop()
        server.terminate()
        server.wait(60)


def table(samples: list[Sample]) -> list[str]:
    """One line a minute or so, at most twenty."""
    step = max(1, -(-len(samples) // 20))
    lines = [HEAD, "|---:|---:|---:|---:|---:|"]
    for spent, memory, state, wal, asked in [*samples[:-1:step], samples[-1]]:
        told = " · ".join(f"{each:.1f}" for each in memory)
        lines.append(f"| {spent / 60:.1f} | {told} | {state:,} | {wal:,} | {asked:,} |")
    return lines


def address(server: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, once it has its workers; they are loading the model still."""

    def up() -> str:
        found = re.search(r"Listening at: (http://[\d.:]+)", log.read_text(errors="replace"))
        return found[1] if found and len(children(server.pid)) == 2 else ""

    return wait(up, server, log)


def wait(
    ready: Callable[[], Any], server: subprocess.Popen[bytes], log: Path, seconds: float = 180.0
) -> Any:
    """The first true value of `ready`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        if found := ready():
            return found
        time.sleep(0.2)
    raise RuntimeError(log.read_text(errors="replace"))


def children(pid: int) -> list[int]:
    """Process ids of the workers."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident(pid: int) -> float:
    """Resident memory in megabytes (10⁶ bytes)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def size(path: Path) -> int:
    """Kilobytes of a file; 0 where there is none."""
    return path.stat().st_size // 1000 if path.exists() else 0


if __name__ == "__main__":
    raise SystemExit(main())
