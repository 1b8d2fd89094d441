"""What every registered extractor promises; a new kind needs one line in `CASES`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftline.metadata.errors import InputError, MetadataError, SettingError, UnknownKind
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

NAMES = tuple("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class Case:
    """An extractor, the shape of one row it takes, and the type of its values."""

    extractor: object
    row: tuple[int, ...]
    dtype: str = "float64"
    low: int = 0
    high: int = 200

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        random = np.random.default_rng(seed)
        shape = (n, *self.row)
        if np.dtype(self.dtype).kind in "iu":
            return random.integers(self.low, self.high, size=shape).astype(self.dtype)
        return random.normal(size=shape).astype(self.dtype)

    def fitted(self):
        return self.extractor.fit(self.batch(200, seed=99))


class Shares(Case):
    """Rows of probabilities."""

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        rows = np.random.default_rng(seed).random((n, *self.row)) ** 3 + 1e-9
        return rows / rows.sum(axis=1, keepdims=True)


class Unit(Case):
    """Values between 0 and 1."""

    def batch(self, n: int, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).random((n, *self.row))


MIXED = (Number("x"), Number("y"), Number("z"), Category("c", ("red", "green")), Category("d"))

CASES: dict[str, Case] = {
    "image": Case(Image(), (3, 6, 5)),
    "image nhwc": Case(Image(layout="NHWC"), (6, 5, 3), "float32"),
    "image uint8": Case(Image(channels=1), (1, 4, 4), "uint8"),
    "image bounds": Case(Image(channels=2, low=(0.0, -1.0), high=2.5), (2, 1, 3)),
    "tabular": Case(Tabular(MIXED), (5,)),
    "tabular numbers": Case(Tabular(("a", "b")), (2,), "float32"),
    "tabular codes": Case(Tabular((Category("c", ("u", "v")),)), (1,), "int64", -1, 2),
    "tokens": Case(Tokens(vocabulary=150, pad_id=0, unk_id=1), (12,), "int32"),
    "tokens bare": Case(Tokens(buckets=0), (7,), "int64"),
    "vector": Case(Vector(), (24,), "float32"),
    "vector one": Case(Vector(projections=0, rank=1), (1,)),
    "classification": Case(Classification(NAMES[:3]), (3,), "float32"),
    "classification many": Case(Classification(NAMES, temperature=1.7), (26,)),
    "classification probabilities": Shares(
        Classification(NAMES[:4], head="probabilities", temperature=0.8), (4,)
    ),
    "classification sigmoid": Case(Classification(("no", "yes"), head="sigmoid"), (1,)),
    "classification sigmoid_probability": Unit(
        Classification(("no", "yes"), head="sigmoid_probability", temperature=2.0), (1,)
    ),
    "classification multilabel": Case(Classification(NAMES[:5], head="multilabel"), (5,)),
    "classification multilabel_probability": Unit(
        Classification(NAMES[:2], head="multilabel_probability"), (2,)
    ),
    "regression": Case(Regression(("price", "days")), (2,)),
    "regression one": Case(Regression(), (1,)),
}


@pytest.fixture(params=CASES, name="case")
def _case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(name="quiet", autouse=True)
def _quiet():
    """Every warning is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


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


def test_a_glance_is_the_first_columns(case: Case):
    fitted = case.fitted()
    rows = case.batch(7)
    glance, out = fitted.glance(rows), fitted.extract(rows)
    assert 1 <= fitted.glanced <= out.shape[1]
    assert glance.shape == (7, fitted.glanced)
    assert glance.tobytes() == np.ascontiguousarray(out[:, : fitted.glanced]).tobytes()


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


FITTED = {name: case.fitted() for name, case in CASES.items()}
FLOATS = [name for name, case in CASES.items() if np.dtype(case.dtype).kind == "f"]
HOSTILE = st.sampled_from(
    [np.nan, np.inf, -np.inf, 1e308, -1e308, 1.7e308, 5e-324, -5e-324, 0.0, -0.0, 1e-308, 1e16]
) | st.floats(allow_nan=True, allow_infinity=True, width=64)


@pytest.mark.parametrize("name", FLOATS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_hostile_floats_touch_only_their_own_row(name: str, data: st.DataObject):
    """No value of any size warns, fails, or changes another row's result."""
    case, fitted = CASES[name], FITTED[name]
    bad = data.draw(hnp.arrays(np.float64, (2, *case.row), elements=HOSTILE))
    good = case.batch(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = fitted.extract(np.concatenate([good.astype(np.float64), bad]))
        assert same(out[:3], fitted.extract(good.astype(np.float64)))
        assert same(out[3:], fitted.extract(bad))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_fitting_on_hostile_rows_leaves_settings_that_json_can_hold(name: str, value: float):
    case = CASES[name]
    rows = case.batch(200).astype(np.float64)
    rows[::10] = value
    try:
        fitted = case.extractor.fit(rows)
    except (InputError, SettingError):
        return
    text = json.dumps(EXTRACTORS.encode(fitted), allow_nan=False)
    assert EXTRACTORS.decode(json.loads(text), "extractor") == fitted
