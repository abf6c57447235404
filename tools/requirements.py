"""Make docs/requirements.md: every requirement, and the tests that prove it.

`python tools/requirements.py` writes it, `--check` fails if it is stale, or if a number is open and nobody says why.

A test names what it proves by `@pytest.mark.requirement("R74")`. `SECTIONS` is the whole list of numbers, `REASONS`
says why some are proven by no test.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Started as a script, or imported by a test.

from tools.pages import write_or_check

__all__ = ["REASONS", "SECTIONS", "collect_marks", "find_faults", "known_numbers", "render_page"]

ROOT = Path(__file__).resolve().parents[1]
MOST_SHOWN = 3

SECTIONS: dict[str, dict[str, str]] = {
    "A. Format and validation": {
        "R1": "a folder with a SKILL.md, and any other files",
        "R2": "name and description are required",
        "R3": "the rule for names, equal to the folder's",
        "R4": "descriptions of 1 to 1,024 characters",
        "R5": "license",
        "R6": "compatibility of 1 to 500 characters",
        "R7": "metadata as a map of texts",
        "R8": "allowed-tools as patterns",
        "R9": "strict mode refuses unknown fields",
        "R10": "lenient mode warns of unknown keys",
        "R11": "the extra fields sandbox and permissions",
        "R12": "frontmatter stands first, and alone is read for discovery",
        "R13": "strict parse, then a fallback for name and description",
        "R14": "names sanitised to a stable id",
        "R15": "an invalid skill is left out and recorded",
        "R16": "the folder's name stands in for a missing one",
    },
    "B. Sources, discovery, precedence": {
        "R17": "the bundled source",
        "R18": "the config source, read fresh each time",
        "R19": "skills registered by plugins, and unloaded",
        "R20": "~/.agents/skills; a missing root is empty",
        "R21": "the user's personal source",
        "R22": "project sources as an ordered list of folders",
        "R23": "the workspace source",
        "R24": "tiers above the workspace",
        "R25": "three ways to scan a root",
        "R26": ".git and node_modules are ignored",
        "R27": "a missing folder is skipped, with one warning",
        "R28": "paths absolute, relative to the project, or from ~",
        "R29": "three ways to settle one name for two skills",
        "R30": "ids by source and path",
        "R31": "one catalog of all sources in a stable order",
        "R32": "a bound on the number of skills, with a warning",
        "R33": "off by default where the profile says so, and then nothing at all",
        "R34": "all fields of a skill's record",
        "R35": "a registry that stays as it was at start",
        "R36": "reload before each turn, or only at start",
        "R37": "single skills switched on and off",
        "R38": "a registry, and a read-only filtered view of it",
        "R39": "an agent's list: none given, empty, * and names",
        "R40": "a filtered view for each task",
        "R41": "no path of the host reaches the model",
        "R42": "look-up by name, and the list of names",
    },
    "C. Prompt": {
        "R43": "only metadata in the first prompt, never instructions",
        "R44": "XML with name, description and location, escaped",
        "R45": "XML without paths, after the static section",
        "R46": "JSON with name and description, without paths",
        "R47": "Markdown with name, description and location",
        "R48": "static guidance on skills",
        "R49": "rules of behaviour for progressive disclosure",
        "R50": "token budgets of the tiers",
        "R51": "the activated names in the prompt",
    },
    "D. Progressive disclosure and tools": {
        "R52": "three tiers",
        "R53": "contexts of tiers 1 and 2",
        "R54": "resources of tier 3",
        "R55": "the tool `skill` returns the instructions",
        "R56": "the tool `skills.activate`",
        "R57": "the tool `skills.readResource`",
        "R58": "the tool `activateSkill`",
        "R59": "an unknown skill gives an error and the visible list",
        "R60": "instructions are loaded when asked for",
        "R61": "a summary of the folder",
        "R62": "base directory and name in the first two lines",
        "R63": "tools only if skills and tool calls are on",
        "R64": "activation by the model",
        "R65": "activation by /name",
        "R66": "instructions in the prompt where there are no tools",
        "R67": "unload by not calling",
        "R68": "activation by triggers",
        "R69": "toolsets that a skill brings",
        "R70": "inline Python with a `skill` function",
        "R71": "tool cards",
    },
    "E. Activation copies, mounts, paths": {
        "R72": "the folders active and personal",
        "R73": "all skills are synced before each turn",
        "R74": "activation keys from ids",
        "R75": "no key leaves the active root",
        "R76": "equal names from two sources get two folders",
        "R77": "unchanged skills are not copied again",
        "R78": "the whole folder is copied",
        "R79": "stale copies are removed",
        "R80": "only valid skills are copied",
        "R81": "an unreadable source does not stop the sync",
        "R82": "tools read from the active copy",
        "R83": "a read-only bind mount for containers",
        "R84": "the path shown fits the place where code runs",
        "R85": "paths translated between host and container",
        "R86": "the active root is readable in the sandbox",
        "R87": "migration of the former layout",
        "R88": "mounts private to a task",
        "R89": "one call syncs, and tools know the root",
    },
    "F. Consent, sessions, isolation, permissions": {
        "R90": "the first activation in a task asks, the next does not",
        "R91": "consent ends with its task, and is not shared",
        "R92": "activated names kept for each chat",
        "R93": "a forked skill runs in a subagent",
        "R94": "a fork's permissions are a part of its caller's",
        "R95": "grants are attributed to the skill",
        "R96": "scripts in a process of their own, with limits",
        "R97": "scripts never run on the host",
        "R98": "allowed-tools are enforced",
        "R99": "only files inside the skill folders are read",
    },
    "G. Resource safety and limits": {
        "R100": "absolute paths and .. are refused before any I/O",
        "R101": "links that lead out are refused",
        "R102": "text is UTF-8; binary is named as such",
        "R103": "binary resources",
        "R104": "size limits that cut with a notice",
        "R105": "a warning is logged once",
        "R106": "hard caps besides the soft limits",
        "R107": "references one level deep",
        "R108": "RemcoChat's settings table and its defaults",
    },
    "H. Verification, demo, docs": {
        "R109": "the conformance skill with its markers",
        "R110": "tests without mocks, and one from end to end",
        "R111": "the tests of the activation plan",
        "R112": "the demo skills",
        "R113": "core example skills",
        "R114": "docs on layout, activation, mounts, plugins, writing a skill",
        "R115": "what is kept out: marketplace, downloads, editing",
    },
    "I. What those systems' authors added later": {
        "R116": "add, remove and eject, with versions",
        "R117": "categories from folders",
        "R118": "stubs that document tools",
        "R119": "a notice to the user when a skill loads",
        "R120": "an active skill is not loaded again",
        "R121": "missing dependencies with a reason",
        "R122": "install and update from git; enable, disable, status",
        "R123": ".claude/skills, and .agents/skills up the tree",
        "R124": "a listing for administrators, usage, rescan",
        "R125": "a bare /name is handled without the model",
        "R126": "a confirmation counts for one call",
        "R127": "a skill is hidden while its tool is off",
        "R128": "leftovers of network file systems are tolerated",
        "R129": "an HTTP interface",
    },
    "J. The open standard": {
        "J1": "the six standard fields, and others allowed",
        "J2": "project before user; shadowed skills are reported",
        "J3": "lenient loading that mends and says so",
        "J4": "exact fences; BOM, CRLF and encodings",
        "J5": "bounds of a scan, and which links are followed",
        "J6": "no visible skills: no catalog, no tools",
        "J7": "the activation tool lists what is visible",
        "J8": "activated content is wrapped and recognisable",
        "J9": "active skills stay readable, and survive compaction",
        "J10": "/name and $name with arguments",
        "J11": "skills over MCP",
    },
    "K. Beyond all of them": {
        "K1": "consent is bound to the digest of every file",
        "K2": "permissions enforced when things run",
        "K3": "eligibility probed where the code will run",
        "K4": "a planner for the catalog, with a report",
        "K5": "verified copies, whole at every instant",
        "K6": "receipts for each activation",
        "K7": "one command answers why",
        "K8": "secrets for the process alone",
        "K9": "locked and cached script dependencies",
        "K10": "dialects read into one model, with what is lost",
        "K11": "a prompt prefix that stays byte-identical",
        "K12": "trigger tests",
    },
}


REASONS: dict[str, str] = {
    "R115": "it says what is not built, so there is nothing to prove: no marketplace, no download unless an address is "
    "given, no editor",
}
"""From numbers that no test proves to the reason."""


def known_numbers() -> frozenset[str]:
    """Return every number that a test may name."""
    return frozenset(number for section in SECTIONS.values() for number in section)


def collect_marks() -> dict[str, list[str]]:
    """Ask pytest which tests carry which number."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "marks.json")
        command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
        done = subprocess.run(
            [*command, f"--requirements-json={file}", "tests"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"the tests cannot be collected:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
        return json.loads(file.read_text("utf-8"))


def find_faults(marks: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is wrong with the reasons: a number that is open without one, or one for a number that is proven."""
    unexplained = sorted(known_numbers() - marks.keys() - REASONS.keys())
    needless = sorted(REASONS.keys() & marks.keys())
    return [
        *(f"{number} is open: mark a test with it, or say why in REASONS" for number in unexplained),
        *(f"{number} is proven by a test: take it out of REASONS" for number in needless),
    ]


def render_page(marks: Mapping[str, Sequence[str]]) -> str:
    """Return the page: a table for each section."""
    proven = sum(number in marks for number in known_numbers())
    reasoned = sum(number not in marks for number in REASONS)
    lines = [
        "# Requirements",
        "",
        "<!-- Made by tools/requirements.py from the marks of the tests; do not edit. -->",
        "",
        f"What Prowess is to do, and the tests that prove it: {proven} of {len(known_numbers())}.",
        f"{_count(reasoned)} proven by no test, for the reason that stands there.",
    ]
    for title, section in SECTIONS.items():
        lines += ["", f"## {title}", "", "| number | what | proven by |", "| --- | --- | --- |"]
        lines += [
            f"| {number} | {what} | {_proofs(number, marks.get(number, ()))} |" for number, what in section.items()
        ]
    return "\n".join([*lines, ""])


def _count(reasoned: int) -> str:
    return "One more is" if reasoned == 1 else f"{reasoned} more are"


def _proofs(number: str, tests: Sequence[str]) -> str:
    names = list(dict.fromkeys(_shorten(tests)))
    if not names:
        return f"no test: {REASONS[number]}" if number in REASONS else "open"
    shown = "<br>".join(f"`{name}`" for name in names[:MOST_SHOWN])
    rest = len(names) - MOST_SHOWN
    return f"{shown}<br>and {rest} more" if rest > 0 else shown


def _shorten(tests: Sequence[str]) -> Iterator[str]:
    for test in tests:
        file, _, name = test.partition("[")[0].partition("::")
        yield f"{file.removeprefix('tests/').removesuffix('.py')}: {name.removeprefix('test_')}"


if __name__ == "__main__":
    found = collect_marks()
    for fault in find_faults(found):
        print(fault, file=sys.stderr)
    status = write_or_check({"requirements.md": render_page(found)}, tool="requirements.py")
    sys.exit(1 if find_faults(found) else status)
