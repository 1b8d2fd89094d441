"""`driftline inspect` tells what the package's monitor can see."""

from __future__ import annotations

import served

from driftline.drift.sensitivity import sensitivity
from driftline.metadata.schema import Sensitivity, SensitivityRow
from driftline.serving.commands.package import overview, seen


def test_each_signal_has_what_is_seen_within_so_many_requests():
    metadata = served.metadata(
        sensitivity=Sensitivity(
            seed=0,
            power=0.9,
            alpha=1e-5,
            streams=2_000,
            false_alarm_share=0.0,
            loose_level=0.01,
            loose_share=0.002,
            rows=(
                SensitivityRow("a0", {"100": 0.777, "1000": 0.25, "10000": 0.117}, {}),
                SensitivityRow("size", {}, {"100": None, "1000": 0.0931, "10000": 0.036}),
            ),
        )
    )
    lines = overview(metadata).splitlines()
    line = next(each for each in lines if each.startswith("a0 "))
    assert line.split()[-6:] == ["0.78", "σ", "0.25", "σ", "0.12", "σ"]
    line = next(each for each in lines if each.startswith("size "))
    assert line.split()[-5:] == ["-", "9.3", "%", "3.6", "%"]
    assert any("0.20% of 2,000 simulated streams where 1% is allowed" in each for each in lines)


def test_without_a_simulation_nothing_is_claimed():
    assert seen(None) == {}
    assert next(each for each in overview(served.metadata()).splitlines() if each[:3] == "a0 ")


def test_what_packaging_writes_can_be_read_here():
    found = sensitivity(served.metadata(columns=2, reference_rows=400).reference)
    assert all(len(each) == 3 for each in seen(found).values())
