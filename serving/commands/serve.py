"""``driftline serve``."""

from __future__ import annotations

import os
from typing import Any

import click

from ..settings import load


@click.command()
@click.argument("package", required=False)
@click.option("--host", help="Address to listen on (127.0.0.1).")
@click.option("--port", help="Port; 0 takes a free one (8080).")
@click.option("--workers", help="Processes, each with the model in its memory (2).")
@click.option("--threads", help="Threads in each process (4).")
@click.option("--state", help="A file, or the URL of a store (driftline-state.db).")
@click.option("--bucket", help="How long a time bucket lasts; divides an hour (60s).")
@click.option("--false-alarms", help='The promise, such as "1 per 30d" (the package\'s).')
@click.option("--thresholds", help="TOML or JSON file: limits over the package's.")
@click.option("--low-confidence", help="Probability under which a prediction is reported.")
@click.option("--latency-ms", help="Milliseconds above which a request counts as slow.")
@click.option("--alerts", help="TOML or JSON file: whom to tell, and how.")
@click.option(
    "--alert-sink",
    "alert_sinks",
    multiple=True,
    help="kind=URL of a receiver, such as slack=https://…; may be given several times.",
)
@click.option("--alert-sinks-file", help="File that holds them, one a line.")
@click.option("--alert-webhook", help="URL that CloudEvents are sent to.")
@click.option("--alert-secret", help="Signs them (better: DRIFTLINE_ALERT_SECRET or the file).")
@click.option("--alert-secret-file", help="File that holds it.")
@click.option("--alert-quiet", help="How long all must be well before an alert ends (300s).")
@click.option("--alert-group", help="How long a new alert waits for others (5s).")
@click.option("--alert-language", help="Of messages to people: en or zh (en).")
@click.option("--alert-link", help="Address of the pages, for links in messages.")
@click.option("--token", help="Bearer token for clients (better: DRIFTLINE_TOKEN or the file).")
@click.option("--token-file", help="File that holds it.")
@click.option(
    "--allow-anonymous",
    is_flag=True,
    default=None,
    help="Lets anyone in, on addresses beyond loopback too.",
)
@click.option("--refresh-folder", help="Where refreshed packages go (beside the served one).")
@click.option("--predictor", help="module:function that makes a predictor of the package.")
@click.option("--network", help="module:function that makes the network of a checkpoint.")
@click.option("--batch-sizes", help="Batch sizes to warm up, separated by commas (1,2,4,8,16,32).")
@click.option("--batch-rows", help="Rows of requests that are joined; 1 joins none.")
@click.option("--batch-wait-ms", help="How long a request waits for others to join (2).")
@click.option("--max-body", help="Bytes a request may have.")
@click.option("--max-instances", help="Instances a request may have (1024).")
@click.option("--max-pixels", help="Pixels that the images of a request may have together.")
@click.option("--log-level", help="debug, info, warning or error (info).")
def serve(**options: Any) -> None:
    """Serves the model in PACKAGE, a folder or a .zip, and watches what it is asked.

    Every option is also a variable: --false-alarms is DRIFTLINE_FALSE_ALARMS.
    """
    options["alert_sinks"] = " ".join(options["alert_sinks"]) or None
    settings = load(options, os.environ)
    from ..server import serve as run

    run(settings)
