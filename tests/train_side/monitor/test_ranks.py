"""Two ranks under msrun: one run, seen by both, written by the first."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from watched import Trained

SUPPORT = Path(__file__).parents[2] / "support"

pytestmark = pytest.mark.slow


@dataclass
class Ranks:
    folder: Path
    told: list[dict[str, Any]]

    def run(self, name: str, rank: int = 0) -> Trained:
        folder = self.folder / name
        return Trained([], [], {}, folder if rank == 0 else folder / "ranks" / str(rank))


@pytest.fixture(params=["graph", "pynative"], scope="module")
def ranks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PYTHONPATH": str(SUPPORT),
        "OMP_NUM_THREADS": "1",
        "PATH": path,
    }
    command = [
        "msrun",
        "--worker_num=2",
        "--local_worker_num=2",
        f"--master_port={port}",
        f"--log_dir={folder / 'log'}",
        "--join=True",
        str(SUPPORT / "two_ranks.py"),
        request.param,
        str(folder),
    ]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=250
    )
    logs = "\n".join(path.read_text()[-2000:] for path in (folder / "log").glob("worker*.log"))
    assert done.returncode == 0, done.stdout + logs
    return Ranks(folder, [json.loads((folder / f"rank{each}.json").read_text()) for each in (0, 1)])


def test_losses_and_weights_are_the_same_on_each_rank(ranks: Ranks) -> None:
    for told in ranks.told:
        assert told["watched"]["losses"] == told["alone"]["losses"]
        assert told["watched"]["weights"] == told["alone"]["weights"]
    assert ranks.told[0]["watched"]["weights"] == ranks.told[1]["watched"]["weights"]


def test_rows_of_both_are_counted(ranks: Ranks) -> None:
    assert [told["watched"]["rows"] for told in ranks.told] == [1280, 1280]
    assert ranks.told[0]["watched"]["ranks"] == 2


def test_each_rank_has_a_journal_and_the_first_the_report(ranks: Ranks) -> None:
    for rank, told in enumerate(ranks.told):
        series = ranks.run("watched", rank).series("loss")
        assert series == pytest.approx(dict(enumerate(told["watched"]["losses"], 1)), rel=1e-6)
    first = ranks.folder / "watched"
    report = (first / "training_report.md").read_text()
    assert "| ranks | 2 |" in report
    assert "Rank 1 has written up to step 40" in report
    assert not (first / "ranks" / "1" / "training_report.md").exists()


def test_gradients_are_those_averaged_over_the_ranks(ranks: Ranks) -> None:
    norms = [ranks.run("watched", rank).series("grad_norm") for rank in (0, 1)]
    assert list(norms[0]) == list(norms[1])
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)


def test_a_fault_of_one_rank_is_told_by_the_first_and_stops_both(ranks: Ranks) -> None:
    assert any("rank 1: The loss" in each for each in ranks.told[0]["nan"]["events"])
    steps = [len(told["nan"]["losses"]) for told in ranks.told]
    assert steps[0] == steps[1] < 40
    assert math.isnan(ranks.told[1]["nan"]["losses"][2])
    assert ranks.run("nan").notices()[-1].sentence == "The training has stopped."
