"""An inference request as it comes: a JSON head, and the binary tensors behind it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from driftline.metadata.allowed import naming_allowed
from driftline.metadata.errors import InputError

from .datatypes import Datatype

HEAD_LENGTH = "Inference-Header-Content-Length"

Length = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Word = Annotated[str, Meta(min_length=1, max_length=200)]
# Of the protocol's extensions; those that change what an answer means are refused by name.
REFUSED = ("classification", "shared_memory_region", "sequence_id", "priority", "timeout")


class InputTensor(Struct):
    """One input: `data` in the JSON, flat or nested, or ``binary_data_size`` bytes behind it."""

    name: Word
    shape: Annotated[tuple[Length, ...], Meta(min_length=1, max_length=32)]
    datatype: Datatype
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


class WantedOutput(Struct):
    """One output that is asked for; ``binary_data`` says how it is to come."""

    name: Word
    parameters: dict[str, Any] = {}


class InferRequest(Struct):
    """The JSON head. Without `outputs` all of them come."""

    inputs: Annotated[tuple[InputTensor, ...], Meta(min_length=1, max_length=1000)]
    outputs: Annotated[tuple[WantedOutput, ...], Meta(max_length=1000)] = ()
    id: Annotated[str, Meta(max_length=200)] | None = None
    parameters: dict[str, Any] = {}


_decode = msgspec.json.Decoder(InferRequest).decode


def parsed(body: bytes, head_length: str | None) -> tuple[InferRequest, memoryview]:
    """The head, and the bytes behind it; `head_length` is the header of that name.

    Raises:
        InputError: the body is no such request, or asks for an extension that is not there.
    """
    length = len(body)
    if head_length is not None:
        if not head_length.isascii() or not head_length.isdigit() or len(head_length) > 12:
            raise InputError(HEAD_LENGTH, "a whole number is wanted")
        length = int(head_length)
        if length > len(body):
            raise InputError(HEAD_LENGTH, f"is {length}, the body has {len(body)} bytes")
    view = memoryview(body)
    try:
        found = _decode(view[:length])
    except msgspec.ValidationError as problem:
        reason, _, path = str(problem).partition(" - at `")
        path = path.rstrip("`")
        reason = naming_allowed(reason, InferRequest, path)
        raise InputError(path.removeprefix("$").removeprefix("."), reason) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InputError("", f"not strict JSON: {problem}") from None
    except RecursionError:
        raise InputError("", "the JSON is nested too deeply") from None
    _refuse(found)
    return found, view[length:]


def flag(parameters: dict[str, Any], name: str, default: bool, field: str) -> bool:
    """A parameter that is true or false.

    Raises:
        InputError: it is something else.
    """
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f"{field}.parameters.{name}", "true or false expected")
    return value


def _refuse(head: InferRequest) -> None:
    places = [("", head.parameters)]
    places += [(f"inputs[{i}].", each.parameters) for i, each in enumerate(head.inputs)]
    places += [(f"outputs[{i}].", each.parameters) for i, each in enumerate(head.outputs)]
    for where, parameters in places:
        for name in REFUSED:
            # Clients send what says nothing: a priority or a sequence of 0.
            if parameters.get(name):
                raise InputError(f"{where}parameters.{name}", "is not supported")
