"""A service that cannot start says why and ends; what it can do without, it does without."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import served
from clients import send

pytestmark = pytest.mark.slow


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
    victim = server.workers()[0]
    os.kill(victim, signal.SIGKILL)
    served.until(lambda: len(set(server.workers()) - {victim}) == 2)
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
