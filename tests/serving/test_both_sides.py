"""What training and serving both do, they do alike: preprocessing to the bit, metrics by name."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import requests
import served
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from driftline.metadata.package import ModelPackage
from driftline.serving.hooks.columns import Columns
from driftline.serving.model.intake import Intake
from driftline.serving.model.preprocessing import preprocessings
from driftline.train_side.point import Notice, stamp
from driftline.train_side.sinks import Values
from driftline.train_side.sinks.prometheus import NAMED, Latest


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


def told(text: str) -> dict[str, tuple[str, str, tuple[str, ...], float]]:
    """Name of each family of a training → its type, words, labels, and value of the one sample."""
    return {
        family.name: (
            family.type,
            family.documentation,
            tuple(sorted(family.samples[0].labels)),
            family.samples[0].value,
        )
        for family in text_string_to_metric_families(text)
        if family.name.startswith("driftline_train_") and family.samples
    }


def test_a_training_is_told_alike_by_itself_and_by_a_service(client):
    """A query or a rule written for one endpoint reads the other too."""
    values = {name: float(at) for at, name in enumerate(NAMED, start=1)}
    event = {"step": 7, "time": time.time(), "rule": "r", "severity": "info", "sentence": "s"}
    point = {"step": 7, "time": time.time(), "values": values}
    body = {"sequence": 1, "points": [point], "events": [event]}
    assert client.post("/runs/one/points", json=body).status_code == 200
    service = told(client.get("/metrics").get_data(as_text=True))
    latest, registry = Latest("one"), CollectorRegistry()
    registry.register(latest)
    notice = Notice(time=stamp(1.0), step=7, rule="r", severity="info", sentence="s")
    latest.take([Values(7, 1.0, values)], [notice])
    training = told(generate_latest(registry).decode())
    del service["driftline_train_heard_timestamp_seconds"]  # it hears itself at all times
    assert {name: training.get(name) for name in service} == service
    own = {"param_norm", "update_ratio", "epoch", "rule_events"}
    assert set(training) - set(service) == {f"driftline_train_{name}" for name in own}
