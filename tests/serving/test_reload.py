"""A new package is taken in without dropping a request; a bad one is not taken in at all."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
import requests
import served

pytestmark = pytest.mark.slow


def version(server) -> str:
    return server.get("/readyz").json()["model"]["version"]


class Traffic:
    """Clients that send a row at a time, each on a connection of its own."""

    def __init__(self, address: str, clients: int = 3) -> None:
        self._address = address
        self._end = threading.Event()
        self.answers: list[tuple[int, str]] = []
        self.failures: list[Exception] = []
        self._threads = [threading.Thread(target=self._send, args=(n,)) for n in range(clients)]
        for each in self._threads:
            each.start()

    def _send(self, seed: int) -> None:
        body = {"instances": served.rows(1, seed).tolist()}
        while not self._end.is_set():
            try:
                answer = requests.post(self._address + "/predict", json=body, timeout=30)
                told = answer.json()
                self.answers.append((answer.status_code, told["model"]["version"]))
            except Exception as error:
                self.failures.append(error)

    def stop(self) -> None:
        self._end.set()
        for each in self._threads:
            each.join(30)


@pytest.fixture
def where(tmp_path) -> Path:
    (tmp_path / "mine").mkdir()
    return served.package(tmp_path / "mine" / "package").path


@pytest.mark.parametrize("how", ["signal", "route"])
def test_a_new_version_is_taken_in_without_dropping_a_request(serve, where, tmp_path, how):
    """Under load every request is answered, first by version 1, in the end by version 2."""
    server = serve(where=where)
    traffic = Traffic(server.address)
    try:
        served.until(lambda: len(traffic.answers) > 30, 30)
        served.put_second(where, tmp_path)
        if how == "signal":
            server.process.send_signal(signal.SIGHUP)
        else:
            assert requests.post(server.address + "/admin/reload", timeout=10).status_code == 202
        served.until(lambda: [each[1] for each in traffic.answers[-20:]] == ["2"] * 20, 60)
    finally:
        traffic.stop()
    assert traffic.failures == []
    assert {status for status, _ in traffic.answers} == {200}
    # Each version has counts of its own.
    second = sum(found == "2" for _, found in traffic.answers)
    served.until(lambda: server.drift()["window"]["requests_total"] == second, 20)


def test_a_damaged_package_is_not_taken_in(serve, where):
    """The log says why, and the version before answers on."""
    server = serve(where=where)
    model = where / "model.npy"
    model.write_bytes(model.read_bytes()[:-1])
    server.process.send_signal(signal.SIGHUP)
    served.until(lambda: "not reloaded, the package before is served on" in server.said(), 20)
    assert "model.npy: has" in server.said()
    body = {"instances": served.rows(1, 0).tolist()}
    assert requests.post(server.address + "/predict", json=body, timeout=10).status_code == 200
    assert version(server) == "1"


def test_an_application_of_another_server_cannot_reload(client):
    """Without our server there is nobody to ask."""
    answer = client.post("/admin/reload")
    assert answer.status_code == 409
    assert answer.get_json()["error"]["code"] == "no_server"


def reloaded(server, times: int) -> None:
    for count in range(1, times + 1):
        server.process.send_signal(signal.SIGHUP)
        served.until(lambda count=count: server.said().count('"reloading: ') == count, 20)


def test_a_served_folder_is_never_removed_however_it_was_written(serve, where):
    """Only what a .zip was unpacked to is: a reload that tidies up must not tidy up the package."""
    before = sorted(each.name for each in where.iterdir())
    server = serve("--workers", "1", where=f"{where}/")
    reloaded(server, 3)
    assert sorted(each.name for each in where.iterdir()) == before
    served.until(lambda: version(server) == "1", 20)


def test_reloads_of_a_zip_keep_two_unpacked_copies_and_the_end_none(serve, tmp_path):
    archive, place = tmp_path / "toy.zip", tmp_path / "temporary"
    served.package(archive)
    place.mkdir()
    server = serve("--workers", "1", where=archive, TMPDIR=str(place))
    reloaded(server, 4)
    assert len(list(place.glob("driftline-*"))) == 2
    assert server.stop() == 0
    assert list(place.glob("driftline-*")) == []
    assert archive.is_file()
