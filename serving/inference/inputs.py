"""Input tensors of a request to arrays by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec

from ..model.signature import cast
from ..model.tensors import tensor
from .datatypes import OURS, wire_type
from .wire import InputTensor

Arrays = dict[str, NDArray[Any]]


def arrays_of(tensors: tuple[InputTensor, ...], binary: memoryview) -> Arrays:
    """The arrays; binary ones lie in `binary` one behind the other, in the order of `tensors`.

    Raises:
        InputError: naming the tensor whose data do not fit its own shape and datatype, or is
            there twice; or bytes are left over.
    """
    found: Arrays = {}
    for each in tensors:
        field = f"inputs.{each.name}"
        if each.name in found:
            raise InputError(field, "is there twice")
        size = each.parameters.get("binary_data_size")
        if size is None:
            found[each.name] = _listed(each, field)
            continue
        if each.data is not None:
            raise InputError(field, "has both data and binary_data_size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= len(binary):
            reason = f"a number of bytes expected, of which {len(binary)} are left"
            raise InputError(f"{field}.parameters.binary_data_size", reason)
        found[each.name] = _binary(each, binary[:size], field)
        binary = binary[size:]
    if binary:
        raise InputError("", f"{len(binary)} bytes are left over")
    return found


def _listed(each: InputTensor, field: str) -> NDArray[Any]:
    if each.data is None:
        raise InputError(field, "has neither data nor binary_data_size")
    spec = TensorSpec(each.name, OURS[each.datatype], each.shape)
    if not each.data:
        array = np.zeros(0, object if spec.dtype == "string" else spec.dtype)
    else:
        array = cast(tensor(each.data, spec, field), spec, field)
    return _shaped(array, each, field)


def _binary(each: InputTensor, data: memoryview, field: str) -> NDArray[Any]:
    if each.datatype == "BYTES":
        return _shaped(_strings(data, field), each, field)
    kind = wire_type(each.datatype)
    wanted = math.prod(each.shape) * kind.itemsize
    if wanted != len(data):
        raise InputError(field, f"{wanted} bytes expected, got {len(data)}")
    array: NDArray[Any] = np.frombuffer(data, kind)
    if each.datatype == "BOOL":
        # A byte that is neither 0 nor 1 is no boolean that NumPy could hold.
        array = array != 0
    return _shaped(array.astype(array.dtype.newbyteorder("="), copy=False), each, field)


def _strings(data: memoryview, field: str) -> NDArray[Any]:
    """Texts in UTF-8, each behind its length in four bytes."""
    found: list[str] = []
    at = 0
    while at < len(data):
        stop = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if at + 4 > len(data) or stop > len(data):
            raise InputError(field, "a text is longer than the data")
        try:
            found.append(str(data[at + 4 : stop], "utf-8"))
        except UnicodeDecodeError:
            raise InputError(field, "UTF-8 is wanted") from None
        at = stop
    array = np.empty(len(found), object)
    array[:] = found
    return array


def _shaped(array: NDArray[Any], each: InputTensor, field: str) -> NDArray[Any]:
    wanted = math.prod(each.shape)
    if array.size != wanted:
        raise InputError(field, f"shape {list(each.shape)} has {wanted} values, got {array.size}")
    return array.reshape(each.shape)
