"""The folder for files on their way into a package."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from driftline.train_side.scratch import scratch

KILLED = """
import os, signal, sys, time
from pathlib import Path
from driftline.train_side.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("written")
    os.kill(os.getpid(), signal.Signals[sys.argv[2]])
    time.sleep(30)
"""


def test_it_lies_beside_the_package_and_is_gone_afterwards(tmp_path):
    with scratch(tmp_path / "deep" / "package") as folder:
        assert folder.parent == tmp_path / "deep"
        (folder / "file").write_text("written")
    assert list((tmp_path / "deep").iterdir()) == []


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="inside"), scratch(tmp_path / "package"):
        raise ValueError("inside")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_leaves_nothing_and_ends_the_process_as_ever(tmp_path, name):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "package"), name]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == -signal.Signals[name]
    assert list(tmp_path.iterdir()) == []


def test_handlers_are_as_they_were_afterwards(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with scratch(tmp_path / "package"):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) is before
