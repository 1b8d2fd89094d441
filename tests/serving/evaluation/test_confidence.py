"""What was usual on the reference data, under whichever limit is asked about."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import served

from driftline.metadata.extract import EXTRACTORS, Classification
from driftline.serving.evaluation.confidence import threshold, usual_share

METADATA = served.metadata()
TOPS = Classification(served.CLASSES).extract(served.rows(4_991, 99) @ served.weights())[:, 1]


@pytest.mark.parametrize("limit", [0.4, 0.5, 0.7, 0.9, 0.99, 0.999])
def test_it_is_read_off_the_cells_under_any_limit(limit):
    assert usual_share(METADATA, limit) == pytest.approx((limit > TOPS).mean(), abs=0.01)


def test_under_the_packages_own_limit_it_is_counted():
    task = Classification(served.CLASSES)
    assert threshold(METADATA) == task.threshold
    low = next(one for one in METADATA.reference.signals if one.name == "low_confidence")
    assert usual_share(METADATA, task.threshold) == low.weights[1] / sum(low.weights)


def test_beyond_all_values_it_is_none_or_all_of_them():
    assert usual_share(METADATA, float(TOPS.min()) * 0.9) == 0.0
    assert usual_share(METADATA, float(np.nextafter(TOPS.max(), 2.0))) == 1.0


def test_a_spike_counts_from_its_value_on():
    """A saturated softmax: half of the values are one, and none of them is under a limit of one."""
    reference = served.metadata().reference
    at = [each.name for each in reference.signals].index("top_probability")
    spike = msgspec.structs.replace(
        reference.signals[at],
        signal=msgspec.structs.replace(
            reference.signals[at].signal,
            partition=msgspec.structs.replace(
                reference.signals[at].signal.partition, edges=(0.8, 1.0)
            ),
        ),
        weights=(20.0, 30.0, 50.0),
    )
    columns = [
        msgspec.structs.replace(each, low=0.4, high=1.0) if each.name == "top_probability" else each
        for each in reference.columns
    ]
    signals = [*reference.signals[:at], spike, *reference.signals[at + 1 :]]
    changed = msgspec.structs.replace(reference, columns=tuple(columns), signals=tuple(signals))
    metadata = msgspec.structs.replace(METADATA, reference=changed)
    assert usual_share(metadata, 1.0) == pytest.approx(0.5)
    assert usual_share(metadata, 0.6) == pytest.approx(0.1)


def test_without_a_limit_or_a_top_probability_nothing_is_known():
    assert usual_share(METADATA, None) is None
    kept = [one for one in METADATA.reference.signals if one.signal.column != "top_probability"]
    reference = msgspec.structs.replace(METADATA.reference, signals=tuple(kept))
    assert usual_share(msgspec.structs.replace(METADATA, reference=reference), 0.5) is None


def test_another_threshold_at_packaging_is_another_cut():
    encoded = EXTRACTORS.encode(Classification(served.CLASSES, threshold=0.6))
    changed = [
        msgspec.structs.replace(each, extractor=encoded) if each.group == "output" else each
        for each in METADATA.extractions
    ]
    metadata = msgspec.structs.replace(METADATA, extractions=tuple(changed))
    assert threshold(metadata) == 0.6
    assert usual_share(metadata, 0.3) == pytest.approx((TOPS < 0.3).mean(), abs=0.01)
