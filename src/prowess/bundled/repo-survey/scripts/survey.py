#!/usr/bin/env python3
"""Print a bounded, read-only summary of a folder of source code.

Links are never followed, nothing in the folder is executed, and every limit that cut
the survey short is named in the output.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import stat
import sys
import time
import tomllib
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import cast

MAX_READ_BYTES = 2_000_000  # a file's lines are counted up to here
MAX_MANIFEST_BYTES = 500_000
MAX_LISTED = 40  # entries kept in each list of the report
MAX_NAME_CHARS = 160
MAX_OPTION = 1_000_000
SNIFF_BYTES = 8_192

SKIPPED_FOLDERS = re.compile(
    r"\.(git|hg|svn|jj|venv|tox|nox|gradle|idea|next|nuxt|terraform|cache)|"
    r"\.(mypy|pytest|ruff)_cache|__pycache__|venv|site-packages|node_modules|"
    r"bower_components|target|dist|build|vendor|Pods|DerivedData|coverage"
)

LANGUAGES: dict[str, str] = {
    suffix: language
    for language, suffixes in {
        "Assembly": ".s .asm",
        "C": ".c .h",
        "C#": ".cs",
        "C++": ".cc .cpp .cxx .hpp .hh",
        "CSS": ".css .scss .less",
        "Clojure": ".clj .cljs",
        "Dart": ".dart",
        "Elixir": ".ex .exs",
        "Erlang": ".erl",
        "Go": ".go",
        "HTML": ".html .htm",
        "Haskell": ".hs",
        "JSON": ".json",
        "Java": ".java",
        "JavaScript": ".js .jsx .mjs .cjs",
        "Julia": ".jl",
        "Kotlin": ".kt .kts",
        "Lua": ".lua",
        "Markdown": ".md .mdx",
        "Nix": ".nix",
        "OCaml": ".ml .mli",
        "PHP": ".php",
        "Perl": ".pl .pm",
        "Protocol Buffers": ".proto",
        "Python": ".py .pyi",
        "R": ".r",
        "Ruby": ".rb",
        "Rust": ".rs",
        "SQL": ".sql",
        "Scala": ".scala",
        "Shell": ".sh .bash .zsh",
        "Svelte": ".svelte",
        "Swift": ".swift",
        "TOML": ".toml",
        "Terraform": ".tf",
        "Text": ".txt .rst",
        "TypeScript": ".ts .tsx .mts .cts",
        "Vue": ".vue",
        "XML": ".xml",
        "YAML": ".yml .yaml",
        "Zig": ".zig",
    }.items()
    for suffix in suffixes.split()
}

MANIFESTS: dict[str, str] = {
    "BUILD.bazel": "Bazel",
    "CMakeLists.txt": "CMake",
    "Cargo.toml": "Rust",
    "Dockerfile": "container",
    "Gemfile": "Ruby",
    "Justfile": "just",
    "Makefile": "make",
    "Package.swift": "Swift",
    "Pipfile": "Python",
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "composer.json": "PHP",
    "compose.yaml": "containers",
    "deno.json": "Deno",
    "docker-compose.yml": "containers",
    "flake.nix": "Nix",
    "go.mod": "Go",
    "justfile": "just",
    "mix.exs": "Elixir",
    "noxfile.py": "Python",
    "package.json": "Node",
    "pnpm-workspace.yaml": "Node workspace",
    "pom.xml": "Maven",
    "pubspec.yaml": "Dart",
    "pyproject.toml": "Python",
    "requirements.txt": "Python",
    "setup.cfg": "Python",
    "setup.py": "Python",
    "tox.ini": "Python",
    "tsconfig.json": "TypeScript",
}

GUIDES = re.compile(
    r"(README|CONTRIBUTING|ARCHITECTURE|DESIGN|SECURITY|CHANGELOG|LICEN[CS]E|AGENTS|"
    r"CLAUDE|GEMINI|CODEOWNERS)(\..{1,5})?|\.editorconfig|\.pre-commit-config\.yaml",
    re.IGNORECASE,
)
CI_FILES = re.compile(
    r"(\.(github|gitea|forgejo)/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml|Jenkinsfile|"
    r"\.circleci/config\.yml|azure-pipelines\.yml|\.travis\.yml)"
)
TEST_FOLDERS = re.compile(r"tests?|__tests__|specs?|e2e|testing", re.IGNORECASE)
TEST_FILES = re.compile(
    r"test_.+\.py|.+_test\.(py|go|rb|exs|cc|cpp)|.+[.-](test|spec)\.[cm]?[jt]sx?|"
    r".+Tests?\.(java|kt|cs|swift)|.+_spec\.rb"
)
ENTRY_FILES = re.compile(
    r"__main__\.py|(main|app|cli|manage|wsgi|asgi|server)\.py|main\.(go|rs|c|cc|cpp|zig)|"
    r"(index|main|server|cli)\.[cm]?[jt]sx?|Main\.(java|kt)|Program\.cs|config\.ru"
)
MAKE_TARGET = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.-]*)[ \t]*:(?![=:])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the survey may spend."""

    max_entries: int
    max_seconds: float
    top: int


@dataclass(slots=True)
class Listing:
    """A list that keeps its first entries and counts them all."""

    items: list[str] = field(default_factory=list[str])
    total: int = 0

    def add(self, item: str) -> None:
        self.total += 1
        if len(self.items) < MAX_LISTED:
            self.items.append(item)


@dataclass(slots=True)
class Survey:
    """What was seen so far."""

    counts: Counter[str] = field(default_factory=Counter[str])
    language_files: Counter[str] = field(default_factory=Counter[str])
    language_lines: Counter[str] = field(default_factory=Counter[str])
    biggest: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    top_level: Listing = field(default_factory=Listing)
    manifests: Listing = field(default_factory=Listing)
    commands: Listing = field(default_factory=Listing)
    entry_points: Listing = field(default_factory=Listing)
    test_folders: Listing = field(default_factory=Listing)
    ci: Listing = field(default_factory=Listing)
    guides: Listing = field(default_factory=Listing)
    skipped_folders: Listing = field(default_factory=Listing)
    unreadable: Listing = field(default_factory=Listing)
    cuts: list[str] = field(default_factory=list[str])


def render_name(name: str) -> str:
    """File names are foreign text: no control characters, no backticks, no endless ones."""
    text = "".join(c if c.isprintable() and c != "`" else "?" for c in name)
    return text if len(text) <= MAX_NAME_CHARS else text[: MAX_NAME_CHARS - 1] + "…"


def read_head(path: Path, *, max_bytes: int) -> bytes:
    """The first bytes of a regular file; anything swapped in for it is refused."""
    # O_NONBLOCK: a file replaced by a pipe after the scan must not hang the survey.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= cast("int", getattr(os, name, 0))
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        return file.read(max_bytes)


def find_language(name: str, head: bytes) -> str:
    if name in MANIFESTS and "." not in name:
        return name
    suffix = Path(name).suffix.lower()
    if suffix:
        return LANGUAGES.get(suffix, "other")
    first_line = head[:100].split(b"\n", 1)[0]
    if not first_line.startswith(b"#!"):
        return "other"
    return "Python" if b"python" in first_line else "Shell" if b"sh" in first_line else "other"


def as_table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def parse_package_json(text: str) -> tuple[list[str], list[str]]:
    """The scripts as commands, and the files that start the package."""
    package = as_table(json.loads(text))
    commands = [f"npm run {name}" for name in as_table(package.get("scripts"))]
    starts = [package.get("main"), package.get("bin"), *as_table(package.get("bin")).values()]
    return commands, [start for start in starts if isinstance(start, str)]


def parse_pyproject(text: str) -> tuple[list[str], list[str]]:
    project = as_table(as_table(tomllib.loads(text)).get("project"))
    scripts = as_table(project.get("scripts"))
    return [], [f"{name} = {target}" for name, target in scripts.items()]


def parse_makefile(text: str) -> tuple[list[str], list[str]]:
    targets = dict.fromkeys(MAKE_TARGET.findall(text))
    return [f"make {target}" for target in targets], []


PARSERS = {
    "package.json": parse_package_json,
    "pyproject.toml": parse_pyproject,
    "Makefile": parse_makefile,
}


def note_manifest(survey: Survey, path: Path, *, shown: str) -> None:
    survey.manifests.add(f"{shown} ({MANIFESTS[path.name]})")
    parse = PARSERS.get(path.name)
    if parse is None:
        return
    try:
        text = read_head(path, max_bytes=MAX_MANIFEST_BYTES).decode("utf-8", "replace")
        commands, starts = parse(text)
    except (OSError, ValueError, RecursionError) as error:
        survey.unreadable.add(f"{shown}: {render_name(str(error))}")
        return
    for command in commands:
        survey.commands.add(f"{render_name(command)} ({shown})")
    for start in starts:
        survey.entry_points.add(f"{render_name(start)} (named in {shown})")


def note_name(survey: Survey, path: Path, *, relative: str) -> None:
    """Files that matter by their name, whatever is in them."""
    shown = render_name(relative)
    if path.name in MANIFESTS:
        note_manifest(survey, path, shown=shown)
    if CI_FILES.fullmatch(relative):
        survey.ci.add(shown)
    if GUIDES.fullmatch(path.name):
        survey.guides.add(shown)
    if TEST_FILES.fullmatch(path.name):
        survey.counts["test_files"] += 1
    elif ENTRY_FILES.fullmatch(path.name):
        survey.entry_points.add(shown)


def note_file(survey: Survey, path: Path, *, relative: str, limits: Limits) -> None:
    shown = render_name(relative)
    try:
        info = path.lstat()
        head = read_head(path, max_bytes=MAX_READ_BYTES)
    except OSError as error:
        survey.unreadable.add(f"{shown}: {error.strerror or error}")
        return
    survey.counts["files"] += 1
    survey.counts["bytes"] += info.st_size
    heapq.heappush(survey.biggest, (info.st_size, shown))
    if len(survey.biggest) > limits.top:
        heapq.heappop(survey.biggest)
    note_name(survey, path, relative=relative)
    if b"\0" in head[:SNIFF_BYTES]:
        survey.counts["binary_files"] += 1
        return
    language = find_language(path.name, head)
    survey.language_files[language] += 1
    survey.language_lines[language] += len(head.splitlines())
    if info.st_size > MAX_READ_BYTES:
        survey.counts["files_counted_in_part"] += 1


def note_folder(survey: Survey, name: str, *, relative: str) -> bool:
    """Whether the survey goes into this folder."""
    if SKIPPED_FOLDERS.fullmatch(name):
        survey.skipped_folders.add(render_name(relative))
        return False
    survey.counts["folders"] += 1
    if TEST_FOLDERS.fullmatch(name):
        survey.test_folders.add(render_name(relative))
    return True


def read_entries(survey: Survey, folder: Path, *, shown: str, max_entries: int) -> list[os.DirEntry[str]]:
    """A folder's entries by name; one more than allowed is enough to notice the limit."""
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, max_entries + 1), key=lambda entry: entry.name)
    except OSError as error:
        survey.unreadable.add(f"{shown or '.'}: {error.strerror or error}")
        return []


def find_cut(seen: int, *, limits: Limits, deadline: float) -> str | None:
    if seen > limits.max_entries:
        return f"stopped after {limits.max_entries} entries (--max-entries)"
    if time.monotonic() > deadline:
        return f"stopped after {limits.max_seconds:g} seconds (--max-seconds)"
    return None


def read_survey(root: Path, *, limits: Limits) -> Survey:
    """Breadth first, so that a survey cut short still knows the upper folders."""
    survey = Survey()
    deadline = time.monotonic() + limits.max_seconds
    waiting: deque[str] = deque([""])
    seen = 0
    while waiting:
        parent = waiting.popleft()
        entries = read_entries(survey, root / parent, shown=render_name(parent), max_entries=limits.max_entries)
        for entry in entries:
            seen += 1
            cut = find_cut(seen, limits=limits, deadline=deadline)
            if cut:
                survey.cuts.append(cut)
                return survey
            relative = f"{parent}/{entry.name}" if parent else entry.name
            if note_entry(survey, entry, relative=relative, limits=limits):
                waiting.append(relative)
    return survey


def note_entry(survey: Survey, entry: os.DirEntry[str], *, relative: str, limits: Limits) -> bool:
    """Whether the entry is a folder to go into."""
    try:
        is_folder = entry.is_dir(follow_symlinks=False)
    except OSError as error:
        survey.unreadable.add(f"{render_name(relative)}: {error.strerror or error}")
        return False
    if relative == entry.name:
        survey.top_level.add(render_name(entry.name) + ("/" if is_folder else ""))
    if is_folder:
        return note_folder(survey, entry.name, relative=relative)
    if entry.is_symlink():
        survey.counts["links_not_followed"] += 1
    elif entry.is_file(follow_symlinks=False):
        note_file(survey, Path(entry.path), relative=relative, limits=limits)
    else:
        survey.counts["special_files"] += 1
    return False


def summarise(survey: Survey, *, root: Path, limits: Limits) -> dict[str, object]:
    languages = [
        {"language": name, "files": files, "lines": survey.language_lines[name]}
        for name, files in survey.language_files.items()
    ]
    languages.sort(key=lambda row: (-cast("int", row["lines"]), str(row["language"])))
    if survey.counts["files_counted_in_part"]:
        survey.cuts.append(f"lines counted in the first {MAX_READ_BYTES} bytes of big files")
    lists = {
        name: {"total": listing.total, "items": sorted(listing.items)}
        for name in LIST_TITLES
        if isinstance(listing := getattr(survey, name), Listing)
    }
    biggest = sorted(survey.biggest, key=lambda row: (-row[0], row[1]))
    return {
        "root": render_name(str(root)),
        "complete": not survey.cuts,
        "cuts": survey.cuts,
        "counts": dict(sorted(survey.counts.items())),
        "languages": languages[: limits.top],
        "biggest_files": [{"path": path, "bytes": size} for size, path in biggest],
        **lists,
    }


LIST_TITLES: dict[str, str] = {
    "top_level": "Top level",
    "manifests": "Manifests",
    "commands": "Commands they name",
    "entry_points": "Likely entry points",
    "test_folders": "Test folders",
    "ci": "Continuous integration",
    "guides": "Guides to read",
    "skipped_folders": "Folders not entered",
    "unreadable": "Could not be read",
}


def render_rows(title: str, rows: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {row}" for row in rows or ["none found"]), ""]


def render_markdown(summary: dict[str, object]) -> str:
    languages = cast("list[dict[str, object]]", summary["languages"])
    biggest = cast("list[dict[str, object]]", summary["biggest_files"])
    counts = cast("dict[str, int]", summary["counts"])
    lines = [f"# Survey of `{summary['root']}`", ""]
    for cut in cast("list[str]", summary["cuts"]):
        lines += [f"**Incomplete**: {cut}", ""]
    lines += render_rows("Counts", [f"{key}: {value}" for key, value in counts.items()])
    rows = [f"{row['language']}: {row['files']} files, {row['lines']} lines" for row in languages]
    lines += render_rows("Languages", rows)
    lines += render_rows("Biggest files", [f"`{row['path']}`: {row['bytes']}" for row in biggest])
    for key, title in LIST_TITLES.items():
        listing = as_table(summary[key])
        items = cast("list[str]", listing["items"])
        left = cast("int", listing["total"]) - len(items)
        rows = [f"`{item}`" for item in items] + ([f"… and {left} more"] if left else [])
        lines += render_rows(title, rows)
    return "\n".join(lines)


def positive(text: str) -> int:
    value = int(text)
    if not 1 <= value <= MAX_OPTION:
        raise argparse.ArgumentTypeError(f"give a number from 1 to {MAX_OPTION}")
    return value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Survey a folder of source code, read-only.")
    parser.add_argument("folder", type=Path, help="the folder to survey")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    parser.add_argument("--top", type=positive, default=15, help="rows in ranked lists")
    parser.add_argument("--max-entries", type=positive, default=50_000)
    parser.add_argument("--max-seconds", type=positive, default=20)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    folder = cast("Path", arguments.folder)
    limits = Limits(
        max_entries=cast("int", arguments.max_entries),
        max_seconds=cast("int", arguments.max_seconds),
        top=min(cast("int", arguments.top), MAX_LISTED),
    )
    try:
        root = folder.resolve()
        os.scandir(root).close()
    except (OSError, RuntimeError, ValueError) as error:
        print(f"survey: cannot open folder {str(folder)!r}: {error}", file=sys.stderr)
        return 2
    summary = summarise(read_survey(root, limits=limits), root=root, limits=limits)
    as_json = arguments.format == "json"
    text = json.dumps(summary, indent=2) if as_json else render_markdown(summary)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
