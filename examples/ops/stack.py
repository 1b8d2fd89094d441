"""The service with all its neighbours, and the traffic it gets; ends everything it began."""

from __future__ import annotations

import json
import secrets
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driftline.metadata.package import ModelPackage

from . import programs
from .package import Rows
from .receiver import Receiver

BATCH = 20


class Stack:
    """Alertmanager, the service, Prometheus and a receiver of webhooks, all running.

    Args:
        folder: for their files; made if it is not there.
        package: what is served.
    """

    def __init__(self, folder: Path, package: ModelPackage) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Prometheus reads paths as beside its own settings.
        folder = folder.resolve()
        self._token = secrets.token_hex(16)
        self._sequence = 0
        with ExitStack() as ending:
            self.receiver = Receiver()
            ending.callback(self.receiver.close)
            hook = self.receiver.url
            self.alertmanager = programs.alertmanager(folder, hook + "/alertmanager")
            ending.callback(self.alertmanager.stop)
            self.service = programs.service(
                folder, package.path, self.alertmanager.url, hook + "/events", self._token
            )
            ending.callback(self.service.stop)
            self.prometheus = programs.prometheus(
                folder, self.service.url, self.alertmanager.url, self._token
            )
            ending.callback(self.prometheus.stop)
            self._ending = ending.pop_all()

    def __enter__(self) -> Stack:
        return self

    def __exit__(self, *problem: object) -> None:
        self._ending.close()

    def asked(self, path: str, body: Any = None) -> Any:
        """What the service answers."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.service.url + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def predict(self, rows: Rows) -> None:
        """Sends rows, twenty a request."""
        for start in range(0, len(rows), BATCH):
            self.asked("/predict", {"instances": rows[start : start + BATCH].tolist()})

    def train(self, gradient: float) -> None:
        """Pushes one point of a training."""
        self._sequence += 1
        values = {"loss": 0.7, "grad_norm": gradient, "samples_per_second": 900.0}
        point = {"step": self._sequence, "time": time.time(), "values": values}
        self.asked("/runs/night/points", {"sequence": self._sequence, "points": [point]})

    def listed(self) -> dict[str, dict[str, Any]]:
        """What amtool lists, by the alerts' names; those of driftline itself by the words
        "told by driftline" before them."""
        found = {}
        for each in programs.listed(self.alertmanager.url):
            ours = "alert_id" in each["annotations"]
            found[("told by driftline: " if ours else "") + each["labels"]["alertname"]] = each
        return found
