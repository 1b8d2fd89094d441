"""Slack, Feishu, DingTalk and WeCom: bodies, signatures and limits of size as they want them."""

from __future__ import annotations

import base64
import subprocess
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from driftline.serving.alerts import dingtalk, feishu
from driftline.serving.alerts.dingtalk import DingTalk
from driftline.serving.alerts.feishu import Feishu
from driftline.serving.alerts.fitting import cut, fitted
from driftline.serving.alerts.slack import Slack
from driftline.serving.alerts.wecom import WeCom
from driftline.serving.secret import Secret


def openssl_hmac(key: bytes, message: bytes) -> str:
    """Base64 of HMAC-SHA256, computed by openssl's own code."""
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key.hex()}"]
    found = subprocess.run([*command, "-binary"], input=message, capture_output=True, check=True)
    return base64.b64encode(found.stdout).decode()


def test_feishu_signature() -> None:
    """The key is ``timestamp newline secret``, the message is empty.

    Worked out with openssl for timestamp 1599360473 and secret ``demo``::

        key=$(printf '1599360473\\ndemo' | xxd -p)
        openssl dgst -sha256 -mac HMAC -macopt hexkey:$key -binary </dev/null | base64
    """
    expected = "l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8="
    assert feishu.sign("1599360473", "demo") == expected
    assert openssl_hmac(b"1599360473\ndemo", b"") == expected


def test_dingtalk_signature() -> None:
    """The key is the secret, the message is ``timestamp newline secret``; then URL-encoded.

    Worked out with openssl for timestamp 1577262236757 and secret ``this is secret``::

        printf '1577262236757\\nthis is secret' |
            openssl dgst -sha256 -hmac 'this is secret' -binary | base64

    The encoding by hand: ``+`` is %2B, ``=`` is %3D, and ``/`` would be %2F.
    """
    plain = "hmPWwU+7lVdm3ZZz0r9tSfx0L4Q26jWOZr9+Gs6EZQM="
    assert openssl_hmac(b"this is secret", b"1577262236757\nthis is secret") == plain
    expected = "hmPWwU%2B7lVdm3ZZz0r9tSfx0L4Q26jWOZr9%2BGs6EZQM%3D"
    assert dingtalk.sign("1577262236757", "this is secret") == expected


def test_feishu_body(kit: Any, endpoint: Any) -> None:
    """timestamp in seconds as text and sign beside msg_type and content; the token stays in the
    URL; without a secret neither is there."""
    endpoint.usual = kit.Answer(body=b'{"code":0}')
    settings = kit.sink(endpoint.url + "/open-apis/bot/v2/hook/abc", secret=Secret("demo"))
    sink = Feishu(settings, clock=lambda: 1599360473.9)
    assert sink.send(kit.message()).state == "delivered"
    Feishu(kit.sink(endpoint.url)).send(kit.message())
    signed, unsigned = (each.json for each in endpoint.received)
    assert list(signed) == ["timestamp", "sign", "msg_type", "content"]
    assert signed["timestamp"] == "1599360473"
    assert signed["sign"] == "l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8="
    assert list(unsigned) == ["msg_type", "content"]
    post = signed["content"]["post"]["en_us"]
    assert post["title"] == "[major] Drift: digits/1"
    link = {"tag": "a", "text": "Open the drift page", "href": "https://drift.example/"}
    assert [link] in post["content"]


def test_dingtalk_body(kit: Any, endpoint: Any) -> None:
    """timestamp in milliseconds and sign are added to the query, which keeps the access token."""
    endpoint.usual = kit.Answer(body=b'{"errcode":0}')
    url = endpoint.url + "/robot/send?access_token=abc"
    sink = DingTalk(kit.sink(url, secret=Secret("this is secret")), clock=lambda: 1577262236.757)
    assert sink.send(kit.message()).state == "delivered"
    (request,) = endpoint.received
    assert urlsplit(request.path).path == "/robot/send"
    assert parse_qs(urlsplit(request.path).query) == {
        "access_token": ["abc"],
        "timestamp": ["1577262236757"],
        "sign": ["hmPWwU+7lVdm3ZZz0r9tSfx0L4Q26jWOZr9+Gs6EZQM="],
    }
    body = request.json
    assert list(body) == ["msgtype", "markdown"]
    assert body["msgtype"] == "markdown"
    assert list(body["markdown"]) == ["title", "text"]
    assert body["markdown"]["title"] == "[major] Drift: digits/1"
    assert "\n\n- mean (input, major): mean rose by 0.8 σ\n\n" in body["markdown"]["text"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wecom_stays_within_4096_bytes_and_is_cut_between_lines(
    kit: Any, endpoint: Any, language: Any
) -> None:
    """However long names and sentences are; the link and the alert's id are never cut."""
    endpoint.usual = kit.Answer(body=b'{"errcode":0}')
    sink = WeCom(kit.sink(endpoint.url, language=language))
    for length in range(0, 700, 23):
        signals = tuple(kit.signal("特征😀" * length + str(i)) for i in range(10))
        message = kit.message(signals=signals, signal_count=50)
        assert sink.send(message).state == "delivered"
    contents = [each.json["markdown"]["content"] for each in endpoint.received]
    for content in contents:
        assert len(content.encode()) <= 4096
        assert content.encode().decode() == content
        lines = content.split("\n")
        assert lines[-1] == "driftline · drift-0123456789abcdef0123"
        assert lines[-2].endswith("(https://drift.example/)")
        assert lines[0].startswith('**<font color="warning">[')
        assert lines[0].endswith("</font>**")
    cut_ones = [content for content in contents if "\n…\n" in content]
    assert 10 < len(cut_ones) < len(contents)


def test_data_cannot_mention_link_or_format(kit: Any, endpoint: Any) -> None:
    """Names come from data: in no chat do they become a call to everyone or a link."""
    evil = "<!channel> <@all> [x](http://evil.example) <font color='info'>"
    message = kit.message(model=evil, signals=(kit.signal(evil),))
    sent: dict[str, str] = {}
    for kind, sink in {"slack": Slack, "dingtalk": DingTalk, "wecom": WeCom}.items():
        sink(kit.sink(endpoint.url)).send(message)
        sent[kind] = endpoint.received[-1].body.decode()
    assert "<!channel>" not in sent["slack"]
    assert "&lt;!channel&gt;" in sent["slack"]
    assert "](http://evil" not in sent["dingtalk"]
    assert "](http://evil" not in sent["wecom"]
    assert "<@all>" not in sent["wecom"]


def test_slack_body_keeps_slacks_limits(kit: Any, endpoint: Any) -> None:
    """text and blocks; a header of at most 150 characters, sections of at most 3,000."""
    endpoint.usual = kit.Answer(body=b"ok")
    for length in (0, 10, 400):
        signals = tuple(kit.signal("s&" * length + str(i)) for i in range(10))
        message = kit.message(model="m" * length, signals=signals)
        assert Slack(kit.sink(endpoint.url)).send(message).state == "delivered"
    for request in endpoint.received:
        body = request.json
        assert list(body) == ["text", "blocks"]
        header, *sections, context = body["blocks"]
        assert header["type"] == "header"
        assert len(header["text"]["text"]) <= 150
        assert all(each["type"] == "section" for each in sections)
        assert all(0 < len(each["text"]["text"]) <= 3000 for each in sections)
        assert sections[-1]["text"]["text"] == "<https://drift.example/|Open the drift page>"
        assert context["elements"][0]["text"].endswith("drift-0123456789abcdef0123")


@pytest.mark.parametrize("kind", [Feishu, DingTalk, WeCom, Slack])
def test_bodies_stay_below_what_receivers_take(kit: Any, endpoint: Any, kind: Any) -> None:
    """20 KB of JSON is the least that Feishu and DingTalk take, with everything far too long."""
    long = "长" * 5000
    signals = tuple(kit.signal(long, sentence=kit.text(long, long)) for _ in range(10))
    message = kit.message(model=long, version=long, sentence=kit.text(long, long), signals=signals)
    kind(kit.sink(endpoint.url, language="zh")).send(message)
    (request,) = endpoint.received
    assert len(request.body) <= (40_000 if kind is Slack else 20_000)
    msgspec.json.decode(request.body)


def test_cut_and_fitted() -> None:
    assert cut("漂移", 6) == "漂移"
    assert cut("漂移了", 8) == "漂…"
    assert cut("漂移了", 2) == "…"
    assert fitted(["a", "b"], "c", 5) == "a\nb\nc"
    assert fitted(["aaaa", "bbbb", "cccc"], "z", 12) == "aaaa\n…\nz"
    assert fitted(["漂" * 10], "z", 13) == "漂…\n…\nz"
    for limit in range(12, 60):
        assert len(fitted(["漂移" * 5, "x" * 9, "y" * 9], "z", limit).encode()) <= limit
