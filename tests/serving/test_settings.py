"""Settings are read once, and whatever cannot be is refused by name."""

from __future__ import annotations

import pytest

from driftline.drift import read_thresholds
from driftline.metadata.errors import SettingError
from driftline.serving.settings import is_loopback, load, seconds


def test_the_command_line_wins_over_the_environment_and_both_over_what_is_built_in():
    settings = load(
        {"package": "p", "workers": "3", "port": None},
        {"DRIFTLINE_WORKERS": "5", "DRIFTLINE_PORT": "81", "HOME": "/nowhere"},
    )
    assert (settings.workers, settings.port, settings.threads) == (3, 81, 4)


def test_texts_become_values():
    given = {
        "package": "p",
        "bucket": "5m",
        "batch_sizes": "1, 4,16",
        "low_confidence": "0.5",
        "alert_quiet": "2m",
        "allow_anonymous": "true",
    }
    settings = load(given, {})
    assert settings.bucket == 300
    assert settings.batch_sizes == (1, 4, 16)
    assert settings.low_confidence == 0.5
    assert settings.alert_quiet == 120
    assert settings.allow_anonymous is True


@pytest.mark.parametrize(
    ("given", "environment", "field"),
    [
        ({}, {}, "package"),
        ({"package": ""}, {}, "package"),
        ({"package": "p", "port": "99999"}, {}, "port"),
        ({"package": "p", "port": "http"}, {}, "port"),
        ({"package": "p", "workers": "0"}, {}, "workers"),
        ({"package": "p", "bucket": "7s"}, {}, "bucket"),
        ({"package": "p", "bucket": "soon"}, {}, "bucket"),
        ({"package": "p", "bucket": "0s"}, {}, "bucket"),
        ({"package": "p", "low_confidence": "2"}, {}, "low_confidence"),
        ({"package": "p", "latency_ms": "nan"}, {}, "latency_ms"),
        ({"package": "p", "latency_ms": "0"}, {}, "latency_ms"),
        ({"package": "p", "batch_sizes": "1,many"}, {}, "batch_sizes[1]"),
        ({"package": "p", "predictor": "no colon"}, {}, "predictor"),
        ({"package": "p", "log_level": "loud"}, {}, "log_level"),
        ({"package": "p", "state": "memory:"}, {}, "state"),
        ({"package": "p", "state": "/does/not/exist.db"}, {}, "state"),
        ({"package": "p", "state": "sqlite:////does/not/exist.db"}, {}, "state"),
        ({"package": "p", "state": "/tmp"}, {}, "state"),
        ({"package": "p", "refresh_folder": "/does/not/exist"}, {}, "refresh_folder"),
        ({"package": "p", "colour": "red"}, {}, "colour"),
        ({"package": "p"}, {"DRIFTLINE_COLOUR": "red"}, "DRIFTLINE_COLOUR"),
        ({"package": "p", "token": ""}, {}, "token"),
        ({"package": "p", "token_file": "/does/not/exist"}, {}, "token_file"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, environment, field):
    with pytest.raises(SettingError) as caught:
        load(given, environment)
    assert caught.value.field == field


@pytest.mark.parametrize("value", ["7", "-0.5", "nan"])
def test_a_limit_is_refused_in_the_same_words_as_an_option_and_in_a_file(value):
    """One place knows what is possible."""
    with pytest.raises(SettingError) as as_an_option:
        load({"package": "p", "low_confidence": value}, {})
    with pytest.raises(SettingError) as in_a_file:
        read_thresholds({"low_confidence": float(value)})
    assert str(as_an_option.value) == str(in_a_file.value)


def test_a_word_that_is_none_of_those_allowed_is_refused_with_these():
    with pytest.raises(SettingError, match=r"alert_language: .*'fr'; one of en, zh is wanted"):
        load({"package": "p", "alert_language": "fr"}, {})


def test_a_folder_that_is_not_there_is_refused_with_its_name(tmp_path):
    """Nothing is made of what lies in one that is."""
    missing = tmp_path / "x"
    with pytest.raises(SettingError, match=f"state: there is no folder {missing}"):
        load({"package": "p", "state": str(missing / "y.db")}, {})
    with pytest.raises(SettingError, match=f"refresh_folder: there is no folder {missing}"):
        load({"package": "p", "refresh_folder": str(missing)}, {})
    load({"package": "p", "state": str(tmp_path / "y.db"), "refresh_folder": str(tmp_path)}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "example.org"])
def test_beyond_loopback_a_token_or_an_explicit_word_is_wanted(host):
    with pytest.raises(SettingError, match="allow-anonymous"):
        load({"package": "p", "host": host}, {})
    assert load({"package": "p", "host": host, "token": "abc"}, {}).host == host
    assert load({"package": "p", "host": host, "allow_anonymous": True}, {}).host == host


def test_loopback_is_known():
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [
        True
    ] * 4


def test_secrets_come_from_files_and_are_never_shown(tmp_path):
    file = tmp_path / "token"
    file.write_text("open-sesame\n")
    settings = load({"package": "p", "token_file": str(file), "alert_webhook": "http://h/s3"}, {})
    assert settings.token is not None
    assert settings.token.reveal() == "open-sesame"
    for shown in (repr(settings), str(settings.token), f"{settings.alert_webhook}"):
        assert "sesame" not in shown
        assert "s3" not in shown


def test_a_wrong_secret_is_not_repeated_in_the_error():
    with pytest.raises(SettingError) as caught:
        load({"package": "p", "token": "se\x00cret"}, {})
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(("text", "found"), [("90", 90), ("60s", 60), (" 5 m ", 300), ("1h", 3600)])
def test_durations(text, found):
    assert seconds(text, "bucket") == found


def test_receivers_stand_one_a_line_in_their_file(tmp_path):
    file = tmp_path / "sinks"
    file.write_text("slack=https://a/b\n\ncloudevents=https://c/d\n")
    found = load({"package": "p", "alert_sinks_file": str(file)}, {})
    assert found.alert_sinks is not None
    assert found.alert_sinks.reveal() == "slack=https://a/b cloudevents=https://c/d"


def test_the_command_line_wins_over_a_file_that_the_environment_names(tmp_path):
    file = tmp_path / "token"
    file.write_text("from-the-file")
    environment = {"DRIFTLINE_TOKEN_FILE": str(file)}
    assert load({"package": "p"}, environment).token.reveal() == "from-the-file"
    chosen = load({"package": "p", "token": "from-the-line"}, environment)
    assert chosen.token.reveal() == "from-the-line"
    with pytest.raises(SettingError, match="token_file: token is given too"):
        load({"package": "p"}, environment | {"DRIFTLINE_TOKEN": "another"})


def test_what_kubernetes_tells_of_a_service_named_driftline_is_no_setting():
    environment = {
        "DRIFTLINE_SERVICE_HOST": "10.0.0.7",
        "DRIFTLINE_SERVICE_PORT": "8000",
        "DRIFTLINE_SERVICE_PORT_HTTP": "8000",
        "DRIFTLINE_PORT": "tcp://10.0.0.7:8000",
        "DRIFTLINE_PORT_8000_TCP": "tcp://10.0.0.7:8000",
        "DRIFTLINE_PORT_8000_TCP_ADDR": "10.0.0.7",
    }
    assert load({"package": "p"}, environment).port == 8080
    assert load({"package": "p"}, {"DRIFTLINE_PORT": "9000"}).port == 9000
