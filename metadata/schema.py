"""``model_metadata.json``: its parts, strict parsing, migration, writing, JSON Schema.

The file is strict JSON (a number that is not finite is refused when written and when read). Every
struct forbids unknown fields, so that a misspelt one is named and not ignored.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from .allowed import naming_allowed
from .checks import check
from .errors import MetadataError, VersionError
from .migrate import MAJOR, VERSION, migrate
from .quality import Health, LatencyBaseline, LossCurve, Quality
from .reference import Reference
from .signals import Group
from .thresholds import Thresholds

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f/\\]+$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0)]
ZEROS = "0" * 64

DType = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "string",
]  # fmt: skip


class TensorSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One input or output: a None in `shape` may be any length; the first is the batch."""

    name: Name
    dtype: DType
    shape: tuple[int | None, ...]
    allow_missing: bool = False


class ModelInfo(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which model this is."""

    name: Name
    version: Name
    architecture: str
    parameters: Count
    description: str = ""


class Framework(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What it was trained with."""

    name: str
    version: str
    mode: str
    device: str
    python: str
    numpy: str
    driftline: str
    host: str


class Extraction(Struct, frozen=True, forbid_unknown_fields=True):
    """How the columns of one input or output are computed; `extractor` is a registered kind."""

    group: Group
    source: Name
    extractor: dict[str, Any]
    prefix: str = ""


class ColumnStats(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One column over all training rows seen."""

    count: Count
    missing: Count
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None


class TrainDataStats(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the training data looked like.

    `image_mean` and `image_std` are per channel over all pixels; `columns` are per extracted
    column; `label_distribution` is the share of each class; `label` the moments of a regression
    target.
    """

    rows: Count
    image_mean: tuple[float, ...] | None = None
    image_std: tuple[float, ...] | None = None
    columns: dict[str, ColumnStats] = {}
    label_distribution: dict[str, float] | None = None
    label: ColumnStats | None = None


class SensitivityRow(Struct, frozen=True, forbid_unknown_fields=True):
    """The smallest change of one signal seen with the stated power; None where none was seen.

    `mean_shift_sd` (continuous signals; either direction, in the form that is hardest to see) and
    `rate_change` (the rise of a flag's rate; the share that a category's commonest value gains, or
    loses where it has more than half) are keyed by the number of requests.
    """

    signal: str
    mean_shift_sd: dict[str, float | None] = {}
    rate_change: dict[str, float | None] = {}


class Sensitivity(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the monitor can see, simulated from the reference alone with the stored seed.

    Each row tells the changes seen in the share `power` of simulated streams at the budget:
    `alpha` is the false-alarm probability allowed a bucket. `false_alarm_share` is the share of
    the `streams` without a change that ever reached the evidence asked for within 10,000 requests,
    `loose_share` of those that reached evidence 1/`loose_level`, which at most so many may.
    """

    seed: int
    power: float
    alpha: float
    streams: Count
    false_alarm_share: float
    loose_level: float
    loose_share: float
    rows: tuple[SensitivityRow, ...]


class FileEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of the package, bound by its SHA-256; `path` is relative, with forward slashes."""

    path: Annotated[str, Meta(min_length=1, max_length=500)]
    role: Literal["checkpoint", "model", "report", "other"]
    size: Count
    sha256: Sha256


class ModelMetadata(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that is known about a packaged model."""

    schema_version: Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+$")] = VERSION
    metadata_sha256: Sha256 = ZEROS
    created: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]
    model: ModelInfo
    framework: Framework
    inputs: Annotated[tuple[TensorSpec, ...], Meta(min_length=1)]
    outputs: Annotated[tuple[TensorSpec, ...], Meta(min_length=1)]
    preprocessing: dict[str, Any] = {}
    extractions: tuple[Extraction, ...] = ()
    class_names: tuple[str, ...] = ()
    train_data_stats: TrainDataStats
    reference: Reference
    quality: Quality | None = None
    latency: LatencyBaseline | None = None
    health: Health
    loss_curve: LossCurve | None = None
    thresholds: Thresholds = msgspec.field(default_factory=Thresholds)
    sensitivity: Sensitivity | None = None
    files: tuple[FileEntry, ...] = ()
    notes: tuple[str, ...] = ()


def parse(data: bytes) -> ModelMetadata:
    """Metadata from the bytes of ``model_metadata.json``.

    Raises:
        VersionError: a newer major version wrote it.
        MetadataError: it is not strict JSON or does not fit; names the field and the reason.
    """
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MetadataError("model_metadata.json", f"not strict JSON: {error}") from None
    if not isinstance(raw, dict):
        raise MetadataError("model_metadata.json", "must be a JSON object")
    version = raw.get("schema_version")
    if not isinstance(version, str) or not version.split(".")[0].isdigit():
        raise MetadataError("schema_version", f"must be a string such as {VERSION!r}")
    if int(version.split(".")[0]) > MAJOR:
        reason = f"{version} is newer than {VERSION}, the newest this driftline reads; update it"
        raise VersionError("schema_version", reason)
    try:
        metadata = msgspec.convert(migrate(raw), ModelMetadata)
    except (msgspec.ValidationError, OverflowError) as error:
        field, reason = _located(str(error))
        raise MetadataError(field, naming_allowed(reason, ModelMetadata, f"$.{field}")) from None
    check(metadata)
    return metadata


def encode(metadata: ModelMetadata) -> bytes:
    """Strict, indented, UTF-8 JSON, in the order of the fields.

    Raises:
        MetadataError: a number is not finite; names where.
    """
    raw = msgspec.to_builtins(metadata)
    _refuse_nonfinite(raw, "")
    return msgspec.json.format(msgspec.json.encode(raw), indent=1) + b"\n"


def json_schema() -> dict[str, Any]:
    """The published JSON Schema (draft 2020-12) of the format."""
    schema = msgspec.json.schema(ModelMetadata)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"driftline model_metadata.json {VERSION}",
        **schema,
    }


def _located(message: str) -> tuple[str, str]:
    """msgspec's ``reason - at `$.a.b``` taken apart."""
    reason, _, path = message.partition(" - at `")
    return path.rstrip("`").removeprefix("$").removeprefix(".") or "model_metadata.json", reason


def _refuse_nonfinite(value: Any, path: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise MetadataError(path, f"{value} cannot stand in strict JSON")
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_nonfinite(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse_nonfinite(inner, f"{path}[{index}]")


if __name__ == "__main__":
    # `python -m driftline.metadata.schema > metadata/schema.json` publishes the schema.
    print(json.dumps(json_schema(), indent=1, sort_keys=True))
