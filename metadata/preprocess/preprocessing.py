"""What every preprocessing promises."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray

Form = Literal["image", "row"]


class Preprocessing(Protocol):
    """Raw data → the array that one input of the network takes.

    A frozen msgspec Struct with a permanent snake_case tag in the field ``kind``; all it knows is
    in its fields. A row of the result depends on that row's raw data alone, so that one at a time
    in a training pipeline and many at once in a service give the same bits.
    """

    # What a request may hold for it: encoded images, or rows by column name.
    form: ClassVar[Form]

    def __call__(self, raw: Any) -> NDArray[Any]:
        """One raw item → its array; a list of them → a batch, the batch first.

        Raises:
            InputError: it is nothing that this takes.
        """
        ...

    def batch(self, raw: list[Any], *, field: str = ...) -> NDArray[Any]:
        """As a call with a list; errors name the item below `field`."""
        ...
