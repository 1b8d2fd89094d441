"""The hooks see every request, cost it nothing but a note, and never fail it."""

from __future__ import annotations

import logging
import os
import threading

import numpy as np
import pytest
import served

from driftline.metadata.errors import SettingError
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.service_signals import SERVICE, rate, requests_in


@pytest.fixture
def monitor(package, tmp_path):
    found = InferenceMonitor.open(package, store=str(tmp_path / "state.db"))
    yield found
    found.close()


def predict(inputs):
    return np.asarray(inputs) @ served.weights()


def total(monitor, layout=None):
    """All counts of the fast ring in the store, after a flush."""
    assert monitor.flush()
    series = monitor.plan.series
    layout = layout or monitor.plan.package.metadata.reference.layout
    name = series.service(60) if layout is SERVICE else series.model(60)
    found = layout.zeros()
    for each in monitor.session.store.read(name, layout, 0, 2**40).values():
        found = found + each
    return found


def test_before_and_after_count_a_request(monitor):
    inputs = served.rows(3, 1)
    monitor.after(monitor.before(inputs), predict(inputs))
    assert total(monitor).rows.tolist() == [3, 3]
    assert requests_in(total(monitor, SERVICE)) == 1


def test_the_context_manager_and_the_decorator_do_the_same(monitor):
    inputs = served.rows(2, 1)
    with monitor.observe(inputs) as seen:
        seen.outputs = predict(inputs)
    assert monitor.watch(predict)(inputs).shape == (2, 3)
    assert total(monitor).rows.tolist() == [4, 4]


def test_what_a_caller_changes_afterwards_is_not_seen(monitor):
    inputs = served.rows(1, 1)
    seen = monitor.before(inputs)
    outputs = predict(inputs)
    inputs[:] = np.nan
    monitor.after(seen, outputs)
    outputs[:] = np.nan
    found = total(monitor)
    assert found.of("a0:missing").tolist() == [1, 0]
    assert found.rows.tolist() == [1, 1]
    assert found.of("top_probability").sum() == 1


def test_an_error_of_the_model_is_counted_and_goes_on_its_way(monitor):
    @monitor.watch
    def broken(inputs):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken(served.rows(1, 1))
    with pytest.raises(KeyError), monitor.observe(served.rows(1, 2)):
        raise KeyError
    assert rate(total(monitor, SERVICE), "error") == 1.0
    assert total(monitor).rows.tolist() == [2, 0]


def test_whatever_goes_wrong_inside_is_counted_logged_once_and_never_raised(monitor, caplog):
    class Hostile:
        def __array__(self, *_, **__):
            raise RuntimeError("no array here")

    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            monitor.after(monitor.before(Hostile()), predict(served.rows(1, 1)))
            monitor.after(None, None)  # type: ignore[arg-type]
    assert monitor.fence.failures == {"before:RuntimeError": 5, "after:AttributeError": 5}
    assert len(caplog.records) == 2
    assert total(monitor).rows.tolist() == [0, 5]
    name = monitor.plan.series.counter("monitor|before:RuntimeError")
    assert monitor.session.store.counters()[name] == 5


def test_a_broken_store_fails_no_prediction_and_loses_no_count(package, tmp_path):
    path = tmp_path / "state.db"
    path.mkdir()
    monitor = InferenceMonitor.open(package, store=str(path))
    watched = monitor.watch(predict)
    for step in range(20):
        assert watched(served.rows(1, step)).shape == (1, 3)
    assert not monitor.flush()
    assert "state.db" in monitor.session.problem
    path.rmdir()
    assert total(monitor).rows.tolist() == [20, 20]
    assert monitor.session.problem == ""
    monitor.close()


def test_many_threads_count_every_request(monitor):
    watched = monitor.watch(predict)
    inputs = [served.rows(1, n) for n in range(300)]

    def work():
        for each in inputs:
            watched(each)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total(monitor).rows.tolist() == [1_800, 1_800]
    assert not monitor.fence.failures


def test_parent_and_child_of_a_fork_count_their_own_requests_once(monitor):
    watched = monitor.watch(predict)
    for step in range(10):
        watched(served.rows(1, step))
    child = os.fork()
    if not child:
        # The parent's ten are in this memory too, and not to be counted from here.
        code = 1
        try:
            for step in range(7):
                watched(served.rows(1, step))
            monitor.close()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert total(monitor).rows.tolist() == [17, 17]


def test_close_hands_over_what_waits(package, tmp_path):
    store = str(tmp_path / "state.db")
    first = InferenceMonitor.open(package, store=store)
    first.watch(predict)(served.rows(4, 1))
    first.close()
    second = InferenceMonitor.open(package, store=store)
    assert total(second).rows.tolist() == [4, 4]
    second.close()


def ours() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("driftline-")}


def test_after_close_requests_pass_and_nothing_is_watched(package, tmp_path, caplog):
    """No hook fails, no failure of the monitor is counted, no thread and no count come back."""
    before = ours()
    monitor = InferenceMonitor.open(package, store=str(tmp_path / "state.db"))
    watched = monitor.watch(predict)
    watched(served.rows(4, 1))
    under_way = monitor.before(served.rows(1, 2))
    monitor.close()
    monitor.after(under_way, predict(served.rows(1, 2)))
    assert watched(served.rows(2, 3)).shape == (2, 3)
    with monitor.observe(served.rows(1, 4)) as seen:
        seen.outputs = predict(served.rows(1, 4))
    with pytest.raises(KeyError), monitor.observe(served.rows(1, 5)):
        raise KeyError
    assert monitor.closed
    assert monitor.flush()
    monitor.close()
    assert not monitor.fence.failures
    assert ours() <= before
    assert "monitor failed" not in caplog.text
    second = InferenceMonitor.open(package, store=str(tmp_path / "state.db"))
    assert total(second).rows.tolist() == [4, 4]
    second.close()


def test_a_monitor_that_is_closed_before_its_first_request_opens_nothing(package, tmp_path):
    path = tmp_path / "state.db"
    before = ours()
    monitor = InferenceMonitor.open(package, store=str(path))
    monitor.close()
    monitor.watch(predict)(served.rows(4, 1))
    assert monitor.flush()
    assert monitor.session.problem == ""  # as a route may still ask
    assert ours() <= before
    assert not path.exists()


def test_flush_after_close_says_whether_the_last_counts_were_handed_over(
    package, tmp_path, monkeypatch
):
    monkeypatch.setattr("driftline.serving.hooks.session.LAST_SECONDS", 0.2)
    path = tmp_path / "state.db"
    path.mkdir()
    monitor = InferenceMonitor.open(package, store=str(path))
    monitor.watch(predict)(served.rows(4, 1))
    monitor.close()
    assert not monitor.flush()
    path.rmdir()
    assert not monitor.flush()
    assert not path.exists()


def test_the_background_thread_flushes_within_a_second(monitor):
    monitor.watch(predict)(served.rows(1, 1))
    series = monitor.plan.series.model(60)
    layout = monitor.plan.package.metadata.reference.layout
    served.until(lambda: monitor.session.store.read(series, layout, 0, 2**40), 5)


def test_impossible_settings_are_refused_when_it_is_opened(package):
    with pytest.raises(SettingError):
        InferenceMonitor.open(package, false_alarms="often")
    with pytest.raises(SettingError):
        InferenceMonitor.open(package, store="sqlite:///")
