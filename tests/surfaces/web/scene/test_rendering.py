"""Blocks as HTML, letter by letter, and harmless whatever others wrote.

The files are in `golden/web`. When one is meant to change, write them anew by
`PROWESS_REWRITE_GOLDEN=1 python -m pytest tests/surfaces/web/scene/test_rendering.py` and read the difference.
"""

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.events import (
    Answered,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Failed,
    ForkBegun,
    Noticed,
    OutputHeard,
    SkillLoaded,
    TextHeard,
)
from prowess.runtime.changed_texts import TextChange
from prowess.settings import load_settings
from prowess.surfaces.web.scene.blocks import AssistantText, SkillRef, ToolCard
from prowess.surfaces.web.scene.diffs import make_diffs
from prowess.surfaces.web.scene.rendering import BlockRenderer, make_environment
from prowess.surfaces.web.scene.scene import Scene
from tests.surfaces.web.scene.made_up import DIFFS, FIRST, OPEN, SECOND, Told_, happen, play, question
from tests.surfaces.web.scene.outline import Outline

pytestmark = pytest.mark.requirement("R71")

_GOLDEN = Path(__file__).parents[3] / "golden" / "web"
_REWRITE = os.environ.get("PROWESS_REWRITE_GOLDEN") == "1"
_RENDERER = BlockRenderer(make_environment())
_BEGUN = Begun(message="Hello.", model="offline")
_SKILL = SkillRef("user:pdf", "d" * 64)


def _page(scene: Scene) -> str:
    return _RENDERER.page(scene.patches(""))


def _scene(events: Sequence[Told_]) -> Scene:
    scene = play(happen(events, turn="1"))
    for one in ("q-1", "q-2"):
        scene.set_question(one, {"diffs": DIFFS})
    return scene


def _card(*, state: str = "done", skill: SkillRef | None = _SKILL, **more: Any) -> str:
    return _RENDERER.html(ToolCard("c", "tool", state=state, skill=skill, **more))


# Letter by letter


@pytest.mark.parametrize(("name", "events"), [("filling", FIRST), ("shipping", SECOND), ("waiting", OPEN)])
def test_blocks_are_as_in_the_golden_file(name: str, events: Sequence[Told_]) -> None:
    html = re.sub(r"\n\s*\n+", "\n", _page(_scene(events))) + "\n"
    file = _GOLDEN / f"{name}.html"
    if _REWRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(html, "utf-8")
    assert html == file.read_text("utf-8")


@pytest.mark.parametrize("events", [FIRST, SECOND, OPEN])
def test_html_is_well_formed_and_has_nothing_that_the_policy_forbids(events: Sequence[Told_]) -> None:
    outline = Outline(_page(_scene(events)))
    assert outline.faults == []
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))


def test_blocks_within_are_in_their_parents_place() -> None:
    html = _page(_scene(SECOND))
    inside = html[html.index('data-children="t1-f1"') :]
    assert inside.index("Ship version 2.") < inside.index("git_log") < inside.index("Version 2 is out.")
    assert html.count('id="b-t1-f1"') == 1


def test_patches_are_records() -> None:
    scene = play(happen([_BEGUN, TextHeard(text="It is")], turn="1"))
    cursor = scene.cursor
    scene.take(happen([Failed(code="x", message="no")], turn="1", after=1)[0])
    record = _RENDERER.record(scene.patches(cursor))
    assert record["reset"] is False
    gone, failure = record["patches"]
    assert gone == {"id": "t1-a1", "parent": "", "html": None}
    assert failure["html"].startswith('<div class="block problem" id="b-t1-n1"')


def test_same_block_is_rendered_once() -> None:
    block = AssistantText("a", "It is *so*.")
    assert _RENDERER.html(block) is _RENDERER.html(block)
    assert "changed" in _RENDERER.html(AssistantText("a", "It has changed."))


# What a card must show


def test_activation_shows_name_truncation_and_a_body_that_is_closed() -> None:
    html = _card(role="activate", content="# Do\n\nthis", data={"name": "pdf", "truncated": True})
    assert '<strong class="subject">pdf</strong>' in html
    assert '<span class="badge warn">truncated</span>' in html
    assert re.search(r'<details class="section" data-key="c-1">\s*<summary>Instructions', html)
    assert "data-copy" in html
    assert '<a href="/skills/user--pdf">user:pdf</a>' in html


def test_active_skill_is_said_to_be_active() -> None:
    html = _card(role="activate", content="Skill pdf is already active.", data={"name": "pdf", "already_active": True})
    assert "Already active" in html
    assert "<details" not in html


@pytest.mark.parametrize(("lines", "is_open"), [(40, True), (41, False), (2_000, False)])
def test_file_is_open_if_it_is_small(lines: int, is_open: bool) -> None:
    html = _card(role="read", content="a line\n" * lines, data={"name": "pdf", "path": "a.md", "truncated": True})
    assert ('data-key="c-1" open>' in html) == is_open
    assert '<strong class="subject">a.md</strong>' in html
    assert '<span class="badge warn">truncated</span>' in html


def test_picture_is_shown_as_it_was_read() -> None:
    data = {"name": "pdf", "path": "assets/a b.png", "mime": "image/png", "encoding": "base64", "size": 9}
    html = _card(role="read", content="… in base64:\nAAAA", data=data)
    assert f'<img src="/api/skills/user--pdf/files/assets/a%20b.png?digest={"d" * 64}&amp;as=image"' in html
    assert "AAAA" not in html


@pytest.mark.parametrize("skill", [None, SkillRef("user:pdf"), SkillRef("::")])
def test_picture_of_an_unknown_version_is_not_shown(skill: SkillRef | None) -> None:
    data = {"name": "pdf", "path": "a.png", "mime": "image/png", "encoding": "base64"}
    html = _card(role="read", data=data, skill=skill)
    assert "<img" not in html
    assert ("Download" in html) == (skill == SkillRef("user:pdf"))


@pytest.mark.parametrize(
    ("path", "mime"), [("a.svg", "image/svg+xml"), ("a.html", "text/html"), ("a.png", "text/html")]
)
def test_what_can_carry_a_script_is_shown_as_text(path: str, mime: str) -> None:
    content = "<svg onload=alert(1)><script>alert(1)</script></svg>"
    html = _card(role="read", content=content, data={"name": "pdf", "path": path, "mime": mime, "encoding": "utf-8"})
    assert "<img" not in html
    assert Outline(html).faults == []
    assert "alert" in html


@pytest.mark.parametrize("path", ["../x.png", "a/../../x.png", "/x.png", "a//b.png", ""])
def test_path_that_leads_elsewhere_has_no_address(path: str) -> None:
    html = _card(role="read", data={"name": "pdf", "path": path, "mime": "image/png"})
    assert "/api/" not in html
    html = _card(role="run", data={"script": "a.py", "run": "r", "outputs": [{"path": path}]})
    assert "/api/" not in html


def test_run_shows_its_command_as_a_shell_would_take_it() -> None:
    html = _card(role="run", state="running", arguments={"script": "a.py", "arguments": ["two words", "$(x)"]})
    assert "a.py &#39;two words&#39; &#39;$(x)&#39;" in html
    assert "no output yet" in html


@pytest.mark.parametrize("state", ["running", "done", "failed", "refused", "cancelled"])
def test_each_state_has_a_word_of_its_own(state: str) -> None:
    assert f"{state.capitalize()}</span>" in _card(role="host", state=state)


def test_error_is_shown_with_what_to_do() -> None:
    error = {"code": "no-sandbox", "message": "there is no sandbox", "hint": "install bubblewrap"}
    html = _card(role="run", state="failed", arguments={"script": "a.py"}, data={"error": error})
    assert "there is no sandbox" in html
    assert "install bubblewrap" in html


def test_command_in_a_hint_is_marked_up_as_code() -> None:
    hint = "use `prowess list` or `<b>` first, ` is no mark alone"
    error = {"code": "no-such-skill", "message": "no such skill", "hint": hint}
    html = _card(role="run", state="failed", arguments={"script": "a.py"}, data={"error": error})
    assert "use <code>prowess list</code> or <code>&lt;b&gt;</code> first, ` is no mark alone" in html


def test_data_of_another_shape_is_no_reason_to_fail() -> None:
    for role in ("activate", "read", "run", "search", "deactivate", "python", "toolset", "host", "", "new"):
        for value in (None, 3, "x", [1], {"a": [None]}):
            keys = ("name", "id", "path", "outputs", "results", "calls", "error", "seconds", "result", "stdout")
            assert _card(role=role, state="failed", data=dict.fromkeys(keys, value), arguments={"arguments": value})


# Questions


def _ask(record: dict[str, Any], **details: Any) -> str:
    scene = play(happen([_BEGUN, ConsentAsked(call="", question="q", title="Run it", record=record)], turn="1"))
    scene.set_question("q", details)
    return _page(scene)


@pytest.mark.requirement("K1")
def test_question_has_five_answers_and_a_heading_to_focus() -> None:
    html = _ask(question())
    assert re.findall(r'data-answer="([^"]+)"', html) == [
        "allow-once",
        "allow-for-session",
        "allow-always",
        "refuse-once",
        "refuse",
    ]
    assert '<h3 id="b-t1-q1-title" tabindex="-1">' in html
    assert 'data-question="q" role="group" aria-labelledby="b-t1-q1-title"' in html


@pytest.mark.requirement("K1")
def test_question_says_what_it_is_about() -> None:
    html = _ask(question(on_behalf_of="deploy Skill", permissions=["deploy"]))
    for part in (
        "Fills in PDF forms",
        "user: user:pdf-fill",
        "d4956d3038a5",
        "scripts/fill.py",
        "tax.pdf &#39;two words&#39;",
        "{&#34;year&#34;: 2025}",
        "reach the network",
        "be given a secret: FORMS_TOKEN",
        "pypdf==5.1.0",
        "Bash(pdftk:*)",
        "have these permissions: deploy",
        "deploy Skill",
        "tax.md",
    ):
        assert part in html


@pytest.mark.requirement("K1")
def test_long_tree_is_cut_and_says_so() -> None:
    files = [{"path": f"d/{number}.md", "kind": "file", "size": 1, "sha256": "0"} for number in range(200)]
    assert "… and 1,000 more" in _ask(question(files=files, more_files=1_000))


@pytest.mark.requirement("K1")
def test_changes_that_cannot_be_compared_are_named() -> None:
    changes = [{"path": name, "change": "changed", "former_size": 1, "size": 2} for name in ("a.py", "b.bin")]
    diffs = make_diffs([TextChange("a.py", "old\n", "new\n")])
    html = _ask(question(former_digest="a" * 64, changes=changes), diffs=diffs)
    assert "Not compared: b.bin" in html
    assert "<del>" in html
    assert "<ins>" in html


def test_question_about_a_use_says_what_a_yes_means() -> None:
    use: dict[str, Any] = {"act": "use", "script": "", "arguments": [], "powers": [], "packages": [], "input": ""}
    told = _ask(question(**use))
    assert "A yes gives" in told
    assert "to run its scripts is another question." in told
    assert "run in a sandbox without another question" in _ask(question(**use, spares_runs=True))
    assert "A yes gives" not in _ask(question())


def test_answered_question_is_one_line_with_what_was_asked() -> None:
    told = [
        _BEGUN,
        ConsentAsked(call="", question="q", title="Run it", record=question()),
        ConsentAnswered(call="", question="q", answer="refuse"),
    ]
    html = _page(play(happen(told, turn="1")))
    assert "<form" not in html
    assert re.search(r"<summary>.*Run it: <strong>refused for good</strong>", html)
    assert "Fills in PDF forms" in html


# What others wrote

_HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e{{ 7 * 7 }}"
    "</pre></details></article><!--children-->"
)


def _everything(text: str) -> list[Told_]:
    record = question(
        name=text,
        description=text,
        source=text,
        skill=text,
        script=text,
        arguments=[text],
        input=text,
        powers=[text],
        packages=[text],
        allowed_tools=[text],
        permissions=[text],
        on_behalf_of=text,
        former_digest=text,
        files=[{"path": f"{text}/{text}", "kind": text, "size": 1}],
        changes=[{"path": text, "change": text, "size": 1, "former_size": None}],
    )
    data = {
        "name": text,
        "id": text,
        "digest": text,
        "path": text,
        "mime": text,
        "script": text,
        "stdout": text,
        "stderr": text,
        "backend": text,
        "notices": [text],
        "outputs": [{"path": text, "size": 1}],
        "run": text,
        "exit_status": 0,
        "results": [{"name": text, "id": text, "score": 1, "description": text}],
        "printed": text,
        "value": text,
        "calls": [{"function": text, "summary": text, "state": text}],
        "result": {text: text},
        "tool": text,
    }
    given = {
        "name": text,
        "path": text,
        "script": text,
        "arguments": [text],
        "query": text,
        "code": text,
        "input": text,
    }
    events: list[Told_] = [
        Begun(message=text, model=text),
        SkillLoaded(name=text, skill=text, digest=text, receipt=text, asked_by=text, text=text),
        Answered(text=text, thinking=text),
        ConsentAsked(call="", question="open", title=text, record=record),
        ConsentAsked(call="", question="answered", title=text, record=record),
        ConsentAnswered(call="", question="answered", answer=text),
        Noticed(text=text),
        Failed(code=text, message=text, hint=text),
        Compacted(summary=text, by=text, skills=(text,), dropped=(text,)),
        CallBegun(call="live", tool=text, role="run", title=text, arguments=given),
        OutputHeard(call="live", stream=text, text=text),
        ForkBegun(call="live", fork=text, skill=text, name=text, digest=text, permissions=(text,), granted_by=text),
    ]
    for role in ("activate", "read", "run", "search", "deactivate", "python", "toolset", "host", "", text):
        for state in ("done", "failed", text):
            error = {"error": {"code": text, "message": text, "hint": text}} if state == "failed" else {}
            events += [
                CallBegun(call=f"{role}{state}", tool=text, role=role, title=text, arguments=given),
                CallEnded(
                    call=f"{role}{state}",
                    tool=text,
                    role=role,
                    content=text,
                    data=data | error,
                    state=state,
                    summary=text,
                ),
            ]
    return [*events, TextHeard(text=text)]


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    "text",
    [
        _HOSTILE,
        "javascript:alert(1)",
        "[x](javascript:alert(1)) [y](data:text/html,x) ![z](https://evil.example/x.png) <javascript:alert(1)>",
        "</span></code></summary></form><form action=//evil.example>",
        "\ud7ff\0\x1b[31m\u2066",
    ],
)
def test_what_others_wrote_is_shown_and_nothing_else(text: str) -> None:
    scene = play(happen(_everything(text), turn="1"))
    scene.set_question("open", {"diffs": [{"path": text, "lines": [{"kind": text, "text": text}]}]})
    html = _page(scene)
    outline = Outline(html)
    assert outline.faults == []
    assert outline.open == []
    assert "img" not in outline.tags
    assert [one for one in re.findall(r' (?:href|src|action)="([^"]*)"', html) if not re.match("/[a-z]", one)] == []
    assert "\u202e" not in html


_TOLD = "the state in /var/lib/prowess/state.db is broken"


def _make_telling(home: str) -> Scene:
    base = f"{home}/.prowess/users/local/active/user--pdf"
    data = {"name": "pdf", "id": "user:pdf", "base_directory": base}
    read = "#!/usr/bin/env python3\n" + f"open('{home}/notes')\n"
    return _scene(
        [
            Begun(message=f"Look at {home}/notes", model="offline"),
            CallBegun(call="1", tool="activate_skill", role="activate", arguments={"name": "pdf"}),
            CallEnded(call="1", tool="activate_skill", role="activate", content=f"Base: {base}", data=data),
            CallBegun(call="2", tool="read_skill_file", role="read", arguments={"path": "a.py"}),
            CallEnded(call="2", tool="read_skill_file", role="read", content=read, data={"path": "a.py"}),
            ConsentAsked(call="3", question="q-1", title="Run?", record=question(arguments=[f"{home}/notes"])),
            Noticed(text=_TOLD),
            Answered(text=f"It is in `{home}/notes`, and not in /etc/hosts."),
            Failed(code="x", message=_TOLD, hint=f"look at {home}/notes"),
        ]
    )


@pytest.mark.requirement("R124")
def test_who_is_elsewhere_is_shown_no_folder_of_this_machine(tmp_path: Path) -> None:
    home = str(tmp_path / "ann")
    settings = load_settings(environ={"HOME": home}, working_folder=str(tmp_path))
    distant = BlockRenderer(make_environment(redacted=settings))
    patches = _make_telling(home).patches("")
    page, record = distant.page(patches), distant.record(patches)
    for shown in (page, str(record)):
        assert str(tmp_path) not in shown
        assert "/var/lib" not in shown
        assert "~/notes" in shown
        assert "#!/usr/bin/env" in shown
        assert "/etc/hosts" in shown
    assert Outline(page).faults == Outline(_RENDERER.page(patches)).faults
    assert re.findall("href=[^>]*", page) == re.findall("href=[^>]*", _RENDERER.page(patches))
    assert home in _RENDERER.page(patches)


def test_blocks_are_the_same_from_many_threads() -> None:
    scene = _scene([*FIRST, *SECOND, Answered(text="```python\ndef f(): pass\n```\n" * 5)])
    renderer = BlockRenderer(make_environment())
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(renderer.page, [scene.patches("")] * 16))
    assert made == {_page(scene)}
