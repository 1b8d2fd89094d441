"""``POST /reference/refresh``: a new version of the package, its reference fitted from traffic.

It is written beside the served package, or into the folder that the settings name, and never in its
place: to serve it, put it where the service looks (its path may be a link) and ask for
``/admin/reload``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from flask import Blueprint, Response, current_app, request
from msgspec import Meta, Struct

from driftline.metadata.counts import Counts
from driftline.metadata.errors import InputError, PackageError
from driftline.metadata.package import ModelPackage

from ..evaluation import refresh as pure
from ..evaluation.report import STALE_SECONDS
from ..evaluation.timeline import KEEP, points
from ..hooks.session import Session
from ..model.watched import Watched
from .context import limited, reply, request_id, watched
from .drift import standing
from .errors import Refused

log = logging.getLogger(__name__)

blueprint = Blueprint("refresh", __name__)
# Under which the application's configuration holds the path that the operator gave, where the
# served folder is another: what a .zip was unpacked to.
BESIDE = "DRIFTLINE_PACKAGE"
# Under which it holds the folder for refreshed packages, where the settings name one.
INTO = "DRIFTLINE_REFRESH_FOLDER"
MOST_BODY = 4096

# One part of a path, that no shell and no file system takes for anything else.
Part = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$")]


class Refresh(Struct, frozen=True, forbid_unknown_fields=True):
    """What the new package is called: `path` is a name in the folder that it goes into."""

    version: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
    path: Part | None = None
    by: Annotated[str, Meta(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


_decode = msgspec.json.Decoder(Refresh).decode


@blueprint.post("/reference/refresh")
def refresh() -> Response:
    """201 with the path and digest of the new package; 409 where the traffic makes no reference."""
    served, wanted = watched(), _wanted()
    if wanted.version == served.metadata.model.version:
        raise Refused(409, "same_version", f"version {wanted.version} is served now", "version")
    found = _stretch(served)
    by = f"{wanted.by or 'somebody unnamed'} (request {request_id()})"
    audit = pure.Audit(by, time.time(), served.package.digest)
    metadata = pure.refreshed(served.metadata, found, wanted.version, audit)
    target = _target(served, wanted)
    files = {each.role: served.package.path / each.path for each in served.metadata.files}
    with _reserved(target):
        try:
            written = ModelPackage.write(target, metadata, files)
        except PackageError as problem:
            raise _not_written(problem.reason, target.parent) from None
    written.discard()  # what an archive was unpacked to, to verify it
    log.info("%s Written to %s.", metadata.notes[-1], target)
    told = {
        "path": str(target),
        "digest": written.digest,
        "model": {"name": metadata.model.name, "version": wanted.version},
        "note": metadata.notes[-1],
    }
    return reply(told, 201)


def _wanted() -> Refresh:
    if not request.is_json:
        raise Refused(415, "unsupported_media_type", "application/json is wanted", "body")
    limited(MOST_BODY)
    try:
        return _decode(request.get_data())
    except msgspec.ValidationError as problem:
        reason, _, path = str(problem).partition(" - at `$")
        raise InputError(path.rstrip("`").lstrip(".") or "body", reason) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Refused(400, "bad_json", f"not strict JSON: {problem}", "body") from None


def _stretch(served: Watched) -> pure.Stretch:
    """The longest stable stretch up to now."""
    session = served.monitor.session
    now = time.time()
    found, problem = standing(served)
    if problem:
        raise Refused(503, "state_unavailable", problem)
    if found is None or now - found.at > STALE_SECONDS:
        raise Refused(409, "not_stable", "the traffic was not evaluated lately")
    if found.verdict.state != "stable":
        raise Refused(409, "not_stable", f"the state is {found.verdict.state}, not stable")
    if found.performance.harm is not None and found.performance.harm.harmful:
        raise Refused(409, "not_stable", "labels show that accuracy fell below the packaged one")
    entries = session.store.entries(session.plan.series.timeline, 0, KEEP)
    whole = not entries or entries[0].sequence == 1
    after = pure.quiet_since(points(entries), whole=whole)
    reference, thresholds = served.metadata.reference, session.plan.thresholds
    try:
        return pure.stretch(reference, _rings(session, served, now), after, thresholds)
    except pure.Unsuited as unsuited:
        raise Refused(409, unsuited.code, str(unsuited)) from None


def _rings(session: Session, served: Watched, now: float) -> dict[int, dict[int, Counts]]:
    series, layout = session.plan.series, served.metadata.reference.layout
    return {
        width: session.store.read(series.model(width), layout, int(now) - span, int(now) + 1)
        for width, span in series.widths.items()
    }


def _target(served: Watched, wanted: Refresh) -> Path:
    """A path in the very folder of the served package, or in the one that is set, and no other."""
    own = Path(current_app.config.get(BESIDE) or served.package.path).absolute()
    # Its name as it was given: where that is a link, the new one belongs beside the link.
    folder = Path(current_app.config.get(INTO) or own.parent).resolve()
    suffix = ".zip" if own.suffix == ".zip" else ""
    return folder / (wanted.path or f"{own.name.removesuffix('.zip')}-{wanted.version}{suffix}")


def _not_written(reason: str, folder: Path) -> Refused:
    log.error("a refreshed package cannot be written into %s: %s", folder, reason)
    instead = "let the service write there, or name a folder where it may (--refresh-folder)"
    return Refused(503, "not_written", f"{folder} takes no package: {reason}; {instead}")


@contextmanager
def _reserved(target: Path) -> Iterator[None]:
    """Nobody else's: what is there stays as it is, and of two requests one comes first."""
    try:
        target.touch(exist_ok=False) if target.suffix == ".zip" else target.mkdir()
    except FileExistsError:
        raise Refused(409, "exists", f"there is something at {target.name!r}", "path") from None
    except OSError as problem:
        raise _not_written(str(problem.strerror), target.parent) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            target.unlink() if target.suffix == ".zip" else target.rmdir()
        raise
