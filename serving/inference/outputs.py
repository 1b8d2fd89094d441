"""Arrays that a model gave to the tensors of an answer, in JSON or in binary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError

from .datatypes import datatype_of, wire_type
from .wire import InferRequest, flag


@dataclass(frozen=True, slots=True)
class Written:
    """The body of an answer; `head` is the length of its JSON where binary tensors follow."""

    body: bytes
    head: int | None


def wanted(request: InferRequest, known: tuple[str, ...]) -> dict[str, bool]:
    """The outputs that are to come, and whether in binary; all of `known` if none is named.

    Raises:
        InputError: one is not known, or a parameter is neither true nor false.
    """
    default = flag(request.parameters, "binary_data_output", False, "")
    if not request.outputs:
        return dict.fromkeys(known, default)
    found = {}
    for index, each in enumerate(request.outputs):
        field = f"outputs[{index}]"
        if each.name not in known:
            reason = f"{each.name!r} is no output of this model; it has {', '.join(known)}"
            raise InputError(field, reason)
        found[each.name] = flag(each.parameters, "binary_data", default, field)
    return found


def written(
    head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], chosen: Mapping[str, bool]
) -> Written:
    """The answer: `head`, and the arrays that were `chosen`; in JSON not finite is null."""
    outputs: list[dict[str, Any]] = []
    behind: list[bytes] = []
    for name, binary in chosen.items():
        array = arrays[name]
        datatype = datatype_of(array)
        told: dict[str, Any] = {"name": name, "datatype": datatype, "shape": list(array.shape)}
        if binary:
            behind.append(_bytes(array, datatype))
            told["parameters"] = {"binary_data_size": len(behind[-1])}
        else:
            told["data"] = array.ravel().tolist()
        outputs.append(told)
    body = msgspec.json.encode({**head, "outputs": outputs}, enc_hook=_plain)
    if not behind:
        return Written(body, None)
    return Written(b"".join([body, *behind]), len(body))


def _bytes(array: NDArray[Any], datatype: str) -> bytes:
    if datatype != "BYTES":
        return np.ascontiguousarray(array).astype(wire_type(datatype), copy=False).tobytes()
    texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.ravel()]
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else str(value)
