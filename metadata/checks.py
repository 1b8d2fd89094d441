"""What a type cannot say of metadata: that its parts fit each other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from .errors import MetadataError
from .signals import Continuous

if TYPE_CHECKING:
    from .schema import ModelMetadata


def check(metadata: ModelMetadata) -> None:
    """Refuses metadata whose parts do not fit each other.

    Raises:
        MetadataError: names the field and the reason.
    """
    columns = {(column.group, column.name) for column in metadata.reference.columns}
    for index, each in enumerate(metadata.reference.signals):
        where = f"reference.signals[{index}]"
        if (each.signal.group, each.signal.column) not in columns:
            raise MetadataError(f"{where}.signal.column", f"{each.signal.column!r} is not there")
        if len(each.weights) != each.signal.partition.size:
            reason = f"{each.signal.partition.size} weights wanted, {len(each.weights)} found"
            raise MetadataError(f"{where}.weights", reason)
        if any(weight <= 0 for weight in each.weights):
            raise MetadataError(f"{where}.weights", "every weight must be above 0")
        for field in ("edges", "values"):
            values = getattr(each.signal.partition, field, ())
            if any(b <= a for a, b in itertools.pairwise(values)):
                raise MetadataError(f"{where}.signal.partition.{field}", "must ascend")
    names = [each.name for each in metadata.reference.signals]
    if len(set(names)) != len(names):
        raise MetadataError("reference.signals", "two signals share a name")
    _check_multivariates(metadata)
    _check_reliability(metadata)
    sources = {spec.name for spec in metadata.inputs + metadata.outputs}
    for index, extraction in enumerate(metadata.extractions):
        if extraction.source not in sources:
            reason = f"{extraction.source!r} is neither an input nor an output"
            raise MetadataError(f"extractions[{index}].source", reason)


def _check_multivariates(metadata: ModelMetadata) -> None:
    ordered = {
        each.name: each.signal.group
        for each in metadata.reference.signals
        if isinstance(each.signal.partition, Continuous)
    }
    found = metadata.reference.multivariates
    for index, each in enumerate(found):
        where = f"reference.multivariates[{index}]"
        for name in each.signals:
            if ordered.get(name) != each.group:
                reason = f"{name!r} is no continuous signal of group {each.group!r}"
                raise MetadataError(f"{where}.signals", reason)
        if len(set(each.signals)) != len(each.signals):
            raise MetadataError(f"{where}.signals", "a signal is there twice")
        if not 0 < len(each.whitening) <= len(each.signals):
            raise MetadataError(f"{where}.whitening", "from one direction to one a signal")
        if any(len(row) != len(each.signals) for row in each.whitening):
            raise MetadataError(f"{where}.whitening", "a row must have one number a signal")
        if each.rows <= len(each.whitening):
            raise MetadataError(f"{where}.rows", "must be more than there are directions")
        if not 1 <= each.independent <= len(each.signals):
            raise MetadataError(f"{where}.independent", "from 1 to the number of signals")
    if len({each.name for each in found}) != len(found):
        raise MetadataError("reference.multivariates", "two share a name")


def _check_reliability(metadata: ModelMetadata) -> None:
    found = metadata.quality.reliability if metadata.quality else None
    if found is None:
        return
    where = "quality.reliability"
    sizes = {each.name: each.signal.partition.size for each in metadata.reference.signals}
    if found.signal not in sizes:
        raise MetadataError(f"{where}.signal", f"{found.signal!r} is not there")
    for field in ("rows", "right", "confidence"):
        length = len(getattr(found, field))
        if length != sizes[found.signal]:
            reason = f"{sizes[found.signal]} entries wanted, {length} found"
            raise MetadataError(f"{where}.{field}", reason)
    if any(not 0 <= right <= rows for rows, right in zip(found.rows, found.right, strict=True)):
        raise MetadataError(f"{where}.right", "must be from 0 to the rows of the cell")
