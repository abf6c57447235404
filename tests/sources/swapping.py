"""A process that exchanges files and folders with links, as fast as it can, while a test reads them."""

import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["swapping"]

_SWAPPER = """
import ctypes, os, signal, sys

paths = sys.argv[1::2]
for path, target in zip(paths, sys.argv[2::2]):
    os.symlink(target, path + "-other")
libc = ctypes.CDLL(None, use_errno=True)
stopped = False

def stop(*_):
    global stopped
    stopped = True

def exchange(path):
    if libc.renameat2(-100, os.fsencode(path), -100, os.fsencode(path + "-other"), 2):
        raise OSError(ctypes.get_errno(), "renameat2")

signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
swaps = 0
while not stopped:
    for path in paths:
        exchange(path)
    swaps += len(paths)
print(swaps, flush=True)
"""


@contextmanager
def swapping(links: Mapping[Path, Path]) -> Generator[list[int]]:
    """Exchange each path with a link to its target, again and again; afterwards say how often."""
    swaps: list[int] = []
    pairs = [str(part) for pair in links.items() for part in pair]
    with subprocess.Popen([sys.executable, "-c", _SWAPPER, *pairs], stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        try:
            yield swaps
        finally:
            swapper.terminate()
            swaps.append(int(swapper.stdout.readline() or 0))
