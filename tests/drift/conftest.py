"""References and streams that several tests of this room share, all seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from driftline.drift import Ring
from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Column, Floats

START = 1_700_000_040


def fitted(rows: Floats, kinds: Sequence[str] | None = None, seed: int = 0) -> Reference:
    """A reference of one input group with columns x0, x1, …"""
    kinds = kinds or ["number"] * rows.shape[1]
    sample = RowSample(rows.shape[1], seed=seed)
    sample.add(rows)
    columns = [Column(f"x{index}", kind) for index, kind in enumerate(kinds)]
    return fit_reference({"input": sample}, {"input": columns}, source="held_out", seed=seed)


def ring_of(reference: Reference, batches: Sequence[Floats], width: int = 60) -> Ring:
    """One bucket for each batch of rows."""
    layout = reference.layout
    counted = {START + width * at: layout.count("input", rows) for at, rows in enumerate(batches)}
    return Ring.of(width, counted)


@pytest.fixture(scope="session")
def fit() -> Callable[..., Reference]:
    return fitted


@pytest.fixture(scope="session")
def ring() -> Callable[..., Ring]:
    return ring_of


@pytest.fixture(scope="session")
def normal() -> Reference:
    """Four standard normal columns, 4,991 rows."""
    return fitted(np.random.default_rng(1).normal(size=(4991, 4)))
