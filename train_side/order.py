"""What a user asks a package for, and whether it can be had."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from driftline.drift.thresholds import alpha_of, check_thresholds
from driftline.metadata.errors import InputError, PackageError, SettingError
from driftline.metadata.package import METADATA
from driftline.metadata.preprocess import PREPROCESSINGS, Preprocessing
from driftline.metadata.registry import kind_of
from driftline.metadata.schema import ModelMetadata, Name
from driftline.metadata.thresholds import Thresholds

from .batches import batches, input_names
from .network import kept_random
from .parts import Chosen, checked, first_of, parts_of
from .statistics import DataStatistics

# What a service's buckets last, if nothing else is said; sensitivity is simulated for these.
BUCKET = 60


@dataclass(frozen=True)
class Order:
    """What the user asked for."""

    path: Path
    inputs: Chosen
    task: Chosen
    model_name: str
    model_version: str
    reference: Any
    thresholds: Thresholds | None
    preprocessing: Mapping[str, Preprocessing] | Preprocessing | None = None

    def check(self) -> None:
        """Finds out before a training what would keep it from being packaged.

        Raises:
            SettingError: names or extractors are not such.
        """
        for setting in ("model_name", "model_version"):
            try:
                convert(getattr(self, setting), Name)
            except ValidationError as error:
                raise SettingError(setting, str(error)) from None
        checked(self.inputs, "inputs")
        checked(self.task, "task")
        if self.thresholds is not None:
            # Which signals there are is only known at the end.
            check_thresholds(self.thresholds)
            alpha_of(self.thresholds, BUCKET)
        for each in self._preprocessings("").values():
            kind = kind_of(type(each))
            if kind is None or not callable(each):
                reason = f"such as ImagePreprocessing() expected, got {each!r}"
                raise SettingError("preprocessing", reason)
            PREPROCESSINGS.get(kind)

    def declared(self, metadata: ModelMetadata) -> ModelMetadata:
        """The same, with what is done to raw data before it is an input.

        Raises:
            InputError: a preprocessing is given for an input that is not there.
        """
        names = [spec.name for spec in metadata.inputs]
        found = self._preprocessings(names[0])
        for name in found:
            if name not in names:
                raise InputError("preprocessing", f"{name!r} is none of {', '.join(names)}")
        encoded = {name: PREPROCESSINGS.encode(each) for name, each in found.items()}
        return replace(metadata, preprocessing=encoded)

    def _preprocessings(self, first: str) -> dict[str, Preprocessing]:
        """By input name; a single one is the first input's."""
        if self.preprocessing is None:
            return {}
        if isinstance(self.preprocessing, Mapping):
            return dict(self.preprocessing)
        return {first: self.preprocessing}

    def check_place(self) -> None:
        """Finds out whether a package can come to stand at the path.

        Raises:
            PackageError: something else stands there, or the folder cannot be written to.
        """
        there = self.path
        if there.is_dir() and not (there / METADATA).is_file() and any(there.iterdir()):
            raise PackageError(there, "exists and is no package; it is not replaced")
        while not there.exists():
            there = there.absolute().parent
        if there == self.path:
            there = there.absolute().parent
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise PackageError(self.path, f"{there} is no folder that can be written to")


def dataset_statistics(order: Order, dataset: Any) -> DataStatistics:
    """Statistics by a pass of their own over the training data, for sink mode.

    Raises:
        InputError: the data does not fit the extractors.
    """
    found: DataStatistics | None = None
    with kept_random():
        for batch in batches(dataset):
            found = found or new_statistics(order, dataset, len(batch.inputs))
            found.add(batch)
    if found is None:
        raise InputError("train_dataset", "holds no batch")
    found.settle()
    return found


def new_statistics(order: Order, dataset: Any, inputs: int) -> DataStatistics:
    """Empty statistics for batches of so many inputs.

    Raises:
        InputError: an extractor is given for an input that is not there.
    """
    names = input_names(dataset, inputs)
    parts = parts_of(order.inputs, names, "inputs")
    return DataStatistics(parts, names, first_of(order.task))
