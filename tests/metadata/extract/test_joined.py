from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.metadata.extract import Image, Joined, Regression, Tabular


def test_several_parts_carry_their_names():
    joined = Joined({"photo": Image(channels=1), "facts": Tabular(("age",))})
    names = [column.name for column in joined.columns()]
    assert names == [
        "photo.mean_0",
        "photo.sd_0",
        "photo.saturated_0",
        "photo.sharpness",
        "facts.age",
        "facts.wrong_type",
    ]
    arrays = {"photo": np.ones((2, 1, 2, 2)), "facts": np.array([[3.0], [4.0]])}
    assert joined.extract(arrays)[:, 4].tolist() == [3.0, 4.0]


def test_the_only_part_keeps_its_names():
    joined = Joined({"y": Regression()})
    assert [column.name for column in joined.columns()] == ["prediction"]
    assert joined.extract({"y": np.array([1.0])}).tolist() == [[1.0]]


def test_what_does_not_fit_is_named():
    joined = Joined({"a": Tabular(("x",)), "b": Tabular(("x",))})
    with pytest.raises(InputError, match="b: is missing"):
        joined.extract({"a": np.ones((2, 1))})
    with pytest.raises(InputError, match="b: 2 rows expected, got 3"):
        joined.extract({"a": np.ones((2, 1)), "b": np.ones((3, 1))})
    with pytest.raises(InputError, match="b: 1 columns expected, got 4"):
        joined.extract({"a": np.ones((2, 1)), "b": np.ones((2, 4))})
