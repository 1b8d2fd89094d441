"""Raw arrays to signals: one extractor a file, the same code in training and in serving."""

from __future__ import annotations

from ..registry import Registry
from .extractor import Extractor, Raw, Rows
from .image import Image
from .vector import Vector

BUILT_IN: tuple[type[Extractor], ...] = (Image, Vector)

EXTRACTORS: Registry[Extractor] = Registry("extractor")
for _extractor in BUILT_IN:
    EXTRACTORS.register(_extractor)

__all__ = ["BUILT_IN", "EXTRACTORS", "Extractor", "Image", "Raw", "Rows", "Vector"]
