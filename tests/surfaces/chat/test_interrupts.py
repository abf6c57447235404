"""Ctrl-C when even a cancelled turn does not end."""

import signal
import subprocess
import sys
import time

import pytest

_STUBBORN = """
import anyio
from prowess.surfaces.cli.chat.interrupts import heed_interrupts

async def main():
    with heed_interrupts(lambda: print("cancelled", flush=True)):
        print("begun", flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


@pytest.mark.slow
def test_another_interrupt_leaves_a_turn_that_does_not_end() -> None:
    with subprocess.Popen([sys.executable, "-c", _STUBBORN], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "cancelled\n"
            process.send_signal(signal.SIGINT)  # So soon, it is the same wish once more.
            time.sleep(1.2)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
