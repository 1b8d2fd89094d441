"""Figures in sentences are to be read at a glance."""

from __future__ import annotations

import re

import numpy as np
import pytest
import synthetic

from driftline.drift import Ring, judge

REFERENCE = synthetic.reference(columns=2)


def told(shift: float, language: str) -> list[str]:
    """All sentences on 300 rows whose first column is shifted by so many σ."""
    random = np.random.default_rng(5)
    matrix = random.normal(size=(300, 3))
    matrix[:, 0] += shift
    matrix[:, 2] = random.integers(0, 4, 300)
    ring = Ring.of(60, {1_700_000_040: REFERENCE.layout.count("input", matrix)})
    verdict = judge(REFERENCE, ring, language=language)
    return [verdict.sentence, *(each.sentence for each in verdict.signals)]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("shift", [3.0, 400.0, 1e6])
def test_no_figure_is_written_with_an_exponent(shift: float, language: str) -> None:
    """Not where every value is out of range, nor where the shift is enormous."""
    for sentence in told(shift, language):
        assert not re.search(r"\d[eE][+-]?\d", sentence), sentence


def test_a_rate_of_all_is_a_hundred_per_cent() -> None:
    """A column that left its range altogether."""
    assert any("to 100 %" in each for each in told(400.0, "en"))
