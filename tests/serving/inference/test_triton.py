"""A client that nobody here wrote lists the model, reads its metadata and infers, in every form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import served

from driftline.metadata.package import ModelPackage


@pytest.mark.slow
def test_tritons_client_gets_what_mindspore_itself_answered(serve, tmp_path):
    pytest.importorskip("mindspore")
    program = str(Path(served.HERE) / "mindir.py")
    subprocess.run([sys.executable, program, str(tmp_path)], check=True, timeout=240)
    files = {"model": tmp_path / "toy.mindir"}
    made = ModelPackage.write(tmp_path / "package", served.metadata(), files)
    server = serve("--workers", "1", "--batch-sizes", "1,32", "--predictor", "", where=made.path)
    program = str(Path(served.HERE) / "v2_client.py")
    address = server.address.removeprefix("http://")
    words = [sys.executable, program, address, str(tmp_path / "expected.npz")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["live"] is told["ready"] is True
    assert told["server"] == "driftline"
    assert [each["name"] for each in told["listed"]] == ["toy"]
    assert told["metadata"]["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert len(told["furthest"]) == 6
    assert max(told["furthest"].values()) <= 1e-6, told["furthest"]
    assert told["several"] <= 1e-6
    assert told["errors"]["no model"][0] == "404"
    assert told["errors"]["no input"][0] == told["errors"]["shape"][0] == "400"
    assert "shape [n, 4] expected" in told["errors"]["shape"][1]
    served.until(lambda: server.drift()["window"]["requests_total"] == 6 + 64)
