"""Alert settings from a file, a list of addresses, and the environment; secrets are never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftline.metadata.errors import SettingError
from driftline.serving.alerting import alerts_of
from driftline.serving.alerts.file import read
from driftline.serving.settings import load

WHOLE = """
quiet = "5m"
group = 2
language = "zh"
link = "https://drift.example"

[[sinks]]
name = "on-call"
kind = "slack"
url_file = "slack.url"
route = { severity = "moderate", kinds = ["drift", "accuracy"], models = ["digits"] }

[[sinks]]
name = "hook"
kind = "cloudevents"
url = "https://hook.example/x"
secret_env = "HOOK_SECRET"
language = "en"

[tolerance]
low_confidence = 0.1
slow = 0.2
"""


def test_a_whole_file(tmp_path):
    (tmp_path / "alerts.toml").write_text(WHOLE)
    (tmp_path / "slack.url").write_text("https://slack.example/T0KEN\n")
    found = read(str(tmp_path / "alerts.toml"), {"HOOK_SECRET": "s3cret"})
    assert (found.quiet_seconds, found.group_seconds, found.language) == (300, 2, "zh")
    assert found.link_base == "https://drift.example"
    slack, hook = found.sinks
    assert slack.url.reveal() == "https://slack.example/T0KEN"
    assert slack.route.kinds == ("drift", "accuracy")
    assert (hook.secret.reveal(), hook.language) == ("s3cret", "en")
    assert (found.tolerance.low_confidence, found.tolerance.slow) == (0.1, 0.2)
    assert "s3cret" not in repr(found)
    assert "T0KEN" not in repr(found)


def test_the_same_as_json(tmp_path):
    path = tmp_path / "alerts.json"
    path.write_text(json.dumps({"sinks": [{"name": "log", "kind": "log"}], "quiet": "90s"}))
    found = read(str(path), {})
    assert found.quiet_seconds == 90
    assert found.sinks[0].kind == "log"


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("quiet = ", "alerts", "Invalid value"),
        ("quite = 3", "alerts", "unknown field `quite`"),
        ('quiet = "soon"', "alerts.quiet", "a duration"),
        ("quiet = -1", "alerts.quiet", "0 to 86400"),
        ("quiet = 86401", "alerts.quiet", "0 to 86400"),
        ('quiet = "9999h"', "alerts.quiet", "0 to 86400"),
        ('quiet = "2d"', "alerts.quiet", "0 to 86400"),
        ('quiet = "-1s"', "alerts.quiet", "a duration"),
        ("quiet = nan", "alerts.quiet", "0 to 86400"),
        ("group = 1e9", "alerts.group", "0 to 3600"),
        ('group = "2h"', "alerts.group", "0 to 3600"),
        ('language = "fr"', "alerts.language", "Invalid enum value"),
        ("[tolerance]\nslow = 2", "alerts.tolerance.slow", "<= 1"),
        ('[[sinks]]\nname = "a"', "alerts.sinks[0]", "missing required field `kind`"),
        (
            '[[sinks]]\nname = "a"\nkind = "slack"\nurl = "u"\nurl_env = "U"',
            "alerts.sinks.a.url",
            "more than once",
        ),
        (
            '[[sinks]]\nname = "a"\nkind = "slack"\nurl_env = "U"',
            "alerts.sinks.a.url",
            "no variable U",
        ),
        (
            '[[sinks]]\nname = "a"\nkind = "slack"\nurl_file = "none"',
            "alerts.sinks.a.url",
            "cannot be read",
        ),
        (
            '[[sinks]]\nname = "a"\nkind = "slack"\nsecret = ""',
            "alerts.sinks.a.secret",
            "not empty",
        ),
        (
            '[[sinks]]\nname = "a"\nkind = "log"\nroute = {kinds = ["none"]}',
            "alerts.sinks[0].route.kinds[0]",
            "Invalid enum value",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, text, field, reason):
    path = tmp_path / "alerts.toml"
    path.write_text(text)
    with pytest.raises(SettingError) as caught:
        read(str(path), {})
    assert caught.value.field == field
    assert reason in caught.value.reason


@pytest.mark.parametrize("text", ["0", "90", "90s", " 5m ", "24h", "1d"])
def test_a_duration_is_read_as_the_option_is(tmp_path, text):
    path = tmp_path / "alerts.toml"
    path.write_text(f'quiet = "{text}"')
    option = alerts_of(settings(tmp_path, alert_quiet=text), {}).quiet_seconds
    assert read(str(path), {}).quiet_seconds == option


@pytest.mark.parametrize(
    ("name", "text"), [("quiet", "25h"), ("quiet", "soon"), ("quiet", "5w"), ("group", "61m")]
)
def test_a_duration_that_the_option_refuses_is_refused_in_the_file(tmp_path, name, text):
    path = tmp_path / "alerts.toml"
    path.write_text(f'{name} = "{text}"')
    with pytest.raises(SettingError):
        settings(tmp_path, **{f"alert_{name}": text})
    with pytest.raises(SettingError):
        read(str(path), {})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingError, match="cannot be read"):
        read(str(tmp_path / "none.toml"), {})


def settings(tmp_path: Path, **given):
    return load({"package": "p"} | given, {})


def test_options_win_over_the_file_and_add_their_sinks(tmp_path):
    path = tmp_path / "alerts.toml"
    path.write_text('quiet = "5m"\nlanguage = "zh"\n[[sinks]]\nname = "l"\nkind = "log"')
    found = alerts_of(
        settings(
            tmp_path,
            alerts=str(path),
            alert_quiet="9s",
            alert_sinks="slack=https://a/x feishu=https://b/y slack=https://c/z",
            alert_webhook="https://d/w",
            alert_secret="s",
            alert_link="https://drift.example",
        ),
        {},
    )
    assert (found.quiet_seconds, found.group_seconds, found.language) == (9, 5, "zh")
    assert [(each.name, each.kind) for each in found.sinks] == [
        ("l", "log"),
        ("slack", "slack"),
        ("feishu", "feishu"),
        ("slack-2", "slack"),
        ("webhook", "cloudevents"),
    ]
    assert found.link_base == "https://drift.example"


def test_the_log_is_told_in_any_case(tmp_path):
    (only,) = alerts_of(settings(tmp_path), {}).sinks
    assert only.kind == "log"


@pytest.mark.parametrize("text", ["slack", "slack=", "=https://x"])
def test_a_sink_without_kind_or_address_is_refused(tmp_path, text):
    with pytest.raises(SettingError) as caught:
        alerts_of(settings(tmp_path, alert_sinks=text), {})
    assert caught.value.field == "alert_sinks"
