"""What a server hears while it is busy."""

import signal
import subprocess
import sys

import pytest

_SERVER = """
import asyncio, os
from prowess.surfaces.http.listening import await_signals

async def main():
    stop = await_signals()
    loop = asyncio.get_running_loop()
    for _ in range({wakings}):
        loop.call_soon_threadsafe(int)  # Each of them is a byte in the pipe by which the loop is woken.
    os.kill(os.getpid(), {number})
    await asyncio.wait_for(stop.wait(), 20)
    print("stopped")

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wakings", [0, 50_000])
def test_signal_is_heard_however_much_the_loop_has_to_hear(number: int, wakings: int) -> None:
    command = [sys.executable, "-c", _SERVER.format(number=int(number), wakings=wakings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
