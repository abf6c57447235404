"""Export skills as folders, byte for byte: what is found there again has the digest that it had."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prowess.copies.disk_failures import telling
from prowess.copies.trees import remove_tree
from prowess.copies.writable_copies import copy_for_editing
from prowess.errors import BrokenSkill
from prowess.runtime import Runtime
from prowess.skill.skill import Skill
from prowess.sources.renaming import exchange
from prowess.sources.skill_files import FileSet, read_skill_files
from prowess.sources.source import show_path
from prowess.surfaces.export.choosing import Named, judge_losses, name_skills
from prowess.surfaces.export.ledger import Ledger, decide_change, read_ledger
from prowess.surfaces.export.options import Doing, ExportOptions, Overwriting
from prowess.surfaces.export.reports import Change, ExportReport, LeftOut, SkillLoss, Written

__all__ = ["explain_unread", "export_folders"]


class _Step(NamedTuple):
    one: Named
    written: Written


def export_folders(runtime: Runtime, skills: Sequence[Skill], options: ExportOptions, *, target: str) -> ExportReport:
    """Place each skill in a folder of its name, whole or not at all; return what came of it, or would."""
    named, left_out = name_skills(skills)
    ledger = read_ledger(options.out)
    steps: list[_Step] = []
    losses: list[SkillLoss] = []
    for one in named:
        found, refusal = judge_losses(runtime, one.skill, target)
        written = refusal or _plan_step(runtime, one, ledger, options.overwriting)
        if isinstance(written, LeftOut):
            left_out.append(written)
        else:
            steps.append(_Step(one, written))
            losses += found
    left_out += _apply(steps, ledger) if options.doing is Doing.WRITE else ()
    gone = {one.id for one in left_out}
    return ExportReport(
        tuple(step.written for step in steps if step.one.skill.id not in gone),
        tuple(loss for loss in losses if loss.skill not in gone),
        tuple(left_out),
    )


def _plan_step(runtime: Runtime, one: Named, ledger: Ledger, overwriting: Overwriting) -> Written | LeftOut:
    files = runtime.files(one.skill)
    if not files.digest:
        return LeftOut(one.skill.id, explain_unread([problem.message for problem in files.problems]))
    path = os.path.join(ledger.folder, one.name)
    change = decide_change(
        recorded=ledger.digests.get(one.name), present=_digest(path), wanted=files.digest, overwriting=overwriting
    )
    if not isinstance(change, Change):
        return LeftOut(one.skill.id, f"{show_path(path)}: {change}; --force replaces it")
    return Written(path, (one.skill.id,), files.digest, change)


def _digest(path: str) -> str | None:
    """Return the digest of what is there: none of a link, of what is no folder, or if it does not tell of all of it."""
    if not os.path.lexists(path):
        return None
    if os.path.islink(path) or not os.path.isdir(path):
        return ""
    files = read_skill_files(path)
    return files.digest if _counts_all(path, files) else ""


def _counts_all(path: str, files: FileSet) -> bool:
    """Whether nothing is in a folder but files of the skill: a `.git` would be lost with a folder that is replaced."""
    counted = {os.path.join(path, os.fsdecode(file.path)) for file in files.files}
    for folder, folders, names in os.walk(path):
        found = [os.path.join(folder, name) for name in (*folders, *names)]
        if not found or any(one not in counted for one in found if os.path.islink(one) or not os.path.isdir(one)):
            return False
    return True


def explain_unread(messages: Sequence[str]) -> str:
    """Say why a skill cannot be taken as a whole."""
    return f"not all of its files can be read: {'; '.join(messages[:3])}"


def _apply(steps: Sequence[_Step], ledger: Ledger) -> Iterator[LeftOut]:
    """Carry the steps out, and tell of the skills that could not be placed after all."""
    with telling(f"{show_path(ledger.folder)} cannot be written"):
        os.makedirs(ledger.folder, exist_ok=True)
    for one, written in steps:
        try:
            _place(one.skill, written)
        except BrokenSkill as error:
            yield LeftOut(one.skill.id, error.message)
            continue
        if ledger.digests.get(one.name) != written.digest:
            ledger = ledger.with_digest(one.name, written.digest)
            ledger.write()


def _place(skill: Skill, step: Written) -> None:
    if step.change is Change.UNCHANGED:
        return
    parent, name = os.path.split(step.path)
    draft = os.path.join(parent, f".{name}.{os.urandom(6).hex()}")
    with telling(f"{show_path(step.path)} cannot be written"):
        try:
            files = copy_for_editing(skill.real, draft, apart=skill.apart, called=f"'{skill.name}'")
            if files.digest != step.digest:
                raise BrokenSkill("its files were changed while they were copied", problems=(), hint="try again")
            if step.change is Change.NEW:
                os.rename(draft, step.path)  # Which takes the place of nothing but an empty folder.
            else:
                exchange(draft, step.path)
        finally:
            if os.path.lexists(draft):
                remove_tree(draft)
