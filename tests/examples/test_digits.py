"""What the demo promises of its data, without training a model."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.drift import Ring, judge
from driftline.metadata.counts import Counts
from driftline.metadata.extract import Image
from driftline.metadata.fitting import fit_reference
from driftline.metadata.reference import Reference
from driftline.metadata.sample import RowSample
from driftline.metadata.thresholds import Thresholds
from examples.digits.data import CORRUPTIONS, Images, pools

WIDTH, START = 60, 1_700_000_040
EXTRACTOR = Image(layout="NCHW", channels=1, low=0.0, high=1.0)


@pytest.fixture(scope="module")
def reference() -> Reference:
    images, _ = pools()[1].draw(8_000, seed=2)
    columns = EXTRACTOR.columns()
    sample = RowSample(len(columns))
    sample.add(EXTRACTOR.extract(images))
    return fit_reference({"input": sample}, {"input": columns}, source="held_out")


def counted(reference: Reference, images: Images) -> Counts:
    return reference.layout.count("input", EXTRACTOR.extract(images))


def test_training_and_traffic_share_no_image() -> None:
    """The pool that the reference and the traffic are drawn from is unknown to training."""
    seen, unseen = pools()
    known = {image.tobytes() for image in seen.images}
    assert not any(image.tobytes() in known for image in unseen.images)
    assert len(seen.labels) + len(unseen.labels) == 1797


def test_draws_are_seeded_and_fresh() -> None:
    """The same seed gives the same images, another seed others."""
    pool = pools()[1]
    np.testing.assert_array_equal(pool.draw(20, seed=1)[0], pool.draw(20, seed=1)[0])
    assert not np.array_equal(pool.draw(20, seed=1)[0], pool.draw(20, seed=2)[0])


def test_fresh_draws_are_stable(reference: Reference) -> None:
    """5,000 clean images, looked at after every hundred, never are called drift."""
    images, _ = pools()[1].draw(5_000, seed=11)
    buckets: dict[int, Counts] = {}
    for at in range(50):
        counts = counted(reference, images[100 * at : 100 * at + 100])
        buckets[START + WIDTH * at] = counts
        verdict = judge(reference, Ring.of(WIDTH, buckets), thresholds=Thresholds())
        assert verdict.state in ("insufficient_data", "stable")
    assert verdict.state == "stable"


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_each_corruption_is_called_within_300_requests(
    reference: Reference, kind: str, seed: int
) -> None:
    """After 1,000 clean images each corruption is drift by its 300th at the default budget."""
    random = np.random.default_rng(seed)
    clean, _ = pools()[1].draw(1_000, seed=100 + seed)
    broken, _ = pools()[1].draw(300, seed=200 + seed)
    broken = CORRUPTIONS[kind](broken, random)
    buckets = {
        START + WIDTH * at: counted(reference, clean[100 * at : 100 * at + 100]) for at in range(10)
    }
    begins = START + WIDTH * 10
    buckets[begins] = counted(reference, broken)
    verdict = judge(reference, Ring.of(WIDTH, buckets), thresholds=Thresholds())
    assert verdict.state == "drift"
    assert verdict.onset == begins
