"""`Vector` and `Projection` against scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import mahalanobis

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Vector
from driftline.metadata.extract.projection import Projection, row_products

RANDOM = np.random.default_rng(0)
MIX = RANDOM.normal(size=(10, 10))
ROWS = RANDOM.normal(size=(1500, 10)) @ MIX
FRESH = RANDOM.normal(size=(200, 10)) @ MIX


def test_residual_is_that_of_sklearns_pca():
    decomposition = pytest.importorskip("sklearn.decomposition")
    projection = Projection.fitted(ROWS, rank=10)
    z = projection.standardised(ROWS)
    pca = decomposition.PCA(projection.main).fit(z)
    fresh = projection.standardised(FRESH)
    left = fresh - pca.inverse_transform(pca.transform(fresh))
    residual, _ = projection.distances(fresh)
    # The components are stored in single precision.
    np.testing.assert_allclose(residual, np.linalg.norm(left, axis=1), rtol=1e-5, atol=1e-6)


def test_main_components_explain_nine_tenths():
    projection = Projection.fitted(ROWS, rank=10)
    spread = np.frombuffer(projection.spread, "<f8") ** 2
    share = np.cumsum(spread) / spread.sum()
    assert share[projection.main - 1] >= 0.9 > share[projection.main - 2]


def test_full_rank_distance_is_scipys_mahalanobis():
    projection = Projection.fitted(ROWS, rank=10)
    z, fresh = projection.standardised(ROWS), projection.standardised(FRESH)
    inverse = np.linalg.inv(np.cov(z.T))
    center = z.mean(axis=0)
    expected = [mahalanobis(row, center, inverse) for row in fresh]
    np.testing.assert_allclose(projection.distances(fresh)[1], expected, rtol=1e-4)


def test_scales_do_not_matter():
    """Columns in other units give the same distances."""
    units = 10.0 ** np.arange(-5, 5)
    plain = Projection.fitted(ROWS, rank=4)
    other = Projection.fitted(ROWS * units, rank=4)
    for a, b in zip(
        plain.distances(plain.standardised(FRESH)),
        other.distances(other.standardised(FRESH * units)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_more_columns_than_rows_can_be_fitted():
    rows = RANDOM.normal(size=(20, 64))
    out = Vector(rank=16).fit(rows).extract(RANDOM.normal(size=(5, 64)))
    assert np.isfinite(out).all()


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((50, 4)),
        np.ones((50, 1)),
        np.repeat(RANDOM.normal(size=(50, 1)), 3, axis=1),
        np.where(RANDOM.random((50, 3)) < 0.9, 0.0, 1.0),
        RANDOM.standard_cauchy((50, 3)) * 1e150,
        np.sign(RANDOM.normal(size=(50, 3))) * 1e308,
    ],
    ids=["constant", "one", "collinear", "spike", "heavy", "huge"],
)
def test_degenerate_rows_give_a_usable_projection(rows: np.ndarray):
    out = Vector().fit(rows).extract(rows)
    assert np.isfinite(out).all()


def test_a_constraint_that_breaks_is_far_away():
    """Two equal columns leave a direction without variance; a small step along it is seen."""
    rows = np.repeat(RANDOM.normal(size=(500, 1)), 2, axis=1)
    extractor = Vector(rank=2).fit(rows)
    usual = extractor.extract(rows)[:, 2].max()
    assert extractor.extract(np.array([[0.0, 0.1]]))[0, 2] > 10 * usual


def test_norms_are_numpys_and_do_not_overflow():
    np.testing.assert_allclose(Vector().extract(ROWS)[:, 0], np.linalg.norm(ROWS, axis=1))
    large = Vector().extract(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    np.testing.assert_allclose(large[:, 0], [5e200, 5e-200, 0.0])


def test_projections_are_random_signs_of_unit_variance():
    extractor = Vector(projections=32).fit(RANDOM.normal(size=(2000, 50)))
    out = extractor.extract(RANDOM.normal(size=(2000, 50)))[:, 3:]
    np.testing.assert_allclose(out.std(axis=0), 1.0, atol=0.1)
    correlation = np.corrcoef(out.T) - np.eye(32)
    assert np.abs(correlation).mean() < 0.2
    other = Vector(projections=32, seed=1).fit(RANDOM.normal(size=(2000, 50)))
    assert not np.array_equal(np.sign(extractor._signs), np.sign(other._signs))


def test_a_turned_embedding_is_seen():
    extractor = Vector().fit(ROWS)
    turned = np.roll(FRESH, 3, axis=1)
    for column in (1, 2):
        a, b = extractor.extract(FRESH)[:, column], extractor.extract(turned)[:, column]
        assert stats.ks_2samp(a, b).pvalue < 1e-6


def test_row_products_are_those_of_blas():
    a, b = RANDOM.normal(size=(40, 300)), RANDOM.normal(size=(7, 300))
    np.testing.assert_allclose(row_products(a, b), a @ b.T, rtol=1e-10, atol=1e-12)


def test_another_size_is_refused():
    with pytest.raises(InputError, match="e: vectors of 10 values expected, got 9"):
        Vector().fit(ROWS).extract(ROWS[:, :9], field="e")
    with pytest.raises(InputError, match="rows: at least 8"):
        Vector().fit(ROWS[:7])
    with pytest.raises(InputError, match="rows: at least 8"):
        Vector().fit(np.full((100, 3), np.nan))


def test_damaged_arrays_are_refused_by_name():
    good = Projection.fitted(ROWS, rank=3)
    fields = {name: getattr(good, name) for name in good.__struct_fields__}
    bad = {
        "short": fields | {"components": good.components[:-4]},
        "odd": fields | {"center": good.center[:-1]},
        "nan": fields | {"center": b"\xff" * len(good.center)},
        "zero": fields | {"scale": bytes(len(good.scale))},
        "main": fields | {"main": 4},
        "empty": fields | {"spread": b"", "components": b""},
    }
    for changed in bad.values():
        with pytest.raises(SettingError) as caught:
            Projection(**changed)
        assert caught.value.field.startswith("projection")


@pytest.mark.parametrize(
    ("field", "settings"), [("projections", {"projections": 33}), ("rank", {"rank": 0})]
)
def test_impossible_settings_are_named(field: str, settings: dict):
    with pytest.raises(SettingError) as caught:
        Vector(**settings)
    assert caught.value.field == field
