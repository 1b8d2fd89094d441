"""Two ranks: both take part, one writes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trainings import HELD_OUT, NAMES, TRAIN, digits

from driftline.metadata.package import ModelPackage
from driftline.train_side import ranks
from driftline.train_side.ranks import OtherRankFailed, exchanged

PROGRAM = Path(__file__).parents[1] / "support" / "packaging_ranks.py"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where two ranks have packaged their trainings."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [
        str(Path(sys.executable).with_name("msrun")),
        "--worker_num=2",
        "--local_worker_num=2",
        f"--master_port={free_port()}",
        f"--log_dir={folder / 'logs'}",
        "--join=True",
        str(PROGRAM),
        str(folder),
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=280)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return folder


@pytest.fixture
def logs(folder):
    return [(folder / "logs" / f"worker_{rank}.log").read_text() for rank in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["halves", "whole"])
def test_the_package_tells_of_both_ranks_rows(folder, how):
    """A reference that both ranks read whole counts once, one that is shared out counts in sum."""
    metadata = ModelPackage.open(folder / how).metadata
    assert metadata.health.ranks == 2
    assert metadata.health.rows_seen == metadata.train_data_stats.rows == TRAIN
    images, labels, _, truth = digits()
    stats = metadata.train_data_stats
    assert stats.image_mean == pytest.approx([images.mean(dtype=np.float64)])
    shares = np.bincount(labels, minlength=10) / TRAIN
    assert list(stats.label_distribution.values()) == pytest.approx(shares.tolist())
    assert metadata.quality.rows == HELD_OUT
    assert [sum(row) for row in metadata.quality.confusion] == np.bincount(truth).tolist()
    assert metadata.class_names == NAMES
    column = next(each for each in metadata.reference.columns if each.name == "mean_0")
    assert column.count == HELD_OUT


@pytest.mark.slow
def test_an_error_on_one_rank_is_told_on_both_and_nobody_waits(folder, logs):
    for rank, log in enumerate(logs):
        assert f"rank {rank} has ended broken" in log
        assert log.count("no package will be written") == 1
    assert "OtherRankFailed: rank 1: " in logs[0]
    assert not (folder / "broken").exists()


def test_alone_there_is_nothing_to_exchange():
    assert ranks.rank_and_size() == (0, 1)
    assert exchanged(lambda: 7) == [7]


def test_alone_an_error_is_raised_as_it_is():
    with pytest.raises(KeyError):
        exchanged(lambda: {}["missing"])


@pytest.fixture
def other(monkeypatch):
    """A second rank that tells what the test says; remembers what it was told."""
    told = []

    def second(answer):
        monkeypatch.setattr(ranks, "rank_and_size", lambda: (0, 2))
        monkeypatch.setattr(
            ranks, "_gathered", lambda item, size: told.append(item) or [item, answer]
        )
        return told

    return second


def test_every_rank_gets_what_every_rank_gave(other):
    other("theirs")
    assert exchanged(lambda: "mine") == ["mine", "theirs"]


def test_an_error_here_is_told_there_before_it_is_raised(other):
    told = other("theirs")
    with pytest.raises(ZeroDivisionError):
        exchanged(lambda: 1 // 0)
    assert "ZeroDivisionError" in told[0].reason


def test_an_error_there_is_raised_here(other):
    other(ranks._Failure("ValueError: no"))
    with pytest.raises(OtherRankFailed, match="rank 1: ValueError: no"):
        exchanged(lambda: "mine")
