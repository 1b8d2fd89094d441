"""Several ranks act as one: who alerts, who saves, where the report of a stop stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from mindspore import nn

from driftline.train_side import plan as plans
from driftline.train_side import together
from driftline.train_side.obeying import obeyed
from driftline.train_side.plan import Plan
from driftline.train_side.point import Notice
from driftline.train_side.policies import Policy, SaveCheckpoint, Stop, Training
from driftline.train_side.probes import Loss, Step
from driftline.train_side.rules import NonFinite
from driftline.train_side.session import Session
from driftline.train_side.settings import MonitorSettings, Sampling
from driftline.train_side.together import Meetings, Share


class Sends(Policy):
    """Stands in for an alert: notes which rank sent what."""

    kind = "sends"
    first_rank = True

    def __init__(self) -> None:
        self.sent: list[str] = []

    def apply(self, notice: Notice, training: Training) -> None:
        self.sent.append(notice.sentence)


class Ranks:
    """Two ranks in one process, that meet when they are told to."""

    def __init__(
        self, folder: Path, policies: Sequence[Policy], patch: pytest.MonkeyPatch, *, meet: bool
    ) -> None:
        self.policies: Mapping[str, Sequence[Policy]] = {"non_finite": policies}
        self.shares: list[Share] = []
        self.sessions: list[Session] = []
        self.meetings: list[Meetings] = []

        def exchanged(share: Callable[[], object]) -> list[object]:
            if not meet:
                raise RuntimeError("planted")
            return list(self.shares) or [True, True]

        patch.setattr(together, "exchanged", exchanged)
        for rank in (0, 1):
            patch.setattr(plans, "rank_and_size", lambda rank=rank: (rank, 2))
            session = Plan(
                folder=folder,
                settings=MonitorSettings(sampling=Sampling(every=1), report=False),
                probes=[Loss()],
                gauges=(),
                rules=[NonFinite()],
                sinks=(),
                policies=self.policies,
            ).open(about={})
            self.sessions.append(session)
            self.meetings.append(Meetings(session, self.policies))

    def step(self, number: int, *losses: float) -> None:
        for session, loss in zip(self.sessions, losses, strict=True):
            session.choose()
            session.end(Step(number, 1, outputs=loss))
            assert session.flush(10)

    def meet(self) -> list[Notice | None]:
        self.shares = [each._share() for each in self.meetings]
        stops = [each.meet() for each in self.meetings]
        assert all(each.flush(10) for each in self.sessions)
        return stops

    def close(self) -> None:
        for session in self.sessions:
            assert session.close("finished", 10)


@pytest.fixture
def sends() -> Sends:
    return Sends()


def test_a_fault_of_both_is_sent_once(
    sends: Sends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = Ranks(tmp_path, [sends], monkeypatch, meet=True)
    ranks.step(1, math.nan, math.nan)
    ranks.meet()
    ranks.close()
    assert len(sends.sent) == 1
    assert not sends.sent[0].startswith("rank")


@pytest.mark.parametrize("late", [0, 1])
def test_a_fault_that_one_sees_later_is_sent_once(
    late: int, sends: Sends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = Ranks(tmp_path, [sends], monkeypatch, meet=True)
    ranks.step(1, *((1.0, math.nan) if late == 0 else (math.nan, 1.0)))
    ranks.meet()
    if late == 1:
        ranks.step(2, math.nan, math.nan)
        ranks.meet()
    ranks.close()
    assert len(sends.sent) == 1


def test_a_fault_of_another_rank_is_sent_and_saved_by_the_first(
    sends: Sends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = Ranks(tmp_path, [sends, SaveCheckpoint()], monkeypatch, meet=True)
    assert ranks.meetings[0].often
    ranks.step(1, 1.0, math.nan)
    assert sends.sent == []
    ranks.meet()
    assert sends.sent == ["rank 1: The loss is not finite (NaN or infinite)."]
    network = nn.Dense(2, 1)
    for session in ranks.sessions:
        assert obeyed(session, network, 2) is None
    ranks.close()
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.ckpt")) == [
        Path("faults/non_finite-step2.ckpt")
    ]
    assert len(sends.sent) == 1


def test_the_report_of_a_stop_stands_where_it_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = Ranks(tmp_path, [Stop()], monkeypatch, meet=True)
    ranks.step(1, 1.0, math.nan)
    stops = ranks.meet()
    assert all(each is not None and each.rule == "non_finite" for each in stops)
    ranks.close()
    report = (tmp_path / "anomaly_report.md").read_text(encoding="utf-8")
    assert "**non_finite** at step 1" in report
    assert "rank 1: The loss" in report


@pytest.mark.parametrize("meet", [True, False])
def test_what_the_first_is_not_told_is_sent_all_the_same(
    meet: bool, sends: Sends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training breaks before the next meeting, or the ranks cannot meet at all."""
    ranks = Ranks(tmp_path, [sends, SaveCheckpoint()], monkeypatch, meet=meet)
    ranks.step(1, 1.0, math.nan)
    if not meet:
        obeyed(ranks.sessions[1], nn.Dense(2, 1), 1)
        assert (tmp_path / "ranks" / "1" / "faults" / "non_finite-step1.ckpt").exists()
    ranks.close()
    assert sends.sent == ["The loss is not finite (NaN or infinite)."]
