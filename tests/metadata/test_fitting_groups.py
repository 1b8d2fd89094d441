"""References of several groups, and what is true of every one."""

from __future__ import annotations

import numpy as np
from fits import fitted, names

from driftline.metadata.fitting import fit_reference
from driftline.metadata.sample import RowSample
from driftline.metadata.signals import Column

# Several groups


def test_a_name_that_two_groups_share_is_told_apart():
    random = np.random.default_rng(17)
    samples = {}
    for group in ("input", "embedding"):
        samples[group] = RowSample(2)
        samples[group].add(random.normal(size=(100, 2)))
    columns = {
        "input": [Column("norm", "number"), Column("age", "number")],
        "embedding": [Column("norm", "number"), Column("distance", "number")],
    }
    reference = fit_reference(samples, columns, source="held_out")
    found = [name for name in names(reference) if ":" not in name]
    assert found == ["input.norm", "age", "embedding.norm", "distance"]
    assert "embedding.norm:missing" in names(reference)
    counts = reference.layout.count("embedding", np.zeros((3, 2)))
    assert counts.of("embedding.norm").sum() == 3
    assert counts.of("input.norm").sum() == 0
    assert [(each.group, each.name) for each in reference.columns] == [
        ("input", "norm"),
        ("input", "age"),
        ("embedding", "norm"),
        ("embedding", "distance"),
    ]


def test_the_same_seed_gives_the_same_reference():
    values = np.random.default_rng(18).normal(size=500)
    assert fitted(values, seed=3)[0] == fitted(values, seed=3)[0]
    assert fitted(values, seed=3)[0] != fitted(values, seed=4)[0]


def test_cells_walks_signals_in_order():
    reference, values = fitted(np.random.default_rng(19).normal(size=200))
    counts = reference.layout.count("input", values[:, None])
    walked = list(reference.cells(counts))
    assert [each.name for each, _ in walked] == names(reference)
    assert walked[0][1].sum() == 200
