"""An answer that does not end: the clock, the learner's own interrupt, and what is left behind."""

import signal
import threading
import time

import pytest

from utils.feedback import diagnose as engine
from utils.feedback import timeout
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import find_exercise
from utils.feedback.progress import read_progress

inside = threading.Event()  # set by an answer that runs


class WhenInside(timeout.Timeout):
    def _watch(self):
        inside.wait()
        super()._watch()


@pytest.fixture
def short(monkeypatch):
    """A clock that rings as soon as the answer runs, and again and again."""
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
    heard = 0
    while heard < 3:
        try:
            time.sleep(3600)
        except:  # noqa: E722 - what learners write, too
            heard += 1
    while True:
        pass


@pytest.mark.parametrize("answer, line", [(endless, "while True:"), (asleep, "time.sleep(3600)"), (deaf, "while True")])
def test_what_does_not_end_is_stopped_and_told_where(short, answer, line):
    before = signal.getsignal(signal.SIGINT)
    report = diagnose(find_exercise("get_mask"), answer)
    assert (report.status, report.reason) == ("failed", "stopped")
    assert "had not ended after" in report.message and line in report.message
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_that_ignores_interrupts_hears_the_clock(short):
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


def test_elsewhere_than_in_the_main_thread_there_is_no_clock():
    said = []
    thread = threading.Thread(target=lambda: said.append(diagnose(find_exercise("get_mask"), lambda size: None)))
    thread.start()
    thread.join()
    assert said[0].reason == "structure"


def test_an_interrupt_by_hand_is_one_calm_line_and_no_try():
    def get_mask(size):
        raise KeyboardInterrupt

    report = check(get_mask)
    assert (report.status, report.reason) == ("todo", "stopped")
    assert "interrupted on line" in str(report) and "raise KeyboardInterrupt" in str(report)
    assert "get_mask" not in read_progress().get("causal_attention", {})


def test_time_in_which_others_work_does_not_count(monkeypatch):
    """As on a busy machine: time passes, and this process has done nothing in it."""
    monkeypatch.setattr(timeout, "IDLE_FACTOR", float("inf"))
    monkeypatch.setattr(timeout.time, "process_time", lambda: 0.0)
    with timeout.Timeout(0.01) as clock:
        for _ in range(5):
            clock._ended.wait(0.02)
    assert not clock.fired


def test_the_page_says_that_it_waits(short, monkeypatch, capsys):
    monkeypatch.setattr(timeout, "POLL_INTERVAL", 0.01)
    monkeypatch.setattr(engine, "TIME_LIMIT", 0.5)
    monkeypatch.setattr(engine, "NOTIFY_AFTER", 0.02)
    diagnose(find_exercise("get_mask"), endless)
    assert capsys.readouterr().out == engine.WAIT_MESSAGE + "\n"
