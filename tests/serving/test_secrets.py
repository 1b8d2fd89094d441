"""No secret is told: not in a log line, not in an answer, not in a list of processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
import served
from redis_servers import RedisServer

pytestmark = pytest.mark.slow

# Nobody listens on port 9 of this machine: each message fails, and the failure is told.
SECRETS = {
    "token": "tok-5cr1",
    "alert_secret": "sig-5cr2",
    "webhook": "hook-5cr3",
    "slack": "slk-5cr4",
    "dingtalk": "din-5cr5",
    "password": "red-5cr6",
}
WEBHOOK = f"http://user:{SECRETS['webhook']}@127.0.0.1:9/hook/{SECRETS['webhook']}?key=hook-5cr3"
SINKS = (
    f"slack=http://127.0.0.1:9/services/{SECRETS['slack']}\n"
    f"dingtalk=http://127.0.0.1:9/robot/send?access_token={SECRETS['dingtalk']}"
)
READS = (
    "/drift",
    "/alerts",
    "/metrics",
    "/readyz",
    "/metadata",
    "/openapi.json",
    "/drift/timeline",
)


def test_with_every_secret_set_and_everything_failing_none_is_told(package, tmp_path):
    redis = RedisServer(tmp_path)
    redis.start()
    redis.client().config_set("requirepass", SECRETS["password"])
    sinks = tmp_path / "sinks"
    sinks.write_text(SINKS)
    server = served.Server(
        package.path,
        tmp_path / "server.log",
        *("--workers", "1", "--bucket", "1s", "--alert-group", "0s", "--log-level", "debug"),
        DRIFTLINE_STATE=f"redis://:{SECRETS['password']}@127.0.0.1:{redis.port}/0",
        DRIFTLINE_TOKEN=SECRETS["token"],
        DRIFTLINE_ALERT_SECRET=SECRETS["alert_secret"],
        DRIFTLINE_ALERT_WEBHOOK=WEBHOOK,
        DRIFTLINE_ALERT_SINKS_FILE=str(sinks),
    )
    told: list[str] = []

    def ask(path: str, token: str = SECRETS["token"], **more) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"}
        method = "POST" if more else "GET"
        answer = requests.request(
            method, server.address + path, headers=headers, timeout=30, **more
        )
        told.extend((answer.text, str(answer.headers)))
        return answer

    try:
        server.ready()
        for shift in (0.0, 3.0):
            rows = served.rows(900, int(shift), shift=shift)
            for start in range(0, 900, 100):
                body = {"instances": rows[start : start + 100].tolist()}
                assert ask("/predict", json=body).status_code == 200

        def failing() -> bool:
            known = ask("/alerts").json()
            return sum(bool(each["problem"]) for each in known["sinks"]) >= 3

        served.until(failing, 40)
        assert ask("/predict", json={"instances": [[666, 0, 0, 0]]}).status_code == 500
        assert ask("/predict", token="wrong", json={}).status_code == 401
        form = {"token": SECRETS["token"], "next": "/"}
        own = {"Origin": server.address}
        signed = requests.post(
            server.address + "/sign-in", data=form, headers=own, allow_redirects=False, timeout=30
        )
        assert signed.status_code == 302
        told.append(str(signed.headers))
        redis.stop()
        served.until(lambda: ask("/readyz").json()["degraded"], 20)
        for path in READS:
            ask(path)
        lines = [Path(f"/proc/{pid}/cmdline") for pid in (server.process.pid, *server.workers())]
        told.extend(line.read_text() for line in lines)
    finally:
        server.stop()
        redis.stop()
    told.append(server.said())
    assert "the store is away" in server.said()
    found = {name for name, secret in SECRETS.items() if any(secret in each for each in told)}
    assert found == set()
