"""Every code that an error may carry, provoked: its status, what its message says, its field."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import served
from flask import abort
from kinds import KINDS

from driftline.metadata.errors import SettingError, StoreError
from driftline.metadata.package import ModelPackage
from driftline.serving import api
from driftline.serving.api.errors import _CODES
from driftline.serving.app import wired

REASON = "for this reason"
ROWS = {"instances": [[0, 0, 0, 1]]}
# What it takes a test of its own to bring about.
ELSEWHERE = {
    "exists": "test_refresh.py",
    "not_stable": "test_refresh.py",
    "not_written": "test_refresh.py",
    "too_few_rows": "test_refresh.py",
    "too_many_streams": "test_stream_served.py",
}
Given = Callable[..., Any]


def refresh(client_of: Given, tmp_path: Path) -> Any:
    client = client_of(package=served.package(tmp_path / "own"))
    return client.post("/reference/refresh", json={"version": "1"})


def feedback(client_of: Given, tmp_path: Path) -> Any:
    np.save(tmp_path / "model.npy", served.weights())
    files = {"model": tmp_path / "model.npy"}
    package = ModelPackage.write(tmp_path / "targets", KINDS["targets"].metadata(), files)
    client = client_of(package=package)
    return client.post("/feedback", json={"request_id": "a", "label": 1})


def stateless(client_of: Given, tmp_path: Path) -> Any:
    client = client_of()

    def away(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is gone")

    client.engine.monitor.session.store.entries = away
    return client.get("/drift/timeline")


def misset(client_of: Given, tmp_path: Path) -> Any:
    client = client_of()

    def impossible(*_: Any, **__: Any) -> None:
        raise SettingError("false_alarms", "cannot be")

    client.engine.monitor.session.store.entries = impossible
    return client.get("/drift/timeline")


PROVOKED: dict[str, tuple[Given, int, str, str | None]] = {
    "bad_json": (lambda c, _: c().post("/predict", data="{", headers=JSON), 400, "JSON", "body"),
    "bad_input": (lambda c, _: c().post("/predict", json={}), 422, "instances", "body"),
    "bad_setting": (misset, 503, "false_alarms", None),
    "internal": (
        lambda c, _: c().post("/predict", json={"instances": [[666, 0, 0, 1]]}),
        500,
        "its log says why",
        None,
    ),
    "method_not_allowed": (lambda c, _: c().get("/predict"), 405, "not allowed", None),
    "no_server": (lambda c, _: c().post("/admin/reload"), 409, "driftline serve", None),
    "not_found": (lambda c, _: c().get("/drift?signal=no"), 404, "'no'", "signal"),
    "not_judged": (feedback, 409, "cannot be compared with labels", None),
    "same_version": (refresh, 409, "version 1 is served now", "version"),
    "state_unavailable": (stateless, 503, "the disk is gone", None),
    "too_deep": (
        lambda c, _: c().post("/predict", data='{"instances": ' + "[" * 100_000, headers=JSON),
        422,
        "nested too deeply",
        "body",
    ),
    "too_large": (
        lambda c, _: c(max_body=2**20).post("/predict", data=b"x" * 2**21, headers=JSON),
        413,
        "exceeds",
        None,
    ),
    "unauthorized": (lambda c, _: c(token="s").post("/predict", json=ROWS), 401, "Bearer", None),
    "unsupported_media_type": (
        lambda c, _: c().post("/predict", data="x", headers={"Content-Type": "text/plain"}),
        415,
        "application/json",
        "Content-Type",
    ),
}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("code", PROVOKED)
def test_an_error_carries_its_status_code_message_and_field(code, client_of, tmp_path):
    provoke, status, word, field = PROVOKED[code]
    answer = provoke(client_of, tmp_path)
    assert answer.status_code == status, answer.text
    error = answer.get_json()["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert word in error["message"]
    assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize(("status", "code"), _CODES.items())
def test_what_flask_refuses_is_told_in_the_same_form(status, code, engine_of):
    engine = engine_of()
    app = wired(engine, engine.settings)
    app.add_url_rule("/refused", "refused", lambda: abort(status, description=REASON))
    answer = app.test_client().get("/refused")
    told = {"error": {"code": code, "message": REASON, "field": None}}
    assert (answer.status_code, answer.get_json()) == (status, told)


def test_no_code_is_without_such_a_test():
    """The codes that the routes' own source names."""
    folder = Path(api.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    text += (folder.parent / "evaluation" / "refresh.py").read_text()
    named = set(re.findall(r'(?:Refused|error)\(\s*\d+,\s*"(\w+)"', text))
    named |= set(re.findall(r'Unsuited\(\s*"(\w+)"', text))
    assert named >= {"bad_json", "not_stable"}
    assert named <= {*PROVOKED, *ELSEWHERE, *_CODES.values()}
    for code, name in ELSEWHERE.items():
        assert f'"{code}"' in (Path(__file__).parent / name).read_text()
