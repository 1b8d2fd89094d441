"""``driftline status``: the verdict of a running service on one screen."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from .table import table

STABLE, DRIFT, UNREACHABLE = 0, 1, 2
TIMEOUT = 10


@click.command()
@click.argument("url")
@click.option("--token", help="Bearer token (better: DRIFTLINE_TOKEN).")
def status(url: str, token: str | None) -> None:
    """Says how the service at URL stands. Ends with 0 when stable, 1 on drift, 2 when it cannot
    be asked."""
    import requests

    token = token or os.environ.get("DRIFTLINE_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = url.rstrip("/") + "/drift"
    if "://" not in address:
        address = "http://" + address
    try:
        answer = requests.get(address, headers=headers, timeout=TIMEOUT)
        told = answer.json()
    except (requests.RequestException, ValueError) as error:
        click.echo(f"{url} cannot be asked: {type(error).__name__}", err=True)
        sys.exit(UNREACHABLE)
    if answer.status_code != 200 or not isinstance(told, dict) or "state" not in told:
        # Whatever is there may be no service of ours.
        wrong = told.get("error") if isinstance(told, dict) else None
        reason = wrong.get("message") if isinstance(wrong, dict) else wrong or answer.reason
        click.echo(f"{url} answers {answer.status_code}: {reason}", err=True)
        sys.exit(UNREACHABLE)
    click.echo(screen(told))
    sys.exit(DRIFT if told["state"] == "drift" else STABLE)


def screen(told: dict[str, Any]) -> str:
    """An answer of ``/drift`` for people."""
    model, window, latency = told["model"], told["window"], told["latency"]
    health = {name: value for name, value in told["health"].items() if value not in ("ok", {})}
    span = f"{_or_dash(window['from'])} to {_or_dash(window['to'])}"
    facts = [
        ("model", f"{model['name']} {model['version']}"),
        ("state", f"{told['state']} since {_or_dash(told['since'])}"),
        ("", told["sentence"]),
        ("window", f"{window['requests']:,} requests, {span}"),
        ("latency", f"p50 {_ms(latency['p50_ms'])}, p95 {_ms(latency['p95_ms'])}"),
        ("health", "ok" if not health else "; ".join(f"{k}: {v}" for k, v in health.items())),
    ]
    order = ("drift", "warning", "insufficient_data", "stable", "no_data")
    signals = sorted(told["signals"], key=lambda each: order.index(each["state"]))
    changed = [each for each in signals if each["state"] in ("drift", "warning")]
    rows = [
        (
            each["name"],
            each["state"],
            _or_dash(each["evidence"], ".1f"),
            f"{each['effect']['psi']:.3f}" if each["effect"] else "-",
            each["sentence"],
        )
        for each in (changed or signals[:10])
    ]
    left = len(signals) - len(rows)
    rows += [
        (
            each["name"],
            each["state"],
            _or_dash(each["evidence"], ".1f"),
            f"{each['distance'] ** 2:.3f}",
            each["sentence"],
        )
        for each in told.get("multivariates", ())
        if each["state"] in ("drift", "warning")
    ]
    more = f"\nand {left} more signals" if left else ""
    head = ("signal", "state", "log10 e", "psi", "")
    return table(facts) + "\n\n" + table(rows, head) + more


def _or_dash(value: Any, form: str = "") -> str:
    return "-" if value is None else format(value, form)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} ms"
