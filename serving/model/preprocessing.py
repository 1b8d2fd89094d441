"""The preprocessing of a package, rebuilt as training declared it."""

from __future__ import annotations

from driftline.metadata.errors import MetadataError
from driftline.metadata.extract import Tabular
from driftline.metadata.preprocess import PREPROCESSINGS, Preprocessing, TablePreprocessing
from driftline.metadata.schema import ModelMetadata

from ..hooks.columns import Columns


def preprocessings(metadata: ModelMetadata, columns: Columns) -> dict[str, Preprocessing]:
    """What turns raw data into each input, by the input's name.

    An input that is described as a table takes rows by column name also where no preprocessing is
    declared: order and vocabularies are the table's.

    Raises:
        MetadataError: one is of an unknown kind or does not fit, or is for no input.
    """
    names = [spec.name for spec in metadata.inputs]
    found: dict[str, Preprocessing] = {}
    for name, raw in metadata.preprocessing.items():
        if name not in names:
            raise MetadataError(f"preprocessing.{name}", f"is none of {', '.join(names)}")
        found[name] = PREPROCESSINGS.decode(raw, f"preprocessing.{name}")
    for source, part in columns.part("input"):
        if isinstance(part, Tabular):
            found.setdefault(source, TablePreprocessing(part.fields, dtype="float64"))
    return found
