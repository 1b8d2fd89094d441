"""The reference pass: its samples, its merge across ranks, and what is concluded from it."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.train_side import Classification, Tabular, Vector
from driftline.train_side import reference_pass as module
from driftline.train_side.batches import Batch
from driftline.train_side.packaging import concluded
from driftline.train_side.reference_pass import ReferencePass, merged_passes

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 2))
LOGITS = RANDOM.normal(size=(400, 3)).astype(np.float32)
LABELS = LOGITS.argmax(axis=1)
TASK = Classification(("a", "b", "c"))


def passed(part=slice(None), rank=0, tasks=None, outputs=None):
    found = ReferencePass(
        {"x": Tabular(("p", "q"), joint=False)}, tasks or {"output": TASK}, rank=rank
    )
    x, logits, labels = X[part], LOGITS[part], LABELS[part]
    for at in range(0, len(x), 100):
        inside = slice(at, at + 100)
        given = {"output": logits[inside]} if outputs is None else outputs(logits[inside])
        found.add(("x",), Batch((x[inside],), labels[inside]), given)
    return found


def test_a_small_reference_is_kept_whole():
    found = passed()
    order = np.lexsort(found.input_sample.rows[:, :2].T)
    np.testing.assert_array_equal(found.input_sample.rows[order, :2], X[np.lexsort(X.T)])
    assert found.rows == found.scores.rows == 400


def test_outputs_and_labels_of_a_row_stay_together():
    found = passed()
    rows = found.output_sample.rows
    output, label = found.places["output"].of(rows), found.label.of(rows)
    assert (output.dtype, output.shape, label.dtype) == (np.float32, (400, 3), LABELS.dtype)
    np.testing.assert_array_equal(output.argmax(axis=1), label)


def test_ranks_with_rows_of_their_own_are_merged():
    shares = [passed(slice(0, 200)), passed(slice(200, 400), rank=1)]
    merged = merged_passes(shares)
    assert merged.rows == merged.scores.rows == 400
    assert len(merged.input_sample.rows) == len(merged.output_sample.rows) == 400


def test_ranks_that_read_the_same_rows_count_once():
    merged = merged_passes([passed(), passed(rank=1), passed(rank=2)])
    assert (merged.rows, len(merged.input_sample.rows)) == (400, 400)


def test_wide_outputs_are_kept_in_fewer_rows(monkeypatch):
    monkeypatch.setattr(module, "MOST_VALUES", 4 * 150)
    found = passed()
    assert len(found.output_sample.rows) == 150
    assert found.scores.rows == 400


def test_an_output_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(InputError, match="task: 'output' is none of the outputs logits, pooled"):
        passed(outputs=lambda rows: {"logits": rows, "pooled": rows})


def test_an_output_that_lost_the_batch_is_told():
    with pytest.raises(InputError, match=r"100 rows went in, an output of shape \[3\] came out"):
        passed(outputs=lambda rows: {"output": rows[0]})


def test_signals_of_one_name_in_two_groups_are_told_apart():
    found = ReferencePass({"x": Vector()}, {"output": TASK, "embedding": Vector()})
    for at in range(0, 400, 100):
        inside = slice(at, at + 100)
        outputs = {"output": LOGITS[inside], "embedding": LOGITS[inside]}
        found.add(("x",), Batch((X[inside],), LABELS[inside]), outputs)
    reference = concluded(found, source="held_out", seed=0).reference
    names = [each.name for each in reference.signals]
    assert {"input.norm", "embedding.norm"} <= set(names)
    assert len(set(names)) == len(names)
    assert {each.signal.column for each in reference.signals if each.name.endswith("norm")} == {
        "norm"
    }


def test_the_conclusion_does_not_depend_on_how_batches_were_cut():
    whole = ReferencePass({"x": Tabular(("p", "q"), joint=False)}, {"output": TASK})
    whole.add(("x",), Batch((X,), LABELS), {"output": LOGITS})
    found = concluded(whole, source="held_out", seed=0)
    wanted = concluded(passed(), source="held_out", seed=0)
    assert found.reference == wanted.reference
    assert found.quality == wanted.quality
