"""What is read off predictions for labels to be compared with, is what people were told of them."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest
from kinds import KINDS

from driftline.metadata.quality import Quality, UsualError
from driftline.serving.feedback.claims import Claims
from driftline.serving.hooks.columns import Columns
from driftline.serving.hooks.seen import Seen
from driftline.serving.model.answers import Answers

USUAL = Quality(rows=400, usual_error=UsualError(limit=1.0, within=360, rows=400))


def claims_of(kind: str) -> Claims:
    metadata = msgspec.structs.replace(KINDS[kind].metadata(), quality=USUAL)
    return Claims(metadata, Columns(metadata))


def seen(request_id: str, outputs) -> Seen:
    found = Seen(None)
    found.request_id, found.outputs = request_id, outputs
    return found


def unexpected(place: str, error: Exception) -> None:
    raise AssertionError(place) from error


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "targets"])
def test_each_row_claims_what_people_are_told_of_it(kind):
    """Of every kind; requests of one, two and three rows, by name and, where one is all, bare."""
    metadata = KINDS[kind].metadata()
    outputs = KINDS[kind].model({name: rows[:6] for name, rows in KINDS[kind].inputs.items()})
    told = Answers(metadata, Columns(metadata)).predictions(outputs)
    (name, *others) = outputs
    if len(told[0].keys() & outputs.keys()) > 1:
        told = [each[name] for each in told]
    (key,) = told[0].keys() & {"label", "labels", "value"}
    expected = [each[key] for each in told]
    parts = {"a": slice(0, 1), "b": slice(1, 3), "c": slice(3, 6)}
    cut = {each: {n: a[part] for n, a in outputs.items()} for each, part in parts.items()}
    claims = claims_of(kind)
    found = claims.read([seen(*each) for each in cut.items()], unexpected)
    assert found == {each: expected[part] for each, part in parts.items()}
    if not others:
        bare = [seen(each, arrays[name]) for each, arrays in cut.items()]
        assert claims.read(bare, unexpected) == found


def test_of_several_targets_nothing_is_claimed():
    """None of them alone is right or wrong."""
    claims = claims_of("targets")
    assert not claims.judged
    assert claims.read([seen("r", np.zeros((1, 2)))], unexpected) == {}


def test_only_requests_with_an_id_and_an_answer_claim_anything():
    requests = [seen("", np.zeros((1, 3))), seen("refused", None), seen("r", np.eye(3)[:1])]
    requests.append(seen("failed after it had an answer", np.eye(3)[:1]))
    requests[-1].failed = True
    assert claims_of("image").read(requests, unexpected) == {"r": ["a"]}


def test_a_row_without_its_axis_of_the_batch_claims_as_one_row():
    assert claims_of("image").read([seen("r", np.eye(3)[1])], unexpected) == {"r": ["b"]}
    assert claims_of("binary").read([seen("r", np.array([2.0, -2.0]))], unexpected) == {
        "r": ["yes", "no"]
    }
    assert claims_of("regression").read([seen("r", np.float64(3))], unexpected) == {"r": [3.0]}


def test_scores_that_are_no_numbers_claim_nothing_that_a_label_could_bear_out():
    claims = claims_of("image")
    found = claims.read([seen("r", np.array([[np.nan, 0, 0], [0, 1, 0]]))], unexpected)
    assert found == {"r": [None, "b"]}
    assert not claims.right(None, "a")


def test_one_answer_that_is_none_of_the_models_costs_no_other_its_label():
    """Of another type, of another width, and one that only shows when it is read."""
    caught = []
    requests = [
        seen("good", np.eye(3)[:1]),
        seen("words", np.array([["x", "y", "z"]])),
        seen("wide", np.zeros((1, 7))),
        seen("lost", {"stranger": np.zeros((1, 3))}),
        seen("object", np.array([[object(), 1, 2]])),
        seen("later", np.eye(3)[2:]),
    ]
    found = claims_of("image").read(requests, lambda place, error: caught.append(place))
    assert found == {"good": ["a"], "later": ["c"]}
    assert caught == ["claims"] * 4


def test_rows_and_values_that_do_not_tally_are_kept_apart():
    """Two values a row where one is foretold."""
    caught = []
    requests = [seen("two", np.zeros((1, 2))), seen("one", np.zeros((1, 1)))]
    found = claims_of("regression").read(requests, lambda place, error: caught.append(str(error)))
    assert found == {"one": [0.0]}
    assert caught == ["price: 2 values for 1 rows"]


def test_the_file_is_imported_by_itself():
    """The hooks import it, and it only their types; once it was a cycle."""
    words = [sys.executable, "-c", "import driftline.serving.feedback.claims"]
    assert subprocess.run(words, timeout=60).returncode == 0
