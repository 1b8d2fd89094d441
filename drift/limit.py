"""Plain limits on means, beside the statistical verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Rule

from .effect import means
from .ring import Ring
from .sentences import sentence
from .verdict import Breach, Language


def breaches(
    reference: Reference, ring: Ring, rules: Sequence[Rule], language: Language = "en"
) -> tuple[Breach, ...]:
    """Limits that the means over the whole ring are beyond; `rules` are those of the signals.

    Limits are set on a column's main signal. They know no chance and no evidence: with few rows a
    mean is beyond a narrow limit by chance.
    """
    limited = [
        (each, rule)
        for each, rule in zip(reference.signals, rules, strict=True)
        if each.signal.kind != "flag"
        and (rule.mean_change, rule.mean_low, rule.mean_high) != (None, None, None)
    ]
    if not limited or not len(ring):
        return ()
    mean_of = means(ring.moments)[0]
    base = {(each.group, each.name): each.mean for each in reference.columns}
    found = []
    for each, rule in limited:
        key = (each.signal.group, each.signal.column)
        mean = float(mean_of[reference.layout.rows[key]])
        usual = base[key]
        if not np.isfinite(mean):
            continue
        if rule.mean_change is not None and usual is not None:
            change = abs(mean - usual)
            if change > rule.mean_change:
                found.append(Breach(key[1], "mean_change", rule.mean_change, change, ""))
        if rule.mean_low is not None and mean < rule.mean_low:
            found.append(Breach(key[1], "mean_low", rule.mean_low, mean, ""))
        if rule.mean_high is not None and mean > rule.mean_high:
            found.append(Breach(key[1], "mean_high", rule.mean_high, mean, ""))
    return tuple(replace(each, sentence=sentence(each, language)) for each in found)
