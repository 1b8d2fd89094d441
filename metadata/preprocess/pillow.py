"""The few things that Pillow is asked for; imported when they are."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Pixels = NDArray[np.uint8]

# Before resizing, of all images of one batch: 100 MB in colour.
MOST_PIXELS = 2**25
_EIGHT_BITS = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "CMYK", "YCbCr"})
_FORMATS = ("PNG", "JPEG")


def pixels(data: bytes, field: str) -> int:
    """How many pixels the image has, as its header says; nothing is decoded.

    Raises:
        InputError: it is no PNG or JPEG.
    """
    with _opened(data, field) as image:
        width, height = image.size
    return int(width) * int(height)


def decoded(data: bytes, channels: int, field: str) -> Pixels:
    """Pixels ``[H, W, channels]``, upright.

    Raises:
        InputError: it is no PNG or JPEG of eight bits, is damaged, or has too many pixels.
    """
    from PIL import ImageOps

    with _opened(data, field) as image:
        if image.width * image.height > MOST_PIXELS:
            raise InputError(field, f"at most {MOST_PIXELS} pixels")
        if image.mode not in _EIGHT_BITS:
            raise InputError(field, f"8 bits a channel expected, got mode {image.mode}")
        try:
            upright = ImageOps.exif_transpose(image)
            return _array(upright.convert("L" if channels == 1 else "RGB"))
        # Whatever a damaged file makes of a decoder; Pillow has no one error for it.
        except Exception as error:
            raise InputError(field, f"the image is damaged: {_short(error)}") from None


def resized(array: Pixels, size: tuple[int, int]) -> Pixels:
    """The image in the size (height, width)."""
    from PIL import Image

    return _array(_image(array).resize((size[1], size[0]), Image.Resampling.BILINEAR))


def converted(array: Pixels, channels: int) -> Pixels:
    """The image in grey (1) or colours (3)."""
    return _array(_image(array).convert("L" if channels == 1 else "RGB"))


def _opened(data: bytes, field: str) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # What is large is refused by its pixels, not warned of.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            return Image.open(io.BytesIO(data), formats=_FORMATS)
    except Image.DecompressionBombError:
        raise InputError(field, f"at most {MOST_PIXELS} pixels") from None
    except Exception as error:
        raise InputError(field, f"no PNG or JPEG: {_short(error)}") from None


def _image(array: Pixels) -> Any:
    from PIL import Image

    flat = array[:, :, 0] if array.shape[2] == 1 else array
    return Image.fromarray(np.ascontiguousarray(flat))


def _array(image: Any) -> Pixels:
    found: Pixels = np.asarray(image, np.uint8)
    return found[:, :, None] if found.ndim == 2 else found


def _short(error: Exception) -> str:
    # Pillow shows the address of its buffer.
    return str(error).partition(" <_io")[0][:100]
