"""The format is strict, versioned and published; an error names the field and the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import synthetic

from driftline.metadata import migrate, schema
from driftline.metadata.errors import MetadataError, VersionError

ROOM = Path(schema.__file__).parent


@pytest.fixture(scope="module")
def written() -> bytes:
    return schema.encode(synthetic.metadata())


def changed(written: bytes, path: str, value: Any) -> bytes:
    """The same metadata with one place replaced; ``...`` removes it."""
    raw = json.loads(written)
    *way, last = path.split(".")
    at = raw
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return json.dumps(raw).encode()


def test_round_trip_is_lossless(written: bytes) -> None:
    """Reading what was written gives equal metadata, and writing that the same bytes."""
    assert schema.parse(written) == synthetic.metadata()
    assert schema.encode(schema.parse(written)) == written


def test_published_schema_is_the_one_in_force() -> None:
    """metadata/schema.json is what the code validates (`python -m driftline.metadata.schema`)."""
    published = json.loads((ROOM / "schema.json").read_text())
    assert published == json.loads(json.dumps(schema.json_schema()))


def test_an_independent_validator_accepts_what_we_write(written: bytes) -> None:
    """jsonschema finds the schema valid and the document valid under it."""
    jsonschema.Draft202012Validator.check_schema(schema.json_schema())
    jsonschema.Draft202012Validator(schema.json_schema()).validate(json.loads(written))


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("model.name", ..., "model"),
        ("model.name", 7, "model.name"),
        ("model.name", "", "model.name"),
        ("model.name", "a/b", "model.name"),
        ("model.extra", 1, "model"),
        ("inputs", [], "inputs"),
        ("inputs.0.dtype", "float31", "inputs[0].dtype"),
        ("health.steps", -1.5, "health.steps"),
        ("created", "yesterday", "created"),
        ("files", [{"path": "x"}], "files[0]"),
        ("metadata_sha256", "xyz", "metadata_sha256"),
    ],
)
def test_what_does_not_fit_is_named(written: bytes, path: str, value: Any, field: str) -> None:
    """Missing, mistyped, unknown and impossible values are refused with their place."""
    with pytest.raises(MetadataError) as caught:
        schema.parse(changed(written, path, value))
    assert caught.value.field == field
    assert caught.value.reason


def test_parts_that_contradict_each_other_are_named(written: bytes) -> None:
    """Edges that do not ascend, weights that do not match cells, a column that is not there."""
    partition = "reference.signals.0.signal.partition"
    with pytest.raises(MetadataError, match="ascend") as caught:
        schema.parse(changed(written, f"{partition}.edges", [1.0] * 31))
    assert caught.value.field == "reference.signals[0].signal.partition.edges"
    with pytest.raises(MetadataError, match="32 weights wanted, 2 found"):
        schema.parse(changed(written, "reference.signals.0.weights", [1.0, 2.0]))
    with pytest.raises(MetadataError, match="above 0"):
        schema.parse(changed(written, "reference.signals.0.weights", [0.0] * 32))
    with pytest.raises(MetadataError, match="'zz' is not there"):
        schema.parse(changed(written, "reference.signals.0.signal.column", "zz"))
    extraction = {"group": "input", "source": "zz", "extractor": {"kind": "image"}}
    with pytest.raises(MetadataError, match="neither an input nor an output"):
        schema.parse(changed(written, "extractions", [extraction]))


@pytest.mark.parametrize(
    ("path", "value", "field", "reason"),
    [
        (
            "signals",
            ["code", "a1", "a2"],
            "signals",
            "'code' is no continuous signal of group 'input'",
        ),
        ("signals", ["zz", "a1", "a2"], "signals", "'zz' is no continuous signal"),
        ("group", "output", "signals", "'a0' is no continuous signal of group 'output'"),
        ("signals", ["a1", "a1", "a2"], "signals", "twice"),
        ("whitening", [], "whitening", "from one direction"),
        ("whitening", [[1.0]], "whitening", "one number a signal"),
        ("rows", 3, "rows", "more than there are directions"),
        ("independent", 0.5, "independent", "from 1"),
    ],
)
def test_signals_together_have_to_fit_the_signals(
    written: bytes, path: str, value: Any, field: str, reason: str
) -> None:
    with pytest.raises(MetadataError, match=reason) as caught:
        schema.parse(changed(written, f"reference.multivariates.0.{path}", value))
    assert caught.value.field == f"reference.multivariates[0].{field}"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"7", b'{"a": NaN}', b"\xff\xfe", b"[" * 10_000]
)
def test_damaged_json_is_a_clear_error(data: bytes) -> None:
    """No input makes the reader fail otherwise than by a MetadataError."""
    with pytest.raises(MetadataError, match=r"model_metadata\.json|schema_version"):
        schema.parse(data)


@pytest.mark.parametrize("value", ["2.0", "10.1"])
def test_a_newer_major_version_is_refused(written: bytes, value: str) -> None:
    """The message says what was found, what is read, and what to do."""
    with pytest.raises(VersionError, match=f"{value} is newer than 1.0") as caught:
        schema.parse(changed(written, "schema_version", value))
    assert caught.value.field == "schema_version"


def test_a_newer_minor_version_is_read(written: bytes) -> None:
    """Minor versions only add what can be left out."""
    assert schema.parse(changed(written, "schema_version", "1.7")).schema_version == "1.7"


@pytest.mark.parametrize("value", ["0.9", "one", "", None, 1.0])
def test_a_version_that_never_was_is_refused(written: bytes, value: Any) -> None:
    """Nothing before 1 was published, and a version is a text of two numbers."""
    with pytest.raises(MetadataError):
        schema.parse(changed(written, "schema_version", value))


def test_an_older_version_is_migrated_step_by_step(written: bytes, monkeypatch) -> None:
    """Each registered step lifts the document by one major version before it is validated."""

    def step(raw: dict[str, Any]) -> dict[str, Any]:
        model = {**raw["model"], "architecture": raw["model"]["net"]}
        model.pop("net")
        return {**raw, "model": model, "schema_version": "1.0"}

    monkeypatch.setitem(migrate.STEPS, 0, step)
    raw = json.loads(written)
    raw["model"]["net"] = raw["model"].pop("architecture")
    raw["schema_version"] = "0.4"
    assert schema.parse(json.dumps(raw).encode()) == synthetic.metadata()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused_with_their_place(value: float) -> None:
    """Strict JSON has no NaN; the writer says where it would have stood."""
    import msgspec

    metadata = synthetic.metadata()
    health = msgspec.structs.replace(metadata.health, loss_by_epoch=(1.0, value))
    with pytest.raises(MetadataError) as caught:
        schema.encode(msgspec.structs.replace(metadata, health=health))
    assert caught.value.field == "health.loss_by_epoch[1]"
