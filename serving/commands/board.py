"""``driftline board``."""

from __future__ import annotations

import os
from typing import Any

import click

from driftline.metadata.errors import SettingError

from ..secret import Secret


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, help="Port; 0 takes a free one.")
@click.option(
    "--state",
    default="driftline-board.db",
    show_default=True,
    help="A file, or the URL of a store, where runs are kept.",
)
@click.option("--token", help="Bearer token (better: DRIFTLINE_TOKEN or the file).")
@click.option("--token-file", type=click.Path(exists=True), help="File that holds it.")
@click.option("--allow-anonymous", is_flag=True, help="Lets anyone in, beyond loopback too.")
@click.option("--alerts", help="TOML or JSON file: whom to tell of trainings, and how.")
@click.option("--log-level", default="info", help="debug, info, warning or error.")
def board(token: str | None, token_file: str | None, alerts: str | None, **options: Any) -> None:
    """Shows trainings as they happen, without a model.

    Trainings push their points to it: TrainingMonitor("runs/digits", board="http://127.0.0.1:8000").
    """
    from ..alerts.file import read
    from ..board import BoardSettings, serve_board

    text = token or os.environ.get("DRIFTLINE_TOKEN")
    if token_file:
        with open(token_file, encoding="utf-8") as file:
            text = file.read().strip()
    if text is not None and not (text and text.isprintable()):
        raise SettingError("token", "must be printable and not empty")
    if alerts is not None:
        options["alerts"] = read(alerts, os.environ)
    serve_board(BoardSettings(token=Secret(text) if text else None, **options))
