"""What is published of skills: their addresses, their files, and the entries of the skills extension."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prowess.activation.consent import Allow, Ask, Deny, Verdict
from prowess.disclosure.resources import read_whole
from prowess.errors import ToolInputError
from prowess.runtime.session import Session
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import (
    SKILL_MD,
    Fault,
    FileRecord,
    SkillEntry,
    find_excess,
    find_path,
    make_distinct_root,
    make_file_uri,
    make_skill_root,
    parse_entry,
    render_entry,
)
from prowess.sources.mcp.wire_frontmatter import resolve_frontmatter
from prowess.sources.skill_files import FileSet
from prowess.sources.source import is_below, show_bytes

__all__ = ["Asks", "Publication", "decide_refusal", "list_folder", "make_entry", "make_publication", "survey"]

_NOT_VERBATIM = frozenset(("yaml-repaired", "yaml-fallback", "no-frontmatter"))
"""Problems of skills whose frontmatter is not read as it is written."""


class Asks(StrEnum):
    """Whom a client can ask for consent."""

    USER = "user"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Publication:
    """The addresses of some skills, both ways."""

    skills: tuple[Skill, ...]
    roots: Mapping[str, str]
    """From a skill's id to the address of its folder."""
    by_root: Mapping[str, Skill] = field(repr=False)

    def root(self, skill: Skill) -> str:
        """Return the address of a skill's folder."""
        return self.roots[skill.id]

    def find(self, uri: str) -> tuple[Skill, bytes] | None:
        """Return the skill that an address lies in, and the path below its folder: empty for the folder itself."""
        root = uri
        while "//" in root:
            skill = self.by_root.get(root)
            if skill is not None:
                path = b"" if root == uri else find_path(root, uri)
                return None if path is None else (skill, path)
            root = root.rpartition("/")[0]
        return None


def make_publication(skills: Sequence[Skill]) -> Publication:
    """Give each skill an address. One lies below that of another only if the skill's folder does so too.

    Skills that come from a server have none: it publishes them itself, and nobody passes them off as his own.
    """
    skills = [skill for skill in skills if not skill.server]
    roots: dict[str, str] = {}
    taken: dict[str, Skill] = {}
    drafts = sorted(((make_skill_root(skill.id, skill.name), skill) for skill in skills), key=lambda one: len(one[0]))
    for draft, skill in drafts:
        root = make_distinct_root(skill.id, skill.name) if _is_in_the_way(draft, skill, taken) else draft
        roots[skill.id], taken[root] = root, skill
    return Publication(tuple(skills), roots, taken)


def _is_in_the_way(root: str, skill: Skill, taken: Mapping[str, Skill]) -> bool:
    """Whether an address is another skill's, or could be that of a file of another."""
    if root in taken:
        return True
    above = root
    while "//" in (above := above.rpartition("/")[0]):
        other = taken.get(above)
        if other is not None and not is_below(skill.real, f"{other.real}{root[len(above) :]}"):
            return True
    return False


def make_entry(skill: Skill, root: str, files: FileSet) -> SkillEntry | Fault:
    """Return the entry of a skill, or why other hosts could not take it."""
    if not files.digest:
        return Fault("no-digest", "not all its files can be read")
    if any(problem.code in _NOT_VERBATIM for problem in skill.problems):
        return Fault("bad-frontmatter", "its frontmatter is not valid YAML, so it cannot be sent as it is written")
    frontmatter = resolve_frontmatter(skill.manifest.text)
    if isinstance(frontmatter, Fault):
        return frontmatter
    records = _make_records(skill, root, files.files)
    if isinstance(records, Fault):
        return records
    entry = SkillEntry(f"{root}/{SKILL_MD}", frontmatter, records)
    checked = parse_entry(render_entry(entry))  # Whatever a host would refuse is not sent.
    if isinstance(checked, Fault):
        return checked
    return find_excess(entry) or entry


def _make_records(skill: Skill, root: str, files: Sequence[SkillFile]) -> tuple[FileRecord, ...] | Fault:
    found: list[FileRecord] = []
    for file in files:
        uri = make_file_uri(root, file.path)
        if file.kind is not FileKind.LINK:
            found.append(FileRecord(uri, file.sha256, file.size))
            continue
        try:
            raw = read_whole(skill, file.path)  # Whoever reads a link gets the bytes that it leads to.
        except ToolInputError as error:
            return Fault("link", f"the link {show_bytes(file.path)} leads to no file: {error.message}")
        found.append(FileRecord(uri, hashlib.sha256(raw).hexdigest(), len(raw)))
    return tuple(found)


def survey(session: Session) -> tuple[tuple[Skill, str, SkillEntry | Fault], ...]:
    """Return each visible skill with its address, and its entry or why a client that cannot ask has none."""
    visible = session.view().visible
    published = make_publication(visible)
    own = tuple(
        (skill, f"{published.root(skill)}/{SKILL_MD}", _judge(session, skill, published.root(skill)))
        for skill in published.skills
    )
    hosted = (
        (skill, "", Fault("hosted", f"the server '{skill.server}' publishes it")) for skill in visible if skill.server
    )
    return (*own, *hosted)


def _judge(session: Session, skill: Skill, root: str) -> SkillEntry | Fault:
    return decide_refusal(skill, session.decide(skill), asks=Asks.NOBODY) or make_entry(
        skill, root, session.files(skill)
    )


def decide_refusal(skill: Skill, verdict: Verdict, *, asks: Asks) -> Fault | None:
    """Return why a client must not have a skill, by what was decided of it; None if it may."""
    match verdict:
        case Deny():
            return Fault("refused", "the user refused it as it is now")
        case Ask() if asks is Asks.NOBODY:
            return Fault(
                "consent-needed", f"nobody has agreed to it; `prowess grants --allow {shlex.quote(skill.name)}` does"
            )
        case Ask() | Allow():
            return None


def list_folder(files: Sequence[SkillFile], folder: bytes) -> tuple[tuple[bytes, SkillFile | None], ...] | None:
    """Return the paths directly in a folder of a skill, with the file or None for a folder; None if there is none."""
    lead = folder + b"/" if folder else b""
    found: dict[bytes, SkillFile | None] = {}
    for file in files:
        if not file.path.startswith(lead):
            continue
        name, slash, _ = file.path[len(lead) :].partition(b"/")
        found.setdefault(lead + name, None if slash else file)
    return tuple(found.items()) if found or not folder else None
