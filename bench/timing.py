"""Runs contestants in turn, each in a process of its own, and sums up what they took."""

import json
import random
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

MEASURE = Path(__file__).resolve().with_name("measure.py")
RUN_TIMEOUT_SECONDS = 150
REASON_CHARACTERS = 300


class Sample(TypedDict):
    """The JSON line of `measure.py`."""

    peer: str
    version: str
    count: int
    seconds: list[float]
    import_seconds: float
    peak_rss_kb: int


class UseSample(TypedDict):
    """The JSON line of `measure.py --use`."""

    peer: str
    version: str
    times: dict[str, list[float]]
    """Seconds of each call, by what was asked for: `open`, `first prompt`, `prompt`, `activate`, `read`."""
    characters: int
    """Of a prompt."""
    fresh: bool | None
    """Whether an activation gives the file as it is now; None without activations."""
    import_seconds: float
    peak_rss_kb: int


@dataclass(frozen=True, slots=True)
class Runner:
    """A contestant: a script with a function from the root to what it found, and the interpreter that runs it."""

    name: str
    python: Path
    script: Path
    function: str = "discover"
    distribution: str = ""

    def run(self, root: Path, *, repeats: int) -> Sample:
        """One fresh process: an import, a warm-up and `repeats` timed discoveries."""
        return cast("Sample", self._measure(root, repeats))

    def use(self, root: Path, *, calls: int) -> UseSample:
        """One fresh process: the folder is opened once, then each kind of call is made so often."""
        return cast("UseSample", self._measure(root, calls, "--use"))

    def _measure(self, root: Path, repeats: int, *options: str) -> object:
        choice = ("--function", self.function, "--distribution", self.distribution, *options)
        command = (str(self.python), "-I", str(MEASURE), str(self.script), str(root), str(repeats), *choice)
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=RUN_TIMEOUT_SECONDS)
        # Some peers print banners; ours is the last line.
        return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, quartiles and maximum."""

    minimum: float
    first_quartile: float
    median: float
    third_quartile: float
    maximum: float


@dataclass(frozen=True, slots=True)
class Result:
    """All rounds of one contestant."""

    name: str
    version: str
    count: int
    seconds: tuple[float, ...]
    import_seconds: tuple[float, ...]
    peak_rss_kb: int

    @property
    def spread(self) -> Spread:
        return measure_spread(self.seconds)

    @property
    def median_import_seconds(self) -> float:
        return statistics.median(self.import_seconds)


@dataclass(frozen=True, slots=True)
class Failure:
    """A contestant that broke off; its earlier rounds don't count."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Those that ran, fastest first, and those that broke off."""

    results: tuple[Result, ...]
    failures: tuple[Failure, ...] = field(default=())


def interleave(runners: Iterable[Runner], root: Path, *, rounds: int, repeats: int) -> Comparison:
    """Every runner once a round, in a new order each round, so that a slow minute of the machine falls on all alike."""
    pending = list(runners)
    samples: dict[str, list[Sample]] = {runner.name: [] for runner in pending}
    failures: list[Failure] = []
    for number in range(rounds):
        random.Random(number).shuffle(pending)
        for runner in tuple(pending):
            try:
                samples[runner.name].append(runner.run(root, repeats=repeats))
            except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
                pending.remove(runner)
                failures.append(Failure(name=runner.name, reason=render_reason(error)))
    results = [_sum_up(runner.name, samples[runner.name]) for runner in pending]
    results.sort(key=lambda result: result.spread.median)
    return Comparison(results=tuple(results), failures=tuple(failures))


def measure_spread(values: Sequence[float]) -> Spread:
    """A single value is its own spread."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], values[0], values[0])
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(min(values), first, median, third, max(values))


def _sum_up(name: str, samples: Sequence[Sample]) -> Result:
    return Result(
        name=name,
        version=samples[0]["version"],
        count=min(sample["count"] for sample in samples),
        seconds=tuple(seconds for sample in samples for seconds in sample["seconds"]),
        import_seconds=tuple(sample["import_seconds"] for sample in samples),
        peak_rss_kb=max(sample["peak_rss_kb"] for sample in samples),
    )


def render_reason(error: Exception) -> str:
    """The end of what the child said, or the error itself."""
    told = (
        error.stderr
        if isinstance(error, subprocess.CalledProcessError) and error.stderr
        else f"{type(error).__name__}: {error}"
    )
    return " ".join(str(told).split())[-REASON_CHARACTERS:]
