"""Two packages side by side."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
import served
from click.testing import CliRunner

from driftline.metadata.reference import ColumnReference, SignalReference
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Categorical, Continuous, Signal
from driftline.serving.cli import cli
from driftline.serving.offline.comparison import _aligned, _recut, compared


def refitted(seed: int, rows: int = 4_991, shift: float = 0.0) -> ModelMetadata:
    """The toy's metadata with a reference of other rows."""
    plain = served.rows

    def other(count, _, columns=4, **more):
        return plain(count, seed, columns, shift)

    served.rows = other
    try:
        return served.metadata(reference_rows=rows)
    finally:
        served.rows = plain


def states(old: ModelMetadata, new: ModelMetadata) -> dict[str, str]:
    return {each.name: each.state for each in compared(old, new).signals}


def test_the_same_package_twice_is_alike_in_everything():
    found = compared(served.metadata(), served.metadata())
    assert found.fields == ()
    assert not found.differs
    assert {each.psi for each in found.signals} == {0.0}


def test_another_sample_of_the_same_population_is_alike():
    """Its cells lie elsewhere, and still nothing is called moved."""
    found = compared(refitted(1), refitted(2))
    assert {each.state for each in found.signals} == {"alike"}
    assert any(each.recut for each in found.signals)
    assert max(each.psi for each in found.signals) < 0.02


@pytest.mark.parametrize("shift", [0.5, -1.0])
def test_another_population_is_called_moved_and_by_how_much(shift):
    found = compared(refitted(1), refitted(2, shift=shift))
    assert found.differs
    a0 = next(each for each in found.signals if each.name == "a0")
    assert a0.state == "moved"
    assert a0.mean_shift_sd == pytest.approx(shift, abs=0.08)
    # PSI of two normal populations of unit spread is the square of the shift.
    assert a0.psi == pytest.approx(shift**2, rel=0.3)
    assert next(e for e in found.signals if e.name == "size").state == "alike"


def test_signals_that_are_new_or_gone_are_told():
    wide, narrow = served.metadata(columns=5), served.metadata(columns=4)
    assert states(narrow, wide)["a3"] == "new"
    assert states(wide, narrow)["a3"] == "gone"
    assert compared(narrow, wide).differs


def test_fields_are_told_with_both_values():
    old = served.metadata()
    model = msgspec.structs.replace(old.model, version="2", parameters=99)
    thresholds = msgspec.structs.replace(old.thresholds, latency_ms=50.0)
    new = msgspec.structs.replace(old, model=model, thresholds=thresholds, notes=("a note",))
    found = compared(old, new)
    told = {each.field: (each.old, each.new) for each in found.fields}
    assert told == {
        "model.version": ("1", "2"),
        "model.parameters": ("12", "99"),
        "thresholds.latency_ms": ("200", "50"),
        "notes": ("–", "a note"),
    }
    assert not found.differs  # the references are the same


def signal(partition, weights, labels=()) -> SignalReference:
    return SignalReference(Signal("s", "input", "s", partition), weights, 100, labels)


COLUMN = ColumnReference("s", "input", "number", 100, 0.0, 1.0, -3.0, 3.0)


def test_categories_are_compared_by_their_words_and_not_by_their_codes():
    old = signal(Categorical((0.0, 1.0)), (60.0, 30.0, 10.0), ("cat", "dog"))
    new = signal(Categorical((0.0, 1.0)), (30.0, 60.0, 10.0), ("dog", "cat"))
    then, now = _aligned(old, new, COLUMN)
    np.testing.assert_allclose(then, now)


def test_a_category_that_became_a_number_is_another_signal():
    old, new = signal(Categorical((0.0,)), (5.0, 5.0)), signal(Continuous((0.0,)), (5.0, 5.0))
    assert _aligned(old, new, COLUMN) is None


def test_shares_are_cut_anew_between_other_edges():
    shares = np.array([0.25, 0.25, 0.25, 0.25])
    found = _recut(shares, (-1.0, 0.0, 1.0), (-0.5, 0.5), COLUMN)
    np.testing.assert_allclose(found, [0.375, 0.25, 0.375])
    np.testing.assert_allclose(_recut(shares, (-1.0, 0.0, 1.0), (-9.0, 9.0), COLUMN), [0, 1, 0])
    np.testing.assert_allclose(_recut(np.ones(1), (), (0.0,), COLUMN), [0, 1])


# The command --------------------------------------------------------------------------------


def test_the_command_says_alike_or_different_by_its_exit_code(package, tmp_path):
    def run(*words):
        return CliRunner().invoke(cli, ["compare", str(package.path), *words])

    same = run(str(package.path))
    assert same.exit_code == 0, same.output
    assert "The metadata say the same." in same.output
    (tmp_path / "new").mkdir()
    moved = served.package(tmp_path / "new" / "package", columns=5)
    other = run(str(moved.path))
    assert other.exit_code == 1, other.output
    assert "a3" in other.output
    told = json.loads(run(str(moved.path), "--json").output)
    assert told["differs"] is True
    nothing = run(str(tmp_path / "none"))
    assert nothing.exit_code == 2
    assert "there is no such folder" in nothing.stderr
