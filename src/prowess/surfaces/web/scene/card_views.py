"""What a card says, as values for its template: a head, facts, badges, sections to fold out, and links."""

import json
import mimetypes
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prowess.activation.tools import Role
from prowess.surfaces.web.scene.addresses import find_file, find_output, find_picture, find_skill
from prowess.surfaces.web.scene.blocks import ToolCard
from prowess.surfaces.web.scene.code_colours import find_language
from prowess.surfaces.web.scene.fields import Fields
from prowess.surfaces.web.scene.model_texts import find_content, find_instructions
from prowess.surfaces.wording import show_seconds

__all__ = ["CardView", "Fact", "Link", "Section", "show_card", "show_size"]

_SMALL_LINES = 40
_SMALL_CHARACTERS = 4_000
"""What is no longer than both is open from the beginning."""
_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""Those that cannot carry a script."""
_MAX_JSON = 100_000
_MAX_LISTED = 200
_SHORT_DIGEST = 12
_ASKED_BY = {"user": "you", "trigger": "a trigger in your message"}


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known, with its name."""

    label: str
    value: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A text to fold out."""

    label: str
    text: str
    form: str = "code"
    """`markdown`, `code`, `output` or `errors`."""
    language: str = ""
    is_open: bool = False
    raw: str = ""
    """For Markdown: what the model reads."""
    note: str = ""

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.rstrip("\n").count("\n") + 1


@dataclass(frozen=True, slots=True)
class Link:
    """Something to look at or to download, or a call within the call."""

    text: str
    href: str = ""
    note: str = ""
    about: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class CardView:
    """All that a card says."""

    subject: str = ""
    is_command: bool = False
    badges: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    links_label: str = ""
    picture: str = ""
    error: str = ""
    hint: str = ""


def show_card(card: ToolCard) -> CardView:
    """Return what a card says of a call and of what came of it."""
    data, given = Fields(card.data), Fields(card.arguments)
    view = _SHOWS.get(card.role, _show_other)(card, data, given)
    error = data.part("error")
    if card.state in ("running", "done") or not error.text("message"):
        return view
    return CardView(
        view.subject,
        view.is_command,
        view.badges,
        view.facts,
        tuple(section for section in view.sections if section.label in ("Arguments", "Code", "Input")),
        view.notes,
        error=error.text("message"),
        hint=error.text("hint"),
    )


def show_size(size: float | None) -> str:
    """Return a number of bytes as people read it."""
    if size is None:
        return ""
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000 or unit == "MB":
            break
        size /= 1_000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def _is_small(text: str) -> bool:
    return text.count("\n") <= _SMALL_LINES and len(text) <= _SMALL_CHARACTERS


def _cut_note(card: ToolCard) -> str:
    return f"{card.content_cut:,} more characters are not shown here" if card.content_cut else ""


def _show_activation(card: ToolCard, data: Fields, given: Fields) -> CardView:
    name = data.text("name") or given.text("name")
    skill_id = card.skill.id if card.skill else ""
    digest = card.skill.digest if card.skill else ""
    facts = [Fact("Source", skill_id, find_skill(skill_id))] if skill_id else []
    facts += [Fact("Digest", digest[:_SHORT_DIGEST])] if digest else []
    facts += [Fact("Asked for by", _ASKED_BY[asked])] if (asked := data.text("asked_by")) in _ASKED_BY else []
    is_fork = bool(data.text("fork"))
    is_known = data.is_set("already_active") or data.is_set("alreadyActivated")
    text = card.content if is_fork else find_instructions(card.content)
    label = "Answer of the subagent" if is_fork else "Instructions"
    section = Section(label, text, "markdown", raw=card.content, note=_cut_note(card))
    return CardView(
        name,
        badges=("truncated",) if data.is_set("truncated") else (),
        facts=tuple(facts),
        sections=(section,) if card.content and not is_known else (),
        notes=("Already active: its instructions stand above in this conversation.",) if is_known else (),
    )


def _show_file(card: ToolCard, data: Fields, given: Fields) -> CardView:
    path = data.text("path") or given.text("path")
    mime = data.text("mime") or mimetypes.guess_type(path)[0] or ""
    name = data.text("name") or given.text("name")
    href = find_file(card.skill, path)
    picture = find_picture(card.skill, path) if mime in _PICTURES and card.state == "done" else ""
    return CardView(
        path,
        badges=("truncated",) if data.is_set("truncated") else (),
        facts=tuple(_file_facts(card, data, name=name, mime=mime)),
        sections=tuple(_file_sections(card, data, path)),
        links=(Link("Download", href, note=path),) if href and card.state == "done" else (),
        picture=picture,
    )


def _file_facts(card: ToolCard, data: Fields, *, name: str, mime: str) -> Iterator[Fact]:
    if name:
        yield Fact("Skill", name, find_skill(card.skill.id) if card.skill else "")
    if mime:
        yield Fact("Type", mime)
    size, first, last, total = (data.number(key) for key in ("size", "first_line", "last_line", "total_lines"))
    if size is not None:
        yield Fact("Size", show_size(size))
    if first is not None and last is not None and total is not None and (first, last) != (1, total):
        yield Fact("Lines", f"{first}-{last} of {total}")


def _file_sections(card: ToolCard, data: Fields, path: str) -> Iterator[Section]:
    if card.state != "done" or data.text("encoding") == "base64":
        return
    text = find_content(card.content)
    language = find_language(path.rpartition(".")[2])
    yield Section("Content", text, language=language, is_open=_is_small(text), note=_cut_note(card))


def _show_run(card: ToolCard, data: Fields, given: Fields) -> CardView:
    script = data.text("script") or given.text("script")
    files = data.parts("outputs")
    links = [
        Link(file.text("path"), find_output(data.text("run"), file.text("path")), show_size(file.number("size")))
        for file in files[:_MAX_LISTED]
    ]
    links += [Link(f"… and {len(files) - _MAX_LISTED:,} more")] if len(files) > _MAX_LISTED else []
    return CardView(
        shlex.join([script, *given.texts("arguments")]),
        is_command=True,
        badges=("time limit reached",) if data.is_set("timed_out") else (),
        facts=tuple(_run_facts(card, data, given)),
        sections=tuple(_run_sections(data, given)),
        notes=tuple(data.texts("notices")),
        links=tuple(links),
        links_label="Files kept",
    )


def _run_facts(card: ToolCard, data: Fields, given: Fields) -> Iterator[Fact]:
    name = data.text("name") or given.text("name")
    if name:
        yield Fact("Skill", name, find_skill(card.skill.id) if card.skill else "")
    status, seconds = data.number("exit_status"), data.number("seconds")
    if status is not None:
        yield Fact("Exit status", str(status))
    if seconds is not None:
        yield Fact("Ran for", show_seconds(seconds))
    if data.text("backend"):
        yield Fact("Sandbox", data.text("backend"))
        yield Fact("Network", "yes" if data.is_set("network") else "none")


def _run_sections(data: Fields, given: Fields) -> Iterator[Section]:
    for key, label, form in (("stdout", "Output", "output"), ("stderr", "Errors (stderr)", "errors")):
        text = data.text(key)
        note = "the middle was left out: it is too long" if data.is_set(f"{key}_truncated") else ""
        if text.strip():
            yield Section(label, text, form, is_open=_is_small(text), note=note)
    if given.data.get("input"):
        yield Section("Input", _json(given.data["input"]), language="json")


def _show_search(_: ToolCard, data: Fields, given: Fields) -> CardView:
    links = [_show_found(one) for one in data.parts("results")[:_MAX_LISTED]]
    return CardView(f"“{given.text('query')}”", links=tuple(links))


def _show_found(one: Fields) -> Link:
    score = one.number("score")
    note = "" if score is None else f"score {score:.2f}"
    return Link(one.text("name"), find_skill(one.text("id")), note, one.text("description"))


def _show_python(_: ToolCard, data: Fields, given: Fields) -> CardView:
    code = given.text("code")
    lines = code.strip().splitlines()
    sections = [Section("Code", code, language="python", is_open=_is_small(code))] if code else []
    for key, label in (("printed", "Printed"), ("value", "Value")):
        text = data.text(key)
        sections += [Section(label, text, "output", is_open=_is_small(text))] if text.strip() else []
    calls = tuple(
        Link(one.text("function"), note=one.text("summary"), state=one.text("state")) for one in data.parts("calls")
    )
    return CardView(
        lines[0] + (" …" if len(lines) > 1 else "") if lines else "",
        is_command=True,
        badges=("truncated",) if data.is_set("truncated") else (),
        sections=tuple(sections),
        links=calls[:_MAX_LISTED],
        links_label="Calls",
    )


def _show_tool(card: ToolCard, data: Fields, _: Fields) -> CardView:
    result = data.data.get("result")
    text = card.content if result is None else _json(result)
    sections = [Section("Arguments", _json(card.arguments), language="json")] if card.arguments else []
    if card.state != "running" and text:
        sections.append(Section("Result", text, language="json", is_open=_is_small(text), note=_cut_note(card)))
    facts = (Fact("Skill", data.text("name"), find_skill(card.skill.id) if card.skill else ""),)
    return CardView(data.text("tool"), facts=facts if data.text("name") else (), sections=tuple(sections))


def _show_end(_: ToolCard, data: Fields, given: Fields) -> CardView:
    return CardView(data.text("name") or given.text("name"))


def _show_other(card: ToolCard, _: Fields, given: Fields) -> CardView:
    sections = [Section("Arguments", _json(card.arguments), language="json")] if card.arguments else []
    if card.content:
        sections.append(Section("Result", card.content, "output", note=_cut_note(card)))
    return CardView(given.text("name"), sections=tuple(sections))


def _json(value: object) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_JSON else f"{text[:_MAX_JSON]}\n… and {len(text) - _MAX_JSON:,} more characters"


_SHOWS: Mapping[str, Callable[[ToolCard, Fields, Fields], CardView]] = {
    Role.ACTIVATE.value: _show_activation,
    Role.READ.value: _show_file,
    Role.RUN.value: _show_run,
    Role.SEARCH.value: _show_search,
    Role.DEACTIVATE.value: _show_end,
    Role.PYTHON.value: _show_python,
    Role.TOOLSET.value: _show_tool,
    Role.HOST.value: _show_tool,
}
