"""An answer that does not end: the timeout, the learner's own interrupt, and the state afterwards."""

import signal
import threading
import time

import pytest

from tests.feedback.answers import stable
from utils.exercises import timeout
from utils.exercises.exercise import find_exercise
from utils.feedback import diagnose as engine
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.learner_data.progress import read_progress

inside = threading.Event()  # set by an answer that runs


class WhenInside(timeout.Timeout):
    def _watch(self):
        inside.wait()
        super()._watch()


@pytest.fixture
def short(monkeypatch):
    """Make a timeout that interrupts an answer as soon as it runs, repeatedly."""
    inside.clear()
    monkeypatch.setattr(engine, "Timeout", WhenInside)
    monkeypatch.setattr(engine, "TIME_LIMIT", 0.05)
    monkeypatch.setattr(timeout, "INTERRUPT_INTERVAL", 0.05)


def endless(size):
    inside.set()
    while True:
        pass


def asleep(size):
    inside.set()
    time.sleep(3600)


def deaf(size):
    inside.set()
    interrupts = 0
    while interrupts < 3:
        try:
            time.sleep(3600)
        except:  # noqa: E722 - learners also write this
            interrupts += 1
    while True:
        pass


@pytest.mark.parametrize("answer, line", [(endless, "while True:"), (asleep, "time.sleep(3600)"), (deaf, "while True")])
def test_an_answer_that_does_not_end_is_stopped(short, answer, line, snapshot):
    before = signal.getsignal(signal.SIGINT)
    report = diagnose(find_exercise("get_mask"), answer)
    assert (report.status, report.reason) == ("failed", "stopped")
    assert line in report.message and stable(report.message) == snapshot
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_that_ignores_interrupts_is_stopped(short):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert diagnose(find_exercise("get_mask"), endless).reason == "stopped"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_interrupt_comes_after_the_check(short):
    assert diagnose(find_exercise("get_mask"), endless).reason == "stopped"
    for thread in threading.enumerate():
        if thread.name == "check-timeout":
            thread.join(60)
            assert not thread.is_alive()


def test_outside_the_main_thread_there_is_no_timeout():
    reports = []
    thread = threading.Thread(target=lambda: reports.append(diagnose(find_exercise("get_mask"), lambda size: None)))
    thread.start()
    thread.join()
    assert reports[0].reason == "structure"


def test_an_interrupt_by_the_learner_is_not_an_attempt(snapshot):
    def get_mask(size):
        raise KeyboardInterrupt

    report = check(get_mask)
    assert (report.status, report.reason) == ("todo", "stopped")
    assert "raise KeyboardInterrupt" in report.message and stable(report.message) == snapshot
    assert "get_mask" not in read_progress().get("causal_attention", {})


def test_the_cpu_time_of_other_processes_does_not_count(monkeypatch):
    """On a busy machine, time can pass in which this process does nothing."""
    monkeypatch.setattr(timeout, "IDLE_FACTOR", float("inf"))
    monkeypatch.setattr(timeout.time, "process_time", lambda: 0.0)
    with timeout.Timeout(0.01) as running:
        for _ in range(5):
            running._ended.wait(0.02)
    assert not running.fired


def test_a_long_check_prints_a_message(short, monkeypatch, capsys):
    monkeypatch.setattr(timeout, "POLL_INTERVAL", 0.01)
    monkeypatch.setattr(engine, "TIME_LIMIT", 0.5)
    monkeypatch.setattr(engine, "NOTIFY_AFTER", 0.02)
    diagnose(find_exercise("get_mask"), endless)
    assert capsys.readouterr().out == engine.WAIT_MESSAGE + "\n"
