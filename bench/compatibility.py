"""Shows what comes of nasty skills, and of the standard's test cases, in every peer and in Prowess.

Each skill lies in a root of its own beside a good neighbour, and is tried in a process of its own within bounds: a
reader that hangs or dies is a cell of the table. `python -m bench.compatibility` writes the section; names of peers can
be given, to try only these.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypedDict, cast

from bench.effort import choose
from bench.nasty_skills import CONTROL, FOLDER, HIDDEN, MARK, NASTY, Nasty, Wanted
from bench.peer_environments import pinned_versions
from bench.report import describe_machine, render_machine, render_table
from bench.results import write_figures, write_section
from bench.runners import peer_runners
from bench.timing import Failure, Runner

HERE = Path(__file__).resolve().parent
TRY = HERE / "try_skills.py"
CASES = HERE.parent / "tests" / "data" / "skill_md_cases.json"
NEIGHBOUR = "neighbour"
SECONDS = choose(5, quick=2)
START_SECONDS = 60
LONG_CHARACTERS, SHORTEST_CUT = 500, 40
"""A description over the former may be cut, down to the latter."""


class Told(TypedDict, total=False):
    """A line of `try_skills.py`."""

    found: dict[str, str]
    typed: list[str]
    reasons: list[str]
    said: str
    raised: str
    ended: str


class Outcome(StrEnum):
    """What came of a skill."""

    LOADS = "loads"
    TOLD = "refused"
    DROPPED = "dropped"
    WRONG = "wrong"
    OTHERS = "takes all"
    HANGS = "hangs"
    MEMORY = "memory"
    CRASHES = "crashes"
    RUNS = "runs it"


@dataclass(frozen=True, slots=True)
class Case:
    """One of the standard's test cases."""

    id: str
    folder: str
    file: str
    content: bytes | None
    loads: bool


def write_root(place: Path) -> Path:
    """A root with the good neighbour in it."""
    root = place / "skills"
    (root / NEIGHBOUR).mkdir(parents=True)
    text = f"---\nname: {NEIGHBOUR}\ndescription: Greets people.\n---\nBody\n"
    (root / NEIGHBOUR / "SKILL.md").write_text(text, encoding="utf-8")
    return root


def read_cases() -> list[Case]:
    found: list[Case] = []
    for row in cast("list[dict[str, str]]", json.loads(CASES.read_text(encoding="utf-8"))):
        content = bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode() if "text" in row else None
        found.append(Case(row["id"], row["folder"], row["file"], content, row["standard"] != "skip"))
    return found


def write_case(case: Case, place: Path) -> Path:
    root = write_root(place)
    (root / case.folder).mkdir()
    if case.content is not None:
        (root / case.folder / case.file).write_bytes(case.content)
    return root


def try_all(runner: Runner, roots: Sequence[Path]) -> list[Told]:
    """What the reader tells of each root; what ended badly in a fork is tried again without one."""
    answers = _ask(runner, roots, "", seconds=START_SECONDS + (SECONDS + 1) * len(roots))
    return [
        answer if "ended" not in answer else _ask(runner, [root], "--once", seconds=START_SECONDS + SECONDS)[0]
        for root, answer in zip(roots, answers, strict=True)
    ]


def _ask(runner: Runner, roots: Sequence[Path], mode: str, *, seconds: float) -> list[Told]:
    bound = f"--seconds={SECONDS}"
    command = [str(runner.python), "-I", str(TRY), str(runner.script), bound, *([mode] if mode else [])]
    asked = "".join(f"{root}\n" for root in roots)
    try:
        done = subprocess.run(command, check=False, input=asked, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return [Told(ended="hang") for _ in roots]
    answers = [cast("Told", json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
    short = len(roots) - len(answers)
    ended = "hang" if done.returncode == -signal.SIGALRM else f"crash, status {done.returncode}"
    return answers + [Told(ended=ended)] * short


def decide_outcome(nasty: Nasty, told: Told, *, mark: Path) -> Outcome:
    """What came of it, from what was found and said."""
    if mark.exists():
        return Outcome.RUNS
    ended = decide_end(told)
    if ended is not None:
        return ended
    found = {name: text for name, text in told.get("found", {}).items() if name != NEIGHBOUR}
    if not found:
        return decide_refusal(told, nasty.names)
    if len(found) > 1 or not set(found) <= set(nasty.names):
        return Outcome.WRONG
    text = next(iter(found.values())).strip()
    right = text in (nasty.description, *nasty.alternatives)
    cut = len(nasty.description) > LONG_CHARACTERS and text.startswith(nasty.description[:SHORTEST_CUT])
    return Outcome.LOADS if (right or cut) else Outcome.WRONG


def decide_end(told: Told) -> Outcome | None:
    """How it ended, if it ended badly; None if all is well with the neighbour."""
    if "ended" in told:
        return Outcome.HANGS if told["ended"] == "hang" else Outcome.CRASHES
    if told.get("raised", "").startswith("MemoryError"):
        return Outcome.MEMORY
    return None if NEIGHBOUR in told.get("found", {}) else Outcome.OTHERS


def decide_refusal(told: Told, names: Sequence[str]) -> Outcome:
    """Whether anything was said about it: a reason handed out, or a warning that names it."""
    named = any(name in told.get("said", "") for name in (*names, FOLDER))
    return Outcome.TOLD if told.get("reasons") or named else Outcome.DROPPED


def is_good(nasty: Nasty, outcome: Outcome) -> bool:
    if nasty.wanted is Wanted.EITHER:
        return outcome in (Outcome.LOADS, Outcome.TOLD)
    return outcome is (Outcome.LOADS if nasty.wanted is Wanted.LOAD else Outcome.TOLD)


@dataclass(frozen=True, slots=True)
class Examined:
    """One reader: what came of each nasty skill, and how it did on the cases."""

    name: str
    outcomes: tuple[Outcome, ...]
    cases: Counter[str]

    @property
    def good(self) -> int:
        return sum(is_good(nasty, outcome) for nasty, outcome in zip(NASTY, self.outcomes, strict=True))

    @property
    def good_apart(self) -> int:
        """Without the kind that only our own policy asks for."""
        return self.good - is_good(HIDDEN, self.outcomes[NASTY.index(HIDDEN)])


def examine(runner: Runner, place: Path) -> Examined:
    """Try everything once; the roots are made anew, for a reader may have written to them."""
    outcomes: list[Outcome] = []
    nasty_place, cases_place = place / "nasty", place / "cases"
    roots = [write_root(nasty_place / str(number)) for number in range(len(NASTY))]
    for nasty, root in zip(NASTY, roots, strict=True):
        nasty.write(root / FOLDER)
    for nasty, root, told in zip(NASTY, roots, try_all(runner, roots), strict=True):
        outcomes.append(decide_outcome(nasty, told, mark=root.parent / MARK))
    cases = read_cases()
    roots = [write_case(case, cases_place / case.id) for case in cases]
    counts = Counter[str]()
    for case, told in zip(cases, try_all(runner, roots), strict=True):
        counts.update(judge_case(case, told))
    return Examined(runner.name, tuple(outcomes), counts)


def judge_case(case: Case, told: Told) -> list[str]:
    """The columns that this case counts for."""
    ended = decide_end(told)
    loaded = any(name != NEIGHBOUR for name in told.get("found", {}))
    columns = ["typed"] if told.get("typed") else []
    if ended is not None:
        return [*columns, "others" if ended is Outcome.OTHERS else "ended"]
    if case.loads:
        return [*columns, "loaded"] if loaded else columns
    if loaded:
        return columns
    refusal = decide_refusal(told, (case.folder,))
    return [*columns, "refused", *(["told"] if refusal is Outcome.TOLD else [])]


def contestants(names: list[str] | None) -> tuple[list[Runner], tuple[Failure, ...]]:
    peers = peer_runners(names=names)
    # How a reader validates is in its `examine`; a second row is for speed alone.
    readers = [runner for runner in peers.runners if runner.function == "discover"]
    ours = Runner(name="prowess", python=Path(sys.executable), script=HERE / "ours.py", distribution="prowess")
    return [ours, *readers], peers.missing


def render_nasty(examined: Sequence[Examined]) -> str:
    """A row for each kind and a column for each reader; what is not as it should be stands out."""
    versions = pinned_versions(one.name for one in examined)
    rows: list[tuple[str, ...]] = []
    for number, nasty in enumerate(NASTY):
        cells = [one.outcomes[number] for one in examined]
        kind = f"{nasty.kind} (*)" if nasty is HIDDEN else nasty.kind
        rows.append((kind, nasty.wanted, *(cell if is_good(nasty, cell) else f"**{cell}**" for cell in cells)))
    rows.append(("as it should be", f"of {len(NASTY)}", *(str(one.good) for one in examined)))
    rows.append(("the same without (*)", f"of {len(NASTY) - 1}", *(str(one.good_apart) for one in examined)))
    return render_table(
        ("skill", "should", *(f"{one.name} {versions.get(one.name, '')}".rstrip() for one in examined)), rows
    )


def render_cases(examined: Sequence[Examined]) -> str:
    cases = read_cases()
    loading = sum(case.loads for case in cases)
    headings = (
        "reader",
        f"loads what it should, of {loading}",
        f"refuses what it should, of {len(cases) - loading}",
        "with a word",
        "takes all with it",
        "hangs or crashes",
        "gives no text",
    )
    columns = ("loaded", "refused", "told", "others", "ended", "typed")
    ordered = sorted(examined, key=lambda one: -(one.cases["loaded"] + one.cases["refused"]))
    return render_table(headings, [(one.name, *(str(one.cases[column]) for column in columns)) for one in ordered])


ABOUT = f"""The same {len(NASTY)} skills, one at a time beside a good neighbour, tried by every reader in a process of
its own with {SECONDS} seconds and 1 GB; what ended badly was tried once more in a fresh process. A reader is used as
its documentation shows, through its listing of a folder; the two that have none are asked for each folder in turn.

- **loads**: it is found, with the name and the description that were meant.
- **refused**: it is not there, and a reason was given: a value, a warning, a line on standard error that names it.
- **dropped**: it is not there, and nothing was said, at the level of warnings or above.
- **wrong**: it is there with another text, under another name, or with a skill that is none beside it.
- **takes all**: the neighbour is gone as well; mostly the listing raised.
- **hangs**, **memory**, **crashes**, **runs it**: what they say; the last, that code from the frontmatter was run.

`should` is our judgement: `load` where the file is good Markdown and YAML or the guide for implementers asks for
leniency, `refuse` where no honest skill looks so, `either` where both serve the user. Bold is what differs from it. Of
two skills of one name, the one whose folder has that name should be found.

(*) Characters that a person does not see and a model reads count as **wrong** where they are handed on as they are.
That is our own policy: no standard asks for it, so the last row counts without it."""


def main() -> None:
    runners, missing = contestants(sys.argv[1:] or None)
    examined: list[Examined] = []
    for runner in runners:
        with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
            examined.append(examine(runner, Path(folder).resolve()))
        print(runner.name, examined[-1].good, dict(examined[-1].cases), file=sys.stderr)
    at = NASTY.index(CONTROL)
    unfit = [one.name for one in examined if one.outcomes[at] is not Outcome.LOADS]
    examined = [one for one in examined if one.name not in unfit]
    examined[1:] = sorted(examined[1:], key=lambda one: (-one.good, one.name))
    notes = [f"- {failure.name} could not be installed: {failure.reason}" for failure in missing]
    notes += [f"- {name} did not load the ordinary skill, and is left out." for name in unfit]
    parts = [
        f"`python -m bench.compatibility` — {render_machine(describe_machine())}",
        ABOUT,
        render_nasty(examined),
        "The test cases of `tests/data/skill_md_cases.json`, which follow the standard and its guide for implementers:",
        render_cases(examined),
        "\n".join(notes),
    ]
    versions = pinned_versions(one.name for one in examined)
    write_section("Compatibility", "\n\n".join(part for part in parts if part), versions)
    figures = {one.name: {"good": one.good, "good_apart": one.good_apart, "cases": dict(one.cases)} for one in examined}
    write_figures("compatibility", {"kinds": len(NASTY), "readers": figures}, versions)


if __name__ == "__main__":
    main()
