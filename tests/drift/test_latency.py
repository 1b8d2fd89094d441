"""Latency regressions are called against the right baseline, and not more often than promised."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy import stats

from driftline.drift.baseline import Usual, choose, first_stable, mark
from driftline.drift.block import block_of
from driftline.drift.evidence import Evidence
from driftline.drift.latency import Latency, latency
from driftline.drift.single import single_reference
from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline
from driftline.metadata.thresholds import Rule, Thresholds

START = 1_700_000_040
LAW = stats.lognorm(0.3, scale=0.02)


def counted(seconds: np.ndarray) -> list[int]:
    cells = np.searchsorted(LATENCY_EDGES, seconds, side="right")
    return np.bincount(cells, minlength=len(LATENCY_EDGES) + 1).tolist()


def stream(seed: int, scales: list[float], each: int = 50) -> dict[int, list[int]]:
    """One bucket a minute; requests take a lognormal time whose median is 20 ms by the scale."""
    random = np.random.default_rng(seed)
    return {
        START + 60 * at: counted(LAW.rvs(each, random_state=random) * scale)
        for at, scale in enumerate(scales)
    }


def packaged(seed: int = 0, host: str = "here") -> LatencyBaseline:
    timings = LAW.rvs(200, random_state=np.random.default_rng(seed))
    p50, p95, p99 = np.quantile(timings, [0.5, 0.95, 0.99])
    return LatencyBaseline(
        p50=p50, p95=p95, p99=p99, calls=200,
        edges=LATENCY_EDGES, counts=tuple(counted(timings)), host=host,
    )  # fmt: skip


def test_on_a_machine_of_the_same_kind_the_package_is_the_baseline() -> None:
    buckets = stream(1, [1.0] * 20)
    usual, reason = choose(packaged(), buckets, host="here", rows=1.0)
    assert usual is not None
    assert (usual.source, usual.since, reason) == ("package", None, "")


@pytest.mark.parametrize(
    ("package", "host", "rows", "why"),
    [
        (None, "here", 1.0, "no timings"),
        (packaged(), "there", 1.0, "another kind of machine"),
        (packaged(), "here", 8.0, "single rows, requests have 8 on average"),
        (msgspec.structs.replace(packaged(), edges=(1.0,)), "here", 1.0, "other cells"),
    ],
)
def test_elsewhere_it_is_the_services_own_first_stable_stretch(package, host, rows, why) -> None:
    buckets = stream(2, [5.0] * 3 + [1.0] * 30)
    usual, reason = choose(package, buckets, host=host, rows=rows)
    assert usual is not None
    assert why in reason
    assert usual.source == "service"
    # Not the first three minutes, of which one is left out as warm-up.
    assert usual.since is not None
    assert START + 120 <= usual.since <= START + 240
    assert sum(usual.counts) >= 450
    later = stream(2, [5.0] * 3 + [1.0] * 30 + [3.0] * 30)
    kept, _ = choose(package, later, host=host, rows=rows, before=usual)
    assert kept == usual
    moved, _ = choose(None, later, host="elsewhere", rows=1.0, before=usual)
    assert moved == usual


def test_a_service_never_as_quick_as_the_package_is_its_own_baseline() -> None:
    """Slow since its first request is how it is built, and no regression; slower then is one."""
    young = stream(5, [3.0] * 8)
    usual, reason = choose(packaged(), young, host="here", rows=1.0)
    assert usual is None
    assert "no stretch of requests has been as quick as the package's timings (95 % 3" in reason
    own, reason = choose(packaged(), stream(5, [3.0] * 30), host="here", rows=1.0)
    assert own is not None
    assert own.source == "service"
    assert "as quick" in reason
    later = stream(5, [3.0] * 30 + [6.0] * 10)
    usual, again = choose(packaged(), later, host="here", rows=1.0, before=own, told=reason)
    assert (usual, again) == (own, reason)
    assert latency(own, later, width=60).regressed
    assert not latency(own, stream(5, [3.0] * 40), width=60).regressed


@pytest.mark.parametrize(
    "early",
    [stream(6, [3.0] * 4 + [1.0] * 4), stream(6, [1.0], each=25)],
    ids=["two hundred requests", "all of the first few"],
)
def test_a_service_once_as_quick_as_the_package_is_measured_by_it(early) -> None:
    """Also where it began slowly, or has seen few requests; and it stays so when it slows down."""
    usual, reason = choose(packaged(), early, host="here", rows=1.0)
    assert usual is not None
    assert (usual.source, reason) == ("package", "")
    slow = stream(6, [3.0] * 30)
    kept, reason = choose(packaged(), slow, host="here", rows=1.0, before=usual)
    assert (kept, reason) == (usual, "")


def test_of_fewer_than_twenty_requests_no_baseline_is_chosen() -> None:
    assert choose(packaged(), stream(6, [1.0], each=19), host="here", rows=1.0)[0] is None
    assert choose(packaged(), {}, host="here", rows=1.0)[0] is None


def test_a_baseline_once_left_is_not_taken_up_again() -> None:
    buckets = stream(3, [1.0] * 30)
    own, _ = choose(packaged(), buckets, host="here", rows=4.0)
    assert own is not None
    told = "requests had 4 rows"
    kept, reason = choose(packaged(), buckets, host="here", rows=1.0, before=own, told=told)
    assert (kept, reason) == (own, told)


def test_the_baseline_does_not_change_with_the_replica_that_judges() -> None:
    """The package's stays until the service has a stable stretch, which is never a slow one that
    was just called; the service's own then stays whoever judges."""
    package, calm, young = packaged(), stream(3, [1.0] * 30), stream(3, [1.0] * 5)
    first, _ = choose(package, calm, host="here", rows=1.0)
    assert first is not None
    kept, reason = choose(package, young, host="there", rows=1.0, before=first)
    assert kept == first
    assert "other kinds of machine" in reason
    slow = stream(3, [3.0] * 30)
    kept, _ = choose(package, slow, host="there", rows=1.0, before=first, held=True)
    assert kept == first
    own, reason = choose(package, calm, host="there", rows=1.0, before=first)
    assert own is not None
    assert own.source == "service"
    assert "other kinds of machine" in reason
    for host in ("here", "there", "elsewhere"):
        assert choose(package, slow, host=host, rows=1.0, before=own)[0] == own
    # Timings of single rows are no measure of requests of many, whoever judges.
    assert choose(package, young, host="there", rows=8.0, before=first)[0] is None


def test_without_enough_or_without_peace_there_is_none() -> None:
    assert first_stable(stream(4, [1.0] * 11), "here") is None
    assert first_stable(stream(4, [1.0] * 30, each=3), "here") is None
    assert first_stable(stream(4, [1.3**at for at in range(30)]), "here") is None
    assert first_stable({}, "here") is None
    found = first_stable(stream(4, [1.0] * 60, each=4), "here")
    assert found is not None
    assert sum(found.counts) >= 200


def test_the_mark_is_one_that_about_one_in_twenty_exceed() -> None:
    """Averaged over 500 baselines the rate beyond the mark is that which its weights expect."""
    expected, true = [], []
    for seed in range(500):
        timings = LAW.rvs(400, random_state=np.random.default_rng(seed))
        usual = Usual(source="service", counts=tuple(counted(timings)), host="here")
        edge, (under, over) = mark(usual)  # type: ignore[misc]
        expected.append(over / (under + over))
        true.append(LAW.sf(LATENCY_EDGES[edge]))
    assert np.mean(true) == pytest.approx(np.mean(expected), rel=0.1)
    assert np.mean(true) < 0.05


def test_the_packages_mark_leaves_room_for_what_a_service_does_besides() -> None:
    quick = LAW.rvs(200, random_state=np.random.default_rng(0)) / 100
    p95 = float(np.quantile(quick, 0.95))
    usual = Usual(source="package", counts=tuple(counted(quick)), host="here", p95=p95)
    edge, (under, over) = mark(usual)  # type: ignore[misc]
    assert p95 + 0.001 <= LATENCY_EDGES[edge] < 1.25 * (p95 + 0.001)
    assert (under, over) == (200.5, 0.5)
    beyond = Usual(source="service", counts=(*(0 for _ in LATENCY_EDGES), 50), host="here")
    assert mark(beyond) is None
    assert latency(beyond, {}, width=60) == Latency(
        usual=beyond, reason="timings are beyond all cells"
    )


@pytest.mark.parametrize("rows", [200, 1_000])
def test_without_a_change_no_more_false_alarms_than_promised(rows: int) -> None:
    """2,000 baselines and streams of their own, looked at 40 times within 10,000 requests."""
    random = np.random.default_rng(rows)
    signals, rates = [], []
    for _ in range(2_000):
        timings = LAW.rvs(rows, random_state=random)
        usual = Usual(source="service", counts=tuple(counted(timings)), host="here")
        edge, law = mark(usual)  # type: ignore[misc]
        signals.append(single_reference("latency", "service", law).signals[0])
        rates.append(LAW.sf(LATENCY_EDGES[edge]))
    evidence = Evidence(block_of("flag", signals, 2 * np.arange(2_001), 4_000, range(2_000)))
    slow, before = np.zeros(2_000), 0
    highest = np.full(2_000, -np.inf)
    for look in np.unique(np.geomspace(5, 10_000, 40).astype(int)):
        slow += random.binomial(look - before, rates)
        before = look
        counts = np.stack([look - slow, slow], axis=1)[:, None, :]
        highest = np.maximum(highest, evidence(counts, np.ones(2_000))[:, 0])
    for alpha in (0.1, 0.05, 0.01):
        share = (highest >= -np.log(alpha)).mean()
        assert share <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 2_000), alpha


def followed(scales: list[float], usual: Usual, **more) -> list[Latency]:
    """What is said after each minute."""
    found: list[Latency] = []
    buckets = stream(7, scales)
    for minutes in range(1, len(scales) + 1):
        part = dict(list(buckets.items())[:minutes])
        found.append(latency(usual, part, width=60, previous=found[-1] if found else None, **more))
    return found


@pytest.mark.parametrize("source", ["package", "service"])
def test_requests_that_take_twice_as_long_are_called_within_minutes(source) -> None:
    package = packaged(seed=11)
    p95 = package.p95 if source == "package" else None
    usual = Usual(source=source, counts=package.counts, host="here", p95=p95)
    told = followed([1.0] * 30 + [2.0] * 10, usual)
    called = [at for at, each in enumerate(told) if each.regressed]
    assert 30 <= called[0] <= 32
    assert called == list(range(called[0], 40))
    verdict = told[-1].verdict
    assert verdict is not None
    assert verdict.onset == START + 30 * 60
    assert told[-1].rate > 8 * told[-1].usual_rate  # type: ignore[operator]
    assert told[-1].seconds == pytest.approx(LAW.ppf(0.95), rel=0.6)


def test_a_little_slower_is_no_regression_and_faster_is_none_at_all() -> None:
    usual = Usual(source="service", counts=packaged(seed=11).counts, host="here")
    assert not any(each.regressed for each in followed([1.0] * 20 + [1.05] * 30, usual))
    told = followed([1.0] * 20 + [0.5] * 30, usual)
    assert not any(each.regressed for each in told)
    assert told[-1].verdict is not None
    assert told[-1].verdict.state == "stable"


def test_another_baseline_forgets_what_was_said_under_the_old_one() -> None:
    one = Usual(source="service", counts=packaged(seed=1).counts, host="here")
    slow = followed([2.0] * 20, one)[-1]
    assert slow.regressed
    other = Usual(source="service", counts=tuple(counted(LAW.rvs(400) * 2)), host="here")
    calm = latency(other, stream(7, [2.0] * 20), width=60, previous=slow)
    assert not calm.regressed


def test_the_rule_of_the_service_group_sets_the_floor() -> None:
    usual = Usual(source="service", counts=packaged(seed=11).counts, host="here")
    lenient = Thresholds(groups={"service": Rule(rise=0.99)})
    assert not followed([2.0] * 20, usual, thresholds=lenient)[-1].regressed
    assert followed([2.0] * 20, usual)[-1].regressed
