"""`/v2`: what the protocol asks of each route, and an error with its reason for all else."""

from __future__ import annotations

import json

import numpy as np
import pytest
import served

INFER = "/v2/models/toy/infer"


def body_of(array, datatype="FP32", **more):
    tensor = {
        "name": "x",
        "shape": list(array.shape),
        "datatype": datatype,
        "data": array.ravel().tolist(),
    }
    return {"inputs": [tensor | more.pop("tensor", {})], **more}


def binary(array, *, size=None, head=None, shape=None, datatype="FP32", **more):
    data = array.tobytes()
    tensor = {"name": "x", "shape": list(shape or array.shape), "datatype": datatype}
    tensor["parameters"] = {"binary_data_size": len(data) if size is None else size}
    told = json.dumps({"inputs": [tensor], **more}).encode()
    headers = {"Inference-Header-Content-Length": str(len(told) if head is None else head)}
    return {"data": told + data, "headers": headers, "content_type": "application/octet-stream"}


ROWS = served.rows(3, 5)


def test_the_server_its_health_and_its_model_are_told(client):
    assert client.get("/v2").get_json()["extensions"] == ["binary_tensor_data", "model_repository"]
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/toy/ready"):
        assert client.get(path).status_code == 200
    assert client.get("/v2/models/toy/versions/1/ready").get_json()["ready"] is True
    told = client.get("/v2/models/toy").get_json()
    assert told == client.get("/v2/models/toy/versions/1").get_json()
    assert told["versions"] == ["1"]
    assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert told["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, 3]}]
    (listed,) = client.post("/v2/repository/index").get_json()
    assert (listed["name"], listed["state"]) == ("toy", "READY")


@pytest.mark.parametrize("path", [INFER, "/v2/models/toy/versions/1/infer"])
def test_inference_gives_the_models_own_outputs_and_the_id_back(client, path):
    answer = client.post(path, json=body_of(ROWS, id="order 7"))
    assert answer.status_code == 200, answer.text
    told = answer.get_json()
    assert (told["id"], told["model_name"], told["model_version"]) == ("order 7", "toy", "1")
    (output,) = told["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("logits", "FP32", [3, 3])
    found = np.array(output["data"], np.float32).reshape(3, 3)
    np.testing.assert_array_equal(found, ROWS @ served.weights())


def test_nested_data_and_binary_data_are_the_same_tensor(client):
    wanted = client.post(INFER, json=body_of(ROWS)).get_json()["outputs"]
    nested = body_of(ROWS, tensor={"data": ROWS.tolist()})
    assert client.post(INFER, json=nested).get_json()["outputs"] == wanted
    assert client.post(INFER, **binary(ROWS)).get_json()["outputs"] == wanted


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": {"binary_data_output": True}},
        {"outputs": [{"name": "logits", "parameters": {"binary_data": True}}]},
    ],
)
def test_outputs_come_in_binary_where_they_are_asked_for_so(client, more):
    answer = client.post(INFER, **binary(ROWS, **more))
    length = int(answer.headers["Inference-Header-Content-Length"])
    (output,) = json.loads(answer.data[:length])["outputs"]
    assert output["parameters"] == {"binary_data_size": 36}
    found = np.frombuffer(answer.data[length:], "<f4").reshape(output["shape"])
    np.testing.assert_array_equal(found, ROWS @ served.weights())


@pytest.mark.parametrize("datatype", ["FP64", "INT8", "INT64", "UINT8", "UINT64", "FP16"])
def test_numbers_of_every_type_are_taken_where_no_value_changes(client, datatype):
    kind = {"FP64": "f8", "FP16": "f2"}.get(datatype, datatype.lower())
    array = np.array([[1, 2, 3, 1]]).astype(kind)
    wanted = client.post(INFER, json=body_of(array.astype("f4"))).get_json()["outputs"]
    for answer in (
        client.post(INFER, json=body_of(array, datatype)),
        client.post(INFER, **binary(array, datatype=datatype)),
    ):
        assert answer.get_json()["outputs"] == wanted


ZEROS = np.zeros((1, 4), np.float32)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "missing required field `inputs`"),
        ({"inputs": []}, "length >= 1"),
        (body_of(ZEROS, tensor={"name": "y"}), "y: is no input"),
        (body_of(ZEROS, tensor={"shape": [1, 5]}), "has 5 values, got 4"),
        (body_of(ZEROS, tensor={"shape": [-1, 4]}), "inputs[0].shape[0]"),
        (body_of(ZEROS, tensor={"shape": []}), "inputs[0].shape"),
        (body_of(ZEROS, tensor={"shape": [2**31 - 1] * 4}), "values, got 4"),
        (body_of(ZEROS, tensor={"datatype": "BF16"}), "inputs[0].datatype"),
        (body_of(ZEROS, tensor={"datatype": "BYTES"}), "a string expected at [0], got a number"),
        (body_of(ZEROS, tensor={"datatype": "BOOL"}), "booleans expected"),
        (body_of(ZEROS, tensor={"data": None}), "neither data nor binary_data_size"),
        (body_of(ZEROS, tensor={"data": ["a"] * 4}), "got strings"),
        (body_of(ZEROS, tensor={"data": [[1, 2], [3]]}), "the first has [2]"),
        (body_of(ZEROS, tensor={"data": [None] * 4}), "missing or not finite"),
        (body_of(ZEROS, tensor={"datatype": "UINT8", "data": [1, 2, 3, 256]}), "outside uint8"),
        (body_of(ZEROS, tensor={"datatype": "INT32", "data": [1, 2, 3, 0.5]}), "fractions"),
        (body_of(ZEROS, outputs=[{"name": "z"}]), "'z' is no output"),
        (body_of(ZEROS, parameters={"binary_data_output": 1}), "true or false"),
        (body_of(ZEROS, tensor={"parameters": {"binary_data_size": 4}}), "both data and"),
        (body_of(ZEROS, tensor={"parameters": {"shared_memory_region": "x"}}), "not supported"),
        (body_of(ZEROS, outputs=[{"name": "logits", "parameters": {"classification": 2}}]), "not"),
        (body_of(np.zeros((0, 4))), "the batch is empty"),
        (body_of(np.zeros((1, 5))), "shape [n, 4] expected"),
        ({"inputs": body_of(ZEROS)["inputs"] * 2}, "is there twice"),
        ('{"parameters": ' + '{"a":' * 100_000, "nested too deeply"),
        ("junk", "not strict JSON"),
        ('{"inputs": [{"name": "x", "shape": [1,4], "datatype": "FP32", "data": [NaN]}]}', "JSON"),
    ],
)
def test_a_bad_request_is_a_400_with_its_reason(client, body, reason):
    data = body if isinstance(body, str) else json.dumps(body)
    answer = client.post(INFER, data=data, content_type="application/json")
    assert answer.status_code == 400, answer.text
    assert list(answer.get_json()) == ["error"]
    assert reason in answer.get_json()["error"]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (binary(ZEROS, size=8), "16 bytes expected, got 8"),
        (binary(ZEROS, size=99), "of which 16 are left"),
        (binary(ZEROS, size=-1), "of which 16 are left"),
        (binary(ZEROS, size="16"), "of which 16 are left"),
        (binary(np.zeros((2, 4), "f4"), shape=(1, 4), size=16), "16 bytes are left over"),
        (binary(ZEROS, head="x"), "a whole number is wanted"),
        (binary(ZEROS, head=99999), "the body has"),
        (binary(ZEROS, head=3), "not strict JSON"),
        (binary(np.zeros(3, "u1"), shape=(1,), datatype="BYTES"), "longer than the data"),
        (binary(np.array([9, 0, 0, 0, 65], "u1"), shape=(1,), datatype="BYTES"), "longer than"),
        (binary(np.array([1, 0, 0, 0, 255], "u1"), shape=(1,), datatype="BYTES"), "UTF-8"),
        (binary(np.array([1, 0, 0, 0, 65], "u1"), shape=(1, 1), datatype="BYTES"), "shape [n, 4]"),
    ],
)
def test_bad_binary_tensors_are_a_400_with_their_reason(client, sent, reason):
    answer = client.post(INFER, **sent)
    assert answer.status_code == 400, answer.text
    assert reason in answer.get_json()["error"]


def test_a_datatype_that_there_is_not_is_refused_with_those_there_are(client):
    body = body_of(ZEROS)
    body["inputs"][0]["datatype"] = "FP31"
    answer = client.post(INFER, json=body)
    assert answer.status_code == 400
    assert "'FP31'; one of BOOL, BYTES, FP16, " in answer.get_json()["error"]


def test_unknown_models_versions_and_routes_are_a_404_in_the_protocols_form(client):
    for path in ("/v2/models/other", "/v2/models/toy/versions/2", "/v2/nowhere"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert isinstance(answer.get_json()["error"], str)
    assert client.post("/v2/models/toy/versions/2/infer", json={}).status_code == 404
    assert isinstance(client.get(INFER).get_json()["error"], str)
    assert client.get(INFER).status_code == 405


def test_without_a_model_it_is_not_ready(client):
    client.application.extensions.pop("driftline")
    assert client.get("/v2/health/live").status_code == 200
    answer = client.get("/v2/health/ready")
    assert (answer.status_code, answer.get_json()) == (503, {"error": "no model is loaded yet"})


def test_a_model_that_breaks_is_a_500_without_its_secrets(client):
    answer = client.post(INFER, json=body_of(np.full((1, 4), 666.0)))
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_other_content_types_and_missing_tokens_are_refused_in_the_protocols_form(client_of):
    client = client_of(token="open-sesame")
    answer = client.post(INFER, json=body_of(ZEROS))
    assert (answer.status_code, type(answer.get_json()["error"])) == (401, str)
    assert client.get("/v2/health/ready").status_code == 200
    headers = {"Authorization": "Bearer open-sesame"}
    answer = client.post(INFER, data="x", content_type="text/plain", headers=headers)
    assert answer.status_code == 415


def test_the_monitor_watches_these_requests_too(client):
    for _ in range(3):
        assert client.post(INFER, json=body_of(ROWS)).status_code == 200
    session = client.engine.monitor.session
    session.flush()
    series, layout = session.plan.series, client.engine.metadata.reference.layout
    counts = next(iter(session.store.read(series.model(60), layout, 0, 2**40).values()))
    assert counts.of("a0").sum() == counts.of("predicted_class").sum() == 9
    counters = session.store.counters()
    assert counters[series.counter("requests")] == 3
    assert counters[series.counter("responses|v2.infer|200")] == 3
