"""What a report is made of: the answers of the service's own routes, live or from a store."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
import requests
from msgspec import Struct

from driftline.drift.thresholds import alpha_of
from driftline.metadata.errors import MetadataError, StoreError
from driftline.metadata.schema import ModelMetadata, parse

from ..alerts.alerts import Alerts
from ..evaluation import report
from ..evaluation.detail import detail
from ..evaluation.standing import decode, evidence
from ..evaluation.timeline import points
from ..hooks.session import Plan
from ..stores.store import Store

# Signals that are shown with a picture, and points of the timeline that are asked for.
PICTURED = 12
PAGE = 500
ORDER = ("drift", "warning", "insufficient_data", "stable", "no_data")
TIMEOUT = 20

Told = dict[str, Any]


class Contents(Struct, frozen=True, kw_only=True):
    """The parts of a report: `drift` as `/drift`, `details` as `/drift/signals/…` of the signals
    to be pictured, `timeline` the points of `/drift/timeline`, `alerts` as `/alerts`; `source` is
    where all of it comes from, for people."""

    source: str
    metadata: ModelMetadata
    drift: Told
    details: list[Told]
    timeline: list[Told]
    alerts: Told


def of_service(url: str, token: str | None) -> Contents:
    """What a running service says.

    Raises:
        StoreError: it cannot be asked, or something else answers; says why.
    """
    base = (url if "://" in url else f"http://{url}").rstrip("/")
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(path: str) -> bytes:
        try:
            answer = requests.get(base + path, headers=headers, timeout=TIMEOUT)
        except requests.RequestException as error:
            raise StoreError(f"{url} cannot be asked: {type(error).__name__}") from None
        if answer.status_code != 200:
            raise StoreError(f"{url} answers {answer.status_code} to {path}")
        return answer.content

    try:
        drift = msgspec.json.decode(ask("/drift"))
        names = [each["name"] for each in pictured(drift)]
        details = [msgspec.json.decode(ask(f"/drift/signals/{quote(name)}")) for name in names]
        timeline, after = [], 0
        while page := msgspec.json.decode(ask(f"/drift/timeline?after={after}")):
            timeline += page["points"]
            after = page["next"]
            if len(page["points"]) < PAGE:
                break
        alerts = msgspec.json.decode(ask("/alerts"))
        metadata = parse(ask("/metadata"))
    except (msgspec.DecodeError, MetadataError, KeyError, TypeError) as error:
        raise StoreError(f"{url} is no driftline service: {error}") from None
    return Contents(
        source=base, metadata=metadata, drift=drift, details=details, timeline=timeline,
        alerts=alerts,
    )  # fmt: skip


def of_store(
    plan: Plan, store: Store, now: float, source: str, alerts: Alerts | None = None
) -> Contents:
    """What lies in a store at Unix second `now`.

    Raises:
        StoreError: the store is away.
    """
    metadata, series = plan.package.metadata, plan.series
    document = store.get(series.verdict)
    standing = decode(document[1]) if document else None
    nothing = report.nothing_yet(int(now), plan.bucket, alpha_of(plan.thresholds, plan.bucket))
    drift = report.drift(standing or nothing, metadata, plan.thresholds)
    history = points(store.entries(series.timeline, 0, 10_000))
    details = [
        detail(each["name"], metadata, store, series, standing, history, now=now)
        for each in pictured(drift)
    ]
    timeline = [
        {"at": report.iso(each.at), "state": each.state, "evidence": evidence(each.evidence)}
        for each in history
    ]
    told: Told = {"open": [], "past": []}
    if alerts is not None:
        told = {"open": alerts.open_alerts(), "past": alerts.past()}
    return Contents(
        source=source, metadata=metadata, drift=drift, details=details, timeline=timeline,
        alerts=msgspec.to_builtins(told),
    )  # fmt: skip


def ordered(drift: Told) -> list[Told]:
    """The signals, what changed first and most."""

    def rank(each: Told) -> tuple[int, float]:
        psi = each["effect"]["psi"] if each["effect"] else 0.0
        return ORDER.index(each["state"]), -psi

    return sorted(drift["signals"], key=rank)


def pictured(drift: Told) -> list[Told]:
    """The signals worth a picture: those that changed, else the first that have a distribution."""
    found = [each for each in ordered(drift) if each["state"] in ("drift", "warning")]
    if not found:
        found = [each for each in drift["signals"] if each["kind"] != "flag"]
    return found[:PICTURED]
