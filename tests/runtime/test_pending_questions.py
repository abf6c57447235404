"""Questions that wait: one caller asks, and whoever waits for the answer can be stopped."""

import threading

import pytest

from prowess.execution.stopping import Stopped, StopSign, stoppable
from prowess.runtime.pending_questions import PendingQuestions


def test_caller_who_waits_for_another_can_be_stopped() -> None:
    pending, sign, asked = PendingQuestions(), StopSign(), threading.Event()
    answered = threading.Event()

    def ask() -> None:
        with pending.asking("chat", "digest"):
            asked.set()
            answered.wait(30)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert asked.wait(30)
        threading.Timer(0.2, sign.raise_).start()
        with pytest.raises(Stopped), stoppable(sign), pending.asking("chat", "digest"):
            pass
    finally:
        answered.set()
        asking.join()
    assert pending.asked == {}
