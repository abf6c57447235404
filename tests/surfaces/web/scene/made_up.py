"""A made-up conversation in which every kind of block comes up."""

from collections.abc import Iterable
from typing import Any

from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
    Noticed,
    OutputHeard,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
    Told,
)
from prowess.agent.messages import ToolCall
from prowess.state.conversations import Outcome, TokenUse
from prowess.surfaces.web.scene.scene import Scene

__all__ = ["DIFFS", "FIRST", "OPEN", "QUESTION", "SECOND", "USE", "happen", "play", "question"]

USE = TokenUse(requests=2, input_tokens=12_345, output_tokens=678, cached_tokens=9_000, cost_usd=0.0123)
_DIGEST = "d4956d3038a5bbf273658ed68bc62ef06a739aab671975a84ec6d70d02406b43"
Told_ = Event | tuple[str, Event]
"""What happens, or a fork and what happens in it."""


def happen(events: Iterable[Told_], *, turn: str, after: int = 0) -> list[Happening]:
    """Return events as they would be told: what is kept has a number."""
    found: list[Happening] = []
    for one in events:
        within, event = one if isinstance(one, tuple) else ("", one)
        after += event.kept
        found.append(
            Happening(event=event, turn=turn, number=after if event.kept else None, within=within, at=1_767_225_600.0)
        )
    return found


def play(happenings: Iterable[Happening]) -> Scene:
    """Return the scene of what has happened."""
    scene = Scene()
    for happening in happenings:
        scene.take(happening)
    return scene


def question(**more: Any) -> dict[str, Any]:
    """Return the record of a question, as `question_record` makes it."""
    paths = ("SKILL.md", "references/FIELDS.md", "references/forms/tax.md", "scripts/fill.py")
    return {
        "id": "q-1",
        "session": "chat",
        "tool": "run_skill_script",
        "skill": "user:pdf-fill",
        "name": "pdf-fill",
        "description": "Fills in PDF forms and checks their fields. Use when a form is to be completed.",
        "source": "user",
        "digest": _DIGEST,
        "files": [
            {"path": path, "kind": "executable" if path.endswith(".py") else "file", "size": 1_234, "sha256": "0"}
            for path in paths
        ],
        "changes": [],
        "former_digest": "",
        "allowed_tools": ["Read", "Bash(pdftk:*)"],
        "permissions": [],
        "act": "run",
        "script": "scripts/fill.py",
        "arguments": ["tax.pdf", "two words"],
        "powers": ["network", "secret:FORMS_TOKEN", "packages:0123456789abcdef"],
        "packages": ["pypdf==5.1.0"],
        "on_behalf_of": "",
        "input": '{"year": 2025}',
        "forks": False,
        "title": 'Run scripts/fill.py of skill "pdf-fill"',
        "more_files": 0,
        "more_changes": 0,
        **more,
    }


QUESTION = question(
    former_digest="a" * 64,
    changes=[
        {"path": "references/forms/tax.md", "change": "added", "former_size": None, "size": 1_234},
        {"path": "assets/logo.png", "change": "changed", "former_size": 900, "size": 1_100},
        {"path": "old.md", "change": "removed", "former_size": 20, "size": None},
        {"path": "scripts/fill.py", "change": "changed", "former_size": 1_000, "size": 1_234},
    ],
)
DIFFS = [
    {
        "path": "scripts/fill.py",
        "truncated": False,
        "lines": [
            {"kind": "gap", "text": "@@ -1,4 +1,5 @@"},
            {"kind": "context", "text": "import sys"},
            {"kind": "removed", "text": 'print("filled in")'},
            {"kind": "added", "text": "import urllib.request"},
            {"kind": "added", "text": 'urllib.request.urlopen("https://forms.example")'},
            {"kind": "context", "text": "sys.exit(0)"},
        ],
    }
]
_INSTRUCTIONS = """<skill_content name="pdf-fill">
Base directory for this skill: /shared/skills/user--pdf-fill
Skill name: pdf-fill

# Fill in a form

1. Read `references/FIELDS.md`.
2. Run `scripts/fill.py FILE`.

Never write &lt;/skill_content> into a form.

<skill_resources>
references/FIELDS.md
scripts/fill.py
</skill_resources>
</skill_content>"""
_NOTES = """The catalog has changed.

<skill_content name="notes">
Skill name: notes

# Take minutes

Write down what was *decided*.
</skill_content>"""
_ANSWER = """The form is **filled in**. Three fields were missing:

| Field | Value | Source |
| --- | ---: | --- |
| Name | Ada Lovelace | your message |
| Year | 2025 | the input |
| Sum | 1,234.50 | `tax.pdf` |

1. Look at the *signature* yourself.
2. Then send it, as [the office says](https://office.example/forms).

```python
from pypdf import PdfReader

def fields(path: str) -> dict[str, str]:
    \"\"\"Return what is filled in.\"\"\"
    return PdfReader(path).get_form_text_fields()  # only texts
```

> Forms that are not signed are sent back.
"""


def _called(number: int, tool: str, role: str, title: str, **arguments: Any) -> CallBegun:
    return CallBegun(call=f"c{number}", tool=tool, role=role, title=title, arguments=arguments)


def _ended(number: int, tool: str, role: str, content: str = "", *, seconds: float = 0.04, **more: Any) -> CallEnded:
    return CallEnded(call=f"c{number}", tool=tool, role=role, content=content, seconds=seconds, **more)


FIRST: list[Told_] = [
    Begun(message="/pdf-fill Fill in tax.pdf for 2025,\nand tell me what was missing.", model="offline"),
    Told(system="You are …"),
    SkillLoaded(
        name="notes",
        skill="core:notes",
        digest="0" * 64,
        receipt="r0",
        asked_by="user",
        text="⚡ Skill loaded: notes",
        truncated=True,
    ),
    Asked(text="Fill in tax.pdf", context=_NOTES, receipts=("r0",)),
    ThinkingHeard(text="A form. "),
    ThinkingHeard(text="There is a skill for it."),
    TextHeard(text="I look for "),
    TextHeard(text="a skill first."),
    Answered(
        text="I look for a skill first.",
        thinking="A form. There is a skill for it.",
        calls=(ToolCall("c1", "search_skills", "{}"),),
    ),
    _called(1, "search_skills", "search", "Search skills", query="fill in a PDF form"),
    _ended(
        1,
        "search_skills",
        "search",
        "<available_skills>…",
        summary='Found 2 skills for "fill in a PDF form"',
        data={
            "results": [
                {
                    "name": "pdf-fill",
                    "id": "user:pdf-fill",
                    "score": 0.912,
                    "description": "Fills in PDF forms and checks their fields.",
                },
                {"name": "notes", "id": "core:notes", "score": 0.2, "description": "Takes minutes."},
            ]
        },
    ),
    _called(2, "activate_skill", "activate", "Activate a skill", name="pdf-fill"),
    ConsentAsked(
        call="c2",
        question="q-0",
        title='Activate skill "pdf-fill"',
        record=question(id="q-0", act="use", script="", arguments=[], powers=[], packages=[], input=""),
    ),
    ConsentAnswered(call="c2", question="q-0", answer="allow-for-session"),
    _ended(
        2,
        "activate_skill",
        "activate",
        _INSTRUCTIONS,
        summary="Skill pdf-fill activated",
        data={"name": "pdf-fill", "id": "user:pdf-fill", "digest": _DIGEST, "truncated": True, "already_active": False},
    ),
    SkillLoaded(
        name="pdf-fill",
        skill="user:pdf-fill",
        digest=_DIGEST,
        receipt="r1",
        asked_by="model",
        text="⚡ Skill loaded: pdf-fill",
        call="c2",
    ),
    _called(3, "read_skill_resource", "read", "Read a file of a skill", name="pdf-fill", path="references/FIELDS.md"),
    _ended(
        3,
        "read_skill_resource",
        "read",
        "# Fields\n\n- name\n- date & place\n",
        summary="Read references/FIELDS.md of pdf-fill",
        data={
            "name": "pdf-fill",
            "path": "references/FIELDS.md",
            "encoding": "utf-8",
            "mime": "text/markdown",
            "size": 3_200,
            "truncated": True,
            "first_line": 1,
            "last_line": 4,
            "total_lines": 400,
        },
    ),
    _called(4, "read_skill_resource", "read", "Read a file of a skill", name="pdf-fill", path="assets/stamp.png"),
    _ended(
        4,
        "read_skill_resource",
        "read",
        "assets/stamp.png is image/png, 17 bytes, in base64:\niVBORw0KGgoAAAANSUhEUgA=",
        data={
            "name": "pdf-fill",
            "path": "assets/stamp.png",
            "encoding": "base64",
            "mime": "image/png",
            "size": 17_000,
            "truncated": False,
        },
    ),
    _called(
        5,
        "run_skill_script",
        "run",
        "Run a script of a skill",
        name="pdf-fill",
        script="scripts/fill.py",
        arguments=["tax.pdf", "two words"],
        input={"year": 2025},
    ),
    ConsentAsked(call="c5", question="q-1", title=QUESTION["title"], record=QUESTION),
    ConsentAnswered(call="c5", question="q-1", answer="allow-once"),
    OutputHeard(call="c5", stream="stdout", text="reading tax.pdf\n"),
    OutputHeard(call="c5", stream="stderr", text="no date\n"),
    _ended(
        5,
        "run_skill_script",
        "run",
        "Exit status 0 after 1.3 s.",
        seconds=1.31,
        data={
            "name": "pdf-fill",
            "script": "scripts/fill.py",
            "exit_status": 0,
            "stdout": "reading tax.pdf\nfilled in 3 fields\n",
            "stderr": "no date\n",
            "stdout_truncated": False,
            "stderr_truncated": False,
            "timed_out": False,
            "seconds": 1.26,
            "backend": "bubblewrap",
            "outputs": [{"path": "filled/tax.pdf", "size": 45_678, "sha256": "0", "mime": "application/pdf"}],
            "network": True,
            "notices": ["the skill's own allowed-tools do not cover running scripts/fill.py"],
            "run": "0123456789abcdef0123456789abcdef",
        },
    ),
    TextHeard(text="The form"),
    Answered(text=_ANSWER),
    Done(text=_ANSWER, use=USE, steps=4, seconds=3.14),
]
SECOND: list[Told_] = [
    Begun(message="Have it checked, and ship it.", model="offline"),
    Compacted(
        summary="The user wants **forms** filled in.",
        by="model",
        skills=("pdf-fill",),
        dropped=("notes",),
        tokens_before=90_000,
        tokens_after=12_000,
    ),
    _called(1, "activate_skill", "activate", "Activate a skill", name="deploy", arguments="Ship version 2."),
    ForkBegun(
        call="c1",
        fork="f1",
        skill="user:deploy",
        name="deploy",
        digest="b" * 64,
        permissions=("Read", "Bash(git:*)"),
        granted_by="deploy Skill",
    ),
    ("f1", Begun(message="Ship version 2.", model="offline")),
    ("f1", CallBegun(call="c1", tool="git_log", role="host", title="Git log", arguments={"limit": 2})),
    (
        "f1",
        CallEnded(
            call="c1",
            tool="git_log",
            role="host",
            content="…",
            data={"tool": "git_log", "result": [{"commit": "2f1e", "subject": "Ship"}]},
            summary="Called git_log",
            seconds=0.2,
        ),
    ),
    ("f1", TextHeard(text="Version 2")),
    ("f1", Answered(text="Version 2 is out.")),
    ("f1", Done(text="Version 2 is out.", use=USE, steps=2, seconds=1.0)),
    ForkEnded(call="c1", fork="f1", outcome=Outcome.ANSWERED, text="Version 2 is out.", use=USE, steps=2, seconds=1.0),
    _ended(
        1,
        "activate_skill",
        "activate",
        "Version 2 is out.",
        summary="Skill deploy answered",
        data={"name": "deploy", "id": "user:deploy", "digest": "b" * 64, "fork": "f1", "text": "Version 2 is out."},
    ),
    _called(2, "run_python", "python", "Run Python", code="for name in names:\n    print(skill(name))\n"),
    _ended(
        2,
        "run_python",
        "python",
        "notes",
        summary="Ran Python, 1 call",
        data={
            "printed": "notes\n",
            "value": "3",
            "error": {},
            "calls": [{"function": "skill", "summary": "Skill notes activated", "state": "done"}],
            "truncated": False,
            "seconds": 0.2,
        },
    ),
    _called(3, "numbers__divide", "toolset", "divide", a=7, b=2),
    _ended(3, "numbers__divide", "toolset", "3.5", data={"name": "numbers", "tool": "divide", "result": 3.5}),
    _called(4, "deactivate_skill", "deactivate", "Deactivate a skill", name="pdf-fill"),
    _ended(
        4, "deactivate_skill", "deactivate", summary="Skill pdf-fill is no longer active", data={"name": "pdf-fill"}
    ),
    _called(5, "run_skill_script", "run", "Run a script of a skill", name="pdf-fill", script="scripts/check.py"),
    _ended(
        5,
        "run_skill_script",
        "run",
        state="refused",
        summary="refused",
        data={"error": {"code": "refused", "message": "you refused to run scripts/check.py", "hint": "it sticks"}},
    ),
    _called(6, "run_skill_script", "run", "Run a script of a skill", name="pdf-fill", script="scripts/slow.py"),
    _ended(6, "run_skill_script", "run", state="cancelled", summary="it was stopped"),
    _called(7, "run_skill_script", "run", "Run a script of a skill", name="pdf-fill", script="scripts/bad.py"),
    _ended(
        7,
        "run_skill_script",
        "run",
        state="failed",
        data={
            "name": "pdf-fill",
            "script": "scripts/bad.py",
            "exit_status": 3,
            "stdout": "",
            "stderr": "Traceback (most recent call last):\n  no paper left\n",
            "seconds": 0.3,
            "backend": "bubblewrap",
            "outputs": [],
            "timed_out": True,
            "stderr_truncated": True,
            "run": "0" * 32,
        },
    ),
    Noticed(text="the model gave an empty answer"),
    Failed(code="model-failed", message="the provider failed 3 times: status 500", hint="try again later"),
    Done(text="", outcome=Outcome.FAILED, use=USE, steps=1, seconds=2.0),
]
OPEN: list[Told_] = [
    Begun(message="And once more, please.", model="offline"),
    Answered(text="Of course.", calls=(ToolCall("c1", "run_skill_script", "{}"), ToolCall("c2", "x", "{}"))),
    _called(
        1, "run_skill_script", "run", "Run a script of a skill", name="pdf-fill", script="scripts/fill.py", arguments=[]
    ),
    OutputHeard(call="c1", stream="stdout", text="reading tax.pdf\npage 1\n"),
    OutputHeard(call="c1", stream="stderr", text="no date\n"),
    OutputHeard(call="c1", stream="stdout", text="page 2\n"),
    ConsentAsked(call="c1", question="q-2", title=QUESTION["title"], record=QUESTION),
    TextHeard(text="While you think, this is **what I know**:\n\n- one\n- tw"),
]
