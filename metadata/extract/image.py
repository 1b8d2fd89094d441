"""Images: brightness, contrast and saturation of each channel, and sharpness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import numeric, plain_settings, rows_of
from .extractor import Raw, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

Bound = float | tuple[float, ...] | None

# Pixels turned to float64 at a time.
CHUNK = 1 << 20


class Image(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="image", tag_field="kind"
):
    """A batch of images of one size, any size: ``mean_c``, ``sd_c``, ``saturated_c`` for each
    channel c from 0, and ``sharpness``.

    Mean and standard deviation are over the pixels of a channel, in the array's own units.
    Saturated is the share of pixels at or beyond `low` or `high`. Sharpness is the mean absolute
    difference between vertical neighbours plus that between horizontal ones, of the luminance
    (the mean of the channels).

    Args:
        layout: order of the axes.
        channels: 1 to 64; left out, `fit` takes it from the rows.
        low, high: the value range, one bound or one for each channel. Left out, `fit` settles
            it: the type's range for integers of one or two bytes, 0 to 1 for floats within it,
            else the smallest and largest value of each channel. Before `fit` it is the type's
            range or 0 to 1.
    """

    layout: Literal["NCHW", "NHWC"] = "NCHW"
    channels: int | None = None
    low: Bound = None
    high: Bound = None

    def __post_init__(self) -> None:
        plain_settings(self)
        if self.layout not in ("NCHW", "NHWC"):
            raise SettingError("layout", f"NCHW or NHWC expected, got {self.layout!r}")
        if self.channels is not None and not 1 <= self.channels <= 64:
            raise SettingError("channels", f"1 to 64 expected, got {self.channels}")
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is None:
                continue
            values = np.asarray(bound, dtype=np.float64)
            if not np.isfinite(values).all():
                raise SettingError(name, "a finite number expected")
            if values.ndim and self.channels != len(values):
                raise SettingError(name, "one bound, or one for each channel expected")

    def columns(self) -> tuple[Column, ...]:
        """Three a channel, and ``sharpness``.

        Raises:
            SettingError: `channels` is not known yet.
        """
        kinds = ("mean", "sd", "saturated")
        names = [f"{kind}_{index}" for kind in kinds for index in range(self._settled())]
        return tuple(Column(name, "number") for name in [*names, "sharpness"])

    def extract(self, array: Raw, *, field: str = "input") -> Floats:
        """Shape ``[n, 3 · channels + 1]``, the means first, then sd, saturated, sharpness.

        Raises:
            InputError: not numbers of shape ``[n, …]`` in the layout with these channels, or
                images without a pixel.
        """
        width = 3 * self._settled() + 1
        images = self._channels_first(numeric(array, field, self.layout.lower()), field)
        low, high = self._range(images.dtype)
        out = np.empty((len(images), width))
        for start, part in self._parts(images):
            out[start : start + len(part)] = _describe(part, low, high)
        return out

    def glanced(self) -> int:
        """The means and sd.

        Raises:
            SettingError: `channels` is not known yet.
        """
        return 2 * self._settled()

    def glance(self, array: Raw, *, field: str = "input") -> Floats:
        """Means and sd only, shape ``[n, 2 · channels]``.

        Raises:
            InputError: as `extract`.
        """
        images = self._channels_first(numeric(array, field, self.layout.lower()), field)
        out = np.empty((len(images), self.glanced()))
        with np.errstate(all="ignore"):
            for start, part in self._parts(images):
                _, _, out[start : start + len(part)] = _spread(part)
        return out

    def fit(self, rows: Rows) -> Self:
        """Itself with `channels`, `low` and `high` settled.

        Raises:
            InputError: the rows are not such images.
        """
        array = numeric(rows_of(rows), "rows", self.layout.lower())
        channels = array.shape[1] if self.layout == "NCHW" else array.shape[3]
        if not 1 <= channels <= 64:
            raise InputError("rows", f"1 to 64 channels expected, got {channels}")
        found = replace(self, channels=channels) if self.channels is None else self
        images = found._channels_first(array, "rows")
        low, high = _observed_range(images)
        return replace(
            found,
            low=low if found.low is None else found.low,
            high=high if found.high is None else found.high,
        )

    def _parts(self, images: Raw) -> Iterator[tuple[int, Raw]]:
        """Some images at a time, with the place of the first: they become float64."""
        step = max(1, CHUNK // max(1, math.prod(images.shape[1:])))
        for start in range(0, len(images), step):
            yield start, images[start : start + step]

    def _settled(self) -> int:
        if self.channels is None:
            raise SettingError("channels", "not known before the extractor is fitted")
        return self.channels

    def _channels_first(self, array: Raw, field: str) -> Raw:
        images = array if self.layout == "NCHW" else np.moveaxis(array, 3, 1)
        if images.shape[1] != self.channels:
            raise InputError(field, f"{self.channels} channels expected, got {images.shape[1]}")
        if len(images) and not images.size:
            raise InputError(field, f"images without a pixel: shape {list(array.shape)}")
        return images

    def _range(self, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        usual = _type_range(dtype) or (0.0, 1.0)
        low = usual[0] if self.low is None else self.low
        high = usual[1] if self.high is None else self.high
        shape = (-1, 1)
        return np.asarray(low, np.float64).reshape(shape), np.asarray(high).reshape(shape)


def _describe(images: Raw, low: Floats, high: Floats) -> Floats:
    """Rows of `Image.extract`; `images` is ``[n, channels, height, width]``.

    Written for few calls: for the small images of one request they, not the pixels, cost the time.
    """
    n, channels, height, width = images.shape
    out = np.empty((n, 3 * channels + 1))
    with np.errstate(all="ignore"):
        whole, pixels, out[:, : 2 * channels] = _spread(images)
        outside = np.count_nonzero((pixels <= low) | (pixels >= high), axis=2)
        saturated = outside / (height * width)
        saturated[np.isnan(out[:, :channels])] = np.nan
        out[:, 2 * channels : -1] = saturated
        luminance = whole[:, 0] if channels == 1 else np.add.reduce(whole, axis=1) / channels
        out[:, -1] = _steps(luminance[:, 1:] - luminance[:, :-1])
        out[:, -1] += _steps(luminance[:, :, 1:] - luminance[:, :, :-1])
    return out


def _spread(images: Raw) -> tuple[Floats, Floats, Floats]:
    """The images as float64, their pixels ``[n, channels, pixels]``, and means and sd beside each
    other, ``[n, 2 · channels]``."""
    n, channels, height, width = images.shape
    out = np.empty((n, 2 * channels))
    whole = np.ascontiguousarray(images, dtype=np.float64)
    pixels = whole.reshape(n, channels, height * width)
    mean = np.add.reduce(pixels, axis=2) / (height * width)
    apart = pixels - mean[:, :, None]
    out[:, :channels] = mean
    square = np.einsum("ncp,ncp->nc", apart, apart)
    out[:, channels:] = np.sqrt(square / (height * width))
    return whole, pixels, out


def _steps(differences: Floats) -> Floats | float:
    """Mean absolute value of each image's; 0 where an image has no neighbours that way."""
    pairs = differences.shape[1] * differences.shape[2]
    np.abs(differences, out=differences)
    return np.add.reduce(differences, axis=(1, 2)) / pairs if pairs else 0.0


def _type_range(dtype: np.dtype[Any]) -> tuple[float, float] | None:
    """The range of integers of one or two bytes; None for every other type."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind in "iu" and dtype.itemsize <= 2:
        limits = np.iinfo(dtype.type)
        return float(limits.min), float(limits.max)
    return None


def _observed_range(images: Raw) -> tuple[Bound, Bound]:
    usual = _type_range(images.dtype)
    if usual is not None:
        return usual
    pixels = np.moveaxis(images, 1, 0).reshape(images.shape[1], -1)
    finite = np.isfinite(pixels)
    low = np.where(finite, pixels, np.inf).min(axis=1, initial=np.inf).astype(np.float64)
    high = np.where(finite, pixels, -np.inf).max(axis=1, initial=-np.inf).astype(np.float64)
    if not finite.any() or (low.min() >= 0 and high.max() <= 1):
        return 0.0, 1.0
    low, high = np.where(low <= high, low, 0.0), np.where(low <= high, high, 1.0)
    return tuple(low.tolist()), tuple(high.tolist())
