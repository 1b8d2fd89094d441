"""Every kind of sink, through the outbox, against endpoints that fail as the real ones do.

A new kind has to say in `DIALECTS` how its receiver answers; without that the first test fails.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pytest

from driftline.serving.alerts import Patience, sinks
from driftline.serving.secret import Secret
from driftline.serving.stores.memory import MemoryStore


@dataclass
class Dialect:
    """How one kind of receiver says yes, that it was too much, and no to this message."""

    ok: bytes = b""
    busy: tuple[int, bytes] = (429, b"")
    no: tuple[int, bytes] = (400, b"")
    # Answers with HTTP 200 that are none: an error in the body, or a page of somebody else's.
    false: tuple[bytes, ...] = ()


DIALECTS = {
    "alertmanager": Dialect(no=(400, b'"bad_data"')),
    "cloudevents": Dialect(),
    "dingtalk": Dialect(
        ok=b'{"errcode":0,"errmsg":"ok"}',
        busy=(200, b'{"errcode":130101,"errmsg":"send too fast"}'),
        no=(200, b'{"errcode":430102,"errmsg":"text"}'),
        false=(b'{"errcode":310000,"errmsg":"sign not match"}', b"<html>", b"[0]", b'{"code":0}'),
    ),
    "feishu": Dialect(
        ok=b'{"code":0,"msg":"success","data":{}}',
        busy=(200, b'{"code":11232,"msg":"frequency limited"}'),
        false=(b'{"code":19021,"msg":"sign match fail"}', b"", b'{"errcode":0}', b'{"code":"0"}'),
    ),
    "slack": Dialect(
        ok=b"ok",
        no=(400, b"invalid_payload"),
        false=(b"<html>please log in</html>", b'{"ok":false,"error":"no_service"}'),
    ),
    "wecom": Dialect(
        ok=b'{"errcode":0,"errmsg":"ok"}',
        busy=(200, b'{"errcode":45009,"errmsg":"api freq out of limit"}'),
        no=(200, b'{"errcode":40058,"errmsg":"markdown.content exceed max length 4096"}'),
        false=(b'{"errcode":93000,"errmsg":"invalid webhook url"}', b"null", b'{"errcode":false}'),
    ),
}
HTTP_KINDS = sorted(DIALECTS)


def test_every_kind_is_under_contract() -> None:
    assert {*sinks().kinds()} == {*DIALECTS, "log"}


def ids(endpoint: Any) -> list[str]:
    """The alert ids and ends of what came in, in order: ``firing`` or ``resolved``."""
    return ["resolved" if _is_end(each.body) else "firing" for each in endpoint.received]


def _is_end(body: bytes) -> bool:
    return b"[resolved]" in body or b".resolved" in body


class Play:
    """One alert's begin and end through the real outbox of one sink, on a clock of its own."""

    def __init__(self, kit: Any, store: Any, endpoint: Any, kind: str) -> None:
        self.kit, self.endpoint = kit, endpoint
        self.dialect = DIALECTS[kind]
        endpoint.usual = kit.Answer(body=self.dialect.ok)
        sink = kit.sink(endpoint.url + "/hook?token=t0ken", kind=kind, secret=Secret("s3cret"))
        patience = Patience(first=1.0, longest=8.0)
        self.alerts = kit.alerts(store, sink, quiet_seconds=10.0, patience=patience)
        self.now = kit.now

    def begin_and_end(self) -> None:
        for second, firing in ((0, True), (1, False), (11, False)):
            self.alerts.observe([self.kit.condition(firing)], self.now + second, None)

    def deliver(self, seconds: int, step: int = 5) -> None:
        for _ in range(0, seconds, step):
            self.now += step
            assert self.alerts.deliver(self.now, None, wait=20)

    @property
    def totals(self) -> dict[str, int]:
        totals: dict[str, int] = self.alerts.health()[0].totals
        return totals


@pytest.fixture(params=HTTP_KINDS)
def play(request: pytest.FixtureRequest, kit: Any, endpoint: Any) -> Play:
    return Play(kit, MemoryStore(), endpoint, request.param)


def test_begin_and_end_arrive_once_in_order(play: Play) -> None:
    play.begin_and_end()
    play.deliver(40)
    assert ids(play.endpoint) == ["firing", "resolved"]
    assert play.totals == {"delivered": 2}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", HTTP_KINDS)
def test_growing_worse_is_told_once_between_begin_and_end(
    kit: Any, endpoint: Any, kind: str, language: Any
) -> None:
    """Whichever worker sends: one message more, under the same alert id and with a body of its
    own; people read that it is worse, machines the new severity."""
    endpoint.usual = kit.Answer(body=DIALECTS[kind].ok)
    store, sink = MemoryStore(), kit.sink(endpoint.url, kind=kind, language=language)
    for second, firing, severity in (
        (0, True, "moderate"), (5, True, "major"), (10, True, "major"),
        (15, False, "major"), (320, False, "major"),
    ):  # fmt: skip
        conditions = [kit.condition(firing, severity=severity)]
        workers = [kit.alerts(store, sink), kit.alerts(store, sink)]
        for each in workers:
            each.observe(conditions, kit.now + second, None)
        for each in workers:
            assert each.deliver(kit.now + second, None, wait=20)
    bodies = [each.body.decode() for each in endpoint.received]
    if sinks().get(kind).repeat_seconds:
        bodies = list(dict.fromkeys(bodies))
    assert len(bodies) == 3
    (past,) = workers[0].past()
    assert all(past.id in each for each in bodies)
    if kind == "cloudevents":
        assert [each.json["data"]["severity"] for each in endpoint.received][1] == "major"
        assert len({each.headers["idempotency-key"] for each in endpoint.received}) == 3
    else:
        word = "worse than moderate" if language == "en" else "由中等加重"
        said = [word in each.encode().decode("unicode_escape") or word in each for each in bodies]
        assert said == [False, True, False]


@pytest.mark.parametrize("how", ["reset", "hang", "crawl", "cut", "drip"])
def test_network_faults_lose_nothing(play: Play, impatient: None, how: str) -> None:
    """Nothing is told twice but what the receiver did not say it had; order is kept."""
    play.endpoint.script.extend([play.kit.Answer(body=play.dialect.ok, how=how)] * 3)
    play.begin_and_end()
    play.deliver(60)
    tried = ids(play.endpoint)
    assert tried == sorted(tried), "an end never comes before the begin"
    assert play.totals["delivered"] == 2
    # A kind that needs no body takes the status for the answer, however the body goes on.
    needs_body = play.dialect.ok != b""
    retried = 3 if needs_body or how in ("reset", "hang", "crawl") else 0
    assert play.totals.get("retried", 0) == retried
    assert len(tried) == 2 + retried


def test_errors_of_http_are_tried_again(play: Play) -> None:
    statuses = [301, 401, 403, 404, 408, 429, 500, 502, 503, 504]
    headers = {"Location": "/hook"}
    play.endpoint.script.extend([play.kit.Answer(each, headers=headers) for each in statuses])
    play.begin_and_end()
    play.deliver(140)
    assert ids(play.endpoint) == ["firing"] * 11 + ["resolved"]


def test_an_error_in_the_body_is_an_error(play: Play) -> None:
    """HTTP 200 proves nothing where the receiver speaks in codes."""
    answers = [play.kit.Answer(body=each) for each in play.dialect.false]
    play.endpoint.script.extend(answers)
    play.begin_and_end()
    play.deliver(90)
    assert ids(play.endpoint) == ["firing"] * (1 + len(answers)) + ["resolved"]
    assert play.totals["delivered"] == 2


def test_too_much_is_answered_with_a_pause(play: Play) -> None:
    """Neither this message nor another is sent until the pause that was asked for is over."""
    status, body = play.dialect.busy
    play.endpoint.script.append(play.kit.Answer(status, body, {"Retry-After": "9"}))
    play.begin_and_end()
    play.deliver(1, step=1)
    play.deliver(8, step=1)
    assert len(play.endpoint.received) == 1
    play.deliver(120)
    assert ids(play.endpoint) == ["firing", "firing", "resolved"]


def test_a_refused_message_is_a_dead_letter_and_the_next_goes_out(play: Play) -> None:
    status, body = play.dialect.no
    play.endpoint.script.append(play.kit.Answer(status, body))
    play.begin_and_end()
    play.deliver(40)
    assert ids(play.endpoint) == ["firing", "resolved"]
    (letter,) = play.alerts.dead_letters()
    assert letter.message.state == "firing"
    assert play.totals == {"refused": 1, "delivered": 1}


def test_sent_again_it_says_the_same(play: Play) -> None:
    """What tells a receiver that it has seen a message does not change from try to try."""
    play.endpoint.script.extend([play.kit.Answer(500)] * 2)
    play.begin_and_end()
    play.deliver(40)
    firsts = [each for each in play.endpoint.received if not _is_end(each.body)]
    assert len(firsts) == 3
    assert len({each.body for each in firsts}) == 1  # the sink's clock stands still here
    (past,) = play.alerts.past()
    assert all(past.id.encode() in each.body for each in play.endpoint.received)


def test_secrets_are_in_no_log(
    play: Play, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even with everything logged, whatever goes wrong."""
    caplog.set_level(logging.DEBUG)
    answer = play.kit.Answer
    faults = [answer(how="reset"), answer(how="hang"), answer(500, b"t0ken"), answer(200, b"t0ken")]
    play.endpoint.script.extend(faults)
    play.begin_and_end()
    play.deliver(60)
    play.endpoint.close()
    play.alerts.observe([play.kit.condition()], play.now, None)
    play.deliver(10)
    assert caplog.records
    kept = "\n".join(each.getMessage() + str(each.exc_info) for each in caplog.records)
    assert "t0ken" not in kept
    assert "s3cret" not in kept
    assert "t0ken" not in repr(play.alerts.health())
    assert "t0ken" not in repr(play.alerts.dead_letters())


@pytest.mark.parametrize("kind", HTTP_KINDS)
def test_limits_are_kept(kit: Any, endpoint: Any, kind: str) -> None:
    """In any window no more than the receiver allows, through takeovers; nothing is dropped."""
    endpoint.usual = kit.Answer(body=DIALECTS[kind].ok)
    limits = sinks().get(kind).limits
    store, settings = MemoryStore(), kit.sink(endpoint.url, kind=kind)
    conditions = [kit.condition(kind="training", name=f"rule-{i}") for i in range(50)]
    kit.alerts(store, settings).observe(conditions, kit.now, None)
    counts = [0]
    while counts[-1] < 50:
        alerts = kit.alerts(store, settings)  # each second another worker
        assert alerts.deliver(kit.now + len(counts) - 1, None, wait=20)
        counts.append(len(endpoint.received))
        assert len(counts) < 200
    assert counts[-1] == 50
    assert len({each.body for each in endpoint.received}) == 50
    for allowed, seconds in limits:
        # What came in during the passes of any `seconds` whole seconds.
        span = int(seconds)
        assert all(b - a <= allowed for a, b in zip(counts, counts[span:], strict=False))
    if not limits:
        assert len(counts) == 2
