"""Times one script's discovery inside a process of its own, and prints one JSON line.

Run by the interpreter of the environment under test, so it needs the standard library only and is started with `-I`:
the folder of a script named like its library must not be on the import path.
"""

import argparse
import gc
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable, Sized
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

Discover = Callable[[Path], Sized]


def main() -> None:
    options = _parse_arguments()
    started = time.perf_counter()
    module = _load_script(options.script)
    import_seconds = time.perf_counter() - started
    discover: Discover = getattr(module, options.function)
    count = len(discover(options.root))
    seconds = [_time_once(discover, root=options.root) for _ in range(options.repeats)]
    distribution: str = options.distribution or options.script.stem.replace("_", "-")
    report = {
        "peer": distribution,
        "version": _find_version(distribution),
        "count": count,
        "seconds": seconds,
        "import_seconds": import_seconds,
        "peak_rss_kb": read_peak_rss_kb(),
    }
    sys.stdout.write(json.dumps(report) + "\n")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("repeats", type=int)
    parser.add_argument("--function", default="discover", help="the script's function to time")
    parser.add_argument("--distribution", default="", help="whose version to report; else the script's name")
    return parser.parse_args()


def _load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("script_under_test", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: not a Python file; give a script with a discover(root) function")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pydantic look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _time_once(discover: Discover, *, root: Path) -> float:
    gc.collect()
    started = time.perf_counter()
    found = discover(root)
    elapsed = time.perf_counter() - started
    del found
    return elapsed


def _find_version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def read_peak_rss_kb() -> int:
    """The high-water mark of this process alone; `ru_maxrss` would include the parent's, carried over exec."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
