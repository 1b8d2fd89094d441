"""Evidence: one e-value from the counts of a signal.

    E(c) = Σⱼ wⱼ · Aⱼ(c) / DM(c | reference),    Σⱼ wⱼ = 1

DM is the exact predictive probability of the counts when production equals training, the
reference's own sampling error inside it; each alternative Aⱼ is a probability distribution over
the same cells. So E has expectation at most 1 without drift, at any time anyone looks (Ville 1939;
Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid inference"). The alternatives
are in `ordered`, `unordered` and `rate`.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Floats

from .block import Block, block_of
from .ordered import Ordered
from .rate import Rate
from .unordered import Unordered


def log_evidence(each: SignalReference, counts: Floats, inflation: float = 1.0) -> Floats:
    """ln E of whole counts ``[..., K]`` of one signal, shape ``[...]``.

    With an `inflation` F above 1 the counts enter as c/F (a tempered likelihood).
    """
    size = len(each.weights)
    block = block_of(each.signal.kind, [each], np.array([0, size]), size, [0])
    flat = np.asarray(counts, dtype=np.float64).reshape(1, -1, size)
    found = Evidence(block)(flat, np.array([inflation]))
    return found[0].reshape(np.shape(counts)[:-1])


class Evidence:
    """ln E of a block's signals, by their kind."""

    def __init__(self, block: Block) -> None:
        self._evidence: Ordered | Unordered | Rate
        if block.kind == "continuous":
            self._evidence = Ordered(block)
        else:
            self._evidence = Rate(block) if block.kind == "flag" else Unordered(block)

    def __call__(self, counts: Floats, inflation: Floats) -> Floats:
        """ln E, shape ``[T, B]``, of whole counts ``[T, B, K]`` at inflations ``[T]``."""
        return self._evidence(counts, inflation)
