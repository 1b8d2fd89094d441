"""Labels that come late are joined at most once, and say whether accuracy fell."""

from __future__ import annotations

import time

import pytest
import served

from driftline.metadata.errors import StoreError
from driftline.metadata.quality import Quality


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """A package whose accuracy was 90 % of 2,000 held-out rows."""
    quality = Quality(rows=2_000, accuracy=0.9)
    return served.package(tmp_path_factory.mktemp("judged") / "package", quality=quality)


@pytest.fixture
def client(client_of, judged):
    return client_of(package=judged)


def asked(client, count: int = 1, seed: int = 0) -> tuple[str, list[str]]:
    """One request; its id, and what was predicted for its rows."""
    body = {"instances": served.rows(count, seed).tolist()}
    told = client.post("/predict", json=body).get_json()
    return told["request_id"], [each["label"] for each in told["predictions"]]


def other(label: str) -> str:
    return next(name for name in served.CLASSES if name != label)


def give(client, body):
    return client.post("/feedback", json=body)


def accuracy(client):
    session = client.engine.monitor.session
    session.flush()
    session.evaluator.turn(time.time())
    return client.get("/drift").get_json()["accuracy"]


def test_a_label_is_joined_once(client):
    """The second time the id is unknown, and nothing is counted twice."""
    request_id, [label] = asked(client)
    first = give(client, {"request_id": request_id, "label": label}).get_json()
    assert (first["joined"], first["right"], first["wrong"]) == (1, 1, 0)
    second = give(client, {"request_id": request_id, "label": label})
    assert second.status_code == 200
    assert (second.get_json()["joined"], second.get_json()["unknown"]) == (0, 1)


def test_unknown_ids_are_no_error_for_the_rest(client):
    """Each item is answered by itself, in the order sent."""
    request_id, [label] = asked(client)
    body = [
        {"request_id": "never-seen", "label": "red"},
        {"request_id": request_id, "label": other(label)},
    ]
    told = give(client, body).get_json()
    assert [each["status"] for each in told["results"]] == ["unknown", "joined"]
    assert (told["right"], told["wrong"]) == (0, 1)


def test_a_request_of_several_instances_takes_a_label_for_each(client):
    """Another number of labels is told, and the right number may still come."""
    request_id, labels = asked(client, count=3)
    told = give(client, {"request_id": request_id, "label": labels[:2]}).get_json()
    assert told["results"][0]["status"] == "has 3 instances"
    told = give(client, {"request_id": request_id, "label": labels}).get_json()
    assert (told["joined"], told["right"]) == (1, 3)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"request_id": "x"}, 422, "body"),
        ({"request_id": "x", "label": "pink"}, 422, "label"),
        ({"request_id": "x", "label": 7}, 422, "label"),
        (
            [{"request_id": "x", "label": "red"}, {"request_id": "y", "label": None}],
            422,
            "[1].label",
        ),
        ([{"request_id": "x", "label": "red"}] * 2, 422, "[1].request_id"),
        ({"request_id": "x", "label": "red", "more": 1}, 422, "body"),
        ({"request_id": "", "label": "red"}, 422, "request_id"),
        ([], 422, "body"),
        ("red", 422, "body"),
    ],
)
def test_what_is_no_feedback_is_refused_by_name(client, body, status, field):
    answer = give(client, body)
    assert answer.status_code == status
    assert answer.get_json()["error"]["field"] == field


def test_a_refused_list_joins_nothing(client):
    """All items are checked before the first is joined."""
    request_id, [label] = asked(client)
    answer = give(
        client, [{"request_id": request_id, "label": label}, {"request_id": "y", "label": "pink"}]
    )
    assert answer.status_code == 422
    assert give(client, {"request_id": request_id, "label": label}).get_json()["joined"] == 1


def test_v2_requests_are_joined_by_their_own_id(client):
    """The protocol's `id` is the one that labels name."""
    rows = served.rows(2, 5)
    flat = [float(value) for value in rows.reshape(-1)]
    tensor = {"name": "x", "shape": [2, 4], "datatype": "FP32", "data": flat}
    answer = client.post("/v2/models/toy/infer", json={"id": "mine-7", "inputs": [tensor]})
    assert answer.status_code == 200, answer.text
    logits = rows @ served.weights()
    labels = [served.CLASSES[index] for index in logits.argmax(1)]
    told = give(client, {"request_id": "mine-7", "label": labels}).get_json()
    assert (told["joined"], told["right"], told["wrong"]) == (1, 2, 0)


def test_labels_that_find_the_packaged_accuracy_are_no_harm(client):
    """Nine in ten right, as packaged."""
    for seed in range(200):
        request_id, [label] = asked(client, seed=seed)
        given = other(label) if seed % 10 == 0 else label
        give(client, {"request_id": request_id, "label": given})
    told = accuracy(client)
    assert told["labelled"]["rows"] == 200
    assert told["labelled"]["value"] == pytest.approx(0.9)
    assert not told["labelled"]["harmful"]


def test_labels_that_find_half_wrong_are_harm(client):
    """The e-detector of errors passes what the promise asks for."""
    for seed in range(200):
        request_id, [label] = asked(client, seed=seed)
        give(client, {"request_id": request_id, "label": other(label) if seed % 2 else label})
    told = accuracy(client)
    assert told["labelled"]["value"] == pytest.approx(0.5)
    assert told["labelled"]["harmful"]
    assert told["labelled"]["evidence"] > told["labelled"]["evidence_needed"]


def test_a_store_that_is_away_refuses_feedback_and_keeps_the_claims(client, monkeypatch):
    """503 while it is away; afterwards the same label is joined."""
    request_id, [label] = asked(client)
    store = client.engine.monitor.session.store

    def away(*_, **__):
        raise StoreError("it is away")

    with monkeypatch.context() as patched:
        patched.setattr(store, "remember", away)
        assert give(client, {"request_id": request_id, "label": label}).status_code == 503
    assert give(client, {"request_id": request_id, "label": label}).get_json()["joined"] == 1


def test_labels_are_judged_under_a_promise_looser_than_their_buckets_can_state(client_of, judged):
    """The first label used to end all verdicts, and a span over hours was a 500."""
    client = client_of(package=judged, false_alarms="1 per 1h")
    request_id, labels = asked(client, count=50)
    wrong = [other(each) for each in labels]
    assert give(client, {"request_id": request_id, "label": wrong}).status_code == 200
    told = accuracy(client)
    assert (told["labelled"]["rows"], told["labelled"]["harmful"]) == (50, True)
    assert client.get("/drift?from=2020-01-01T00:00:00Z").status_code == 200
    assert client.engine.monitor.fence.failures == {}
