"""Export skills as documents: a section of AGENTS.md, and definitions of tools with the prompt that goes with them."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence

from prowess.disclosure.catalog_text import FORMS
from prowess.disclosure.planner import Level, Plan
from prowess.errors import Refused
from prowess.policy import CatalogText
from prowess.runtime import Runtime
from prowess.skill.skill import Skill
from prowess.skill.targets import AGENTS_MD, Loss, LossKind
from prowess.sources.source import is_below, show_path
from prowess.surfaces.export.choosing import judge_losses
from prowess.surfaces.export.ledger import decide_change, hash_file, read_ledger, refuse_place, write_file
from prowess.surfaces.export.options import Doing, ExportOptions, Overwriting
from prowess.surfaces.export.reports import Change, ExportReport, LeftOut, SkillLoss, Written
from prowess.surfaces.text_manners import make_like, make_plain

__all__ = ["export_section", "export_tools"]

_SECTION = re.compile(
    r"^<!-- prowess export: begin, sha256 (?P<digest>[0-9a-f]{64}) -->\n(?P<text>.*?)^<!-- prowess export: end -->\n?",
    re.DOTALL | re.MULTILINE,
)
_MARK = "<!-- prowess export: "
_MARKS = re.compile(f"^{_MARK}", re.MULTILINE)
"""At the start of a line, where no text of a skill comes to stand."""
_GUIDANCE = """\
## Skills

Each skill below is a folder with instructions for one kind of work. Before you do work that fits a description, read
the file in brackets and follow it. Paths in it start at its folder; read other files only when it calls for them.
Without access to the file, `prowess activate NAME` prints the instructions and `prowess read NAME PATH` other files;
`prowess run NAME SCRIPT -- ARGUMENTS` runs a script of the skill in a sandbox.
"""
_NO_PLACE = "it comes from an MCP server, whose files may be others tomorrow; export it as a folder, and list that"
_SHOWN = {
    Level.SHORTENED: "the budget of the prompt has room for a part of its description",
    Level.NAME_ONLY: "the budget of the prompt, or a switch, leaves room for its name only",
}


# AGENTS.md


def export_section(runtime: Runtime, skills: Sequence[Skill], options: ExportOptions) -> ExportReport:
    """Write one section of an AGENTS.md; the rest of the file stays as it is, to the byte."""
    hosted = tuple(LeftOut(skill.id, _NO_PLACE) for skill in skills if skill.server)
    skills = [skill for skill in skills if not skill.server]
    plan = _plan(runtime, skills)
    text = _render_section(plan, base=os.path.dirname(options.out), home=runtime.settings.place.home)
    digest = hashlib.sha256(text.encode()).hexdigest()
    before = _read_document(options.out)
    after, change = _insert(make_plain(before), text, digest, options)
    if options.doing is Doing.WRITE and change is not Change.UNCHANGED:
        write_file(options.out, make_like(before, after).encode("utf-8", "surrogateescape"))
    losses = [loss for one in plan.shown for loss in judge_losses(runtime, one.skill, AGENTS_MD)[0]]
    written = Written(options.out, tuple(one.skill.id for one in plan.shown), digest, change)
    return ExportReport((written,), (*losses, *_find_cuts(plan)), (*hosted, *_find_left_out(plan, skills)))


def _render_section(plan: Plan, *, base: str, home: str) -> str:
    entry = FORMS[CatalogText.MARKDOWN].entry
    rows = [
        entry(one.skill._replace(folder=_shorten_path(one.skill.folder, base, home)), one.description)
        for one in plan.shown
    ]
    return _GUIDANCE + "\n" + "\n".join(rows or ["There are none."]) + "\n"


def _shorten_path(path: str, base: str, home: str) -> str:
    """Return a path as whoever reads the file finds it: from there, or from the home."""
    if is_below(path, base):
        return os.path.relpath(path, base)
    return os.path.join("~", os.path.relpath(path, home)) if is_below(path, home) else path


def _read_document(path: str) -> str:
    if not os.path.lexists(path):
        return ""
    if os.path.islink(path) or not os.path.isfile(path):
        raise Refused(
            f"{show_path(path)} is a link, or no file", hint="name the file itself with --out", code="not-a-file"
        )
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def _insert(before: str, text: str, digest: str, options: ExportOptions) -> tuple[str, Change]:
    """Return the document with the section in it, at its old place or at the end."""
    section = f"{_MARK}begin, sha256 {digest} -->\n{text}{_MARK}end -->\n"
    found, marks = _SECTION.search(before), len(_MARKS.findall(before))
    if not marks:
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        return f"{before}{gap}{section}", Change.NEW
    if found is None or marks > 2:
        raise Refused(
            f"{show_path(options.out)}: the marks of the section are damaged",
            hint=f"remove the lines that begin with {_MARK.strip()}, and what is between them",
            code="bad-section",
        )
    present = hashlib.sha256(found["text"].encode("utf-8", "surrogateescape")).hexdigest()
    if present == found["digest"] == digest:
        return before, Change.UNCHANGED
    if present != found["digest"] and options.overwriting is Overwriting.OWN:
        raise refuse_place(options.out, "its section was changed since it was exported")
    return before[: found.start()] + section + before[found.end() :], Change.REPLACED


# Tools


def export_tools(runtime: Runtime, skills: Sequence[Skill], options: ExportOptions) -> ExportReport:
    """Write a JSON file with the prompt and the tools that a session over these skills begins with."""
    with runtime.session(skills=[skill.id for skill in skills]) as session:
        plan = session.plan()
        document = {"prompt": session.prompt(dialect="openai"), "tools": session.tools("openai")}
    content = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    digest = hashlib.sha256(content).hexdigest()
    folder, name = os.path.split(options.out)
    ledger = read_ledger(folder)
    change = decide_change(
        recorded=ledger.digests.get(name),
        present=hash_file(options.out),
        wanted=digest,
        overwriting=options.overwriting,
    )
    if not isinstance(change, Change):
        raise refuse_place(options.out, change)
    if options.doing is Doing.WRITE:
        write_file(options.out, content)
        ledger.with_digest(name, digest).write()
    written = Written(options.out, tuple(one.skill.id for one in plan.shown), digest, change)
    return ExportReport((written,), (*_find_cuts(plan), *_find_brought_tools(plan)), _find_left_out(plan, skills))


def _find_brought_tools(plan: Plan) -> Iterable[SkillLoss]:
    message = "the tools that it brings are offered when it is active, and are not in the file"
    for one in plan.shown:
        if one.skill.manifest.behaviour.toolsets:
            yield SkillLoss(one.skill.id, Loss(LossKind.BEHAVIOUR, "toolsets", message))


# Plans


def _plan(runtime: Runtime, skills: Sequence[Skill]) -> Plan:
    with runtime.session(skills=[skill.id for skill in skills]) as session:
        return session.plan()


def _find_cuts(plan: Plan) -> tuple[SkillLoss, ...]:
    return tuple(
        SkillLoss(one.skill.id, Loss(LossKind.SHORTENED, "description", _SHOWN[one.level]))
        for one in plan.shown
        if one.level in _SHOWN
    )


def _find_left_out(plan: Plan, skills: Sequence[Skill]) -> tuple[LeftOut, ...]:
    shown = {one.skill.id for one in plan.shown}
    without_room = {skill.id for skill in plan.left_out}
    reasons = {True: "the budget of the prompt has no room for it", False: "only people can call for it"}
    return tuple(LeftOut(skill.id, reasons[skill.id in without_room]) for skill in skills if skill.id not in shown)
