"""`/predict`: right answers, and for everything else a 4xx that names the field and the reason."""

from __future__ import annotations

import json

import numpy as np
import pytest
import served

from driftline.serving.metrics.histogram import REQUEST
from driftline.serving.service_signals import requests_in


def post(client, body, content_type="application/json", **headers):
    data = body if isinstance(body, bytes | str) else json.dumps(body)
    return client.post("/predict", data=data, content_type=content_type, headers=headers)


def test_predictions_are_the_models_own(client):
    rows = served.rows(5, 3)
    answer = post(client, {"instances": rows.tolist()})
    assert answer.status_code == 200
    told = answer.get_json()
    assert told["model"] == {"name": "toy", "version": "1"}
    logits = rows @ served.weights()
    assert [each["label"] for each in told["predictions"]] == [
        served.CLASSES[index] for index in logits.argmax(1)
    ]
    assert told["warnings"] == []
    assert told["request_id"] == answer.headers["X-Request-Id"]


def test_rows_by_column_name_with_words_are_the_same_rows(client):
    row = {"a0": 0.5, "a1": -1, "a2": 0.25, "size": "high"}
    named = post(client, {"instances": [row]}).get_json()["predictions"]
    listed = post(client, {"instances": [[0.5, -1, 0.25, 2]]}).get_json()["predictions"]
    assert named == listed


def test_a_value_out_of_range_is_answered_with_a_warning(client):
    told = post(client, {"instances": [[0, 55, 0, 1]]}).get_json()
    assert [each["field"] for each in told["warnings"]] == ["a1"]


@pytest.mark.parametrize(
    ("body", "status", "code", "field", "reason"),
    [
        ({"instances": [[1, 2, 3]]}, 422, "bad_input", "instances", "shape [n, 4] expected"),
        ({"instances": [[[1, 2, 3, 4]]]}, 422, "bad_input", "instances", "shape [n, 4]"),
        ({"instances": [1, 2, 3, 4]}, 422, "bad_input", "instances", "shape [n, 4]"),
        ({"instances": [["a", "b", "c", "d"]]}, 422, "bad_input", "instances", "got strings"),
        ({"instances": [[True, False, True, True]]}, 422, "bad_input", "instances", "booleans"),
        ({"instances": [[1, 2, 3, 4], [1]]}, 422, "bad_input", "instances", "instance 1"),
        ({"instances": []}, 422, "bad_input", "instances", "the batch is empty"),
        ({"instances": [[]]}, 422, "bad_input", "instances", "shape"),
        ({"instances": {}}, 422, "bad_input", "instances", "Expected `array`"),
        ({"instances": None}, 422, "bad_input", "instances", "Expected `array`"),
        ({"instances": [[1, 2, 3, None]]}, 422, "bad_input", "instances", "[0, 3] is missing"),
        ({"instances": [[1, 2, 3, 1e39]]}, 422, "bad_input", "instances", "too large for float32"),
        ({"instances": [[0, 0, 0, 0]] * 65}, 422, "bad_input", "instances", "at most 64"),
        ({"instances": [{"a0": 1, "no": 2}]}, 422, "bad_input", "instances[0].no", "not a column"),
        ({"instances": [{"a0": [1]}]}, 422, "bad_input", "instances[0].a0", "a number expected"),
        ({}, 422, "bad_input", "body", "instances"),
        ([], 422, "bad_input", "body", "Expected `object`"),
        ({"instances": [[0, 0, 0, 0]], "x": 1}, 422, "bad_input", "body", "unknown field `x`"),
        ('{"instances": [[NaN, 0, 0, 0]]}', 400, "bad_json", "body", "not strict JSON"),
        ('{"instances": [[1, 2, 3, 4]', 400, "bad_json", "body", "not strict JSON"),
        ('{"instances": [[1, 2, 3, 1e999]]}', 422, "bad_input", "instances[0][3]", "range"),
        (b"\xff\xfe\x00", 400, "bad_json", "body", "not strict JSON"),
        (b"", 400, "bad_json", "body", "not strict JSON"),
        ('{"instances": ' + "[" * 100_000, 422, "too_deep", "body", "nested too deeply"),
        ('{"instances": [' + "[" * 90 + "]" * 90 + "]}", 422, "bad_input", "instances", ""),
        (b"x" * (10 * 2**20), 413, "too_large", None, ""),
    ],
)
def test_bad_input_is_a_4xx_that_names_the_field_and_the_reason(
    client_of, body, status, code, field, reason
):
    client = client_of(max_instances=64, max_body=2**20)
    answer = post(client, body)
    assert answer.status_code == status, answer.text
    error = answer.get_json()["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert reason in error["message"]
    assert "Traceback" not in answer.text


def test_ten_megabytes_of_junk_below_the_limit_are_refused_as_no_json(client):
    answer = post(client, b"junk" * (10 * 2**18))
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "bad_json"
    assert len(answer.data) < 500


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data"])
def test_other_content_types_are_refused(client, kind):
    answer = post(client, "x", content_type=kind)
    assert answer.status_code == 415
    assert answer.get_json()["error"]["field"] == "Content-Type"


def test_other_methods_and_routes_are_refused_in_json(client):
    assert client.get("/predict").status_code == 405
    assert client.get("/predict").get_json()["error"]["code"] == "method_not_allowed"
    assert client.get("/nowhere").get_json()["error"]["code"] == "not_found"


def test_a_model_that_breaks_is_a_500_without_its_secrets_and_counts_as_an_error(client):
    answer = post(client, {"instances": [[666, 0, 0, 0]]})
    assert answer.status_code == 500
    assert answer.get_json()["error"]["code"] == "internal"
    assert "secret" not in answer.text
    session = client.engine.monitor.session
    session.flush()
    assert session.store.counters()[session.plan.series.counter("failed")] == 1


def test_the_client_may_name_its_request_if_the_name_is_harmless(client):
    good = post(client, {"instances": [[0, 0, 0, 1]]}, **{"X-Request-Id": "order-7:a"})
    assert good.headers["X-Request-Id"] == good.get_json()["request_id"] == "order-7:a"
    for bad in ("x" * 200, "a b", 'a"b', "<script>"):
        answer = post(client, {"instances": [[0, 0, 0, 1]]}, **{"X-Request-Id": bad})
        assert answer.headers["X-Request-Id"] != bad


def test_missing_values_are_refused_by_the_signature_and_counted_by_the_monitor(client):
    for _ in range(3):
        assert post(client, {"instances": [[None, 1, 2, 1]]}).status_code == 422
    assert post(client, {"instances": [[0, 1, 2, 1]]}).status_code == 200
    session = client.engine.monitor.session
    session.flush()
    series, layout = session.plan.series, client.engine.metadata.reference.layout
    counts = next(iter(session.store.read(series.model(60), layout, 0, 2**40).values()))
    assert counts.of("a0:missing").tolist() == [1, 3]
    assert session.store.counters()[series.counter("refused")] == 3
    assert session.store.counters()[series.counter("requests")] == 1


def test_missing_values_pass_where_the_signature_allows_them(client_of, tmp_path):
    from driftline.metadata.schema import TensorSpec

    made = served.package(
        tmp_path / "package", inputs=(TensorSpec("x", "float32", (None, 4), True),)
    )
    answer = post(client_of(package=made), {"instances": [[None, 1, 2, 1]]})
    assert answer.status_code == 200
    told = answer.get_json()
    assert told["predictions"][0]["label"] is None
    assert {each["code"] for each in told["warnings"]} == {"missing"}


@pytest.mark.parametrize("token", [None, "open-sesame"])
def test_what_a_browser_asks_beforehand_is_no_answered_prediction(client_of, token):
    """OPTIONS, and a method that the route has not: in no count of answers, and in no seconds."""
    client = client_of() if token is None else client_of(token=token)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    for path in ("/predict", "/v2/models/toy/infer", "/drift"):
        client.options(path)
    client.head("/predict")
    post(client, {"instances": [[0, 0, 0, 1]]}, **headers)
    session = client.engine.monitor.session
    session.flush()
    told = {name.partition("|")[2]: value for name, value in session.store.counters().items()}
    answered = {name: value for name, value in told.items() if name.startswith("responses|")}
    assert answered == {"responses|predict.predict|200": 1}
    bounds, _ = REQUEST.read(told)
    assert bounds[-1] == ("+Inf", 1)


def test_every_answer_is_counted(client):
    for body in ({"instances": [[0, 0, 0, 1]]}, {"instances": [[0]]}, "junk"):
        post(client, body)
    session = client.engine.monitor.session
    session.flush()
    counters = session.store.counters()
    counter = session.plan.series.counter
    assert [counters[counter(f"responses|predict.predict|{code}")] for code in (200, 422, 400)] == [
        1,
        1,
        1,
    ]


def test_a_monitor_that_fails_fails_no_prediction(client, monkeypatch):
    session = client.engine.monitor.session

    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(session, "append", broken)
    monkeypatch.setattr(client.engine.columns, "glance", broken)
    for _ in range(3):
        assert post(client, {"instances": [[0, 0, 0, 1]]}).status_code == 200
    failures = client.engine.monitor.fence.failures
    assert failures == {"extract:MemoryError": 3, "after:MemoryError": 3}


def test_a_token_is_asked_for_everywhere_but_at_the_probes(client_of):
    client = client_of(token="open-sesame")
    for path in ("/drift", "/metadata", "/nowhere"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    for given in ("Bearer wrong", "Basic open-sesame", "Bearer", "open-sesame", "Bearer é"):
        assert client.get("/drift", headers={"Authorization": given}).status_code == 401
    assert client.get("/livez").status_code == client.get("/readyz").status_code == 200
    good = client.get("/drift", headers={"Authorization": "Bearer open-sesame"})
    assert good.status_code == 200


def test_answers_carry_headers_that_tell_browsers_to_be_careful(client):
    headers = post(client, {"instances": [[0, 0, 0, 1]]}).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_metadata_is_the_packages_own_with_an_etag(client):
    answer = client.get("/metadata")
    assert answer.get_json()["model"]["name"] == "toy"
    again = client.get("/metadata", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_requests_are_counted_once_each(client):
    for _ in range(7):
        post(client, {"instances": served.rows(2, 1).tolist()})
    session = client.engine.monitor.session
    session.flush()
    from driftline.serving.service_signals import SERVICE

    counts = session.store.read(session.plan.series.service(60), SERVICE, 0, 2**40).values()
    assert sum(requests_in(each) for each in counts) == 7
    assert np.sum([each.of("confidence").sum() for each in counts]) == 14
