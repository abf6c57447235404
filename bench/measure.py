"""Times one script's discovery, or its use, inside a process of its own, and prints one JSON line.

With `--use`, the script's `Use(root)` is opened, and each of `prompt`, `activate` and `read` that it has is timed, the
first prompt apart from later ones; an answer without the text that was asked for ends the process.

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
PROMPTS = 5
"""After the first, which has a time of its own: whoever keeps its text gives it again, others make it anew."""
CHANGE = "\nA line that was added later.\n"


def main() -> None:
    options = _parse_arguments()
    started = time.perf_counter()
    module = load_script(options.script)
    import_seconds = time.perf_counter() - started
    distribution: str = options.distribution or options.script.stem.replace("_", "-")
    timed = _time_use(module, options) if options.use else _time_discovery(module, options)
    report = {
        "peer": distribution,
        "version": _find_version(distribution),
        **timed,
        "import_seconds": import_seconds,
        "peak_rss_kb": read_peak_rss_kb(),
    }
    sys.stdout.write("\n" + json.dumps(report) + "\n")


def _time_discovery(module: ModuleType, options: argparse.Namespace) -> dict[str, object]:
    discover: Discover = getattr(module, options.function)
    count = len(discover(options.root))
    return {"count": count, "seconds": [_time_once(discover, root=options.root) for _ in range(options.repeats)]}


def _time_use(module: ModuleType, options: argparse.Namespace) -> dict[str, object]:
    """The seconds of each call by what was asked for, and how many characters a prompt has."""
    use_class = getattr(module, options.function)
    started = time.perf_counter()
    use = use_class(options.root)
    times: dict[str, list[float]] = {"open": [time.perf_counter() - started]}
    *names, spare = sorted(folder.name for folder in options.root.iterdir())
    # Spread over the whole catalog, so that a list that is gone through from its start shows.
    names = names[:: max(1, len(names) // options.repeats)][: options.repeats]
    characters, fresh = 0, None
    if hasattr(use, "prompt"):
        times["first prompt"] = [_time_call(use.prompt, expected=names[0])]
        times["prompt"] = [_time_call(use.prompt, expected=names[0]) for _ in range(PROMPTS)]
        characters = len(use.prompt())
    if hasattr(use, "activate"):
        times["activate"] = [_time_call(use.activate, name, expected=f"# {name}") for name in names]
        fresh = _sees_change(use.activate, spare, options.root / spare / "SKILL.md")
    if hasattr(use, "read"):
        asked = "references/REFERENCE.md"
        times["read"] = [_time_call(use.read, name, asked, expected=f"# Reference of {name}") for name in names]
    return {"times": times, "characters": characters, "fresh": fresh}


def _sees_change(activate: Callable[[str], str], name: str, file: Path) -> bool:
    """Whether a skill that is edited after the folder was opened is given as it is now; the file is put back."""
    text = file.read_bytes()
    file.write_bytes(text + CHANGE.encode())
    try:
        return CHANGE.strip() in activate(name)
    finally:
        file.write_bytes(text)


def _time_call(call: Callable[..., str], *arguments: str, expected: str) -> float:
    started = time.perf_counter()
    answer = call(*arguments)
    elapsed = time.perf_counter() - started
    if expected not in answer:
        raise SystemExit(f"{call.__name__}{arguments} did not answer with {expected!r}: {answer[:200]!r}")
    return elapsed


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("repeats", type=int)
    parser.add_argument("--function", default="discover", help="the script's function to time, or its class to use")
    parser.add_argument("--use", action="store_true", help="time prompt, activation and reading instead")
    parser.add_argument("--distribution", default="", help="whose version to report; else the script's name")
    return parser.parse_args()


def load_script(path: Path) -> ModuleType:
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
