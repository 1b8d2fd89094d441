"""Outputs of a classifier: what it predicts, how sure it is, and how it spreads its belief."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ..errors import InputError, SettingError
from ..signals import Column, Floats
from .arrays import floats, numeric, plain_settings, rows_of
from .extractor import Raw, Rows
from .probability import binary_entropy, entropy, logistic, logit, softmax

if TYPE_CHECKING:
    from typing import Self

Head = Literal[
    "logits",
    "probabilities",
    "sigmoid",
    "sigmoid_probability",
    "multilabel",
    "multilabel_probability",
]
SHOWN = 20
# Probabilities come out of half-precision networks; beyond this they are something else.
ROUNDING = 1e-2


class Classification(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    dict=True,
    tag="classification",
    tag_field="kind",
):
    """Scores of `classes`, shape ``[n, classes]``: ``predicted_class`` (index of the most
    probable), ``top_probability``, ``margin`` (to the second), ``entropy`` (in nats),
    ``low_confidence`` (top probability under the threshold) and ``p_<class>``.

    The heads ``sigmoid`` (a logit) and ``sigmoid_probability`` give one score a row, shape
    ``[n]`` or ``[n, 1]``, the second class's. The ``multilabel`` heads judge each class by
    itself: ``margin`` is then the smallest distance ``|2p - 1|`` of a class from undecided,
    ``entropy`` the mean over classes, and ``labels`` the number of classes at one half or more.

    Args:
        classes: names, in the order of the scores.
        head: what the scores are.
        temperature: logits are divided by it before they become probabilities.
        threshold: of ``low_confidence``.
        shown: classes with a ``p_<class>`` of their own, at most 20. Left out, all of them if
            there are no more; else `fit` takes the most probable, and before it there are none.
    """

    classes: tuple[str, ...]
    head: Head = "logits"
    temperature: float = 1.0
    threshold: float = 0.3
    shown: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        plain_settings(self)
        # Class names often come as the integers of a dataset; in JSON they are words.
        force_setattr(self, "classes", tuple(str(name) for name in self.classes))
        if self.head not in get_args(Head):
            raise SettingError("head", f"one of {', '.join(get_args(Head))} expected")
        least = 1 if self._multilabel else 2
        if len(self.classes) < least or len(set(self.classes)) != len(self.classes):
            raise SettingError("classes", f"{least} or more different names expected")
        if self._single and len(self.classes) != 2:
            raise SettingError("classes", f"the head {self.head} has two, got {len(self.classes)}")
        if not 0 < self.temperature < np.inf:
            raise SettingError("temperature", f"a number above 0 expected, got {self.temperature}")
        if not 0 <= self.threshold <= 1:
            raise SettingError("threshold", f"0 to 1 expected, got {self.threshold}")
        if self.shown is None:
            return
        force_setattr(self, "shown", tuple(str(name) for name in self.shown))
        if len(self.shown) > SHOWN or not set(self.shown) <= set(self.classes):
            raise SettingError("shown", f"at most {SHOWN} of the classes expected")

    def columns(self) -> tuple[Column, ...]:
        """The columns above; ``labels`` only for multi-label heads."""
        return self._columns

    def extract(self, array: Raw, *, field: str = "output") -> Floats:
        """Shape ``[n, columns]``; a row whose scores are no numbers is NaN throughout.

        Raises:
            InputError: not numbers of the head's shape.
        """
        p = self.probabilities(array, field=field)
        out = np.empty((len(p), len(self._columns)))
        ordered = np.sort(p, axis=1)  # NaN comes last, so the top of such a row is NaN
        top = ordered[:, -1]
        out[:, 0] = p.argmax(axis=1)
        out[:, 1] = top
        if self._multilabel:
            out[:, 2] = np.minimum.reduce(np.abs(2.0 * p - 1.0), axis=1)
            out[:, 3] = binary_entropy(p).mean(axis=1)
        else:
            out[:, 2] = top - ordered[:, -2]
            out[:, 3] = entropy(p)
        out[:, 4] = top < self.threshold
        start = 5
        if self._multilabel:
            out[:, 5] = np.add.reduce(p >= 0.5, axis=1)
            start = 6
        out[:, start:] = p if self._shown is None else p[:, self._shown]
        unknown = np.isnan(top)
        if unknown.any():
            out[unknown] = np.nan
        return out

    def probabilities(self, array: Raw, *, field: str = "output") -> Floats:
        """Calibrated probabilities, shape ``[n, classes]``; NaN where a row's scores are none.

        Scores of minus infinity are a probability of 0. Probabilities that do not quite add up
        to 1 are scaled to; far from it, or outside 0 to 1, they are none.

        Raises:
            InputError: not numbers of the head's shape.
        """
        scores = self._scores(array, field)
        if self.head == "logits":
            return softmax(scores, self.temperature)
        if self.head == "probabilities":
            return self._normalised(scores)
        if self.head in ("sigmoid_probability", "multilabel_probability"):
            p = np.where((scores >= 0) & (scores <= 1), scores, np.nan)
            if self.temperature != 1.0:
                p = logistic(logit(p), self.temperature)
        else:
            p = logistic(scores, self.temperature)
        if self._single:
            return np.concatenate([1.0 - p, p], axis=1)
        p[np.isnan(p).any(axis=1)] = np.nan
        return p

    def fit(self, rows: Rows) -> Self:
        """Itself; with more than 20 classes and `shown` left out, the most probable are shown.

        Raises:
            InputError: not scores of the head's shape, or no probabilities though the head says
                that they are.
        """
        scores = rows_of(rows)
        p = self.probabilities(scores, field="rows")
        known = ~np.isnan(p).any(axis=1)
        if not known.any() and np.isfinite(scores).any():
            reason = f"no row is what the head {self.head!r} says; if these are logits, say so"
            raise InputError("rows", reason)
        if self.shown is not None or len(self.classes) <= SHOWN or not known.any():
            return self
        p = p[known]
        most = np.sort(np.argsort(-p.mean(axis=0), kind="stable")[:SHOWN])
        return replace(self, shown=tuple(self.classes[index] for index in most))

    @property
    def _multilabel(self) -> bool:
        return self.head.startswith("multilabel")

    @property
    def _single(self) -> bool:
        return self.head.startswith("sigmoid")

    @cached_property
    def _names(self) -> tuple[str, ...]:
        if self.shown is not None:
            return self.shown
        if self._single:  # the first class's is one minus the second's
            return self.classes[1:]
        return self.classes if len(self.classes) <= SHOWN else ()

    @cached_property
    def _shown(self) -> list[int] | None:
        if self._names == self.classes:
            return None
        return [self.classes.index(name) for name in self._names]

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        found = [
            Column("predicted_class", "category"),
            Column("top_probability", "number"),
            Column("margin", "number"),
            Column("entropy", "number"),
            Column("low_confidence", "flag"),
        ]
        if self._multilabel:
            found.append(Column("labels", "number"))
        return (*found, *(Column(f"p_{name}", "number") for name in self._names))

    def _scores(self, array: Raw, field: str) -> Floats:
        if self._single and getattr(array, "ndim", 0) == 1:
            array = array[:, None]
        width = 1 if self._single else len(self.classes)
        numeric(array, field, "nc")
        if array.shape[1] != width:
            raise InputError(field, f"{width} scores a row expected, got {array.shape[1]}")
        return floats(array)

    def _normalised(self, scores: Floats) -> Floats:
        with np.errstate(all="ignore"):
            total = np.add.reduce(scores, axis=1)
            p = scores / total[:, None]
            wrong = ~((abs(total - 1.0) <= ROUNDING) & (np.minimum.reduce(scores, axis=1) >= 0))
        if wrong.any():
            p[wrong] = np.nan
        if self.temperature == 1.0:
            return p
        with np.errstate(divide="ignore"):
            return softmax(np.log(p), self.temperature)
