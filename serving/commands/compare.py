"""``driftline compare``: what is different about a new package."""

from __future__ import annotations

import sys

import click
import msgspec

from driftline.metadata.package import ModelPackage

from ..offline.comparison import Comparison, SignalDifference, compared
from .exits import NO, YES, answering
from .table import table

SHOWN = 40


@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Prints JSON.")
@click.option("--all", "every", is_flag=True, help="Shows the signals that are alike too.")
@answering
def compare(old: str, new: str, as_json: bool, every: bool) -> None:
    """Says what the package NEW says otherwise than OLD, and how their references differ.

    Ends with 0 where no signal is new, gone or moved by PSI 0.1 or more; else with 1, and with 2
    where a package cannot be opened.
    """
    found = compared(ModelPackage.open(old).metadata, ModelPackage.open(new).metadata)
    if as_json:
        told = {"differs": found.differs, **msgspec.to_builtins(found)}
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=1).decode())
    else:
        click.echo(screen(found, every))
    sys.exit(YES if found.differs else NO)


def screen(found: Comparison, every: bool = False) -> str:
    """A comparison for people."""
    parts: list[str] = []
    if found.fields:
        rows = [(each.field, each.old, each.new) for each in found.fields[:SHOWN]]
        parts.append(table(rows, ("field", "old", "new")))
        if len(found.fields) > SHOWN:
            parts.append(f"and {len(found.fields) - SHOWN} more fields (--json tells all)")
    else:
        parts.append("The metadata say the same.")
    chosen = [each for each in found.signals if every or each.state != "alike"]
    if chosen:
        head = ("signal", "group", "reference", "psi", "shift, σ", "mean, old", "new", "")
        parts.append(table([_row(each) for each in chosen[:SHOWN]], head))
        if len(chosen) > SHOWN:
            parts.append(f"and {len(chosen) - SHOWN} more signals (--json tells all)")
    alike = sum(each.state == "alike" for each in found.signals)
    parts.append(f"{alike:,} of {len(found.signals):,} signals have references that are alike.")
    return "\n\n".join(parts)


def _row(each: SignalDifference) -> tuple[str, ...]:
    numbers = [
        "-" if value is None else f"{value:{form}}"
        for value, form in (
            (each.psi, ".3f"),
            (each.mean_shift_sd, "+.2f"),
            (each.old_mean, ".5g"),
            (each.new_mean, ".5g"),
        )
    ]
    return each.name, each.group, each.state, *numbers, "≈" if each.recut else ""
