"""`/openapi.json` names every route, and what it says is true of whatever a client may send."""

from __future__ import annotations

import io
import os
from collections import Counter

import numpy as np
import pytest
import schemathesis
import served
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from kinds import KINDS
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import FailureGroup

from driftline.serving.app import plan_of, wired
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.model.engine import Engine
from driftline.serving.settings import load

# Of each route and mode. By hand: CASES=150 pytest tests/serving/test_openapi.py -s
CASES = int(os.environ.get("CASES", "2"))
# What JSON Schema cannot say: that a tensor's data are as many as its shape has places, and that a
# span begins before it ends.
# Nor that no two items of feedback are of one request.
RELATED = ("v2/models/{model}", "GET /drift", "POST /feedback")


def _saved(count: int) -> bytes:
    body = io.BytesIO()
    np.save(body, served.rows(count, count))
    return body.getvalue()


load_all_checks()
schemathesis.openapi.media_type("application/x-npy", st.integers(1, 5).map(_saved))


@schemathesis.hook
def map_body(context, body):
    """JSON Schema calls 3.0 an integer; clients write 3, and nothing else is taken."""
    return _whole(body)


def _whole(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return {k: _whole(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def app_of(tmp_path_factory):
    monitors = []

    def make(kind: str = "", **chosen):
        path = tmp_path_factory.mktemp("openapi") / "package"
        package = KINDS[kind].package(path) if kind else served.package(path)
        found = load({"package": str(path), "state": "memory:", "workers": 1} | chosen, {})
        monitors.append(InferenceMonitor(plan_of(found, package), copy=False))
        model = KINDS[kind] if kind else served.load(package)
        return wired(Engine(package, model, monitors[-1]), found)

    yield make
    for monitor in monitors:
        monitor.close()


@pytest.fixture(scope="module")
def app(app_of):
    return app_of()


def test_every_route_is_described(app):
    told = app.test_client().get("/openapi.json").get_json()
    assert told["openapi"] == "3.1.0"
    named_only = []
    for rule in app.url_map.iter_rules():
        path = rule.rule.replace("<path:", "<").replace("<", "{").replace(">", "}")
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            operation = told["paths"][path][method.lower()]
            if "default" in operation["responses"]:
                named_only.append(path)
            if not rule.endpoint.startswith("pages."):
                assert operation["summary"], (path, method)
    assert named_only == ["/static/{asked}/{name}"]


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_it_says_of_an_instance_is_true_of_every_kind_of_model(app_of, kind):
    from jsonschema import Draft202012Validator

    client = app_of(kind).test_client()
    told = client.get("/openapi.json").get_json()["paths"]["/predict"]["post"]
    inputs = KINDS[kind].inputs
    rows = [{name: array[at].tolist() for name, array in inputs.items()} for at in range(2)]
    body = {"instances": rows}
    asked = told["requestBody"]["content"]["application/json"]["schema"]
    Draft202012Validator(asked).validate(body)
    assert not Draft202012Validator(asked).is_valid({"instances": []})
    answer = client.post("/predict", json=body)
    assert answer.status_code == 200, answer.text
    said = told["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator(said).validate(answer.get_json())


def test_a_token_is_told_where_it_is_asked_for(app_of):
    headers = {"Authorization": "Bearer open-sesame"}
    client = app_of(token="open-sesame").test_client()
    assert client.get("/openapi.json").status_code == 401
    told = client.get("/openapi.json", headers=headers).get_json()
    assert "401" in told["paths"]["/predict"]["post"]["responses"]
    assert told["paths"]["/predict"]["post"]["security"] == [{"token": []}]
    assert "security" not in told["paths"]["/livez"]["get"]


@pytest.mark.slow
def test_no_request_that_schemathesis_makes_is_answered_otherwise_than_told(app):
    # A stream has no end that a test could wait for.
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app).exclude(path="/stream")
    made: Counter[int] = Counter()
    wrong: dict[tuple[str, ...], str] = {}

    def one(case, label: str, mode: str) -> None:
        answer = case.call()
        made[answer.status_code] += 1
        try:
            case.validate_response(answer)
        except FailureGroup as problems:
            for problem in problems.exceptions:
                kind = type(problem).__name__
                if any(each in label for each in RELATED) and kind == "RejectedPositiveData":
                    continue
                where = f"{case.formatted_path} {case.query} {str(case.body)[:300]}"
                wrong[label, mode, kind] = f"{problem}\n{where}\n{answer.text[:300]}"

    limits = settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            cases = operation.as_strategy(generation_mode=mode)
            told = st.just(operation.label), st.just(mode.value)
            try:
                limits(given(cases, *told)(one))()
            except Unsatisfiable:
                # Nothing can be wrong about a route that takes nothing.
                assert mode is GenerationMode.NEGATIVE
    print(f"{made.total()} requests: {dict(sorted(made.items()))}")
    assert not wrong, "\n\n".join(f"{key}\n{value}" for key, value in wrong.items())
    assert max(made) < 500
    assert made[200] > made.total() / 10
