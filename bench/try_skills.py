"""Lets one reader try folders of skills, each in a process of its own within bounds of time and memory.

Run with `-I` by the interpreter of the environment under test, so it needs the standard library only. The reader is
imported once; every folder named on standard input, a line each, is tried in a fork, and answered by a line of JSON.
With `--once`, the only folder is tried in this very process, for what went wrong in a fork and may be the fork's fault.
"""

import argparse
import json
import logging
import os
import resource
import runpy
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXTRA_BYTES = 1 << 30
SAID_CHARACTERS = 20_000

Examine = Callable[[Path], tuple[dict[Any, Any], list[Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seconds", type=int, default=10, help="for one folder")
    options = parser.parse_args()
    answers = os.dup(1)
    # By its path: this folder, with its files named like libraries, must not be on the import path.
    module = runpy.run_path(str(Path(__file__).with_name("measure.py")))["load_script"](options.script)
    examine: Examine = getattr(module, "examine", None) or (lambda root: (module.discover(root), []))
    for line in sys.stdin:
        root = Path(line.rstrip("\n"))
        if options.once:
            signal.alarm(options.seconds)
        told = _try(examine, root) if options.once else _try_in_fork(examine, root, options.seconds)
        os.write(answers, json.dumps(told).encode() + b"\n")


def _try_in_fork(examine: Examine, root: Path, seconds: int) -> dict[str, Any]:
    """What the fork answers; else how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(json.dumps(_try(examine, root)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    answer = _read_until(reading, time.monotonic() + seconds)
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if answer is None:
        return {"ended": "hang"}
    return json.loads(answer) if answer else {"ended": f"crash, status {status}"}


def _read_until(descriptor: int, deadline: float) -> bytes | None:
    """All bytes until the end of the pipe; None if it did not come in time."""
    parts: list[bytes] = []
    while True:
        ready = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))[0]
        if not ready:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _try(examine: Examine, root: Path) -> dict[str, Any]:
    """What was found, by name, what was said, and what was raised."""
    os.chdir(root.parent)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        # Whoever sets up no logging of its own has its warnings on standard error.
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
        logging.captureWarnings(True)
        warnings.simplefilter("always")
        _bound_memory()
        found: dict[Any, Any] = {}
        reasons: list[Any] = []
        raised = ""
        try:
            found, reasons = examine(root)
        except MemoryError:
            raised = "MemoryError"
        except BaseException as error:  # noqa: BLE001 - whatever a reader raises is its answer
            raised = f"{type(error).__name__}: {error}"[:SAID_CHARACTERS]
        sys.stdout.flush()
        sys.stderr.flush()
        output.seek(0)
        said = output.read(SAID_CHARACTERS).decode("utf-8", "replace")
    kept = {str(name): str(text)[:SAID_CHARACTERS] for name, text in found.items()}
    typed = [str(name) for name, text in found.items() if not (isinstance(name, str) and isinstance(text, str))]
    return {
        "found": kept,
        "typed": typed,
        "reasons": [str(reason)[:1_000] for reason in reasons],
        "said": said,
        "raised": raised,
    }


def _bound_memory() -> None:
    """No more than so many bytes beyond those that the import has taken."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + EXTRA_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
