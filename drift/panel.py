"""A panel: a reference prepared for judging; what does not depend on counts is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.signals import Flag, Floats, Outside, Unseen

from .block import block_of
from .effect import Ruler
from .evidence import Evidence
from .multivariate import Together

FLAG_SHARE = 0.1
# What signals together have of the overall mean; small shifts of many columns are theirs.
TOGETHER_SHARE = 0.3


class Panel:
    """A reference's members: its `signals`, as a few blocks, and after them those `together`.

    Arrays over members are ``[T]``, with T = `size`.
    """

    def __init__(self, reference: Reference) -> None:
        layout = reference.layout
        self.signals = len(reference.signals)
        self.together = tuple(
            Together(each, reference.signals, layout) for each in reference.multivariates
        )
        self.size = self.signals + len(self.together)
        self.total = layout.total
        self.flags = np.array([each.signal.kind == "flag" for each in reference.signals], bool)
        kinds: dict[tuple[str, int], list[int]] = {}
        for position, each in enumerate(reference.signals):
            kinds.setdefault((each.signal.kind, _padded(each)), []).append(position)
        self.blocks = tuple(
            block_of(kind, reference.signals, layout.offsets, layout.total, where)
            for (kind, _), where in kinds.items()
        )
        # Signals of one pool share their bursts (see `inflation`): one stream of traffic is one.
        self.pools = np.zeros(self.signals, dtype=np.int64)
        # Those that vary together tell no more of them than one.
        self.tells = np.ones(self.signals)
        for one in self.together:
            self.tells[one.where] = one.reference.independent / len(one.where)
        # For flags that say where a column's values lie: their column's main signal, else −1.
        self.main = np.full(self.signals, -1)
        for position, each in enumerate(reference.signals):
            partition, column = each.signal.partition, each.signal.column
            if isinstance(partition, Flag) and isinstance(partition.when, Outside | Unseen):
                self.main[position] = layout.position.get(column, -1)
                if self.main[position] == position:
                    self.main[position] = -1
        self.evidence = tuple(Evidence(block) for block in self.blocks)
        self.rulers = tuple(Ruler(block, reference.signals) for block in self.blocks)
        # In the overall mean a flag counts a tenth of a main signal: there are two or three
        # beside each column, most never stir, and those that do bring much evidence at once.
        share = np.where(self.flags, FLAG_SHARE, 1.0)
        share = share / share.sum()
        if self.together:
            part = TOGETHER_SHARE / len(self.together)
            share = np.append((1 - TOGETHER_SHARE) * share, [part] * len(self.together))
        self.shares: Floats = share
        # Those that alone do not make traffic stable by being quiet.
        self.aside = np.append(self.flags, [True] * len(self.together))

    def members(self, values: Floats, of: Callable[[Floats], Any] = np.mean) -> Floats:
        """Values of the signals, and for those together what `of` makes of their signals'."""
        return np.append(values, [float(of(values[each.where])) for each in self.together])

    def log_e(
        self, flat: Floats, inflation: Floats, directions: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        """ln E of counts ``[B, total]``, and the values that each member has there, ``[T, B]``.

        `inflation` is ``[T]``, and of those together ``[K]`` by `directions`.
        """
        found, rows = np.zeros((2, self.size, len(flat)))
        for block, evidence in zip(self.blocks, self.evidence, strict=True):
            counts = block.gather(flat)
            rows[block.where] = counts.sum(axis=2)
            found[block.where] = evidence(counts, inflation[block.where])
        for row, each in enumerate(self.together):
            at, own = self.signals + row, inflation[each.where]
            found[at], rows[at] = each.log_e(flat, own, directions[row])
        return found, rows

    @classmethod
    def of(cls, reference: Reference) -> Panel:
        """The panel of a reference, made once and kept with it."""
        kept = reference.__dict__.get("_panel")
        if not isinstance(kept, Panel):
            kept = reference.__dict__["_panel"] = cls(reference)
        return kept


def _padded(each: SignalReference) -> int:
    """Signals are padded to the next power of two, at least 32."""
    return max(32, 1 << (len(each.weights) - 1).bit_length())
