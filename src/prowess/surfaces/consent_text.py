"""A question of consent as lines: all that there is to answer it by."""

import shlex
from collections.abc import Sequence

from prowess.activation.consent import Change, Question
from prowess.activation.grants import Act
from prowess.runtime.changed_texts import TextChange
from prowess.surfaces.file_lists import render_diff, render_tree
from prowess.surfaces.tones import Line, Tone
from prowess.surfaces.wording import describe_power, describe_use, shorten_given

__all__ = ["PROMPT", "render_question"]

PROMPT = "Allow [o]nce, for this [s]ession, [a]lways; [n]ot now, or [r]efuse for good?"

_MAX_LISTED = 20
_MAX_DIFF_LINES = 200
"""Of all files together; what is cut is said."""
_MAX_FILE_DIFF_LINES = 80
_MARKS = {Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~"}


def render_question(question: Question, texts: Sequence[TextChange] = ()) -> list[Line]:
    """Return the question: what it is about, what it may do, its files, and what in them has changed.

    `texts` are the changed files whose texts can be compared. What others wrote is in the lines as it is: whoever
    prints them makes it harmless.
    """
    lines = [Line(f"{question.title}?", Tone.STRONG), Line(f"  {question.description}")]
    if question.on_behalf_of:
        lines.append(Line(f"  wanted by a subagent: {question.on_behalf_of}"))
    lines.append(Line(f"  from {question.source}: {question.skill}, digest {question.digest[:12]}"))
    lines += _render_run(question) if question.act is Act.RUN else _render_use(question)
    if question.allowed_tools:
        lines.append(Line(f"  wants these tools: {' '.join(question.allowed_tools)}"))
    if question.permissions:
        lines.append(Line(f"  wants these permissions: {' '.join(question.permissions)}"))
    lines.append(Line("  all its files now:" if question.former_digest else "  its files:"))
    lines += render_tree(question.files)
    if question.former_digest:
        lines += _render_changes(question, texts)
    return [
        *lines,
        Line(f"  `prowess show {shlex.quote(question.skill)}` shows all of it, and where it lies", Tone.DIM),
    ]


def _render_use(question: Question) -> list[Line]:
    given = shorten_given(" ".join(question.arguments))
    lines = [Line(f"  called with: {given}")] if given else []
    if question.forks:
        lines = [Line(f"  a subagent works it, with this prompt: {given}")]
    return [*lines, Line(f"  {describe_use(spares_runs=question.spares_runs)}")]


def _render_run(question: Question) -> list[Line]:
    lines: list[Line] = []
    if question.arguments:
        lines.append(Line(f"  arguments: {shorten_given(shlex.join(question.arguments))}"))
    if question.input:
        lines.append(Line(f"  input: {shorten_given(question.input)}"))
    lines += [Line(f"  wants to {describe_power(power)}") for power in question.powers]
    if question.packages:
        shown = ", ".join(question.packages[:_MAX_LISTED])
        more = len(question.packages) - _MAX_LISTED
        lines.append(Line(f"  packages: {shown}" + (f" and {more:,} more" if more > 0 else "")))
    lines.append(Line("  it runs in a sandbox" + ("" if question.powers else ", with nothing beyond its own files")))
    return lines


def _render_changes(question: Question, texts: Sequence[TextChange]) -> list[Line]:
    lines = [Line(f"  changed since you agreed to {question.former_digest[:12]}:", Tone.STRONG)]
    lines += [Line(f"    {_MARKS[one.change]} {one.path}") for one in question.changes[:_MAX_LISTED]]
    if len(question.changes) > _MAX_LISTED:
        lines.append(Line(f"    … and {len(question.changes) - _MAX_LISTED:,} more"))
    left = _MAX_DIFF_LINES
    shown: set[str] = set()
    for text in texts:
        if left <= 0:
            break
        diff = render_diff(text, most_lines=min(left, _MAX_FILE_DIFF_LINES))
        lines += [Line(f"  in {text.path}:"), *diff]
        left -= len(diff)
        shown.add(text.path)
    return lines + _render_unshown(question, shown)


def _render_unshown(question: Question, shown: set[str]) -> list[Line]:
    unshown = [one.path for one in question.changes if one.change is not Change.REMOVED and one.path not in shown]
    if not unshown:
        return []
    more = f" and {len(unshown) - _MAX_LISTED:,} more" if len(unshown) > _MAX_LISTED else ""
    names = ", ".join(unshown[:_MAX_LISTED])
    why = "no text, too long, or what you agreed to is not kept any more"
    return [Line(f"  not compared: {names}{more} ({why})", Tone.DOUBTFUL)]
