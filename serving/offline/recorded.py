"""Recorded traffic from a file: what went into the model, when, and what came out of it."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Category, Number, Tabular
from driftline.metadata.preprocess import TablePreprocessing
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Floats

from ..hooks.columns import Columns
from ..model.preprocessing import preprocessings
from ..model.signature import checked

Arrays = dict[str, NDArray[Any]]
Row = dict[str, Any]
Field = Number | Category


@dataclass(frozen=True, eq=False, slots=True)
class Recorded:
    """Rows in the order of the file; `times` are Unix seconds, None where the file has none."""

    inputs: Arrays
    outputs: Arrays | None
    times: Floats | None

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))


def read(path: str, metadata: ModelMetadata, time_column: str | None = None) -> Recorded:
    """The traffic in an ``.npz``, ``.npy``, ``.csv`` or ``.parquet`` file.

    Arrays are held against the signature and brought to its types, as a request's are.

    - npz: arrays by the names of inputs, and of outputs where they were recorded; all of one
      length. A model with one input may have it under ``inputs``, one output under ``outputs``.
    - npy: the batch of the only input.
    - csv, parquet: a table by column name, for a model that takes a table; in a csv a cell is a
      number or a word as its field's vocabulary has it, an empty one a missing value.

    `time_column` names the array or column with Unix seconds or ISO 8601 times.

    Raises:
        InputError: naming what is missing, of another length, shape or type, or no time.
        SettingError: the kind of file is not known, or what it takes is not installed.
    """
    kind = Path(path).suffix.lower()
    if kind in (".npz", ".npy"):
        return _arrays(path, kind, metadata, time_column)
    if kind == ".csv":
        rows = _csv(path)
    elif kind in (".parquet", ".pq"):
        rows = _parquet(path)
    else:
        raise SettingError("file", f"{path}: .npz, .npy, .csv or .parquet is wanted")
    if not rows:
        raise InputError("file", "has no row")
    times = None
    if time_column is not None:
        if time_column not in rows[0]:
            raise InputError(time_column, f"is no column; there are {', '.join(rows[0])}")
        times = _times([row.pop(time_column) for row in rows], time_column)
    return Recorded(_matrix(rows, metadata), None, times)


def _arrays(path: str, kind: str, metadata: ModelMetadata, time_column: str | None) -> Recorded:
    try:
        # Never pickled: a recording may come from anywhere.
        loaded = np.load(path, allow_pickle=False)
        found: Arrays = dict(loaded) if kind == ".npz" else {metadata.inputs[0].name: loaded}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError("file", f"{path} cannot be read: {error}") from None
    inputs = _named(found, [each.name for each in metadata.inputs], "inputs")
    missing = [each.name for each in metadata.inputs if each.name not in inputs]
    if missing:
        there = ", ".join(found) or "nothing"
        raise InputError(missing[0], f"is not in the file, which holds {there}")
    outputs = _named(found, [each.name for each in metadata.outputs], "outputs")
    whole = {each.name for each in metadata.outputs} <= outputs.keys()
    times = None
    if time_column is not None:
        if time_column not in found:
            raise InputError(time_column, f"is not in the file, which holds {', '.join(found)}")
        times = _times(found[time_column].tolist(), time_column)
    first = next(iter(inputs.values()))
    rows = len(first) if first.ndim else 0
    for name, array in {**inputs, **(outputs if whole else {})}.items():
        if not array.ndim or len(array) != rows or not rows:
            raise InputError(
                name, f"{rows} rows are wanted, at least one; its shape is {array.shape}"
            )
    only = metadata.inputs[0].name if len(metadata.inputs) == 1 else ""
    inputs = checked(inputs, metadata.inputs, rows, only)
    if times is not None and len(times) != rows:
        raise InputError(str(time_column), f"{rows} times are wanted, there are {len(times)}")
    return Recorded(inputs, outputs if whole else None, times)


def _named(found: Arrays, names: Sequence[str], alone: str) -> Arrays:
    if len(names) == 1 and names[0] not in found and alone in found:
        return {names[0]: found[alone]}
    return {name: found[name] for name in names if name in found}


def _csv(path: str) -> list[Row]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            rows: list[Row] = []
            for line in reader:
                if None in line or None in line.values():
                    raise InputError(f"line {reader.line_num}", "has another number of cells")
                rows.append(dict(line))
            return rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("file", f"{path} cannot be read: {error}") from None


def _parquet(path: str) -> list[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise SettingError("file", "Parquet takes pyarrow: pip install pyarrow") from None
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
        return rows
    except (OSError, ArrowException) as error:
        raise InputError("file", f"{path} cannot be read: {error}") from None


def _matrix(rows: list[Row], metadata: ModelMetadata) -> Arrays:
    """The only input as a matrix, made as the service makes it: by the preprocessing that was
    declared, else as the table that the input is described as. There cells that are no numbers
    where numbers belong are kept as such and counted."""
    if len(metadata.inputs) != 1:
        raise InputError("file", "a table is for models with one input; write an .npz")
    name, columns = metadata.inputs[0].name, Columns(metadata)
    for source, extractor in columns.part("input"):
        if source == name and isinstance(extractor, Tabular) and name not in metadata.preprocessing:
            return {name: extractor.encode(_chosen(rows, extractor.fields), strict=False)}
    found = preprocessings(metadata, columns).get(name)
    if found is None or found.form != "row":
        raise InputError("file", f"the model's input {name!r} is no table; write an .npz")
    if isinstance(found, TablePreprocessing):
        return {name: found.batch(_chosen(rows, found.fields))}
    plain = [{field: _value(cell, None) for field, cell in row.items()} for row in rows]
    return {name: found.batch(plain)}


def _chosen(rows: list[Row], fields: Sequence[Field]) -> list[Row]:
    """The fields of each row, as the values that they are."""
    for field in fields:
        if field.name not in rows[0]:
            there = ", ".join(rows[0])
            raise InputError(field.name, f"is no column of the file, which has {there}")
    return [{field.name: _value(row[field.name], field) for field in fields} for row in rows]


def _value(cell: Any, field: Field | None) -> Any:
    """The value that `cell` is a text of; of a category one of its vocabulary, if it can be."""
    if not isinstance(cell, str):
        return cell
    if not cell.strip():
        return None
    vocabulary = field.vocabulary if isinstance(field, Category) else ()
    if vocabulary and (cell in vocabulary or all(isinstance(word, str) for word in vocabulary)):
        return cell
    for number in (int, float):
        try:
            return number(cell)
        except ValueError:
            continue
    return cell


def _times(given: Sequence[Any], name: str) -> Floats:
    found = np.empty(len(given))
    for row, value in enumerate(given):
        try:
            found[row] = _seconds(value)
        except (TypeError, ValueError):
            shown = str(value)[:60]
            raise InputError(
                name, f"row {row + 1}: {shown!r} is neither Unix seconds nor ISO 8601"
            ) from None
    if not (np.isfinite(found).all() and (np.abs(found) < 1e11).all()):
        raise InputError(name, "times are Unix seconds; these look like milliseconds or less")
    return found


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        return float(value)
    except ValueError:
        found = datetime.fromisoformat(str(value).strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
