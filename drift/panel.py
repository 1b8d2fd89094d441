"""A panel: a reference prepared for judging; what does not depend on counts is worked out once."""

from __future__ import annotations

import numpy as np

from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.signals import Flag, Floats, Outside, Unseen

from .block import block_of
from .effect import Ruler
from .evidence import Evidence

FLAG_SHARE = 0.1


class Panel:
    """A reference's signals as a few blocks."""

    def __init__(self, reference: Reference) -> None:
        layout = reference.layout
        self.size = len(reference.signals)
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
        self.pools = np.zeros(self.size, dtype=np.int64)
        # For flags that say where a column's values lie: their column's main signal, else −1.
        self.main = np.full(self.size, -1)
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
        self.shares: Floats = share / share.sum()

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
