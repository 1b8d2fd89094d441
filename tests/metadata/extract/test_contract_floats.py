"""What every extractor of numbers promises of hostile ones."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from extractor_cases import CASES, same
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import EXTRACTORS
from driftline.metadata.extract.extractor import Glancing

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
        if isinstance(fitted, Glancing):
            assert same(fitted.glance(bad), np.ascontiguousarray(out[3:, : fitted.glanced()]))


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
