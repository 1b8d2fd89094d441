"""Cells of a text file are what their fields say they are, as in the JSON of a request."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import served

from driftline.metadata.errors import InputError
from driftline.metadata.extract import EXTRACTORS, Category, Number, Tabular
from driftline.metadata.preprocess import PREPROCESSINGS, TablePreprocessing
from driftline.metadata.schema import Extraction, ModelMetadata, TensorSpec
from driftline.serving.hooks.columns import Columns
from driftline.serving.model.preprocessing import preprocessings
from driftline.serving.offline.recorded import read

# How each value stands in a CSV file.
NUMBERS = [(1, "1"), (2, "2"), (3, "3"), (2, "2.0"), (9, "9"), (None, "")]
WORDS = [("007", "007"), ("7", "7"), ("1e3", "1e3"), ("never", "never"), (None, "")]
MIXED = [("2", "2"), (1, "1"), (3, "3"), ("word", "word")]


def of(field: Category, *, declared: bool) -> ModelMetadata:
    """The toy package with `field` as its last column; with a preprocessing that takes rows."""
    fields = (*(Number(f"a{i}") for i in range(3)), field)
    plain = served.metadata()
    if declared:
        table = TablePreprocessing(fields, mean=(1.0, 1.0, 1.0, 0.0), std=(2.0, 2.0, 2.0, 1.0))
        return msgspec.structs.replace(plain, preprocessing={"x": PREPROCESSINGS.encode(table)})
    encoded = EXTRACTORS.encode(Tabular(fields, joint=False))
    columns = [
        msgspec.structs.replace(each, name=field.name) if each.name == "size" else each
        for each in plain.reference.columns
    ]
    signals = [
        msgspec.structs.replace(
            each, signal=msgspec.structs.replace(each.signal, column=field.name)
        )
        if each.signal.column == "size"
        else each
        for each in plain.reference.signals
    ]
    return msgspec.structs.replace(
        plain,
        extractions=(Extraction("input", "x", encoded), plain.extractions[1]),
        reference=msgspec.structs.replace(
            plain.reference, columns=tuple(columns), signals=tuple(signals)
        ),
    )


@pytest.mark.parametrize("declared", [False, True], ids=["described", "declared"])
@pytest.mark.parametrize(
    ("vocabulary", "cells"),
    [((1, 2, 3), NUMBERS), (("007", "7", "1e3"), WORDS), (("2", 1, 2), MIXED), ((), NUMBERS)],
    ids=["whole", "words", "mixed", "codes"],
)
def test_a_cell_has_the_code_that_json_would_have(
    vocabulary: tuple[str | int, ...],
    cells: list[tuple[object, str]],
    declared: bool,
    tmp_path: Path,
) -> None:
    metadata = of(Category("zip", vocabulary), declared=declared)
    lines = ["a0,a1,zip,a2,note", *(f"1,-2.5,{text},3,x" for _, text in cells)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    matrix = read(str(path), metadata).inputs["x"]
    asked = [{"a0": 1, "a1": -2.5, "a2": 3, "zip": value} for value, _ in cells]
    service = preprocessings(metadata, Columns(metadata))["x"]
    np.testing.assert_array_equal(matrix, service.batch(asked))


IMAGES = (TensorSpec("x", "float32", (None, 1, None, None)),)


@pytest.mark.parametrize("size", [(5, 12), (12, 12)])
def test_images_may_have_any_size_that_the_signature_leaves_open(
    size: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "images.npy"
    np.save(path, np.zeros((9, 1, *size), np.float32))
    recorded = read(str(path), served.metadata(inputs=IMAGES))
    assert recorded.inputs["x"].shape == (9, 1, *size)


def test_images_of_another_shape_than_the_signatures_are_refused_with_both(tmp_path: Path) -> None:
    path = tmp_path / "images.npy"
    np.save(path, np.zeros((1500, 1, 5, 12), np.float32))
    fixed = served.metadata(inputs=(TensorSpec("x", "float32", (None, 1, 12, 12)),))
    with pytest.raises(InputError) as refused:
        read(str(path), fixed)
    assert str(refused.value) == "x: shape [n, 1, 12, 12] expected, got [1500, 1, 5, 12]"


def test_arrays_are_brought_to_the_signatures_types_as_a_requests_are(tmp_path: Path) -> None:
    """A decimal as a 64-bit float is another value than the 32-bit one that the reference knows."""
    path = tmp_path / "rows.npy"
    np.save(path, np.full((9, 4), 0.1))
    assert read(str(path), served.metadata()).inputs["x"].dtype == np.float32


def test_a_column_that_a_declared_preprocessing_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a0,a1,zip\n1,2,3\n")
    with pytest.raises(InputError, match="a2"):
        read(str(path), of(Category("zip", (1, 2)), declared=True))
