"""``driftline verify`` and ``driftline inspect``: packages on disk."""

from __future__ import annotations

import click

from driftline.metadata.package import ModelPackage
from driftline.metadata.schema import ModelMetadata, Sensitivity

from .table import table

# Columns for what is seen with 90 % power within so many requests.
SEEN = ("in 100", "in 1,000", "in 10,000")


@click.command()
@click.argument("path")
def verify(path: str) -> None:
    """Says whether the package at PATH is whole: every file the one that was packed."""
    package = ModelPackage.open(path)
    model = package.metadata.model
    files = len(package.metadata.files)
    click.echo(f"whole: {model.name} {model.version}, {files} files, digest {package.digest}")


@click.command()
@click.argument("path")
def inspect(path: str) -> None:
    """Says on one screen what the package at PATH holds."""
    metadata = ModelPackage.open(path).metadata
    click.echo(overview(metadata))


def overview(metadata: ModelMetadata) -> str:
    """What a package holds, for people."""
    model, frame, quality = metadata.model, metadata.framework, metadata.quality
    facts = [
        ("model", f"{model.name} {model.version} ({model.architecture})"),
        ("parameters", f"{model.parameters:,}"),
        ("framework", f"{frame.name} {frame.version}, {frame.mode}, {frame.device}"),
        ("created", metadata.created),
        ("digest", metadata.metadata_sha256),
    ]
    for role, specs in (("input", metadata.inputs), ("output", metadata.outputs)):
        for spec in specs:
            shape = ", ".join("n" if length is None else str(length) for length in spec.shape)
            facts.append((role, f"{spec.name}: {spec.dtype} [{shape}]"))
    if metadata.class_names:
        names = ", ".join(metadata.class_names[:12])
        more = len(metadata.class_names) - 12
        facts.append(("classes", names + (f" and {more} more" if more > 0 else "")))
    facts.append(("trained on", f"{metadata.train_data_stats.rows:,} rows"))
    facts.append(("reference", metadata.reference.source.replace("_", " ")))
    if quality is not None and quality.accuracy is not None:
        facts.append(("accuracy", f"{quality.accuracy:.2%} of {quality.rows:,} rows"))
    if metadata.latency is not None:
        p50, p95 = metadata.latency.p50 * 1000, metadata.latency.p95 * 1000
        facts.append(("latency", f"p50 {p50:.2f} ms, p95 {p95:.2f} ms on {metadata.latency.host}"))
    if metadata.sensitivity is not None:
        share, level = metadata.sensitivity.loose_share, metadata.sensitivity.loose_level
        said = f"{share:.2%} of {metadata.sensitivity.streams:,} simulated streams"
        facts.append(("false alarms", f"{said} where {level:.0%} is allowed"))
    facts.extend(("note", note) for note in metadata.notes)
    sizes = seen(metadata.sensitivity)
    signals = [
        (
            each.name,
            each.signal.group,
            each.signal.kind,
            str(each.signal.partition.size),
            f"{each.rows:,}",
            *sizes.get(each.name, ("-",) * len(SEEN)),
        )
        for each in metadata.reference.signals
    ]
    files = [
        (each.path, each.role, f"{each.size:,} B", each.sha256[:16]) for each in metadata.files
    ]
    parts = [
        table(facts),
        table(signals, ("signal", "group", "kind", "cells", "rows", *SEEN)),
        table(files, ("file", "role", "size", "sha256")),
    ]
    return "\n\n".join(parts)


def seen(found: Sensitivity | None) -> dict[str, tuple[str, ...]]:
    """By signal the smallest changes that are seen, in the columns `SEEN`: shifts and shares."""
    told: dict[str, tuple[str, ...]] = {}
    for row in found.rows if found else ():
        shifts = bool(row.mean_shift_sd)
        sizes = row.mean_shift_sd if shifts else row.rate_change
        words = []
        for column in SEEN:
            size = sizes.get(column.removeprefix("in ").replace(",", ""))
            shown = f"{size:.2g} σ" if shifts and size else f"{100 * (size or 0):.2g} %"
            words.append("-" if size is None else shown)
        told[row.signal] = tuple(words)
    return told
