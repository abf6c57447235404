"""Measures what it costs to start a script: each sandbox beside the bare tool, taking turns, and many short runs.

`python -m bench.execution` writes the section. It starts a Docker engine and a Podman store of its own, where these are
installed; `--short` leaves both out.
"""

import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.effort import QUICK, choose
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from prowess import Answer, CallbackAsker, Runtime, load_settings
from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.engines.container_sandbox import docker_sandbox, podman_sandbox
from prowess.execution.jobs import SEARCH_PATH, Job
from prowess.execution.sandbox import ScriptSandbox
from tests.docker_engine import Docker
from tests.podman_engine import Podman

ROUNDS = choose(25, quick=2)
SHORT_RUNS = choose(100, quick=8)
THREADS = 4
_JOB = Job(("true",), environment={"PATH": SEARCH_PATH})
_SKILL = "---\nname: short\ndescription: Does next to nothing.\n---\nRun it.\n"
_BWRAP = shlex.split("""
    bwrap --unshare-all --unshare-user --uid 1000 --gid 1000 --disable-userns --die-with-parent --new-session
    --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64
    --ro-bind /etc/ld.so.cache /etc/ld.so.cache --proc /proc --dev /dev --size 16777216 --tmpfs /tmp
    --size 67108864 --tmpfs /output --chdir /output --clearenv --setenv PATH /usr/bin
""")
_AS_NOBODY = ["setpriv", "--reuid=65000", "--regid=65000", "--clear-groups"]
_CONTAINER = shlex.split("""
    run --rm --init --network none --read-only --tmpfs /tmp:rw,size=16m,mode=1777 --cap-drop ALL
    --security-opt no-new-privileges --pids-limit 64 --memory 256m --memory-swap 256m --user 65534:65534
""")

Work = Callable[[], object]


def take_turns(contestants: dict[str, Work], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the milliseconds of each, one after the other in every round; the first round warms up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, work in contestants.items():
            begun = time.perf_counter()
            work()
            if number:
                times[name].append((time.perf_counter() - begun) * 1_000)
    return times


def _run(command: list[str], environment: dict[str, str] | None = None) -> Work:
    def work() -> None:
        subprocess.run(command, env=environment, capture_output=True, check=True)

    return work


def _rows(times: dict[str, list[float]], *, against: str) -> list[tuple[str, ...]]:
    base = statistics.median(times[against])
    rows: list[tuple[str, ...]] = []
    for name, found in times.items():
        quartiles = statistics.quantiles(found, n=4)
        median = statistics.median(found)
        rows.append((name, f"{median:.1f}", f"{quartiles[0]:.1f} to {quartiles[2]:.1f}", f"{median / base:.2f}"))
    return rows


def measure_bubblewrap(session_run: Work) -> list[tuple[str, ...]]:
    """The default sandbox. Root must hand the job to another user, which the bare tool does with one program more."""
    contestants: dict[str, Work] = {"bwrap true": _run([*_BWRAP, "true"])}
    against = "bwrap true"
    if os.geteuid() == 0:
        same = [part for part in _BWRAP if part not in ("--unshare-all", "--unshare-user", "--disable-userns")]
        for pair in (("--uid", "1000"), ("--gid", "1000")):
            place = same.index(pair[0])
            del same[place : place + 2]
        apart = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        against = "bwrap setpriv true"
        contestants[against] = _run([same[0], *apart, *same[1:], *_AS_NOBODY, "true"])
    sandbox = BubblewrapSandbox()
    contestants["prowess, the sandbox"] = lambda: sandbox.run(_JOB, keep="")
    contestants["prowess, session.run"] = session_run
    return _rows(take_turns(contestants, 4 * ROUNDS), against=against)


def measure_engine(
    name: str, program: list[str], environment: dict[str, str], image: str, make: Callable[[bool], ScriptSandbox]
) -> list[tuple[str, ...]]:
    """An engine's sandbox, cold and with a spare container, beside the bare command with an image of one file."""
    cold, spare = make(False), make(True)
    bare = f"{name} run"

    def with_spare() -> None:
        spare.run(_JOB, keep="")

    contestants: dict[str, Work] = {
        bare: _run([*program, *_CONTAINER, image, "/bin/busybox", "true"], environment),
        f"prowess, {name}": lambda: cold.run(_JOB, keep=""),
        f"prowess, {name}, a spare waits": with_spare,
    }
    times: dict[str, list[float]] = {key: [] for key in contestants}
    for number in range(ROUNDS + 1):
        for key, work in contestants.items():
            if work is with_spare:
                spare.spares.settle()  # type: ignore[attr-defined] - as after a pause between two calls
            begun = time.perf_counter()
            work()
            if number:
                times[key].append((time.perf_counter() - begun) * 1_000)
    cold.close()
    spare.close()
    return _rows(times, against=bare)


def measure_throughput(run: Work, bare: Work) -> list[tuple[str, ...]]:
    """A hundred short runs: one after the other, and by several threads."""
    rows: list[tuple[str, ...]] = []
    for threads in (1, THREADS):
        seconds = {name: _time_many(work, threads) for name, work in (("bare tool", bare), ("prowess", run))}
        for name, took in seconds.items():
            rows.append(
                (name, str(threads), f"{took:.2f}", f"{SHORT_RUNS / took:.0f}", f"{took / seconds['bare tool']:.2f}")
            )
    return rows


def _time_many(work: Work, threads: int) -> float:
    def some() -> None:
        for _ in range(SHORT_RUNS // threads):
            work()

    workers = [threading.Thread(target=some) for _ in range(threads)]
    begun = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - begun


def main() -> None:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        skill = place / "skills" / "short"
        (skill / "scripts").mkdir(parents=True)
        (skill / "SKILL.md").write_text(_SKILL, encoding="utf-8")
        (skill / "scripts" / "true.sh").write_text("true\n", encoding="utf-8")
        settings = load_settings(environ={"HOME": str(place), "PROWESS_HOME": str(place / "home")})
        asker = CallbackAsker(lambda _: Answer.ALLOW_ALWAYS)
        runtime = stack.enter_context(Runtime(settings, skills=[skill.parent], asker=asker))
        session = runtime.session("bench")
        run: Work = lambda: session.run("short", "scripts/true.sh")  # noqa: E731 - as the other contestants
        rows = measure_bubblewrap(run)
        write_figures("execution", {"ratio": {row[0]: float(row[3]) for row in rows}})
        many = measure_throughput(run, _run([*_BWRAP, "true"]))
        if "--short" not in sys.argv and not QUICK:
            rows += _measure_engines()
    text = f"""`python -m bench.execution` — {render_machine(describe_machine())}

From the call to the result of a script that does nothing, in milliseconds; contestants take turns. The goal: 1.5 times
the bare tool, which bounds and collects nothing. As root, Prowess hands the job to a user that owns nothing; the bare
tool that does the same is what it is held against. `session.run` finds the skill, checks consent, pins the version and
writes two receipts besides. A spare is a container that was started after the run before, and serves one run.

{render_table(("contestant", "median ms", "quartiles ms", "ratio"), rows)}

{SHORT_RUNS} runs of that script, by `session.run`:

{render_table(("contestant", "threads", "seconds", "runs a second", "ratio"), many)}
"""
    write_section("Scripts in a sandbox", text)


def _measure_engines() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if shutil.which("dockerd"):
        docker = Docker()
        try:
            docker.start()
            docker.import_image("bench:latest")
            environment = dict(docker.environment)
            rows += measure_engine(
                "docker",
                ["docker"],
                environment,
                "bench:latest",
                lambda spares: docker_sandbox(spares=spares, environment=environment),
            )
        finally:
            docker.remove()
    if shutil.which("podman"):
        podman = Podman()
        try:
            podman.import_image("localhost/bench:latest")
            rows += measure_engine(
                "podman",
                list(podman.command),
                dict(podman.environment),
                "localhost/bench:latest",
                lambda spares: podman_sandbox(podman.command, spares=spares),
            )
        finally:
            podman.remove()
    return rows


if __name__ == "__main__":
    main()
