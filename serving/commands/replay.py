"""``driftline replay``: what the monitor would have said of traffic that was recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from driftline.drift.verdict import MultivariateVerdict, SignalVerdict
from driftline.metadata.package import ModelPackage

from ..evaluation.report import iso
from ..hooks.session import Plan
from ..offline.recorded import read
from ..offline.replay import Replayed
from ..offline.replay import replay as replayed
from ..settings import seconds
from .exits import NO, YES, answering
from .table import table

SHOWN = 12


@click.command()
@click.argument("package")
@click.argument("file")
@click.option("--time-column", help="Array or column with Unix seconds or ISO 8601 times.")
@click.option(
    "--rows-per-bucket",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Where there are no times.",
)
@click.option("--bucket", default="60s", show_default=True, help="How long a bucket lasts.")
@click.option("--false-alarms", help='The promise, such as "1 per 30d" (the package\'s).')
@click.option("--thresholds", help="TOML or JSON file: limits over the package's.")
@click.option("--predict", is_flag=True, help="Lets the packaged model predict the outputs.")
@click.option("--predictor", help="module:function that makes the model; goes with --predict.")
@click.option("--json", "as_json", is_flag=True, help="Prints JSON.")
@click.option("--report", "page", help="Writes an HTML report to this file.")
@answering
def replay(package: str, file: str, **options: Any) -> None:
    """Sends the recorded traffic in FILE (.npz, .npy, .csv, .parquet) through the monitor of
    PACKAGE, off line and without a service.

    Ends with 0 when there was no drift, with 1 when there was at any time, with 2 when nothing
    can be said.
    """
    opened = ModelPackage.open(package)
    recorded = read(file, opened.metadata, options["time_column"])
    plan = Plan(
        opened,
        "memory:",
        bucket=seconds(options["bucket"], "bucket"),
        false_alarms=options["false_alarms"],
        limits=options["thresholds"],
    )
    model = None
    if options["predict"] or options["predictor"]:
        from ..model import predictor

        model = predictor.load(opened, predictor=options["predictor"])
    found = _with_a_bar(plan, recorded, options["rows_per_bucket"], model)
    click.echo(_json(found) if options["as_json"] else screen(found, plan, options["time_column"]))
    if options["page"]:
        from ..offline.contents import of_store
        from ..offline.page import write

        made_up = "" if options["time_column"] else ", times are made up"
        source = f"replay of {Path(file).name}{made_up}"
        write(options["page"], of_store(plan, found.store, float(found.standing.at), source))
    drifted = any(each.state == "drift" for each in found.changes)
    sys.exit(YES if drifted else NO)


def screen(found: Replayed, plan: Plan, timed: str | None) -> str:
    """A replay for people: how it ended, each change of state, the signals that changed."""
    verdict = found.standing.verdict
    first, last = min(found.starts), max(found.starts) + plan.bucket
    how = f"{iso(first)} to {iso(last)}" if timed else "by rows, times are made up"
    buckets = f"{len(found.starts):,} buckets of {plan.bucket} s ({how})"
    facts = [
        ("replayed", f"{found.rows:,} rows in {buckets}"),
        ("in the end", verdict.state),
        ("", verdict.sentence),
    ]
    if verdict.onset is not None:
        row = min((n for at, n in found.starts.items() if at >= verdict.onset), default=1)
        facts.insert(2, ("since", f"row {row:,}, {iso(verdict.onset)}"))
    head = ("after row", "time", "state", "")
    changes = [(f"{c.row:,}", str(iso(c.at)), c.state, c.sentence) for c in found.changes]
    parts = [table(facts), table(changes[-SHOWN:], head)]
    fired = [each for each in verdict.signals if each.state in ("drift", "warning")]
    fired.sort(key=lambda each: each.effect.psi if each.effect else 0.0, reverse=True)
    many = [each for each in verdict.multivariates if each.state in ("drift", "warning")]
    if fired or many:
        rows = [*map(_row, fired[:SHOWN]), *map(_row, many)]
        parts.append(table(rows, ("signal", "state", "psi", "")))
        if len(fired) > SHOWN:
            parts.append(f"and {len(fired) - SHOWN} more signals")
    if found.standing.dropped:
        said = ", ".join(f"{name}: {n:,}" for name, n in found.standing.dropped.items())
        parts.append(f"not counted: {said}")
    return "\n\n".join(parts)


def _row(each: SignalVerdict | MultivariateVerdict) -> tuple[str, ...]:
    if isinstance(each, MultivariateVerdict):
        return each.name, each.state, f"{each.distance**2:.3f}", each.sentence
    psi = f"{each.effect.psi:.3f}" if each.effect else "-"
    return each.name, each.state, psi, each.sentence.split("; PSI")[0]


def _json(found: Replayed) -> str:
    verdict = found.standing.verdict
    told = {
        "rows": found.rows,
        "buckets": len(found.starts),
        "changes": [
            {"row": c.row, "at": iso(c.at), "state": c.state, "sentence": c.sentence}
            for c in found.changes
        ],
        "verdict": msgspec.to_builtins(verdict),
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=1).decode()


def _with_a_bar(plan: Plan, recorded: Any, rows_per_bucket: int, model: Any) -> Replayed:
    """The replay, with a bar on standard error where a person looks on."""
    if not sys.stderr.isatty():
        return replayed(plan, recorded, rows_per_bucket=rows_per_bucket, model=model)
    with click.progressbar(length=1, label="replaying", file=sys.stderr) as bar:

        def told(done: int, of: int) -> None:
            bar.length = of
            bar.update(done - bar.pos)

        return replayed(plan, recorded, rows_per_bucket=rows_per_bucket, model=model, told=told)
