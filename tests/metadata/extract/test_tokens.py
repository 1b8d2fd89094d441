"""`Tokens` against a loop over ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Tokens
from driftline.metadata.extract.hashing import mixed


def named(extractor: Tokens, ids: np.ndarray) -> dict[str, np.ndarray]:
    out = extractor.extract(ids)
    return {column.name: out[:, i] for i, column in enumerate(extractor.columns())}


@given(st.lists(st.lists(st.integers(-2, 12), min_size=6, max_size=6), min_size=1, max_size=8))
def test_shares_are_those_of_a_loop(rows: list[list[int]]):
    extractor = Tokens(vocabulary=10, pad_id=0, unk_id=1, buckets=3, top=(2, 3, 11))
    found = named(extractor, np.array(rows))
    for i, row in enumerate(rows):
        real = [v for v in row if v != 0]
        assert found["length"][i] == len(real)
        assert found["padding_share"][i] == pytest.approx(1 - len(real) / 6)
        assert found["invalid_id"][i] == any(v < 0 or v >= 10 for v in real)
        if not real:
            assert np.isnan([found[n][i] for n in ("unknown_share", "token", "top_share")]).all()
            continue
        assert found["unknown_share"][i] == pytest.approx(real.count(1) / len(real))
        assert found["top_share"][i] == pytest.approx(
            sum(v in (2, 3, 11) for v in real) / len(real)
        )
        assert found["token"][i] in real
        buckets = [found[f"bucket_{b}"][i] for b in range(3)]
        assert sum(buckets) == pytest.approx(1.0)


def test_the_chosen_token_has_the_distribution_of_running_text():
    random = np.random.default_rng(0)
    law = np.array([0.4, 0.3, 0.2, 0.1])
    ids = random.choice(4, p=law, size=(20_000, 9))
    tokens = named(Tokens(buckets=0), ids)["token"]
    counts = np.bincount(tokens.astype(int), minlength=4)
    assert stats.chisquare(counts, law * len(ids)).pvalue > 1e-3


def test_padding_changes_nothing_but_its_own_share():
    """Neither its side nor how much of it there is."""
    random = np.random.default_rng(1)
    ids = random.integers(1, 50, size=(200, 7))
    zeros = np.zeros((200, 4), dtype=int)
    extractor = Tokens(pad_id=0)
    plain = named(extractor, ids)
    for padded in (np.hstack([ids, zeros]), np.hstack([zeros, ids])):
        found = named(extractor, padded)
        np.testing.assert_allclose(found.pop("padding_share"), 4 / 11)
        for name, values in found.items():
            np.testing.assert_array_equal(values, plain[name])


def test_fit_finds_the_most_frequent_ids():
    ids = np.repeat(np.arange(300), np.arange(300))[None, :]
    fitted = Tokens(pad_id=299).fit(ids)
    assert fitted.top == tuple(range(199, 299))


def test_the_hash_is_fixed_for_ever():
    """SplitMix64 seeded with 0: the published first outputs of the generator."""
    found = mixed(np.arange(3, dtype=np.uint64), 0)
    assert [hex(v) for v in found.tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_ids_that_are_not_integers_are_refused():
    with pytest.raises(InputError, match="integer ids expected, got values of type float64"):
        Tokens().extract(np.zeros((2, 3)))


def test_sequences_of_no_token_are_rows_all_the_same():
    found = named(Tokens(pad_id=0, unk_id=1), np.zeros((3, 0), dtype=int))
    assert found["length"].tolist() == [0, 0, 0]
    assert np.isnan(found["token"]).all()


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("vocabulary", {"vocabulary": 0}),
        ("buckets", {"buckets": 33}),
        ("top", {"top": (2, 1)}),
        ("top", {"top": tuple(range(101))}),
        ("pad_id", {"pad_id": 2**63}),
    ],
)
def test_impossible_settings_are_named(field: str, settings: dict):
    with pytest.raises(SettingError) as caught:
        Tokens(**settings)
    assert caught.value.field == field
