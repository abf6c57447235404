"""The bounds that are put on a sandbox from outside hold for all that runs inside."""

import threading
from collections.abc import Iterator

import pytest

from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.jobs import SEARCH_PATH, Job
from prowess.policy import RunLimits


@pytest.fixture
def busy() -> Iterator[None]:
    """Other threads compute all the time, so that each step of this one comes late."""
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            sum(range(1_000))

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.slow
@pytest.mark.requirement("R96", "K2")
@pytest.mark.usefixtures("busy")
def test_no_script_is_quicker_than_its_bounds() -> None:
    limits = RunLimits(file_bytes=512 * 4_321, processes=234)
    job = Job(("sh", "-c", "ulimit -f; ulimit -p"), environment={"PATH": SEARCH_PATH}, limits=limits)
    told = [BubblewrapSandbox().run(job, keep="").stdout.content for _ in range(5)]
    assert told == [b"4321\n234\n"] * 5
