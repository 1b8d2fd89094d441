"""Old workers answer until new ones have loaded their model, and stay where those never do."""

from __future__ import annotations

import os
import shutil
import signal
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import served
from weather import Load

from driftline.serving.handover import Handover

pytestmark = pytest.mark.slow

LOADING = 4.0


class Reloading:
    """A server of version 1 and the version 2 that it is asked to take in, held back at first."""

    def __init__(self, serve, folder: Path, workers: int) -> None:
        where = served.package(folder / "package").path
        words = ("--workers", str(workers), "--predictor", "held:load")
        self.server = serve(*words, where=where, HELD=str(folder))
        self.old = set(self.server.workers())
        self.gate, self.broken = folder / "2.held", folder / "2.broken"
        self.gate.touch()
        served.put_second(where, folder)
        self._folder = folder

    def hang_up(self) -> set[int]:
        """Asks for the reload; the new workers, which load now."""
        self.server.process.send_signal(signal.SIGHUP)
        return self.loading(len(self.old))

    def loading(self, count: int) -> set[int]:
        """The workers that load version 2, once there are so many."""

        def found() -> set[int]:
            return {int(each.suffix[1:]) for each in self._folder.glob("2.loading.*")}

        served.until(lambda: len(found()) == count, 20)
        return found()

    def version(self) -> str:
        return self.server.predict([[0, 0, 0, 1]]).json()["model"]["version"]

    def said(self, words: str) -> int:
        return self.server.said().count(words)

    def only(self, count: int, but: set[int]) -> bool:
        now = set(self.server.workers())
        return len(now) == count and not now & but


@pytest.fixture
def reloading(serve, tmp_path):
    return lambda workers: Reloading(serve, tmp_path, workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_request_waits_for_a_model_that_loads(reloading, workers):
    """Under load: while the new workers load, version 1 answers; then 2 does, the old ones end."""
    it = reloading(workers)
    load = Load(it.server.address, clients=4)
    try:
        served.until(lambda: load.answered > 50)
        it.hang_up()
        began, before = time.monotonic(), load.answered
        while time.monotonic() < began + LOADING:
            assert it.version() == "1"
        assert it.old < set(it.server.workers())
        served.until(lambda: load.answered > before + 100)
        it.gate.unlink()
        served.until(lambda: it.only(workers, it.old))
        assert it.version() == "2"
        before = load.answered
        served.until(lambda: load.answered > before + 50)
    finally:
        load.stop()
    print(f"\n{load.answered} answered, the slowest in {load.slowest:.2f} s")
    assert (load.wrong, load.cut) == ([], 0)
    assert load.slowest < LOADING / 2
    served.until(lambda: it.server.get("/readyz").json()["model"]["version"] == "2")


def test_where_the_new_model_does_not_load_the_old_one_is_served_on_and_the_log_says_why(reloading):
    """And a later reload, of a model that loads, is as if the first had never been."""
    it = reloading(2)
    it.broken.touch()
    it.gate.unlink()
    it.server.process.send_signal(signal.SIGHUP)
    served.until(lambda: it.said("not reloaded, the package before is served on: a new worker"), 20)
    assert it.said("cannot start: held back for good")
    served.until(lambda: set(it.server.workers()) == it.old, 20)
    assert it.version() == "1"
    assert not it.said("reloaded: new workers answer")
    it.broken.unlink()
    it.server.process.send_signal(signal.SIGHUP)
    served.until(lambda: it.only(2, it.old))
    assert it.version() == "2"


def test_a_new_worker_that_is_killed_ends_the_reload_and_no_old_worker(reloading):
    it = reloading(2)
    os.kill(min(it.hang_up()), signal.SIGKILL)
    served.until(lambda: it.said("ended before it was ready"), 20)
    served.until(lambda: set(it.server.workers()) == it.old, 20)
    assert it.version() == "1"


def test_an_old_worker_that_is_killed_does_not_end_the_reload(reloading):
    it = reloading(2)
    new = it.hang_up()
    os.kill(min(it.old), signal.SIGKILL)
    served.until(lambda: len(it.server.workers()) == 3, 20)
    assert it.version() == "1"
    it.gate.unlink()
    served.until(lambda: set(it.server.workers()) == new)
    assert it.version() == "2"


def test_a_second_reload_follows_the_first(reloading):
    """Three models are never in memory at once."""
    it = reloading(1)
    it.hang_up()
    for _ in range(2):
        it.server.process.send_signal(signal.SIGHUP)
    served.until(lambda: it.said("a reload is under way; another one follows it"), 20)
    assert len(it.server.workers()) == 2
    it.gate.unlink()
    served.until(lambda: it.said("reloaded: new workers answer") == 2)
    served.until(lambda: it.only(1, it.old))
    assert it.said('"reloading: ') == 2
    assert it.version() == "2"


def test_the_number_of_workers_may_be_changed_meanwhile(reloading):
    it = reloading(1)
    it.hang_up()
    it.server.process.send_signal(signal.SIGTTIN)
    it.loading(2)
    assert len(it.server.workers()) == 3
    assert it.version() == "1"
    it.gate.unlink()
    served.until(lambda: it.only(2, it.old))
    it.server.process.send_signal(signal.SIGTTOU)
    served.until(lambda: it.only(1, it.old))
    assert it.version() == "2"


def test_the_end_of_the_service_waits_for_no_model_that_loads(reloading):
    it = reloading(1)
    it.hang_up()
    began = time.monotonic()
    assert it.server.stop() == 0
    assert not it.said("served on")
    assert time.monotonic() - began < 15


def test_a_new_worker_that_hangs_is_named_with_the_time_it_had():
    """As gunicorn ends it: `murder_workers` marks it before."""
    arbiter, kept = Handover.__new__(Handover), []
    arbiter.WORKERS, arbiter.timeout = {}, 180
    arbiter.app = SimpleNamespace(kept=kept.append)
    arbiter._last = 1
    arbiter.ended(SimpleNamespace(pid=7, age=2, ready=b"\0", aborted=True))
    assert kept == ["a new worker (pid 7) was not ready within 180 s"]
    assert arbiter._last is None


def test_a_worker_says_when_it_is_ready(serve, package):
    server = serve("--workers", "2")

    def ready() -> list[str]:
        return [each for line in server.lines() if (each := line["message"]).startswith("ready: ")]

    served.until(lambda: len(ready()) == 2)
    words = f"ready: toy 1, {package.digest[:12]}, loaded in "
    assert all(each.startswith(words) for each in ready())


def test_while_the_package_is_gone_a_worker_is_tried_again_less_and_less_often(serve, tmp_path):
    where = served.package(tmp_path / "package").path
    server = serve("--workers", "2", where=where)
    served.until(lambda: server.said().count('"ready: ') == 2)
    shutil.move(where, tmp_path / "away")
    os.kill(server.workers()[0], signal.SIGKILL)

    def tries() -> list[float]:
        return [
            datetime.fromisoformat(line["time"]).timestamp()
            for line in server.lines()
            if line["message"].startswith("cannot start: ")
        ]

    times = served.until(lambda: len(found := tries()) == 3 and found)
    assert times[1] - times[0] >= 1.9
    assert times[2] - times[1] >= 3.9
    assert server.predict([[0, 0, 0, 1]]).status_code == 200
    shutil.move(tmp_path / "away", where)
    served.until(lambda: server.said().count('"ready: ') == 3)
