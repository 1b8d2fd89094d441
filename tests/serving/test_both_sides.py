"""Training and serving preprocess by the same declaration, to the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import requests
import served

from driftline.metadata.package import ModelPackage
from driftline.serving.hooks.columns import Columns
from driftline.serving.model.intake import Intake
from driftline.serving.model.preprocessing import preprocessings


@pytest.mark.slow
def test_an_image_reaches_the_network_as_the_same_bits_on_both_sides(serve, tmp_path):
    pytest.importorskip("mindspore")
    program = str(Path(served.HERE) / "preprocessed.py")
    subprocess.run([sys.executable, program, str(tmp_path)], check=True, timeout=240)
    with np.load(tmp_path / "training.npz") as arrays:
        seen, logits = arrays["seen"], arrays["logits"].astype(np.float64)
    metadata = ModelPackage.open(tmp_path / "package").metadata
    assert metadata.preprocessing["image"]["kind"] == "image"
    declared = preprocessings(metadata, Columns(metadata))
    intake = Intake(metadata, declared, most=9, most_pixels=10_000)
    images = [(tmp_path / f"{index}.png").read_bytes() for index in range(5)]
    for index, body in enumerate(images):
        there = intake.image(body)["image"][0]
        assert there.tobytes() == seen[index].tobytes()
    server = serve(
        "--batch-sizes", "1", "--workers", "1", "--predictor", "", where=tmp_path / "package"
    )
    temperature = metadata.extractions[-1].extractor["temperature"]
    powers = np.exp((logits - logits.max(1, keepdims=True)) / temperature)
    for index, body in enumerate(images):
        headers = {"Content-Type": "image/png"}
        answer = requests.post(server.address + "/predict", data=body, headers=headers, timeout=30)
        (told,) = answer.json()["predictions"]
        wanted = powers[index] / powers[index].sum()
        np.testing.assert_allclose(list(told["probabilities"].values()), wanted, atol=1e-6)
