"""`Tabular`: columns as they are, wrong types, joint behaviour."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from driftline.metadata.errors import InputError, MetadataError, SettingError
from driftline.metadata.extract import EXTRACTORS, Category, Number, Tabular

FIELDS = (Number("age"), Category("city", ("Bonn", "Oslo")), Number("income"))


def table(n: int, rho: float, seed: int) -> np.ndarray:
    """Two standard normal columns of correlation `rho`."""
    random = np.random.default_rng(seed)
    return random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n)


def test_columns_are_the_fields_and_their_types():
    extractor = Tabular(FIELDS)
    found = [(column.name, column.kind) for column in extractor.columns()]
    assert found == [
        ("age", "number"),
        ("city", "category"),
        ("income", "number"),
        ("wrong_type", "flag"),
    ]
    rows = np.array([[1, 0, 2], [np.nan, np.nan, np.nan], [1, 0.5, 2], [np.inf, 1, 2], [1, 9, 2]])
    out = extractor.extract(rows)
    np.testing.assert_array_equal(out[:, :3], rows)
    assert out[:, 3].tolist() == [0, 0, 1, 1, 0]


def test_a_broken_correlation_is_seen_though_no_column_changed():
    """Shuffling one column leaves both marginals exactly as they were."""
    extractor = Tabular(("a", "b")).fit(table(2000, 0.9, 0))
    names = [column.name for column in extractor.columns()]
    assert names[-2:] == ["joint_residual", "joint_distance"]
    fresh = table(2000, 0.9, 1)
    broken = fresh.copy()
    np.random.default_rng(2).shuffle(broken[:, 1])
    assert sorted(broken[:, 1]) == sorted(fresh[:, 1])
    good, bad = extractor.extract(fresh), extractor.extract(broken)
    for column in (0, 1):
        assert stats.ks_2samp(good[:, column], bad[:, column]).pvalue > 0.9
    for column in (3, 4):
        assert stats.ks_2samp(good[:, column], bad[:, column]).pvalue < 1e-30
        assert bad[:, column].mean() > 1.5 * good[:, column].mean()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_joint_columns_of_new_rows_keep_their_distribution(rho: float):
    """Fitted on rows of their own, they are quiet on two other samples of the same process."""
    extractor = Tabular(("a", "b")).fit(table(2000, rho, 0))
    first, second = (extractor.extract(table(5000, rho, seed)) for seed in (1, 2))
    for column in (3, 4):
        assert stats.ks_2samp(first[:, column], second[:, column]).pvalue > 1e-3


def test_a_heavy_tail_does_not_hide_the_others():
    """A Cauchy column has no variance; the correlation of the two beside it is seen still."""
    random = np.random.default_rng(3)
    rows = np.column_stack([table(3000, 0.95, 4), random.standard_cauchy(3000) * 1e3])
    extractor = Tabular(("a", "b", "c")).fit(rows)
    fresh = np.column_stack([table(3000, 0.95, 5), random.standard_cauchy(3000) * 1e3])
    broken = fresh.copy()
    random.shuffle(broken[:, 1])
    good, bad = extractor.extract(fresh)[:, -1], extractor.extract(broken)[:, -1]
    assert stats.ks_2samp(good, bad).pvalue < 1e-20


def test_a_missing_number_is_taken_at_its_centre():
    extractor = Tabular(("a", "b")).fit(table(1000, 0.8, 0))
    rows = np.array([[np.nan, 0.0], [np.nan, np.nan], [np.inf, 0.0], [0.0, 0.0]])
    joint = extractor.extract(rows)[:, 3:]
    assert np.isfinite(joint[[0, 2, 3]]).all()
    assert np.isnan(joint[1]).all()
    np.testing.assert_array_equal(joint[0], joint[2])


def test_joint_behaviour_takes_two_numbers_and_enough_rows():
    assert Tabular(FIELDS, joint=False).fit(np.zeros((50, 3))).projection is None
    assert Tabular(("a", Category("c"))).fit(np.zeros((50, 2))).projection is None
    assert Tabular(("a", "b")).fit(table(7, 0, 0)).projection is None
    assert Tabular(("a", "b")).fit(np.full((50, 2), np.nan)).projection is None
    assert Tabular(("a", "b")).fit(np.full((50, 2), 3.0)).projection is not None


def test_more_columns_than_components_are_still_told_apart():
    random = np.random.default_rng(6)
    base = random.normal(size=(1000, 60))
    names = tuple(f"x{i}" for i in range(60))
    extractor = Tabular(names).fit(base)
    assert extractor.projection is not None
    assert len(extractor.projection.spread) == 8 * 32
    assert extractor.extract(base[:3]).shape == (3, 63)


@pytest.mark.parametrize(
    "fields", [(), ("a", "a"), ("wrong_type",), ("joint_distance",), ("a:unseen",), ("",)]
)
def test_impossible_fields_are_refused(fields: tuple[str, ...]):
    with pytest.raises(SettingError) as caught:
        Tabular(fields)
    assert caught.value.field == "fields"


def test_a_projection_of_another_table_is_refused():
    fitted = Tabular(("a", "b")).fit(table(100, 0, 0))
    raw = EXTRACTORS.encode(fitted)
    raw["fields"] = raw["fields"][:1]
    with pytest.raises(MetadataError, match=r"inputs\[0\]\.projection: is of another number"):
        EXTRACTORS.decode(raw, "inputs[0]")


def test_a_wrong_width_names_both():
    with pytest.raises(InputError, match="x: 3 columns expected, got 2"):
        Tabular(FIELDS).extract(np.zeros((1, 2)), field="x")
