"""Judge skills for those who write them: the frontmatter as a profile would, and then the body and the files."""

import os
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from prowess.catalog.verdicts import find_sidecar, judge_folder
from prowess.errors import NotFound
from prowess.policy import Limits, Links, MissingDescription, NameRule, Reading, SourceKind
from prowess.skill.body import find_references, judge_body, judge_reference
from prowess.skill.bounded_yaml import locate_keys
from prowess.skill.declared_secrets import judge_secrets
from prowess.skill.digest import FileKind
from prowess.skill.frontmatter import Frontmatter, split_frontmatter
from prowess.skill.manifest import Manifest
from prowess.skill.problems import Problem, Severity, make_problem
from prowess.skill.reading import parse_skill
from prowess.skill.toolset_references import judge_toolsets
from prowess.skill.triggers import judge_triggers
from prowess.sources.eval_files import read_trigger_tests
from prowess.sources.folders import SKILL_MD, scan_folder
from prowess.sources.heads import read_plain_file, read_start
from prowess.sources.places import find_project_root
from prowess.sources.real_paths import find_real_path
from prowess.sources.skill_files import FileSet, list_skill_files
from prowess.sources.source import Source, is_below, show_bytes, show_path

__all__ = ["CheckedSkill", "FoundFolders", "check_skill", "check_text", "find_skill_folders"]

_DEEPEST = 64
_MAX_REFERENCE_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """The verdict on one folder."""

    path: str
    name: str
    problems: tuple[Problem, ...]

    @property
    def valid(self) -> bool:
        """Whether the skill would be loaded."""
        return not any(problem.severity is Severity.ERROR for problem in self.problems)


@dataclass(frozen=True, slots=True)
class FoundFolders:
    """The folders to check, and verdicts on what was passed over on the way to them."""

    folders: tuple[str, ...]
    passed_over: tuple[CheckedSkill, ...] = ()


def find_skill_folders(path: str, *, sources: Sequence[Source] = ()) -> FoundFolders:
    """Return the folders of all skills at or below `path`; the folder itself if there are none.

    A path to a SKILL.md means its folder. `sources` are those of the profile: as in a search, a link is followed
    everywhere in the user's own sources, and elsewhere while it stays in the project or leads to one of them.
    """
    if os.path.basename(path) == SKILL_MD and not os.path.isdir(path):
        return FoundFolders((os.path.dirname(path) or ".",))
    if not os.path.lexists(path):
        raise NotFound(f"nothing at {show_path(path)}", hint="give the folder of a skill, or one with skills below it")
    if not os.path.isdir(path):
        raise NotFound(f"{show_path(path)} is not a folder", hint="give the folder that holds the SKILL.md")
    everything = _make_source(path, sources)
    known_roots = [real for source in sources if (real := find_real_path(source.root)) is not None]
    found = scan_folder(everything, limits=replace(Limits(), max_depth=_DEEPEST), known_roots=known_roots)
    if not found.candidates and not found.problems:
        return FoundFolders((path,))
    passed_over = tuple(_pass_over(problem, path) for problem in found.problems)
    return FoundFolders(tuple(candidate.folder for candidate in found.candidates), passed_over)


def _make_source(path: str, sources: Sequence[Source]) -> Source:
    """Return a source for a folder that is to be checked: of the kind of the source it lies in, else a project's."""
    absolute = os.path.abspath(path)
    kinds = [source.kind for source in sources if is_below(absolute, source.root)]
    kind = kinds[0] if kinds else SourceKind.PROJECT
    return Source(kind, path, links=Links.KNOWN_ROOTS, project=find_project_root(absolute))


def _pass_over(problem: Problem, path: str) -> CheckedSkill:
    """Return a verdict on a place where a skill may have been meant; by a misnamed file or a link to a skill it was."""
    place = problem.path or path
    is_meant = problem.code == "skill-md-misnamed" or _is_skill_behind_a_link(problem)
    severity = Severity.ERROR if is_meant else problem.severity
    return CheckedSkill(place, os.path.basename(place), (replace(problem, severity=severity, path=None),))


def _is_skill_behind_a_link(problem: Problem) -> bool:
    return problem.code == "link-not-followed" and os.path.isfile(f"{problem.path}/{SKILL_MD}")


def check_skill(folder: str, *, reading: Reading, limits: Limits) -> CheckedSkill:
    """Judge one folder. Whatever is in it, the answer is a verdict."""
    name = show_path(os.path.basename(os.path.abspath(folder)))
    try:
        status = os.lstat(f"{folder}/{SKILL_MD}")
    except OSError:
        return CheckedSkill(show_path(folder), name, (_missing(folder),))
    sidecar = find_sidecar(folder, reading)
    judged, head = judge_folder(folder, status, name=name, reading=reading, sidecar=sidecar)
    if head is None:
        return CheckedSkill(show_path(folder), name, judged.problems)
    real = find_real_path(folder) or folder
    listed = list_skill_files(real)
    further = [*_check_files(real, listed, strict=reading.strict), *_check_body(folder, listed, reading, limits)]
    further += read_trigger_tests(real).problems
    shown = judged.manifest.name if judged.manifest else name
    declared = _check_declarations(judged.manifest, head) if judged.manifest else ()
    return CheckedSkill(show_path(folder), shown, (*judged.problems, *declared, *further))


def check_text(raw: bytes, *, folder: str, reading: Reading, limits: Limits) -> CheckedSkill:
    """Judge the text of a SKILL.md as if it lay in a folder of this name; nothing on disk is looked at.

    Without a name, the folder is called like the skill. Links to other files are not judged: those are not here.
    """
    name = folder or _find_own_name(raw, reading)
    judged = parse_skill(raw, folder=name, reading=reading)
    shown = judged.manifest.name if judged.manifest else name
    declared = _check_declarations(judged.manifest, raw) if judged.manifest else ()
    return CheckedSkill(name, shown, (*judged.problems, *declared, *_judge_body(raw, None, reading, limits)))


def _find_own_name(raw: bytes, reading: Reading) -> str:
    forgiving = replace(reading, name_rule=NameRule.FOLDER_DEFAULT, missing_description=MissingDescription.ALLOW)
    judged = parse_skill(raw, folder="", reading=forgiving)
    return judged.manifest.name if judged.manifest else ""


def _missing(folder: str) -> Problem:
    try:
        near = [name for name in os.listdir(folder) if name.lower() == SKILL_MD.lower() and name != SKILL_MD]
    except OSError as error:
        return make_problem("skill-md-unreadable", f"the folder cannot be read: {error.strerror}")
    if near:
        return make_problem("skill-md-misnamed", f"the file is named {show_path(near[0])}, not {SKILL_MD}")
    return make_problem("skill-md-missing", f"there is no {SKILL_MD} in {show_path(folder)}")


def _check_declarations(manifest: Manifest, head: bytes) -> Iterator[Problem]:
    """Return what the manifest declares in vain, each at the place where that is declared."""
    behaviour = manifest.behaviour
    found = [
        *(("triggers", problem) for problem in judge_triggers(behaviour.triggers)),
        *(("secrets", problem) for problem in judge_secrets(behaviour)),
        *(("toolsets", problem) for problem in judge_toolsets(behaviour)),
    ]
    if not found:
        return
    frontmatter = split_frontmatter(head)
    first_line = frontmatter.first_line if isinstance(frontmatter, Frontmatter) else 1
    places = locate_keys(manifest.text, first_line=first_line)
    for key, problem in found:
        line, column = places.get((key,), (first_line, 1))
        yield replace(problem, line=line, column=column)


def _check_files(folder: str, listed: FileSet, *, strict: bool) -> Iterator[Problem]:
    """Return what would keep the files from being copied. It does not keep the skill from loading, except strictly."""
    for problem in listed.problems:
        yield problem if strict else replace(problem, severity=Severity.WARNING)
    for file in listed.files:
        if file.path.endswith(b"/SKILL.md"):
            path = file.path.decode("utf-8", "backslashreplace")
            yield make_problem("nested-skill", f"{path} is a skill of its own inside this one", path=path)
        if file.kind is FileKind.LINK and not os.path.exists(f"{folder}/{os.fsdecode(file.path)}"):
            path = show_bytes(file.path)
            yield make_problem("link-dangling", f"the link {path} leads nowhere", strict=strict, path=path)


def _check_body(folder: str, listed: FileSet, reading: Reading, limits: Limits) -> Iterator[Problem]:
    raw = read_start(folder, limit=limits.max_skill_md_bytes + 1)
    if isinstance(raw, Problem):
        return
    files = {os.fsdecode(file.path) for file in listed.files}
    yield from _judge_body(raw, files, reading, limits)
    named = dict.fromkeys(path for path, _ in find_references(_find_body(raw)))
    for path in (path for path in named if path in files and path.endswith(".md")):
        reference = read_plain_file(f"{folder}/{path}", limit=_MAX_REFERENCE_BYTES) or b""
        yield from judge_reference(path, reference.decode("utf-8", "replace"), files=files)


def _find_body(raw: bytes) -> str:
    frontmatter = split_frontmatter(raw)
    return raw[frontmatter.body_offset :].decode("utf-8", "replace") if isinstance(frontmatter, Frontmatter) else ""


def _judge_body(raw: bytes, files: Set[str] | None, reading: Reading, limits: Limits) -> Iterator[Problem]:
    """Return what is wrong with the instructions; without files, links to them are taken for good."""
    if len(raw) > limits.max_skill_md_bytes:
        message = f"SKILL.md is larger than {limits.max_skill_md_bytes:,} bytes"
        yield make_problem("skill-md-too-large", message, line=1, column=1)
    frontmatter = split_frontmatter(raw)
    if not isinstance(frontmatter, Frontmatter):
        return
    body = raw[frontmatter.body_offset :]
    first_line = raw.count(b"\n", 0, frontmatter.body_offset) + 1
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        if len(raw) <= limits.max_skill_md_bytes or error.start < len(body) - 4:
            line = first_line + body.count(b"\n", 0, error.start)
            message = f"byte 0x{body[error.start]:02x} in the instructions is not UTF-8"
            yield make_problem("body-not-utf-8", message, strict=reading.strict, line=line, column=1)
        text = body.decode("utf-8", "replace")
    known = {path for path, _ in find_references(text)} if files is None else files
    yield from judge_body(text, files=known, first_line=first_line)
