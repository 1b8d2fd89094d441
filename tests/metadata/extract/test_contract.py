"""What every registered extractor promises; a new kind needs one line in `CASES`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from extractor_cases import CASES, Case, same

from driftline.metadata.errors import InputError, MetadataError, UnknownKind
from driftline.metadata.extract import (
    EXTRACTORS,
    Category,
    Classification,
    Image,
    Number,
    Regression,
    Tabular,
    Tokens,
    Vector,
)
from driftline.metadata.extract.extractor import Glancing

GLANCING = [name for name, case in CASES.items() if isinstance(case.extractor, Glancing)]


@pytest.fixture(params=CASES, name="case")
def _case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(name="quiet", autouse=True)
def _quiet():
    """Every warning is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_every_registered_kind_has_a_case():
    covered = {EXTRACTORS.encode(case.extractor)["kind"] for case in CASES.values()}
    assert covered == set(EXTRACTORS.kinds())


def test_kinds_are_permanent():
    """They stand in packages that people have written."""
    kinds = ("classification", "image", "regression", "tabular", "tokens", "vector")
    assert EXTRACTORS.kinds() == kinds
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", kind) for kind in kinds)


def test_the_matrix_has_one_column_for_each_name(case: Case):
    fitted = case.fitted()
    columns = fitted.columns()
    out = fitted.extract(case.batch(7))
    assert out.shape == (7, len(columns))
    assert out.dtype == np.float64
    assert len({column.name for column in columns}) == len(columns) <= 200
    for index, column in enumerate(columns):
        values = out[:, index][np.isfinite(out[:, index])]
        if column.kind == "flag":
            assert set(values.tolist()) <= {0.0, 1.0}
        if column.kind == "category" and np.dtype(case.dtype).kind in "iu":
            assert (values == np.floor(values)).all()


@pytest.mark.parametrize("name", GLANCING)
def test_a_glance_is_the_first_columns(name: str):
    fitted, rows = CASES[name].fitted(), CASES[name].batch(7)
    glance, out = fitted.glance(rows), fitted.extract(rows)
    assert 1 <= fitted.glanced() <= out.shape[1]
    assert same(glance, np.ascontiguousarray(out[:, : fitted.glanced()]))


def test_settings_survive_json_and_compute_the_same_bits(case: Case):
    fitted = case.fitted()
    text = json.dumps(EXTRACTORS.encode(fitted), allow_nan=False)
    again = EXTRACTORS.decode(json.loads(text), "extractor")
    assert again == fitted
    assert again.columns() == fitted.columns()
    batch = case.batch(50)
    assert same(again.extract(batch), fitted.extract(batch))


@pytest.mark.parametrize(
    "extractor",
    [
        Image(channels=np.int64(2), low=np.array([0.0, 0.5]), high=np.float32(1.5)),
        Tabular(np.array(["a", "b"])),
        Tabular([Category("c", np.array([3, 5]), unseen=np.int8(-2)), Number("n")]),
        Tokens(pad_id=np.int32(0), top=np.arange(3), vocabulary=np.uint16(9)),
        Vector(seed=np.int64(3)),
        Classification(np.arange(3), temperature=np.float64(1.5), shown=[0, 2]),
        Classification(np.array(["a", "b"]), threshold=np.float32(0.5)),
        Regression(["y"]),
    ],
    ids=repr,
)
def test_settings_may_be_what_numpy_computed(extractor: object):
    text = json.dumps(EXTRACTORS.encode(extractor), allow_nan=False)
    again = EXTRACTORS.decode(json.loads(text), "extractor")
    assert again == extractor
    assert hash(again) == hash(extractor)


def test_fitting_twice_on_the_same_rows_is_the_same(case: Case):
    assert case.fitted() == case.fitted()


def test_an_extractor_cannot_be_changed(case: Case):
    name = type(case.extractor).__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(case.extractor, name, None)


def test_the_array_is_not_changed(case: Case):
    batch = case.batch(9)
    before = batch.copy()
    case.fitted().extract(batch)
    assert same(batch, before)


def test_an_empty_batch_has_no_row(case: Case):
    fitted = case.fitted()
    assert fitted.extract(case.batch(0)).shape == (0, len(fitted.columns()))


def test_a_batch_is_its_rows_one_after_another(case: Case):
    """To the last bit: how traffic is cut into batches changes no cell."""
    fitted = case.fitted()
    batch = case.batch(67)
    whole = fitted.extract(batch)
    for cut in (1, 2, 33):
        parts = [fitted.extract(batch[i : i + cut]) for i in range(0, len(batch), cut)]
        assert same(np.concatenate(parts), whole)


def test_memory_order_does_not_matter(case: Case):
    fitted = case.fitted()
    batch = case.batch(20)
    for other in (np.asfortranarray(batch), np.repeat(batch, 2, axis=0)[::2]):
        assert same(fitted.extract(other), fitted.extract(batch))


@pytest.mark.parametrize("wrap", [lambda a: a[None], lambda a: a.reshape(-1)[0]])
def test_a_wrong_rank_is_refused_by_name(case: Case, wrap: Callable[[np.ndarray], np.ndarray]):
    with pytest.raises(InputError, match="expected") as caught:
        case.fitted().extract(np.asarray(wrap(case.batch(3))), field="inputs.x")
    assert caught.value.field == "inputs.x"


def test_a_wrong_width_is_refused_by_name(case: Case):
    if isinstance(case.extractor, Tokens):
        pytest.skip("sequences may be of any length")
    batch = case.batch(3)
    axis = 3 if getattr(case.extractor, "layout", "") == "NHWC" else 1
    wrong = np.concatenate([batch, batch], axis=axis)
    with pytest.raises(InputError, match="expected") as caught:
        case.fitted().extract(wrong, field="x")
    assert caught.value.field == "x"


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([["a"]]),
        np.array([[object()]]),
        np.array([[1j]]),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        [[1.0]],
        None,
    ],
)
def test_what_is_no_array_of_numbers_is_refused(case: Case, wrong: object):
    with pytest.raises(InputError) as caught:
        case.fitted().extract(wrong, field="x")
    assert caught.value.field == "x"


def test_an_unknown_setting_is_refused_by_name(case: Case):
    raw = EXTRACTORS.encode(case.extractor) | {"surprise": 1}
    with pytest.raises(MetadataError) as caught:
        EXTRACTORS.decode(raw, "extractor")
    assert caught.value.field == "extractor.surprise"


@pytest.mark.parametrize("kind", EXTRACTORS.kinds())
def test_a_second_class_of_a_kind_is_refused(kind: str):
    holder = EXTRACTORS.get(kind)
    with pytest.raises(UnknownKind, match=holder.__qualname__):
        EXTRACTORS.register(type("Other", (), {"kind": kind}))
    assert EXTRACTORS.get(kind) is holder
