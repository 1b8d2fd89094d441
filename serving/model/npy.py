"""``application/x-npy``: one array, read without running or trusting anything that is in it."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError

# A header of a plain array is 128 bytes.
MOST_HEADER = 4096
# NumPy's stubs lag behind: neither call is typed there.
_format: Any = np.lib.format
_READERS: dict[tuple[int, int], Any] = {
    (1, 0): _format.read_array_header_1_0,
    (2, 0): _format.read_array_header_2_0,
}


def npy(body: bytes, field: str = "body") -> NDArray[Any]:
    """The array, a read-only view of `body`.

    Raises:
        InputError: it is no ``.npy`` of versions 1 or 2, holds objects or records, or has another
            length than its header says.
    """
    stream = io.BytesIO(body)
    try:
        version = _format.read_magic(stream)
        shape, fortran, dtype = _READERS[version](stream, max_header_size=MOST_HEADER)
    # The header is a Python literal; what a wrong one raises is not written down anywhere.
    except Exception:
        raise InputError(field, "no .npy file of version 1 or 2") from None
    if dtype.kind not in "biufUS" or not dtype.itemsize:
        raise InputError(field, f"numbers or strings expected, got {dtype.name}")
    if not all(isinstance(each, int) and each >= 0 for each in shape) or len(shape) > 32:
        raise InputError(field, "its header holds no shape")
    wanted, there = math.prod(shape) * dtype.itemsize, len(body) - stream.tell()
    if wanted != there:
        raise InputError(field, f"its header asks for {wanted} bytes of data, there are {there}")
    array = np.frombuffer(body, dtype, offset=stream.tell())
    array = array.reshape(shape, order="F" if fortran else "C")
    # What follows compares types by name, and wants no other byte order.
    native = array.astype(dtype.newbyteorder("="), copy=False)
    return np.char.decode(native, "utf-8", "replace") if dtype.kind == "S" else native
