"""``/drift``: how things stand, one signal in detail, and how it came to be.

Built only of what lies in the store, so that every worker and replica gives the same answer. While
the store is away a worker tells the last it knew, and that it is the last.
"""

from __future__ import annotations

import time

from flask import Blueprint, Response, request

from driftline.drift.thresholds import alpha_of
from driftline.metadata.errors import StoreError
from driftline.metadata.signals import GROUPS

from ..evaluation import report
from ..evaluation.desk import health
from ..evaluation.detail import detail
from ..evaluation.span import Span
from ..evaluation.standing import Standing, decode, evidence
from ..evaluation.timeline import points
from ..model.watched import Watched
from .context import reply, tagged, watched
from .errors import Refused
from .query import number

blueprint = Blueprint("drift", __name__)
MOST_POINTS = 500


@blueprint.get("/drift")
def drift() -> Response:
    """The overall verdict and each signal's; ``signal`` and ``group`` choose.

    With ``from`` or ``to`` the verdict is judged anew over the buckets that begin between them.
    """
    served = watched()
    name, group = request.args.get("signal"), request.args.get("group")
    if name is not None:
        _known(served, name)
    if group is not None and group not in GROUPS:
        raise Refused(422, "bad_input", f"one of {', '.join(GROUPS)} is wanted", "group")
    plan, now = served.monitor.plan, time.time()
    found, problem = standing(served)
    alpha = alpha_of(plan.thresholds, plan.bucket)
    told = report.drift(
        _over(served, found, now) or found or report.nothing_yet(0, plan.bucket, alpha),
        served.metadata,
        plan.thresholds,
        name=name,
        group=group,
    )
    told["health"] = report.health(found, problem, _alerts(served), now)
    return tagged(told)


@blueprint.get("/drift/signals/<path:name>")
def signal(name: str) -> Response:
    """Cells of reference and window, moments, and the signal's own timeline."""
    served = watched()
    _known(served, name)
    session = served.monitor.session
    found, _ = standing(served)
    entries = session.store.entries(session.plan.series.timeline, 0, 10_000)
    return tagged(
        detail(name, served.metadata, session.store, session.plan.series, found, points(entries))
    )


@blueprint.get("/drift/timeline")
def timeline() -> Response:
    """Verdicts over time, oldest first; ``after`` goes on from an answer's ``next``."""
    served = watched()
    after, limit = number("after", 0, 2**62), number("limit", MOST_POINTS, MOST_POINTS)
    session = served.monitor.session
    entries = session.store.entries(session.plan.series.timeline, after, limit)
    told = [
        {
            "at": report.iso(point.at),
            "state": point.state,
            "evidence": evidence(point.evidence),
            "onset": report.iso(point.onset),
            "requests": point.requests,
            "signals": {
                name: {"state": mark.state, "evidence": evidence(mark.evidence), "psi": mark.psi}
                for name, mark in point.signals.items()
            },
        }
        for point in points(entries)
    ]
    return reply({"points": told, "next": entries[-1].sequence if entries else after})


def standing(served: Watched) -> tuple[Standing | None, str]:
    """The newest standing, or the last that this worker knew, and what is wrong with the store."""
    session = served.monitor.session
    try:
        found = session.store.get(session.plan.series.verdict)
    except StoreError as problem:
        return session.last_standing, str(problem)
    known = decode(found[1]) if found else None
    if known is not None:
        session.last_standing = known
    return known, session.problem


def _over(served: Watched, latest: Standing | None, now: float) -> Standing | None:
    """The standing over the span that is asked for; None where none is."""
    since, until = request.args.get("from"), request.args.get("to")
    if since is None and until is None:
        return None
    session = served.monitor.session
    return Span.of(since, until, session.plan.series, now).standing(
        served.metadata,
        session.plan.series,
        session.store,
        thresholds=session.plan.thresholds,
        latest=latest,
        now=now,
    )


def _alerts(served: Watched) -> str:
    try:
        return health(served.monitor.session.desks)
    except StoreError as problem:
        return f"unknown: {problem}"


def _known(served: Watched, name: str) -> None:
    if not any(each.name == name for each in served.metadata.reference.signals):
        raise Refused(404, "not_found", f"there is no signal {name[:100]!r}", "signal")
