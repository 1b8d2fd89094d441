"""``driftline report``: one HTML file that says how a model fares in service."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from driftline.metadata.errors import SettingError
from driftline.metadata.package import ModelPackage

from ..hooks.session import Plan
from ..settings import seconds
from .exits import answering


@click.command()
@click.argument("target")
@click.option("--state", help="File or URL of the service's store; TARGET is then its package.")
@click.option("--bucket", default="60s", show_default=True, help="The service's; with --state.")
@click.option("--thresholds", help="The service's file of limits; with --state.")
@click.option("--out", default="driftline-report.html", show_default=True, help="The file.")
@click.option("--token", help="Bearer token (better: DRIFTLINE_TOKEN).")
@answering
def report(target: str, **options: Any) -> None:
    """Writes a report on the service at the URL TARGET, or on what a package's service left in
    a store (--state). The file needs nothing else: it can be mailed, printed or kept."""
    from ..offline.contents import of_service, of_store
    from ..offline.page import write

    if options["state"] is None:
        contents = of_service(target, options["token"] or os.environ.get("DRIFTLINE_TOKEN"))
    else:
        from ..alerts.alerts import AlertSettings
        from ..evaluation.desk import Desk
        from ..stores.opening import existing_store

        bucket = seconds(options["bucket"], "bucket")
        plan = Plan(
            ModelPackage.open(target),
            options["state"],
            bucket=bucket,
            limits=options["thresholds"],
        )
        store = existing_store(options["state"])
        model = plan.package.metadata.model.name
        if store.get(plan.series.verdict) is None:
            reason = f"{options['state']} has no verdict on this package, {plan.series.base}"
            raise SettingError("state", reason)
        desk = Desk(model, store, AlertSettings(), holder="report", watch=lambda now: [])
        contents = of_store(plan, store, time.time(), options["state"], desk.alerts)
    size = write(options["out"], contents)
    click.echo(f"{options['out']}: {contents.drift['state']}, {size / 1000:.0f} kB")
