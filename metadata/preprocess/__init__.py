"""What is done to raw data before the network sees it, declared once for both sides.

Training maps it over its dataset; the package carries it; the service does the very same to what
clients send. `PREPROCESSINGS` knows the built-in kinds, and finds a third party's through an entry
point in the group ``driftline.preprocessings``.
"""

from __future__ import annotations

from ..registry import Registry
from .image import ImagePreprocessing
from .preprocessing import Preprocessing
from .table import TablePreprocessing

PREPROCESSINGS: Registry[Preprocessing] = Registry("preprocessing")
for _kind in (ImagePreprocessing, TablePreprocessing):
    PREPROCESSINGS.register(_kind)

__all__ = ["PREPROCESSINGS", "ImagePreprocessing", "Preprocessing", "TablePreprocessing"]
