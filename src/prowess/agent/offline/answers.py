"""What the user is told: what was done and found, in quotations, and what could not be done."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.offline.acts import Activate, Read, Run, Search, Toolbox
from prowess.agent.offline.catalog_reading import Entry
from prowess.agent.offline.content_words import find_words
from prowess.agent.offline.markdown_blocks import Kind, parse_blocks
from prowess.agent.offline.quoting import MAX_LINE, Quotation, quote, quote_all, render_quotation
from prowess.agent.offline.recollection import Deed, Recollection
from prowess.agent.offline.skill_choice import Focus, rank_entries
from prowess.agent.offline.tool_texts import Instructions, read_content, read_error, read_run
from prowess.agent.offline.wishes import Wish
from prowess.agent.offline.work import MAX_READ_CHARACTERS, Work

__all__ = ["HEAD", "Findings", "render_answer"]

HEAD = "Offline model: no language model was asked. Fixed rules chose what follows; quotations are word for word."
MAX_ANSWER = 20_000
"""Characters of an answer."""
_NEAREST = 5
"""Skills that are named when none fits."""
_NAMED = 12
"""Files and scripts that a sentence names."""
_OF_INSTRUCTIONS, _OF_A_FILE, _OF_A_RUN, _OF_AN_ANSWER = 8, 6, 24, 60
"""Lines that are quoted."""
_OUTLINE = 12
"""Headings that are quoted."""
_ARGUMENTS = re.compile(r"\nARGUMENTS: [^\n]*\Z")
"""What Prowess adds at the end of instructions: the words of a user, not of the author."""
_COMPACTED = (
    "The conversation was compacted meanwhile. So that nothing is done twice, no more calls were made in this turn: "
    "the answer goes by what is left of it. Ask again for what is missing."
)
_MARKDOWN = (".md", ".markdown", ".txt")


@dataclass(frozen=True, slots=True)
class Findings:
    """All that an answer is made of."""

    memory: Recollection
    wish: Wish
    focus: Focus
    work: Work
    toolbox: Toolbox


def render_answer(findings: Findings) -> str:
    """Return the answer to the user's message."""
    parts = [
        HEAD,
        *_render_refusals(findings.memory),
        _COMPACTED if findings.memory.is_compacted else "",
        *(_render_skill(findings) if findings.focus.chosen or findings.focus.skills else _render_none(findings)),
    ]
    text = "\n\n".join(part for part in parts if part)
    return text if len(text) <= MAX_ANSWER else text[:MAX_ANSWER].rstrip() + "\n\n(The answer was cut here.)"


def _render_refusals(memory: Recollection) -> Iterator[str]:
    for name, reason in memory.refused:
        yield f"You called for {_code(name)}, which is not active: {_cut(' '.join(reason.split()).rstrip('.'))}."


# No skill


def _render_none(findings: Findings) -> Iterator[str]:
    memory, wish = findings.memory, findings.wish
    if memory.refused:
        yield "So nothing was done, with no other skill either."
        return
    if memory.is_compacted:
        yield _say_beyond(findings)
        return
    entries = rank_entries(memory, wish)
    if not entries:
        yield "No skills are available here, so there is nothing to go by."
        return
    searched = next((deed for deed in memory.deeds if isinstance(deed.act, Search)), None)
    if searched is not None and searched.failed:
        yield f"The search for skills failed: {_cut(read_error(searched.result))}"
    elif wish.is_small_talk:
        yield "Your message asks for nothing that a skill is for, so none was activated."
    else:
        yield "No skill fits your message well enough, so none was activated."
    yield _say_beyond(findings)
    near = [entry for entry, fit in entries if fit.score][:_NEAREST]
    shown = near or [entry for entry, _ in entries[:_NEAREST]]
    sign = "/" if findings.toolbox.can(Activate) else ""
    lines = [f"- {_code(f'{sign}{entry.name}')}{_describe(entry)}" for entry in shown]
    yield "\n".join(["These come nearest:" if near else "Among the skills there are:", "", *lines])
    if sign:
        yield f"To use one, begin your message with its name, as in {_code(f'/{shown[0].name} …')}."


def _describe(entry: Entry) -> str:
    return f": {_cut(_first_sentence(entry.description))}" if entry.description else ""


# A skill


def _render_skill(findings: Findings) -> Iterator[str]:
    yield from _render_choice(findings)
    yield _say_beyond(findings)
    words = _choose_words(findings)
    for skill in findings.focus.skills:
        yield _quote_instructions(skill, findings, words)
    yield from _render_reads(findings, words)
    yield from _render_runs(findings)
    yield from _render_undone(findings)


def _render_choice(findings: Findings) -> Iterator[str]:
    focus, memory = findings.focus, findings.memory
    names = [skill.name for skill in focus.skills] or [focus.chosen]
    descriptions = {entry.name: entry.description for entry in memory.catalog}
    for name in names:
        purpose = _first_sentence(descriptions.get(name, ""))
        said = f" The catalog says of it:\n\n{render_quotation(Quotation((purpose,)))}" if purpose else ""
        yield f"**Skill {_code(name)}**: {focus.why}.{said}"
    if not focus.skills:
        yield _explain_missing(focus, findings.toolbox)
    for name, answer in memory.answers:
        if name != focus.chosen:
            yield f"**Skill {_code(name)}**: {_quote_answer(answer)}"


def _explain_missing(focus: Focus, toolbox: Toolbox) -> str:
    """Return what there is in the place of instructions."""
    if focus.failure:
        return f"It could not be activated: {_cut(focus.failure)}"
    if focus.answer.strip():
        return _quote_answer(focus.answer)
    if toolbox.can(Activate):
        return "Its instructions do not stand in this conversation."
    return "No tool here activates skills, so its instructions are not at hand."


def _quote_answer(answer: str) -> str:
    return f"A subagent has worked it and says:\n\n{render_quotation(quote_all(answer, most=_OF_AN_ANSWER))}"


def _say_beyond(findings: Findings) -> str:
    verb = findings.wish.beyond
    if not verb:
        return ""
    follows = " What the skill says to do follows, in its own words." if findings.focus.skills else ""
    return f"What you ask for (to {verb}) takes a language model, and none was asked.{follows}"


def _quote_instructions(skill: Instructions, findings: Findings, words: Sequence[str]) -> str:
    """Return what the instructions say to the user's words; where only a model could go on, what they say to do."""
    wish, work = findings.wish, findings.work
    title = f"From the instructions of {_code(skill.name)}:"
    body = _ARGUMENTS.sub("", skill.body)
    found = quote(body, words=words, is_markdown=True, most=_OF_INSTRUCTIONS)
    headings = [block.lines[0] for block in parse_blocks(body) if block.kind is Kind.HEADING]
    parts = [f"{title}\n\n{render_quotation(found)}"] if found.lines else []
    if headings and (wish.beyond or not (work.reads or work.runs)):
        outline = Quotation(tuple(headings[:_OUTLINE]))
        more = len(headings) - _OUTLINE
        rest = f"\n\n({more:,} more headings are not quoted.)" if more > 0 else ""
        parts.append(f"Its steps, by their headings:\n\n{render_quotation(outline)}{rest}")
    return "\n\n".join(parts) or f"The instructions of {_code(skill.name)} are empty."


def _choose_words(findings: Findings) -> tuple[str, ...]:
    """Return the words of the message that tell one line of a skill from another: those of its name stand in many."""
    names = {word for skill in findings.focus.skills for word in find_words(skill.name)}
    if findings.wish.steps:
        names |= {"step", *(word for word in findings.wish.words if word.isdigit())}
    return tuple(word for word in findings.wish.words if word not in names)


# Files


def _render_reads(findings: Findings, words: Sequence[str]) -> Iterator[str]:
    failures: list[str] = []
    for read, file in findings.work.reads:
        deed = findings.memory.result_of(read)
        if deed is None:
            continue
        if deed.failed:
            failures.append(f"- {_path(read.path)}: {_cut(read_error(deed.result))}")
            continue
        content = read_content(deed.result)
        is_markdown = read.path.endswith(_MARKDOWN)
        found = quote(content, words=words, hints=file.hints, is_markdown=is_markdown, most=_OF_A_FILE)
        said = render_quotation(found) if found.lines else "(It is empty.)"
        yield f"From {_path(read.path)}:\n\n{said}"
    if failures:
        yield "\n".join([f"Refused or not found ({len(failures)}):", "", *failures])


# Scripts


def _render_runs(findings: Findings) -> Iterator[str]:
    for run in findings.work.runs:
        deed = findings.memory.result_of(run)
        if deed is not None:
            yield _render_run(run, deed, findings.wish)


def _render_run(run: Run, deed: Deed, wish: Wish) -> str:
    given = f" with {', '.join(map(_code, run.arguments))}" if run.arguments else ""
    if run.arguments and not wish.quoted and wish.after_dashes is None:
        given += ", as the instructions have it"
    end, printed = read_run(deed.result)
    if not end:
        verb = "was not run" if deed.failed else "was run"
        return f"Script {_code(run.script)}{given} {verb}: {_cut(read_error(deed.result))}"
    found = quote_all(printed, most=_OF_A_RUN)
    said = render_quotation(found) if found.lines else "It printed nothing."
    return f"Script {_code(run.script)}{given}: {end}.\n\n{said}"


# What was left


def _render_undone(findings: Findings) -> Iterator[str]:
    memory, work, toolbox = findings.memory, findings.work, findings.toolbox
    unread = [read.path for read, _ in work.reads if memory.result_of(read) is None]
    unrun = [run.script for run in work.runs if memory.result_of(run) is None]
    if memory.is_compacted:
        yield from _render_unknown(unread, unrun)
        unread = unrun = []
    if unread and memory.read_characters >= MAX_READ_CHARACTERS and toolbox.can(Read):
        yield f"Not read, since what was read is long enough for one turn: {_list(unread)}."
    elif unread:
        why = "a turn has no more calls" if toolbox.can(Read) else "no tool here reads files of skills"
        yield f"Not read, since {why}: {_list(unread)}."
    if work.unread:
        yield f"Not read, since these are too many for one turn: {_list(work.unread)}."
    if unrun:
        why = "a turn has no more calls" if toolbox.can(Run) else "no tool here runs scripts"
        yield f"Not run, since {why}: {_list(unrun)}."
    if work.unrun and toolbox.can(Run):
        hint = f"To have it run, say `run {work.unrun[0]}`."
        yield f"Not run, since you have not asked for it: {_list(work.unrun)}. {hint}"


def _render_unknown(unread: Sequence[str], unrun: Sequence[str]) -> Iterator[str]:
    """Say of what nobody knows any more whether it was done before the compaction."""
    if unread:
        yield f"Not at hand, whether they were read before that or not: {_list(unread)}."
    if unrun:
        yield f"Not run since, whether they were run before that or not: {_list(unrun)}."


def _list(paths: Sequence[str]) -> str:
    shown = ", ".join(map(_path, paths[:_NAMED]))
    more = len(paths) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _path(path: str) -> str:
    return _code(path) if path else "an empty path"


def _code(text: str) -> str:
    """Return a text as code on one line, whatever is in it."""
    shown = _cut(" ".join(text.split()) if text.split() else "")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + " […]"


def _first_sentence(text: str) -> str:
    flat = " ".join(text.split())
    end = flat.find(". ")
    return flat if end < 0 else flat[: end + 1]
