"""``make ops-demo``: a fault is planted, and everybody who should hears of it, and of its end.

Starts Alertmanager, the service with two workers, Prometheus with the deployed rules, and a
receiver of webhooks; sends clean traffic, then wrong traffic, then clean traffic again. Prometheus
and amtool are Debian's. With KEEP=1 everything stays up until Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .package import Rows, wines, write
from .programs import fetched, firing, until
from .stack import Stack

BUILD = Path("build/ops")
# What Alertmanager passes on: driftline's own alert keeps the rule of the same matter quiet.
TOLD = {"DriftlineDrift", "DriftlineGradientVanishing"}
console = Console(width=min(Console().width, 120))


def main() -> int:
    """Runs the story; 0 when every part of it came true."""
    began = time.monotonic()
    shutil.rmtree(BUILD, ignore_errors=True)
    console.rule("1. A small package; the service, Prometheus and Alertmanager around it")
    package = write(BUILD / "package")
    with Stack(BUILD, package) as stack:
        for name, url in addresses(stack).items():
            console.print(f"{name:<14}[bold]{url}[/]")
        quiet(stack)
        wrong(stack)
        told(stack)
        well(stack)
        summary(stack)
        console.print(f"\nAll of it took {time.monotonic() - began:.0f} s.")
        if os.environ.get("KEEP"):
            console.print("Everything stays up until Ctrl-C.")
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def addresses(stack: Stack) -> dict[str, str]:
    """Where each program answers."""
    return {
        "driftline": stack.service.url,
        "Prometheus": stack.prometheus.url,
        "Alertmanager": stack.alertmanager.url,
        "webhooks": stack.receiver.url,
    }


def quiet(stack: Stack) -> None:
    """Clean traffic and a healthy training: nothing fires."""
    console.rule("2. Clean traffic and a healthy training")
    stack.train(gradient=0.4)
    sent(stack, wines(3_000, seed=11), lambda: stack.asked("/drift")["state"] == "stable")
    until(lambda: scraped(stack, "driftline_model_state") == ["0"], "Prometheus sees it")
    console.print(f"/drift says [green]{stack.asked('/drift')['state']}[/]; no alert fires")
    assert firing(stack.prometheus.url) == set(), firing(stack.prometheus.url)
    assert stack.listed() == {}, stack.listed()


def wrong(stack: Stack) -> None:
    """One column in another unit, and gradients that vanish."""
    console.rule("3. Planted: alcohol comes in another unit; the training's gradients vanish")
    stack.train(gradient=3e-8)
    rows = wines(3_000, seed=12)
    rows[:, 0] *= 0.79
    sent(stack, rows, lambda: stack.asked("/drift")["state"] == "drift")
    console.print(f"/drift says [red]{stack.asked('/drift')['state']}[/]")


def told(stack: Stack) -> None:
    """Both ways to Alertmanager: driftline's own, and Prometheus'."""
    wanted = {"DriftlineModelDrift", "DriftlineGradientVanishing"}
    until(lambda: firing(stack.prometheus.url) >= wanted, "Prometheus fires", 60)
    ours = "told by driftline: DriftlineDrift"
    until(lambda: stack.listed().keys() >= wanted | {ours}, "Alertmanager lists them", 60)
    table = Table(title="amtool alert query")
    for name in ("alert", "severity", "state", "summary"):
        table.add_column(name)
    for name, each in sorted(stack.listed().items()):
        words = each["annotations"].get("summary", "")
        table.add_row(name, each["labels"]["severity"], each["status"]["state"], escape(words))
    console.print(table)
    until(lambda: "io.driftline.drift.firing" in types(stack), "the webhook hears of the drift")
    # An alert that ends before anybody heard of it is never told, nor is its end.
    until(lambda: heard(stack, "firing") >= TOLD, "Alertmanager's receiver hears of both")


def well(stack: Stack) -> None:
    """The faults end, and so do the alerts."""
    console.rule("4. The faults end")
    stack.train(gradient=0.5)
    for seed in range(20, 60):
        sent(stack, wines(600, seed=seed), lambda: stack.asked("/drift")["state"] == "stable")
        if stack.asked("/drift")["state"] == "stable":
            break
    until(lambda: firing(stack.prometheus.url) == set(), "Prometheus is quiet", 90)
    until(lambda: stack.listed() == {}, "Alertmanager lists nothing", 90)
    until(lambda: "io.driftline.drift.resolved" in types(stack), "the webhook hears of the end")
    until(lambda: heard(stack, "resolved") >= TOLD, "Alertmanager's receiver hears of both ends")
    console.print(f"amtool lists nothing; the webhook heard: {', '.join(types(stack))}")


def summary(stack: Stack) -> None:
    """Every message that anybody got."""
    console.rule("Summary")
    table = Table(show_header=True)
    for name in ("receiver", "message"):
        table.add_column(name)
    for event in stack.receiver.at("/events"):
        table.add_row("driftline's webhook", f"{event['type']}: {event['data']['sentence']['en']}")
    for group in stack.receiver.at("/alertmanager"):
        for alert in group["alerts"]:
            words = f"{alert['status']}: {alert['annotations'].get('summary', '')}"
            table.add_row("Alertmanager's receiver", escape(words))
    console.print(table)


def types(stack: Stack) -> list[str]:
    """The types of the events that driftline's own webhook got, oldest first."""
    return [str(event["type"]) for event in stack.receiver.at("/events")]


def heard(stack: Stack, status: str) -> set[str]:
    """The names of the alerts that Alertmanager's receiver was told are "firing" or "resolved"."""
    alerts = [alert for group in stack.receiver.at("/alertmanager") for alert in group["alerts"]]
    return {each["labels"]["alertname"] for each in alerts if each["status"] == status}


def scraped(stack: Stack, query: str) -> list[str]:
    """The values that Prometheus has for a query."""
    told: Any = fetched(f"{stack.prometheus.url}/api/v1/query?query={query}")
    return [each["value"][1] for each in told["data"]["result"]]


def sent(stack: Stack, rows: Rows, enough: Callable[[], bool]) -> None:
    """Sends rows, some 400 a second, until there are `enough`; waits for the last to count."""
    for start in range(0, len(rows), 200):
        stack.predict(rows[start : start + 200])
        time.sleep(0.5)
        if start >= 600 and enough():
            break
    before = stack.asked("/drift")["evaluated"]
    until(lambda: stack.asked("/drift")["evaluated"] != before, "the next evaluation", 20)


if __name__ == "__main__":
    sys.exit(main())
