"""The ledger: episodes and what is to be told of them, in the store, so that no crash splits them.

One document holds the episodes together with the messages that came of its last change; writing it
is the one moment at which a change becomes true. The messages are then copied into the logs under
the document's batch number, which makes the copy repeatable: whoever finds them in the document
after a crash copies again, and what is there already is not put there twice.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..stores.store import Lease, Store
from .alert import Alert, Message
from .courier import outbox
from .episodes import Acknowledged, Episode

BOOK = "alerts/book"
PAST = "alerts/past"
ACKNOWLEDGEMENTS = "alerts/acknowledgements"
PAST_KEPT = 1_000
ACKNOWLEDGEMENTS_KEPT = 1_000
MESSAGES_KEPT = 10_000
_PAGE = 500


class Book(Struct, frozen=True):
    """The document: open episodes, how far acknowledgements are read, and the last change.

    `batch` numbers the changes and grows; `messages` and `past` are what the last one brought, as
    long as it may not be in the logs.
    """

    episodes: dict[str, Episode] = {}
    acknowledgements: int = 0
    batch: int = 0
    messages: tuple[Message, ...] = ()
    past: tuple[Alert, ...] = ()


class Ledger:
    """Reads and writes the book and the logs; every method raises StoreError as the store does."""

    def __init__(self, store: Store, lease_name: str) -> None:
        self._store = store
        self._lease_name = lease_name

    def read(self) -> Book:
        """The book; an empty one when nothing was ever written."""
        found = self._store.get(BOOK)
        return Book() if found is None else msgspec.json.decode(found[1], type=Book)

    def write(self, book: Book, lease: Lease | None) -> bool:
        """Makes a change true; False when the lease is another's by now."""
        value = msgspec.json.encode(book)
        return self._store.put(BOOK, value, lease=lease, name=self._lease_name)

    def settle(self, book: Book, lease: Lease | None) -> Book | None:
        """The book after its last change was copied into the logs; None when the lease is
        another's."""
        if not book.messages and not book.past:
            return book
        logs: dict[str, tuple[int, list[bytes]]] = {}
        for message in book.messages:
            log = logs.setdefault(outbox(message.sink), (MESSAGES_KEPT, []))
            log[1].append(msgspec.json.encode(message))
        if book.past:
            logs[PAST] = PAST_KEPT, [msgspec.json.encode(each) for each in book.past]
        for name, (keep, values) in logs.items():
            if not self._store.append(
                name,
                values,
                keep=keep,
                source="ledger",
                sequence=book.batch,
                lease=lease,
                name=self._lease_name,
            ):
                return None
        # Out of the book: a store remembers for some days only what it has appended already.
        settled = replace(book, messages=(), past=())
        return settled if self.write(settled, lease) else None

    def past(self) -> list[Alert]:
        """Resolved alerts, the newest first; also those of the last change, copied or not yet."""
        found = [msgspec.json.decode(value, type=Alert) for value in self._all(PAST)]
        known = {each.id for each in found}
        found += [each for each in self.read().past if each.id not in known]
        return found[::-1]

    def acknowledged(self, after: int) -> tuple[int, list[Acknowledged]]:
        """The words given since the sequence `after`, and the sequence of the last one."""
        entries = self._store.entries(ACKNOWLEDGEMENTS, after, _PAGE)
        words = [msgspec.json.decode(each.value, type=Acknowledged) for each in entries]
        return (entries[-1].sequence if entries else after), words

    def acknowledge(self, word: Acknowledged) -> None:
        """Puts a word down; any worker may, the holder of the lease enters it in the book."""
        self._store.append(
            ACKNOWLEDGEMENTS, [msgspec.json.encode(word)], keep=ACKNOWLEDGEMENTS_KEPT
        )

    def _all(self, log: str) -> list[bytes]:
        values: list[bytes] = []
        after = 0
        while entries := self._store.entries(log, after, _PAGE):
            values += [each.value for each in entries]
            after = entries[-1].sequence
        return values
