from __future__ import annotations

import pytest

from driftline.metadata.errors import SettingError, StoreError, UnknownKind
from driftline.serving.stores import open_store, opening, register_store
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.opening import check_place


def test_memory():
    assert open_store("memory:").tag == "memory"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("state.db", "state.db"),
        ("sub/with space:1.db", "sub/with space:1.db"),
        ("{here}/state.db", "state.db"),
        ("sqlite:///state.db", "state.db"),
        ("sqlite:///sub/a?b#c.db", "sub/a?b#c.db"),
        ("sqlite:///{here}/state.db", "state.db"),
    ],
)
def test_a_path_or_sqlite_url_is_a_file(url, path, tmp_path, monkeypatch):
    """Three slashes and a path: relative to the folder of the start, absolute with a fourth."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "elsewhere").mkdir()
    store = open_store(url.format(here=tmp_path))
    assert store.tag == "sqlite"
    assert not (tmp_path / path).exists()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.ping()
    store.close()
    assert (tmp_path / path).is_file()


def test_redis_connects_when_first_used(redis_server):
    assert open_store("redis://:secret@127.0.0.1:1/3").tag == "redis"
    assert open_store("rediss://127.0.0.1:1").tag == "redis"
    store = open_store(redis_server.url)
    store.ping()
    store.close()


@pytest.mark.parametrize("url", ["", "folder/", "sqlite:", "sqlite://", "sqlite:///", "sqlite://a"])
def test_a_url_that_says_too_little_is_refused(url):
    with pytest.raises(SettingError, match="path of a file is wanted"):
        open_store(url)


@pytest.mark.parametrize("url", ["redis://host:port", "redis:"])
def test_a_bad_redis_url_is_refused(url):
    with pytest.raises(SettingError, match="state"):
        open_store(url)


def test_a_folder_that_is_lost_later_is_an_outage_and_no_setting(tmp_path):
    """What is asked at the start is not asked by the store itself."""
    url = str(tmp_path / "gone" / "state.db")
    with pytest.raises(SettingError, match="there is no folder"):
        check_place(url)
    store = open_store(url)
    with pytest.raises(StoreError, match="there is no folder"):
        store.ping()
    (tmp_path / "gone").mkdir()
    store.ping()
    store.close()
    check_place(url)


@pytest.mark.parametrize("url", ["memory:", "redis://127.0.0.1:1", "state.db", "sqlite:///s.db"])
def test_what_needs_no_other_folder_has_none_that_could_be_missing(url):
    check_place(url)


def test_an_unknown_scheme_names_those_that_are_known():
    with pytest.raises(UnknownKind, match="'etcd': is none of memory, redis, rediss, sqlite"):
        open_store("etcd://user:secret@host")


def test_another_scheme_can_be_registered_once(monkeypatch):
    monkeypatch.setattr(opening, "_OPENERS", dict(opening._OPENERS))
    seen: list[str] = []
    register_store("mine", lambda url: seen.append(url) or MemoryStore())
    assert isinstance(open_store("mine://x"), MemoryStore)
    assert seen == ["mine://x"]
    with pytest.raises(UnknownKind, match="registered already"):
        register_store("mine", lambda url: MemoryStore())
