"""Real programs in this machine's own ports: started, waited for, and ended again."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(*names: str) -> str:
    """The path of a program.

    Raises:
        FileNotFoundError: it is not installed; says by which package it is.
    """
    for name in names:
        if found := shutil.which(name):
            return found
    raise FileNotFoundError(
        f"{names[0]} is not installed: apt-get install prometheus prometheus-alertmanager"
    )


def until(ready: Callable[[], Any], what: str, seconds: float = 60.0, every: float = 0.2) -> Any:
    """The first true value of `ready`.

    Raises:
        TimeoutError: there was none in time; says `what` was waited for.
    """
    deadline, problem = time.monotonic() + seconds, ""
    while time.monotonic() < deadline:
        try:
            if value := ready():
                return value
        except OSError as error:
            problem = f" (last problem: {error})"
        time.sleep(every)
    raise TimeoutError(f"{what}: not within {seconds:.0f} s{problem}")


def fetched(url: str, body: Any = None) -> Any:
    """The JSON at `url`, or the text where it is none; `body` is posted as JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read().decode()
    try:
        return json.loads(text)
    except ValueError:
        return text


class Program:
    """A process that answers at `url`; its words go into `log`."""

    def __init__(self, command: list[str], url: str, ready: str, log: Path, **more: str) -> None:
        self.url = url
        self.log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=out, env={**os.environ, **more}
            )
        try:
            until(lambda: self._answers(ready), f"{command[0]} answers", 90)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it, gently and then not."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)

    def _answers(self, ready: str) -> bool:
        if self._process.poll() is not None:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"it ended with {self._process.returncode}:\n{said}")
        with urllib.request.urlopen(self.url + ready, timeout=5) as answer:
            return bool(answer.status == 200)


def alertmanager(folder: Path, webhook: str) -> Program:
    """Alertmanager as deployed, but that it waits for nothing and tells `webhook`."""
    text = (DEPLOY / "alertmanager/alertmanager.yml").read_text()
    text = re.sub(r"group_(wait|interval): \w+", r"group_\1: 1s", text)
    hook = f"  - name: on-call\n    webhook_configs: [{{url: '{webhook}', send_resolved: true}}]\n"
    text = text.replace("  - name: on-call\n", hook)
    (folder / "alertmanager.yml").write_text(text)
    port = free_port()
    command = [
        program("prometheus-alertmanager", "alertmanager"),
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    return Program(command, f"http://127.0.0.1:{port}", "/-/ready", folder / "alertmanager.log")


def prometheus(folder: Path, service: str, alerts: str, token: str) -> Program:
    """Prometheus as deployed, with the same rules, but in a hurry: each second, with no `for`."""
    rules = (DEPLOY / "prometheus/rules.yml").read_text()
    rules = re.sub(r"(?m)^(\s+)(keep_firing_)?for: \w+$", r"\1\2for: 1s", rules)
    rules = re.sub(r"\[(5m|10m)\]", "[15s]", rules)
    (folder / "rules.yml").write_text(rules)
    (folder / "token").write_text(token)
    text = (DEPLOY / "prometheus/prometheus.yml").read_text()
    for old, new in {
        "_interval: 15s": "_interval: 1s",
        "alertmanager:9093": alerts.removeprefix("http://"),
        "driftline:8000": service.removeprefix("http://"),
        "/run/secrets/driftline_token": str(folder / "token"),
    }.items():
        text = text.replace(old, new)
    (folder / "prometheus.yml").write_text(text)
    port = free_port()
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    return Program(command, f"http://127.0.0.1:{port}", "/-/ready", folder / "prometheus.log")


def service(folder: Path, package: Path, alerts: str, webhook: str, token: str) -> Program:
    """``driftline serve`` with two workers and buckets of two seconds."""
    (folder / "alerts.toml").write_text(
        'quiet = "3s"\ngroup = "1s"\n'
        f'[[sinks]]\nname = "alertmanager"\nkind = "alertmanager"\nurl = "{alerts}"\n'
        f'[[sinks]]\nname = "hook"\nkind = "cloudevents"\nurl = "{webhook}"\n'
        'secret_env = "HOOK_SECRET"\n'
    )
    port = free_port()
    options = {
        "--port": str(port),
        "--state": str(folder / "state.db"),
        "--bucket": "2s",
        "--alerts": str(folder / "alerts.toml"),
        "--predictor": "examples.ops.package:load",
    }
    words = [word for option in options.items() for word in option]
    command = [sys.executable, "-m", "driftline.serving.cli", "serve", str(package), *words]
    return Program(
        command,
        f"http://127.0.0.1:{port}",
        "/readyz",
        folder / "service.log",
        DRIFTLINE_TOKEN=token,
        HOOK_SECRET="demo",
        OMP_NUM_THREADS="1",
        PYTHONPATH=str(DEPLOY.parent),
    )


def listed(url: str) -> list[dict[str, Any]]:
    """What amtool lists at an Alertmanager: the alerts that fire, inhibited ones too."""
    wanted = ["--active", "--inhibited", f"--alertmanager.url={url}", "-o", "json"]
    command = [program("amtool"), "alert", "query", *wanted]
    done = subprocess.run(command, capture_output=True, check=True, timeout=30)
    found: list[dict[str, Any]] = json.loads(done.stdout or b"[]") or []
    return found


def firing(url: str) -> set[str]:
    """The names of the alerts that fire in a Prometheus."""
    told = fetched(url + "/api/v1/alerts")
    return {
        each["labels"]["alertname"] for each in told["data"]["alerts"] if each["state"] == "firing"
    }
