"""A Flask application of one's own with a scikit-learn model, and no MindSpore in sight."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time

import numpy as np
import pytest
import served
from flask import Blueprint, Flask

from driftline.metadata.errors import SettingError
from driftline.serving.extension import Driftline
from driftline.serving.hooks import InferenceMonitor
from examples.flask_app.package import draws, main


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    main(folder)
    return folder


@pytest.fixture
def wine(build, monkeypatch):
    monkeypatch.setenv("WINE_BUILD", str(build))
    sys.modules.pop("examples.flask_app.app", None)
    module = importlib.import_module("examples.flask_app.app")
    yield module
    module.driftline.monitor.close()
    (build / "state.db").unlink(missing_ok=True)


def told(module, path="/driftline/drift"):
    session = module.driftline.monitor.session
    session.flush()
    session.evaluator.turn(time.time())
    return module.app.test_client().get(path).get_json()


def send(client, rows: np.ndarray) -> dict:
    answer = client.post("/predict", json={"rows": rows.tolist()})
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def test_the_example_is_stable_on_its_own_kind_and_drifts_on_another(wine):
    """Wines like the training's are stable; wines twice as strong are drift, by name."""
    client = wine.app.test_client()
    rows, _ = draws(1_500, seed=3)
    for start in range(0, len(rows), 50):
        send(client, rows[start : start + 50])
    assert told(wine)["state"] == "stable"
    rows, _ = draws(500, seed=4)
    rows[:, 0] += 2.0
    for start in range(0, len(rows), 50):
        send(client, rows[start : start + 50])
    found = told(wine)
    assert found["state"] == "drift"
    states = {each["name"]: each["state"] for each in found["signals"]}
    assert states["alcohol"] == "drift"
    assert found["window"]["rows"] == 2_000


@pytest.mark.parametrize(
    "body",
    [{}, {"rows": []}, {"rows": [[1.0]]}, {"rows": [[None] * 13]}, {"rows": None}, [], None,
     {"rows": [[1.0] * 13, [1.0]]}, {"rows": ["x" * 13]}, {"rows": [[10**400] * 13]}],
)  # fmt: skip
def test_the_example_refuses_what_are_no_rows(wine, body):
    """A reason for the client, and no traceback."""
    data = json.dumps(body)
    answer = wine.app.test_client().post("/predict", data=data, content_type="application/json")
    assert answer.status_code == 422
    assert "rows of 13 finite numbers" in answer.text


def test_labels_are_joined_by_request_id(wine):
    """What `observe` saw can be judged later."""
    client = wine.app.test_client()
    rows, _ = draws(2, seed=5)
    answered = send(client, rows)
    names = ["class_0", "class_1", "class_2"]
    labels = [names[index] for index in np.argmax(answered["probabilities"], axis=1)]
    body = {"request_id": answered["request_id"], "label": labels}
    joined = client.post("/driftline/feedback", json=body).get_json()
    assert (joined["joined"], joined["right"]) == (1, 2)


def test_the_applications_own_errors_stay_its_own(wine):
    """Only driftline's exceptions are answered its way."""
    client = wine.app.test_client()
    assert client.get("/nowhere").mimetype == "text/html"
    answer = client.get("/driftline/drift?signal=nothing")
    assert answer.status_code == 404
    assert answer.get_json()["error"]["code"] == "not_found"


def test_metrics_and_metadata_stand_beside(wine):
    """Under the same prefix."""
    client = wine.app.test_client()
    send(client, draws(5, seed=6)[0])
    told(wine)
    assert client.get("/driftline/metadata").get_json()["framework"]["name"] == "scikit-learn"
    assert "driftline_drift_state" in client.get("/driftline/metrics").text


def test_a_token_guards_only_what_driftline_added(package):
    """The application's own routes know nothing of it."""
    app = Flask("guarded")
    driftline = Driftline(app, package=package, token="let me in")

    @app.get("/own")
    def own() -> str:
        return "mine"

    client = app.test_client()
    try:
        assert client.get("/own").text == "mine"
        assert client.get("/driftline/drift").status_code == 401
        header = {"Authorization": "Bearer let me in"}
        assert client.get("/driftline/drift", headers=header).status_code == 200
    finally:
        driftline.monitor.close()


@pytest.mark.parametrize("ours", ["first", "last"])
def test_an_application_may_have_blueprints_of_the_same_names(package, ours):
    """Before driftline or after it; each answers its own routes, and the token guards only ours."""
    driftline, app = Driftline(package=package, token="let me in"), Flask("crowded")
    if ours == "first":
        driftline.init_app(app)
    for name in ("drift", "feedback", "metadata", "alerts", "metrics"):
        theirs = Blueprint(name, __name__)
        theirs.add_url_rule(f"/{name}", name, lambda name=name: f"their {name}")
        app.register_blueprint(theirs)
    if ours == "last":
        driftline.init_app(app)
    client, header = app.test_client(), {"Authorization": "Bearer let me in"}
    try:
        for name in ("drift", "metadata", "alerts", "metrics"):
            assert client.get(f"/{name}").text == f"their {name}"
            assert client.get(f"/driftline/{name}").status_code == 401
            assert client.get(f"/driftline/{name}", headers=header).status_code == 200
    finally:
        driftline.monitor.close()


def test_init_app_comes_later_and_only_once(package):
    """As Flask's extensions do; two on one application are refused."""
    driftline = Driftline(package=package)
    app = Flask("late")
    driftline.init_app(app)
    with pytest.raises(SettingError, match="another Driftline"):
        driftline.init_app(app)
    rows = served.rows(3, 1)
    watched = driftline.watch(lambda x: x @ served.weights())
    with app.test_request_context():
        watched(rows)
    assert driftline.monitor.flush()
    driftline.monitor.close()


def test_neither_mindspore_nor_gunicorn_is_imported(build):
    """The hooks and the packaging of functions do without."""
    code = (
        "import sys, driftline.serving.extension, driftline.train_side.function\n"
        "assert not {'mindspore', 'gunicorn'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=build)


def test_an_empty_token_is_refused_and_does_not_open_the_routes(package):
    with pytest.raises(SettingError, match="token: is empty"):
        Driftline(package=package, token="")


def test_a_monitor_that_is_open_already_brings_its_own_settings(package):
    """Its bucket, for one, which the extension does not ask for."""
    monitor = InferenceMonitor.open(package, bucket=10)
    with pytest.raises(SettingError, match="already"):
        Driftline(package=monitor, store="state.db")
    app = Flask(__name__)
    Driftline(app, package=monitor)
    told = app.test_client().get("/driftline/drift").get_json()
    assert told["window"]["bucket_seconds"] == 10
    monitor.close()


def test_a_body_without_end_is_refused_where_the_application_has_no_limit(package):
    """Flask's own default is none; every route that reads a body has its own."""
    app = Flask("unlimited")
    assert app.config["MAX_CONTENT_LENGTH"] is None
    driftline = Driftline(app, package=package)
    client, most = app.test_client(), 16 * 2**20
    try:
        read = {
            f"/driftline{path}"
            for rule in app.url_map.iter_rules()
            if "POST" in rule.methods
            for path in [rule.rule.removeprefix("/driftline").replace("<alert_id>", "a")]
        }
        assert "/driftline/feedback" in read
        for path in read:
            answer = client.post(path, data=b" " * (most + 1), content_type="application/json")
            assert answer.status_code == 413, path
        allowed = client.post("/driftline/feedback", data=b" " * 1000)
        assert allowed.status_code == 400
    finally:
        driftline.monitor.close()
