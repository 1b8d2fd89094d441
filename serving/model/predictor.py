"""Predictors: arrays in, arrays out, one call at a time.

The only place of the room that imports MindSpore, and only when a package needs it: in the worker,
after the fork, since a MindSpore that has inferred does not survive one.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.errors import InputError, PackageError, SettingError
from driftline.metadata.package import ModelPackage
from driftline.metadata.schema import TensorSpec

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]
# Of images and of sequences; a convolution may not take fewer pixels than these.
GUESSES = (32, 224)
# Each new shape is compiled, and what was compiled stays: about 0.4 MB each, for a small network.
MOST_SHAPES = 1024
# Each a tenth of a second at the start. Rows that only fill a batch up are computed all the same:
# of a small convolution eight cost four times as much as two.
SIZES = (1, 2, 4, 8, 16, 32)


class Predictor(Protocol):
    """A model that answers. Safe to call from many threads."""

    def predict(self, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
        """The outputs by name for inputs by name, all with the batch as first axis.

        Raises:
            InputError: an input is not what the model takes.
        """
        ...


class Padded:
    """A network of a few batch sizes: batches are padded to the next one, larger ones cut.

    MindSpore compiles for each new batch size, which takes up to a second, so only those sizes
    ever occur that `warm` has met. One lock around every call: MindSpore bears no second thread.

    Args:
        call: takes the inputs in order, gives the outputs in order.
        inputs, outputs: of the model's signature.
        sizes: the batch sizes.
    """

    def __init__(
        self,
        call: Callable[[list[NDArray[Any]]], list[NDArray[Any]]],
        inputs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
        sizes: tuple[int, ...],
    ) -> None:
        self._call = call
        self._inputs = inputs
        self._outputs = outputs
        fixed = {spec.shape[0] for spec in inputs if spec.shape and spec.shape[0]}
        self._sizes = tuple(sorted({int(size) for size in fixed if size} or set(sizes)))
        self._lock = threading.Lock()
        self._met: set[tuple[tuple[int, ...], ...]] = set()

    def predict(self, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
        """As `Predictor.predict`."""
        try:
            ordered = [arrays[spec.name] for spec in self._inputs]
        except KeyError as error:
            raise InputError(str(error.args[0]), "is missing") from None
        rows, largest = len(ordered[0]), self._sizes[-1]
        parts = [
            self._padded([array[at : at + largest] for array in ordered])
            for at in range(0, max(rows, 1), largest)
        ]
        return {
            spec.name: parts[0][index]
            if len(parts) == 1
            else np.concatenate([part[index] for part in parts])
            for index, spec in enumerate(self._outputs)
        }

    @property
    def largest(self) -> int:
        """Rows of the largest batch."""
        return self._sizes[-1]

    def warm(self) -> None:
        """Runs every batch size once; lengths that the signature leaves open are guessed.

        Raises:
            Exception: what the network raised; not where a guessed length may be the reason.
        """
        lengths = GUESSES if any(None in spec.shape[1:] for spec in self._inputs) else (1,)
        for size in self._sizes:
            for guess in lengths:
                try:
                    self._padded([_zeros(spec, size, guess) for spec in self._inputs])
                    break
                except Exception as error:
                    if lengths == (1,):
                        raise
                    log.warning("not warm for batches of %d, length %d: %s", size, guess, error)

    def _padded(self, arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
        rows = len(arrays[0])
        size = next(size for size in self._sizes if size >= rows)
        if size > rows:
            # The last row again, not zeros: what a network does with real rows is known to work.
            arrays = [
                np.concatenate([each, np.repeat(each[-1:], size - rows, axis=0)])
                if rows
                else np.zeros((size, *each.shape[1:]), each.dtype)
                for each in arrays
            ]
        shapes = tuple(each.shape for each in arrays)
        with self._lock:
            found = self._call(arrays) if shapes in self._met else self._meet(shapes, arrays)
        return [each[:rows] for each in found]

    def _meet(
        self, shapes: tuple[tuple[int, ...], ...], arrays: list[NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Lets a shape in that was never met; memory is not for clients to fill.

        One that the network fails on takes no place: else a client could use them all up, and
        every new good one would be refused.
        """
        if len(self._met) >= MOST_SHAPES:
            reason = f"{MOST_SHAPES} different shapes were met already; send one of those"
            raise InputError(self._inputs[0].name, reason)
        found = self._call(arrays)
        self._met.add(shapes)
        return found


def _zeros(spec: TensorSpec, size: int, guess: int) -> NDArray[Any]:
    return np.zeros((size, *(length or guess for length in spec.shape[1:])), spec.dtype)


def load(
    package: ModelPackage,
    *,
    predictor: str | None = None,
    network: str | None = None,
    sizes: tuple[int, ...] = SIZES,
) -> Predictor:
    """The package's model, loaded and warm.

    With `predictor`, what that ``module:function`` makes of the package; else the MindIR; else the
    checkpoint put into what the ``module:function`` in `network` returns.

    Raises:
        SettingError: a ``module:function`` is not there.
        PackageError: the package has no model that can be loaded, or it does not load.
    """
    if predictor:
        made: Predictor = named(predictor, "predictor")(package)
        return made
    roles = {entry.role for entry in package.metadata.files}
    try:
        if "model" in roles:
            call = _mindir(str(package.file("model")))
        elif network and "checkpoint" in roles:
            call = _checkpoint(str(package.file("checkpoint")), named(network, "network"))
        else:
            reason = "holds no exported model; name its --network or a --predictor"
            raise PackageError(package.path, reason)
        padded = Padded(call, package.metadata.inputs, package.metadata.outputs, sizes)
        padded.warm()
    except ImportError as error:
        reason = f"needs MindSpore, which does not load here: {error}"
        raise PackageError(package.path, reason) from error
    except (RuntimeError, ValueError, TypeError) as error:
        raise PackageError(package.path, f"its model does not load: {error}") from error
    return padded


def named(path: str, setting: str) -> Callable[..., Any]:
    """The function that ``module:function`` names.

    Raises:
        SettingError: there is none.
    """
    module, _, name = path.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(setting, f"{path!r} cannot be imported: {error}") from error
    return found


def _mindir(path: str) -> Callable[[list[NDArray[Any]]], list[NDArray[Any]]]:
    import mindspore

    return _cell(mindspore.nn.GraphCell(mindspore.load(path)))


def _checkpoint(
    path: str, network: Callable[[], Any]
) -> Callable[[list[NDArray[Any]]], list[NDArray[Any]]]:
    import mindspore

    cell = network()
    missing, left_over = mindspore.load_param_into_net(
        cell, mindspore.load_checkpoint(path), strict_load=True
    )
    # MindSpore itself only logs these, and would serve what the network was born with.
    if missing or left_over:
        raise ValueError(f"parameters {missing} are missing, {left_over} belong to none")
    cell.set_train(False)
    return _cell(cell)


def _cell(cell: Any) -> Callable[[list[NDArray[Any]]], list[NDArray[Any]]]:
    import mindspore

    def call(arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
        found = cell(*(mindspore.Tensor(np.ascontiguousarray(each)) for each in arrays))
        several = found if isinstance(found, tuple | list) else (found,)
        return [each.asnumpy() for each in several]

    return call
