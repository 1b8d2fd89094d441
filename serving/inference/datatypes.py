"""The protocol's datatypes, and what our own are called there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.schema import DType, TensorSpec

Datatype = Literal[
    "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
    "FP16", "FP32", "FP64", "BYTES",
]  # fmt: skip

OURS: Mapping[str, DType] = {
    "BOOL": "bool",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
    "BYTES": "string",
}
THEIRS: Mapping[str, str] = {ours: theirs for theirs, ours in OURS.items()}


def described(spec: TensorSpec) -> dict[str, Any]:
    """An input or output as model metadata tells it; a length that may vary is -1."""
    shape = [-1 if length is None else length for length in spec.shape]
    return {"name": spec.name, "datatype": THEIRS[spec.dtype], "shape": shape}


def datatype_of(array: NDArray[Any]) -> str:
    """The datatype of an array that a model gave; what is no number is BYTES."""
    return THEIRS.get(array.dtype.name, "BYTES") if array.dtype.kind in "biuf" else "BYTES"


def wire_type(datatype: str) -> np.dtype[Any]:
    """How numbers of the datatype lie in binary tensors: little-endian, a boolean in a byte."""
    return np.dtype("u1" if datatype == "BOOL" else OURS[datatype]).newbyteorder("<")
