from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Regression


def test_each_target_is_its_value():
    out = Regression(("price", "days")).extract(np.array([[1, 2], [3, 4]], dtype=np.int32))
    assert out.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_one_target_may_come_without_an_axis():
    assert Regression().extract(np.array([1.5, np.nan])).tolist()[0] == [1.5]
    with pytest.raises(InputError, match="expected"):
        Regression(("a", "b")).extract(np.array([1.5]))


def test_the_result_is_a_copy():
    values = np.ones((2, 1))
    Regression().extract(values)[0] = 7.0
    assert values.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("targets", [(), ("a", "a"), ("",), ("a:missing",), ("x",) * 65])
def test_impossible_names_are_refused(targets: tuple[str, ...]):
    with pytest.raises(SettingError) as caught:
        Regression(targets)
    assert caught.value.field == "targets"
