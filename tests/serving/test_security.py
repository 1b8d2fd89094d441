"""Every route of the service, one by one: who may ask, and what becomes of whatever they send."""

from __future__ import annotations

import hmac
import re
import time
import uuid

import pytest
import served

from driftline.serving.api.context import new_request_id
from driftline.serving.api.security import OPEN

TOKEN = "open-sesame-123"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
# Pages that let anyone sign in, and the files these are made of.
SIGNING = {
    "pages.sign_in_form",
    "pages.sign_in",
    "pages.state",
    "pages.static",
    "pages.signing_out",
}
# They take no body, so none can be wrong.
BODILESS = {"admin.reload", "v2.repository", "pages.signing_out"}
DEEP = 100_000
JUNK = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "half": b'{"instances": [',
    "null": b"null",
    "number": b"17",
    "text": b'"x"',
    "list": b"[[[]]]",
    "unknown": b'{"nobody": 1}',
    "nan": b'{"instances": [[NaN, 0, 0, 0]]}',
    "infinite": b'{"instances": [[1e999, 0, 0, 0]]}',
    "huge number": b'{"instances": [[' + b"9" * 5_000 + b"]]}",
    "surrogate": b'{"request_id": "\\ud800", "label": "\\udfff", "version": "\\ud800"}',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep instances": b'{"instances": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep label": b'{"request_id": "a", "label": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep inputs": b'{"inputs": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "twice": b'{"instances": 1, "instances": 2, "sequence": 1, "sequence": "x"}',
    "npy": b"\x93NUMPY\x01\x00\xff\xff{'descr': '<f4', 'fortran_order': False, 'shape': (9**9,)}",
    "image": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff",
    "zeros": bytes(10_000),
}
KINDS = (
    "application/json",
    "application/x-npy",
    "application/octet-stream",
    "image/png",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "text/plain",
    "",
)
QUERIES = (
    "after=-1&limit=x&past=1e9&points=-3&from=now&to=%00&lang=..&group=0&signal=%ff%fe&name=%0a",
    "after=" + "9" * 400 + "&limit=&past=&points=9999999999&from=&to=&run=..&topic=x&last=%00",
    "signal=" + "a" * 4_000,
    "from=9999-12-31T23:59:59.999999Z&to=0001-01-01T00:00:00-23:59",
    "%00=%00&&&=&a[]=1",
)


def rules(app):
    """Every route and method, with harmless words in the place of parameters."""
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<[^>]+>", "x", rule.rule)
        if rule.endpoint.startswith("v2."):
            path = path.replace("/models/x", "/models/toy").replace("/versions/x", "/versions/1")
        for method in sorted(rule.methods - {"OPTIONS"}):
            yield rule.endpoint, method, path


@pytest.fixture
def guarded(client_of):
    return client_of(token=TOKEN, max_body=262_144)


def ask(client, method, path, **more):
    """The answer, looked at for what no answer may lack or hold."""
    answer = client.open(path, method=method, buffered=False, **more)
    for name in ("X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cache-Control"):
        assert name in answer.headers, (path, name)
    assert re.fullmatch(r"[\w.:@/-]{1,128}", answer.headers["X-Request-Id"])
    if answer.mimetype != "text/event-stream":
        assert b"Traceback" not in answer.data
        assert b'.py"' not in answer.data
    answer.close()
    return answer


def test_without_the_token_every_route_is_closed_but_probes_and_signing_in(guarded):
    seen = set()
    for endpoint, method, path in rules(guarded.application):
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            answer = ask(guarded, method, path, headers=given)
            if endpoint in OPEN:
                assert answer.status_code < 500, path
            elif endpoint in SIGNING:
                assert answer.status_code < 500
                assert TOKEN.encode() not in (b"" if answer.is_streamed else answer.data)
            elif endpoint.startswith("pages."):
                assert answer.status_code == 302, path
                assert answer.location.startswith("/sign-in?next=")
            else:
                assert answer.status_code == 401, (method, path)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
            seen.add(endpoint)
    assert {"predict.predict", "refresh.refresh", "runs.push", "metrics.metrics"} <= seen
    # Nor does a route that is not there tell so.
    assert ask(guarded, "GET", "/nothing").status_code == 401


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_body_is_sent_the_answer_is_a_reason_and_never_a_failure(guarded, kind):
    for endpoint, method, path in rules(guarded.application):
        if method not in ("POST", "PUT"):
            continue
        for name, body in JUNK.items():
            for more in ({}, {"Inference-Header-Content-Length": "-1"}):
                headers = BEARER | more
                answer = ask(guarded, method, path, headers=headers, data=body, content_type=kind)
                where = (path, kind, name, answer.status_code)
                assert answer.status_code < 500, where
                if endpoint not in BODILESS:
                    assert answer.status_code >= 400, where


@pytest.mark.parametrize("query", QUERIES)
def test_whatever_is_asked_in_the_address_the_answer_is_no_failure(guarded, query):
    for _, method, path in rules(guarded.application):
        if method == "GET":
            answer = ask(guarded, method, f"{path}?{query}", headers=BEARER)
            assert answer.status_code < 500, (path, answer.status_code)
    for path in ("/drift/signals/" + "a" * 5_000, "/drift/signals/%00", "/runs/%2e%2e/points"):
        assert 400 <= ask(guarded, "GET", path, headers=BEARER).status_code < 500


def test_a_body_beyond_the_limit_is_refused_by_every_route_that_takes_one(guarded):
    body = b'{"by": "' + b"a" * 300_000 + b'"}'
    for endpoint, method, path in rules(guarded.application):
        if method in ("POST", "PUT") and endpoint not in BODILESS:
            for kind in ("application/json", "application/x-www-form-urlencoded"):
                headers = {"content_type": kind, "headers": BEARER}
                status = ask(guarded, method, path, data=body, **headers).status_code
                # Refused for its kind or its sender before it was read is as good.
                assert status in (413, 415, 400, 404, 409), (path, kind, status)
                if kind == "application/json" and not endpoint.startswith(("pages.", "runs.put")):
                    assert status == 413, (path, status)


@pytest.mark.parametrize(
    "given", ["a b", "a" * 129, "<script>", "a\tb", '"', "ä", "%0d%0aSet-Cookie: a=b", "\x7f"]
)
def test_a_request_id_that_could_do_harm_is_replaced(guarded, given):
    answer = ask(guarded, "GET", "/livez", headers={"X-Request-Id": given})
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])


def test_request_ids_grow_with_time_and_cannot_be_guessed():
    """UUIDs of version 7 (RFC 9562): 48 bits of time in milliseconds, 74 of chance."""
    before = time.time_ns() // 1_000_000
    made = [uuid.UUID(new_request_id()) for _ in range(2_000)]
    after = time.time_ns() // 1_000_000
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    times = [each.int >> 80 for each in made]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= after
    chance = [each.int & (2**62 - 1) for each in made]
    assert len(set(chance)) == len(made)
    assert all(0.4 < sum(each >> bit & 1 for each in chance) / len(made) < 0.6 for bit in range(62))


def test_a_model_that_breaks_tells_its_clients_nothing(guarded):
    asked = {"instances": [[666, 0, 0, 0]]}
    for path in ("/predict", "/v2/models/toy/infer"):
        if path.startswith("/v2"):
            data = [666.0, 0, 0, 0]
            asked = {
                "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": data}],
            }
        answer = ask(guarded, "POST", path, json=asked, headers=BEARER)
        assert answer.status_code == 500
        assert b"secret path" not in answer.data
        assert b"its log says why" in answer.data


@pytest.mark.parametrize("name", ["../base.css", "..%2fbase.css", "%2e%2e%2fassets.py", ".", "x/y"])
def test_files_beyond_the_pages_own_are_out_of_reach(guarded, name):
    assert ask(guarded, "GET", f"/static/x/{name}", headers=BEARER).status_code in (404, 308)


def test_tokens_are_compared_in_constant_time(guarded, monkeypatch):
    compared = []
    same = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(b) or same(a, b))
    for given, status in ((TOKEN, 200), (TOKEN[:-1], 401), ("ü", 401), ("", 401)):
        headers = {"Authorization": f"Bearer {given}".encode().decode("latin-1")}
        assert ask(guarded, "GET", "/metadata", headers=headers).status_code == status
        assert compared.pop() == given.encode().decode("latin-1").encode()


def test_too_many_of_anything_is_refused_with_its_field(guarded):
    def refused(method: str, path: str, body) -> str:
        answer = ask(guarded, method, path, json=body, headers=BEARER)
        assert answer.status_code == 422, (path, answer.data)
        return answer.get_json()["error"]["message"]

    rows = served.rows(1_025, 1).tolist()
    assert "1024" in refused("POST", "/predict", {"instances": rows}).replace(",", "")
    item = {"request_id": "a", "label": "red"}
    refused("POST", "/feedback", [item | {"request_id": "a" * 500}])
    point = {"step": 1, "time": 1, "values": {"a" * 201: 1}}
    refused("POST", "/runs/a/points", {"sequence": 1, "points": [point]})
    refused("POST", "/runs/" + "a" * 101 + "/points", {"sequence": 1})
