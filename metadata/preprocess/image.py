"""Images: decoded, resized, scaled, normalised, laid out; the same in training and serving."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..errors import InputError, SettingError
from ..extract.arrays import plain_settings
from . import pillow
from .preprocessing import Form

Floats32 = NDArray[np.float32]
Encoded = bytes | bytearray | memoryview


class ImagePreprocessing(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="image", tag_field="kind"
):
    """Pixels from 0 to 255 → ``(pixel · scale − mean) / std`` in float32, ``[C, H, W]`` or
    ``[H, W, C]``.

    An image is encoded (PNG or JPEG bytes, or the one-axis uint8 array that MindSpore reads from a
    file), or uint8 pixels ``[H, W]`` or ``[H, W, C]``. Encoded ones are turned as their EXIF data
    says. Colours become grey by ITU-R 601, grey is repeated into colours, alpha is dropped.
    Resizing is Pillow's bilinear filter in whole numbers, which is the same on every machine.

    Works in ``dataset.map(operations=preprocessing, input_columns=["image"])``. Needs Pillow for
    everything but uint8 pixels that have their size and channels already.

    Args:
        size: height and width; left out, images keep theirs.
        channels: 1 or 3.
        scale: of the pixels.
        mean, std: one for each channel, or none.
        layout: order of the axes, N being the batch.
    """

    size: tuple[int, int] | None = None
    channels: int = 3
    scale: float = 1 / 255
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    layout: Literal["NCHW", "NHWC"] = "NCHW"

    form: ClassVar[Form] = "image"

    def __post_init__(self) -> None:
        plain_settings(self)
        if self.layout not in ("NCHW", "NHWC"):
            raise SettingError("layout", f"NCHW or NHWC expected, got {self.layout!r}")
        if self.channels not in (1, 3):
            raise SettingError("channels", f"1 or 3 expected, got {self.channels}")
        if self.size is not None and not all(1 <= each <= 16_384 for each in self.size):
            raise SettingError("size", f"height and width up to 16384 expected, got {self.size}")
        for name in ("mean", "std"):
            values = getattr(self, name)
            if values and len(values) != self.channels:
                raise SettingError(name, f"{self.channels} numbers expected, got {len(values)}")
            if not all(math.isfinite(each) for each in values):
                raise SettingError(name, "finite numbers expected")
        if not math.isfinite(self.scale) or not all(each > 0 for each in self.std):
            raise SettingError("std" if self.std else "scale", "numbers above 0 expected")

    def __call__(self, raw: Any) -> Floats32:
        """One image → its array; a list of images or uint8 ``[N, H, W, C]`` → a batch.

        Raises:
            InputError: it is no such image, or images of a batch come out in different sizes.
        """
        if isinstance(raw, list | tuple) or getattr(raw, "ndim", 0) == 4:
            return self.batch(list(raw))
        return self._one(raw, "image")

    def batch(
        self, raw: list[Any], *, field: str = "images", most_pixels: int = pillow.MOST_PIXELS
    ) -> Floats32:
        """The images as one array, the batch first.

        Args:
            raw: the images.
            field: what they are called in errors.
            most_pixels: of all images together before resizing.

        Raises:
            InputError: as a call; or there are too many pixels, found before they are decoded.
        """
        if not raw:
            raise InputError(field, "the batch is empty")
        found: list[Floats32] = []
        left = most_pixels
        for index, each in enumerate(raw):
            where = field if len(raw) == 1 else f"{field}[{index}]"
            if isinstance(each, Encoded):
                left -= pillow.pixels(bytes(each), where)
                if left < 0:
                    raise InputError(where, f"at most {most_pixels} pixels a request")
            found.append(self._one(each, where))
            if found[-1].shape != found[0].shape:
                sizes = f"{list(found[-1].shape)}, the first {list(found[0].shape)}"
                raise InputError(where, f"comes out as {sizes}")
        return np.stack(found)

    def _one(self, raw: Any, field: str) -> Floats32:
        if isinstance(raw, Encoded):
            image = pillow.decoded(bytes(raw), self.channels, field)
        else:
            array = np.asarray(raw)
            if array.dtype != np.uint8:
                raise InputError(
                    field, f"encoded bytes or uint8 pixels expected, not {array.dtype}"
                )
            if array.ndim == 1:
                image = pillow.decoded(array.tobytes(), self.channels, field)
            else:
                image = self._channelled(array, field)
        if self.size is not None and image.shape[:2] != self.size:
            image = pillow.resized(image, self.size)
        # In float32 throughout and in this order: the same bits wherever it runs.
        out = image.astype(np.float32) * np.float32(self.scale)
        if self.mean:
            out -= np.asarray(self.mean, np.float32)
        if self.std:
            out /= np.asarray(self.std, np.float32)
        return np.ascontiguousarray(out.transpose(2, 0, 1) if self.layout == "NCHW" else out)

    def _channelled(self, array: NDArray[Any], field: str) -> NDArray[np.uint8]:
        """``[H, W, channels]``."""
        pixels = array[:, :, None] if array.ndim == 2 else array
        if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or not pixels.size:
            raise InputError(field, f"pixels [H, W] or [H, W, C] expected, got {list(array.shape)}")
        if pixels.shape[2] == self.channels:
            return pixels
        return pillow.converted(pixels, self.channels)
