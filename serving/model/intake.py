"""Every form in which a request may say what goes into the model, to arrays by input name."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.preprocess import ImagePreprocessing, Preprocessing
from driftline.metadata.schema import ModelMetadata, TensorSpec

from .npy import npy
from .tensors import tensor

Arrays = dict[str, NDArray[Any]]
FIELD = "instances"


class Intake:
    """Reads requests for one model.

    Numbers are taken as the network sees them; encoded images and rows by column name go through
    the input's preprocessing first.

    Args:
        metadata: with the signature.
        preprocessings: by the input's name.
        most: instances a request may have.
        most_pixels: pixels that all images of a request may have together, before resizing.
    """

    def __init__(
        self,
        metadata: ModelMetadata,
        preprocessings: Mapping[str, Preprocessing],
        *,
        most: int,
        most_pixels: int,
    ) -> None:
        self.specs = metadata.inputs
        self.preprocessings = preprocessings
        self.most = most
        self._names = [spec.name for spec in self.specs]
        self._only = self._names[0] if len(self.specs) == 1 else None
        self._most_pixels = most_pixels

    def instances(self, instances: list[Any]) -> Arrays:
        """Of JSON: nested lists, or objects by input name, by column name, or ``{"b64": …}``.

        Null is NaN. Shapes and types are not compared with the signature.

        Raises:
            InputError: naming the instance: rows are ragged, of mixed forms, or hold what no
                array can; or there are too many.
        """
        if not instances:
            raise InputError(FIELD, "the batch is empty")
        if len(instances) > self.most:
            reason = f"at most {self.most} instances a request, got {len(instances)}"
            raise InputError(FIELD, reason)
        objects = sum(isinstance(each, dict) for each in instances)
        if 0 < objects < len(instances):
            raise InputError(FIELD, "either all instances are objects or none is")
        if self._only is not None:
            if not objects:
                return {self._only: tensor(instances, self.specs[0], FIELD)}
            if self._only in self.preprocessings and self._only not in instances[0]:
                return {self._only: self._preprocessed(self._only, instances, FIELD)}
        elif not objects:
            raise InputError(FIELD, f"objects with the inputs {', '.join(self._names)} expected")
        return {spec.name: self._gathered(instances, spec) for spec in self.specs}

    def npy(self, body: bytes) -> Arrays:
        """Of an ``.npy`` file: the batch of the only input, as it is.

        Raises:
            InputError: it is no such file, or the model has several inputs.
        """
        return {self._alone("an .npy file"): npy(body)}

    def image(self, body: bytes) -> Arrays:
        """Of one encoded image.

        Raises:
            InputError: it is none, or the model has no single input that takes images.
        """
        name = self._alone("an image")
        return {name: self._images(name, [body], "body")}

    def _gathered(self, rows: list[Any], spec: TensorSpec) -> NDArray[Any]:
        for index, row in enumerate(rows):
            if not row.keys() <= set(self._names):
                stranger = next(iter(row.keys() - set(self._names)))
                reason = f"is no input of this model; it has {', '.join(sorted(self._names))}"
                raise InputError(f"{FIELD}[{index}].{str(stranger)[:100]}", reason)
            if spec.name not in row:
                raise InputError(f"{FIELD}[{index}].{spec.name}", "is missing")
        values, field = [row[spec.name] for row in rows], f"{FIELD}.{spec.name}"
        if spec.name in self.preprocessings and all(isinstance(each, dict) for each in values):
            return self._preprocessed(spec.name, values, field)
        return tensor(values, spec, field)

    def _preprocessed(self, name: str, rows: list[dict[str, Any]], field: str) -> NDArray[Any]:
        preprocessing = self.preprocessings[name]
        if preprocessing.form == "row":
            return preprocessing.batch(rows, field=field)
        images = [_decoded(row, f"{field}[{index}]") for index, row in enumerate(rows)]
        return self._images(name, images, field)

    def _images(self, name: str, images: list[bytes], field: str) -> NDArray[Any]:
        preprocessing = self.preprocessings.get(name)
        if preprocessing is None or preprocessing.form != "image":
            reason = f"the package declares no preprocessing of images for {name}; send numbers"
            raise InputError(field, reason)
        if isinstance(preprocessing, ImagePreprocessing):
            return preprocessing.batch(images, field=field, most_pixels=self._most_pixels)
        return preprocessing.batch(images, field=field)

    def _alone(self, what: str) -> str:
        if self._only is None:
            raise InputError("body", f"{what} is for models of one input; send JSON")
        return self._only


def _decoded(row: dict[str, Any], field: str) -> bytes:
    text = row.get("b64")
    if not isinstance(text, str) or len(row) != 1:
        raise InputError(field, 'an object {"b64": "…"} expected')
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"{field}.b64", "no base64") from None
