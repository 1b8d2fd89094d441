"""Real gunicorn servers: workers that agree, die, are replaced, and hand over what they know."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
import served

pytestmark = pytest.mark.slow


def send(server, count: int, shift: float = 0.0, seed: int = 0, clients: int = 4) -> int:
    """Sends one row a request from several clients; how many were answered 200."""
    own = threading.local()

    def one(row) -> bool:
        if not hasattr(own, "session"):
            own.session = requests.Session()
        try:
            body = {"instances": [row]}
            answer = own.session.post(server.address + "/predict", json=body, timeout=30)
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            del own.session
            return False
        assert answer.status_code == 200, answer.text
        return True

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(one, served.rows(count, seed, shift=shift).tolist()))


def counted(server, least: int) -> int:
    """The total of `/drift`, once it is at least `least`."""

    def arrived() -> int:
        total = server.drift()["window"]["requests_total"]
        return total if total >= least else 0

    return served.until(arrived, 20)


def test_two_workers_count_every_request_once_and_tell_the_same(serve):
    server = serve("--workers", "2", "--bucket", "1h")
    assert send(server, 1_500) == 1_500
    assert counted(server, 1_500) == 1_500
    # Every new connection may fall to either worker; whichever it is, it says the same.
    answers = {}
    for _ in range(40):
        answer = requests.get(server.address + "/drift", timeout=10)
        told = answer.json()
        answers.setdefault(told["evaluated"], set()).add(answer.text)
    assert all(len(texts) == 1 for texts in answers.values())
    assert told["state"] == "stable", told["sentence"]
    assert told["window"]["requests"] == 1_500


class Receiver:
    """Keeps the CloudEvents it is sent."""

    def __init__(self) -> None:
        received: list[dict] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append(served.json.loads(body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        self.received = received
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_drift_is_called_and_told_to_the_webhook_once_firing_and_once_resolved(serve):
    receiver = Receiver()
    words = ("--bucket", "1s", "--alert-quiet", "2s", "--alert-group", "1s")
    server = serve(*words, "--alert-webhook", receiver.address)
    send(server, 600)
    counted(server, 600)
    assert receiver.received == []
    send(server, 300, shift=2.0, seed=5)
    counted(server, 900)
    told = served.until(lambda: (d := server.drift())["state"] == "drift" and d, 20)
    assert "since" in told["sentence"]
    fired = served.until(lambda: receiver.received, 20)
    assert fired[0]["type"].endswith("firing")
    # The alert is resolved once recent traffic alone is seen to be well again.
    seeds = itertools.count(100)

    def well() -> bool:
        send(server, 300, seed=next(seeds))
        return len(receiver.received) > 1

    served.until(well, 90)
    send(server, 100, seed=next(seeds))
    assert [each["type"].rpartition(".")[2] for each in receiver.received] == ["firing", "resolved"]


def test_a_killed_worker_is_replaced_and_takes_less_than_a_second_of_counts_with_it(serve):
    server = serve("--workers", "2")
    answered, rate = [0], [0.0]
    stop = threading.Event()

    def load() -> None:
        began = time.monotonic()
        for seed in itertools.count():
            if stop.is_set():
                break
            answered[0] += send(server, 50, seed=seed, clients=3)
            rate[0] = answered[0] / (time.monotonic() - began)

    thread = threading.Thread(target=load)
    thread.start()
    served.until(lambda: answered[0] > 300)
    victim = server.workers()[0]
    os.kill(victim, signal.SIGKILL)
    served.until(lambda: len(set(server.workers()) - {victim}) == 2)
    before = answered[0]
    served.until(lambda: answered[0] > before + 300)
    stop.set()
    thread.join()
    # At most a second of one worker's counts is gone, and what it had counted when it was killed
    # but not yet answered (one request a client) may be there.
    least = answered[0] - int(rate[0])
    counted(server, least)
    time.sleep(1.5)  # whatever is still under way has arrived and was judged
    assert least <= counted(server, least) <= answered[0] + 3
    assert server.get("/readyz").status_code == 200


def test_the_duty_of_a_killed_evaluator_is_taken_over(serve):
    server = serve("--workers", "2")
    send(server, 100)
    counted(server, 100)
    holder = [line["pid"] for line in server.lines() if "this worker evaluates" in line["message"]][
        -1
    ]
    os.kill(holder, signal.SIGKILL)
    send(server, 100, seed=3)
    assert counted(server, 150) <= 201
    served.until(lambda: server.drift()["health"]["evaluator"] == "ok", 15)


def test_a_stopped_evaluator_is_replaced_and_says_nothing_stale_when_it_wakes(serve):
    server = serve("--workers", "2")
    send(server, 50)
    counted(server, 50)
    holder = [line["pid"] for line in server.lines() if "this worker evaluates" in line["message"]][
        -1
    ]
    os.kill(holder, signal.SIGSTOP)
    try:
        began = time.monotonic()
        served.until(
            lambda: [
                line
                for line in server.lines()
                if "this worker evaluates" in line["message"] and line["pid"] != holder
            ],
            12,
        )
        assert time.monotonic() - began < 10
    finally:
        os.kill(holder, signal.SIGCONT)
    seen = []
    for _ in range(20):
        seen.append(server.drift()["evaluated"])
        time.sleep(0.05)
    assert seen == sorted(seen)


def test_sigterm_lets_a_running_request_finish_and_hands_over_the_last_counts(serve, tmp_path):
    server = serve("--workers", "1", "--bucket", "1h")
    send(server, 20)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(server.predict, [[777, 0, 0, 1]])
        time.sleep(0.1)
        assert server.stop() == 0
        assert slow.result().status_code == 200
    again = serve("--workers", "1", "--bucket", "1h")
    assert counted(again, 21) == 21


def test_state_survives_a_restart(serve):
    first = serve("--bucket", "1h")
    send(first, 300)
    counted(first, 300)
    first.stop()
    second = serve("--bucket", "1h")
    send(second, 100, seed=9)
    assert counted(second, 400) == 400


def fails(package: Path, tmp_path: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of a service that does not start."""
    log = tmp_path / "failed.log"
    server = served.Server(package, log, "--state", str(tmp_path / "s.db"), *words)
    try:
        return server.process.wait(60), server.said()
    finally:
        server.stop()


def test_a_taken_port_is_named_and_ends_it(package, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = fails(package.path, tmp_path, "--port", port)
    assert code == 2
    assert f"port: cannot listen on 127.0.0.1:{port}: Address already in use" in said
    assert "Traceback" not in said


def broken(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    served.package(path)
    return path


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("flip_model", "model.npy: its SHA-256 is not the one it was packed with"),
        ("flip_metadata", "model_metadata.json"),
        ("missing_model", "model.npy: is missing"),
        ("missing_metadata", "model_metadata.json: is missing"),
        ("newer", "schema_version: 9.0 is newer than"),
        ("zip_climbs", "'../evil' leaves the package"),
        ("zip_cut", "is not a whole .zip"),
        ("absent", "there is no such folder or .zip"),
    ],
)
def test_a_damaged_package_is_not_served_and_the_reason_is_said(tmp_path, harm, said):
    path = broken(tmp_path, "package")
    if harm == "flip_model":
        flipped(path / "model.npy")
    elif harm == "flip_metadata":
        flipped(path / "model_metadata.json")
    elif harm == "missing_model":
        (path / "model.npy").unlink()
    elif harm == "missing_metadata":
        (path / "model_metadata.json").unlink()
    elif harm == "newer":
        metadata = path / "model_metadata.json"
        metadata.write_text(
            metadata.read_text().replace('"schema_version": "1.0"', '"schema_version": "9.0"')
        )
    elif harm == "zip_climbs":
        path = tmp_path / "package.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../evil", "x")
    elif harm == "zip_cut":
        path = tmp_path / "package.zip"
        served.package(path)
        path.write_bytes(path.read_bytes()[:-100])
    elif harm == "absent":
        path = tmp_path / "nowhere"
    for command in ("verify", "serve"):
        run = subprocess.run(
            [sys.executable, "-m", "driftline.serving.cli", command, str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        assert run.returncode == 1
        assert not list(tmp_path.glob("driftline-*"))
        assert said in run.stderr
        assert run.stderr.count("\n") == 1


def test_a_zip_is_served_and_what_it_unpacked_to_is_gone_afterwards(serve, tmp_path):
    path = tmp_path / "package.zip"
    served.package(path)
    place = tmp_path / "temporary"
    place.mkdir()
    server = serve("--workers", "2", where=path, TMPDIR=str(place))
    assert send(server, 20) == 20
    assert len(list(place.glob("driftline-*"))) == 1
    os.kill(server.workers()[0], signal.SIGKILL)
    served.until(lambda: len(server.workers()) == 2)
    assert send(server, 20) == 20
    assert server.stop() == 0
    assert list(place.glob("driftline-*")) == []


def test_a_model_that_does_not_load_ends_the_service_with_the_reason(package, tmp_path):
    code, said = fails(package.path, tmp_path, "--predictor", "served:load_nothing")
    assert code != 0
    assert "its model does not load: test" in said
    code, said = fails(package.path, tmp_path, "--predictor", "served:nowhere")
    assert code != 0
    assert "'served:nowhere' cannot be imported" in said


def degraded(server) -> list[str]:
    return served.until(lambda: server.get("/readyz").json()["degraded"], 15)


def test_a_state_file_that_is_not_ours_stops_no_prediction_and_is_said(serve, tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    server = serve("--state", str(path))
    assert send(server, 50) == 50
    assert "other.db" in degraded(server)[0]
    assert "other.db" in server.drift()["health"]["store"]
    assert path.read_bytes() == before


def test_a_read_only_state_file_stops_no_prediction_and_is_said(serve, tmp_path):
    place = tmp_path / "locked"
    place.mkdir()
    path = place / "state.db"
    first = serve("--state", str(path))
    send(first, 30)
    counted(first, 30)
    first.stop()
    for file in [*place.iterdir(), place]:
        file.chmod(0o555 if file is place else 0o444)
    # Nothing is read-only to root, unless root gives that power up.
    powerless = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    server = serve("--state", str(path), before=powerless if os.getuid() == 0 else ())
    try:
        assert send(server, 30) == 30
        assert "state.db" in degraded(server)[0]
        assert "state.db" in server.drift()["health"]["store"]
    finally:
        server.stop()
        place.chmod(0o755)


def test_a_full_disk_stops_no_prediction_is_said_and_loses_no_count(serve, tmp_path):
    server = serve("--workers", "2", "--bucket", "1h")
    send(server, 100)
    counted(server, 100)
    free = resource.RLIM_INFINITY
    workers = server.workers()
    for pid in workers:  # no file may grow beyond a kilobyte: as good as a full disk
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_024, free))
    assert send(server, 200, seed=3) == 200
    assert "state.db" in degraded(server)[0]
    assert server.drift()["health"]["store"] != "ok"
    assert send(server, 50, seed=4) == 50
    for pid in workers:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (free, free))
    assert counted(server, 350) == 350
    served.until(lambda: server.get("/readyz").json()["degraded"] == [], 15)
    assert server.workers() == workers


def test_a_state_file_that_others_hold_for_long_loses_no_count(serve, tmp_path):
    server = serve("--workers", "2", "--bucket", "1h")
    send(server, 100)
    counted(server, 100)
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert send(server, 300, seed=3) == 300
        assert "state.db" in degraded(server)[0]
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert counted(server, 400) == 400


def test_log_lines_are_json_and_carry_the_request_id(serve):
    server = serve("--workers", "1")
    server.predict([[666, 0, 0, 0]], headers={"X-Request-Id": "look-for-me"})
    found = served.until(
        lambda: [line for line in server.lines() if line.get("request_id") == "look-for-me"]
    )
    assert found[0]["level"] == "error"
    assert "the model broke" in found[0]["error"]
    for line in server.said().splitlines():
        assert line.startswith("{"), line


def test_no_secret_is_ever_logged(serve):
    server = serve("--workers", "1", "--log-level", "debug", DRIFTLINE_TOKEN="open-sesame-123")
    headers = {"Authorization": "Bearer open-sesame-123"}
    assert server.predict([[0, 0, 0, 1]], headers=headers).status_code == 200
    assert server.predict([[0, 0, 0, 1]]).status_code == 401
    assert server.predict([[666, 0, 0, 1]], headers=headers).status_code == 500
    assert "sesame" not in server.said()
    command = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert b"sesame" not in command
