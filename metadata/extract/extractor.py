"""What every extractor promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from ..sample import RowSample
from ..signals import Column, Floats

if TYPE_CHECKING:
    from typing import Self

Raw = NDArray[Any]
Rows = NDArray[Any] | RowSample


class Extractor(Protocol):
    """Raw arrays → a float64 matrix with one column per scalar.

    An extractor is a frozen msgspec Struct with a permanent snake_case tag in the field ``kind``.
    All it knows is in its fields, and they survive JSON exactly: what serving rebuilds from the
    metadata computes the very same bits. A row's values depend on that row alone, so cutting a
    stream into batches changes nothing.
    """

    def columns(self) -> tuple[Column, ...]:
        """Names and kinds of the matrix's columns, in order; at most some dozens.

        Raises:
            SettingError: a setting they depend on is left for `fit` to find.
        """
        ...

    def extract(self, array: Raw, *, field: str = ...) -> Floats:
        """One row for each row of the batch, shape ``[n, len(columns())]``.

        NaN, infinities and values of any size pass without a warning and touch only their own
        row; an empty batch gives shape ``[0, len(columns())]``.

        Raises:
            InputError: the array's type or shape does not fit; names `field` and the reason.
        """
        ...

    def fit(self, rows: Rows) -> Self:
        """An extractor with everything found that is to be learned; itself if that is nothing.

        Fit on other rows than the reference is made of (a part of the training batches, or a
        quarter of the held-out rows): a distance is smaller on the rows it was fitted on than on
        new ones, and that difference would be taken for drift.

        Raises:
            InputError: the rows do not fit, or are too few.
        """
        ...


@runtime_checkable
class Glancing(Protocol):
    """What an extractor promises beside, where some of its columns cost much less than all."""

    def glanced(self) -> int:
        """How many columns `glance` gives, at least 1.

        Raises:
            SettingError: as `columns`.
        """
        ...

    def glance(self, array: Raw, *, field: str = ...) -> Floats:
        """The first `glanced` columns of `extract`: those that cost next to nothing.

        They are what a client is told of its own rows while it waits; all columns are made later,
        of many rows at once.

        Raises:
            InputError: as `extract`.
        """
        ...
