"""A training against driftline's own board: what one side writes the other one shows."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from watched import Trained, train, until

from driftline.train_side.settings import MonitorSettings, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("graph")]

TOKEN = "a-token-of-the-test"


@pytest.fixture
def board(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("driftline")),
        *("board", "--port", str(port), "--state", str(tmp_path / "board.db")),
    ]
    process = subprocess.Popen(command, env=os.environ | {"DRIFTLINE_TOKEN": TOKEN})
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            get(url, "runs")
        except OSError:
            return False
        return True

    try:
        until(answers, 60)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def get(url: str, path: str) -> Any:
    request = urllib.request.Request(f"{url}/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        body = answer.read()
    return (
        json.loads(body) if answer.headers["Content-Type"].startswith("application/json") else body
    )


def test_the_board_shows_the_run(
    board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIFTLINE_TOKEN", TOKEN)
    settings = MonitorSettings(run="digits", sampling=Sampling(every=1, deep_every=4))
    trained: Trained = train(tmp_path / "run", board=board, settings=settings)
    told = get(board, "runs/digits")
    assert told["last_step"] == 20
    assert told["latest"]["loss"]["value"] == pytest.approx(trained.losses[-1], rel=1e-6)
    assert told["events"][-1]["sentence"] == "The training has finished."
    points = get(board, "runs/digits/points?name=loss")
    values = points["series"]["loss"]["values"]
    assert [each for each in values if each is not None] == pytest.approx(trained.losses, rel=1e-6)
    norms = get(board, "runs/digits/points?prefix=grad_norm/")
    assert "grad_norm/0.weight" in norms["series"]
    report = get(board, "runs/digits/report")
    assert b"# Training report: digits" in report
