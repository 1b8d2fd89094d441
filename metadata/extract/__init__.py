"""Raw arrays to signals: one extractor a file, the same code in training and in serving.

`EXTRACTORS` knows the built-in kinds, and finds a third party's through an entry point in the
group ``driftline.extractors`` when its kind is first asked for.
"""

from __future__ import annotations

from ..registry import Registry
from .classification import Classification
from .extractor import Extractor, Raw, Rows
from .image import Image
from .joined import Joined
from .regression import Regression
from .row import Category, Number
from .tabular import Tabular
from .tokens import Tokens
from .vector import Vector

BUILT_IN: tuple[type[Extractor], ...] = (
    Image,
    Tabular,
    Tokens,
    Vector,
    Classification,
    Regression,
)

EXTRACTORS: Registry[Extractor] = Registry("extractor")
for _extractor in BUILT_IN:
    EXTRACTORS.register(_extractor)

__all__ = [
    "BUILT_IN",
    "EXTRACTORS",
    "Category",
    "Classification",
    "Extractor",
    "Image",
    "Joined",
    "Number",
    "Raw",
    "Regression",
    "Rows",
    "Tabular",
    "Tokens",
    "Vector",
]
