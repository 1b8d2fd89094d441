"""The command line says what it has to say in one line, and ends with the code that is promised."""

from __future__ import annotations

import itertools
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import served

from driftline.serving.cli import COMMANDS
from driftline.serving.commands.status import screen
from driftline.serving.commands.table import table


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "driftline.serving.cli", *words]
    env = {"PATH": "/usr/bin", "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def test_every_command_is_listed_and_has_help():
    listed = run("--help").stdout
    for name in COMMANDS:
        assert name in listed
    told = run("serve", "--help").stdout
    assert "--false-alarms" in told
    assert "--allow-anonymous" in told


def test_verify_says_that_a_package_is_whole(package):
    done = run("verify", str(package.path))
    assert done.returncode == 0
    assert done.stdout.startswith("whole: toy 1, 1 files, digest ")


def test_inspect_shows_the_model_its_signature_and_its_signals(package):
    told = run("inspect", str(package.path)).stdout
    for words in ("toy 1 (Linear)", "x: float32 [n, 4]", "red, green, blue", "a0:missing", "held"):
        assert words in told


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("verify", "/does/not/exist"), 1, "there is no such folder or .zip"),
        (("inspect", "/does/not/exist"), 1, "there is no such folder or .zip"),
        (("serve",), 2, "package: the folder or .zip of a packaged model is wanted"),
        (("serve", "p", "--port", "high"), 2, "port: Expected `int`"),
        (("serve", "p", "--state", "/no/s.db"), 2, "state: there is no folder /no"),
        (("serve", "p", "--refresh-folder", "/no"), 2, "refresh_folder: there is no folder /no"),
        (("serve", "p", "--bucket", "7s"), 2, "bucket: 7 s do not divide an hour"),
        (("serve", "p", "--host", "0.0.0.0"), 2, "set a token, or --allow-anonymous"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_right_code(words, code, said):
    done = run(*words)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.startswith("driftline: ")
    assert "Traceback" not in done.stderr


def test_settings_that_the_package_refuses_are_named_before_anything_starts(package):
    for words, said in (
        (("--false-alarms", "often"), "false_alarms: write it like"),
        (("--false-alarms", "1 per 60s"), "false_alarms: "),
        (("--state", "ftp://host/x"), "ftp"),
    ):
        done = run("serve", str(package.path), *words)
        assert done.returncode in (1, 2)
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_status_of_nobody_is_unreachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = run("status", f"http://127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be asked: ConnectionError" in done.stderr


@pytest.mark.parametrize("body", ['{"error": "no such page"}', "[1, 2]", '"text"', "{}", "null"])
def test_status_of_what_is_no_service_of_ours_is_unreachable(body):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever).start()
        done = run("status", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (done.returncode, done.stdout) == (2, "")
    assert "answers 200" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_status_tells_stable_and_drift_and_who_may_not_ask(serve):
    server = serve("--workers", "1", "--bucket", "1s", DRIFTLINE_TOKEN="let-me-in")
    headers = {"Authorization": "Bearer let-me-in"}
    refused = run("status", server.address)
    assert refused.returncode == 2
    assert "401" in refused.stderr
    for seed in range(10):
        server.predict(served.rows(60, seed).tolist(), headers=headers)
    token = {"DRIFTLINE_TOKEN": "let-me-in"}
    quiet = served.until(
        lambda: (done := run("status", server.address, **token)).stdout.count("600") and done, 30
    )
    assert quiet.returncode == 0
    assert "toy 1" in quiet.stdout
    seeds = itertools.count(50)

    def drifted():
        server.predict(served.rows(60, next(seeds), shift=2.0).tolist(), headers=headers)
        done = run("status", server.address, **token)
        return done if done.returncode == 1 else None

    told = served.until(drifted, 40)
    assert "drift since" in told.stdout


def test_the_screen_names_what_changed_first():
    told = {
        "model": {"name": "toy", "version": "1"},
        "state": "drift",
        "since": "2026-01-01T00:00:00Z",
        "sentence": "Drift in b.",
        "window": {"requests": 1234, "from": None, "to": None},
        "latency": {"p50_ms": 1.234, "p95_ms": None},
        "health": {"store": "away", "evaluator": "ok", "alerts": "ok", "dropped": {}},
        "signals": [
            {"name": "a", "state": "stable", "evidence": 0.1, "effect": None, "sentence": ""},
            {
                "name": "b",
                "state": "drift",
                "evidence": 12.0,
                "effect": {"psi": 0.5},
                "sentence": "b rose.",
            },
        ],
    }
    many = {"name": "input together", "state": "drift", "evidence": 9.0, "distance": 0.5}
    assert "input together  drift" in screen(
        told | {"multivariates": [many | {"sentence": "moved."}]}
    )
    shown = screen(told)
    assert "store: away" in shown
    assert "1,234 requests" in shown
    assert shown.index("b rose.") > shown.index("Drift in b.")
    assert "and 1 more signals" in shown


def test_the_screen_has_a_dash_where_nothing_is_known_yet(client):
    """No first second of 1970, and no None."""
    before = screen(client.get("/drift").get_json())
    assert "no_data since -" in before
    assert "0 requests, - to -" in before
    session = client.engine.monitor.session
    session.evaluator.turn(1_800_000_000.0)
    after = screen(client.get("/drift").get_json())
    assert re.search(r"^a0 +no_data +- +- ", after, re.MULTILINE)
    for wrong in ("1970", "None", "-300"):
        assert wrong not in before + after


def test_a_board_whose_state_has_no_folder_is_refused(tmp_path):
    done = run("board", "--port", "0", "--state", str(tmp_path / "x" / "y.db"))
    assert done.returncode == 2
    assert done.stderr == f"driftline: state: there is no folder {tmp_path / 'x'}\n"


def test_tables_are_aligned():
    assert table([("a", "b"), ("long", "c")], ("x", "y")) == "x     y\na     b\nlong  c"
    assert table([]) == ""
