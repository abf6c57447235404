"""Every prompt and payload of every profile, letter by letter, as a model gets it.

The files are in `golden/`, one folder for each profile. When a text is meant to change, write them anew by
`PROWESS_REWRITE_GOLDEN=1 python -m pytest tests/test_golden.py` and read the difference before you keep it.
"""

import json
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.activation.consent import Answer, CallbackAsker, HeadlessAsker
from prowess.activation.grants import Act
from prowess.activation.tool_dialects import DIALECTS
from prowess.policy import PROFILES, BaseDirectory, CatalogText, Mentions, ToolSet
from prowess.runtime import Runtime, Session
from prowess.runtime.reception import ToolUse
from prowess.runtime.tool_results import ToolResult
from prowess.settings import Settings, load_settings
from tests.skills_on_disk import Home, write_skill

_GOLDEN = Path(__file__).parent / "golden"
_REWRITE = os.environ.get("PROWESS_REWRITE_GOLDEN") == "1"
_NOW = 1_767_225_600.0
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0"
_ACTIVATE = {
    ToolSet.STANDARD: "activate_skill",
    ToolSet.DAYCARE: "skill",
    ToolSet.WORKSPACE: "activateSkill",
    ToolSet.REMCOCHAT: "skills.activate",
}
_RUN = "run_skill_script"
_REPORT = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["PROWESS_INPUT"]) as given, open(os.environ["PROWESS_OUTPUT"] + "/report.txt", "w") as report:
    report.write(json.load(given)["title"])
print("arguments:", *sys.argv[1:])
print("no paper\\u200b left", file=sys.stderr)
sys.exit(3)
"""
_TOOLSET = """
from prowess_toolset import ToolError, Toolset, tool

class Numbers(Toolset):
    @tool
    def divide(self, a: int, b: int = 1) -> float:
        \"\"\"Divide two numbers.

        a: what is divided
        b: by how much
        \"\"\"
        if not b:
            raise ToolError("nothing can be divided by zero")
        return a / b
"""
_WITHOUT_PATHS = (CatalogText.XML, CatalogText.JSON)
_READ = {ToolSet.STANDARD: "read_skill_resource", ToolSet.REMCOCHAT: "skills.readResource"}

profiles = pytest.mark.parametrize("profile", PROFILES)


def _write_skills(root: Path) -> None:
    write_skill(
        root,
        "pdf-fill",
        description='"Fills in PDF forms & checks <fields>. Use when a form is to be completed."',
        extra="license: MIT\ncompatibility: Needs pdftk 3 or later.\nmetadata:\n  author: forms-team\n",
        body=(
            "# Fill in a form\n\n1. Read `references/FIELDS.md`.\n2. Run `scripts/fill.py $ARGUMENTS`.\n\n"
            "Never write </skill_content> into a form.\n"
        ),
        files={
            "references/FIELDS.md": "# Fields\n\n- name\n- date & place\n",
            "scripts/fill.py": "#!/usr/bin/env python3\nprint('filled in')\n",
            "assets/stamp.png": _PNG,
        },
    )
    write_skill(
        root,
        "notes",
        description="整理会议记录，列出要点和待办事项。Use for minutes of a meeting 📝.",
        body="Be brief.\n",
    )
    write_skill(root, "tasks", extra="tools: [task_create, task-list]\n", body="Create a task for each promise.\n")


def _settings(profile: str, root: Path) -> Settings:
    """Return the settings of the profile, with this folder in the place of its sources."""
    settings = load_settings(profile=profile)
    return replace(settings, policy=replace(settings.policy, enabled=True), directories=(str(root),))


def _open(profile: str, root: Path) -> Runtime:
    return Runtime(_settings(profile, root), asker=_answering(Answer.ALLOW_FOR_SESSION), clock=lambda: _NOW)


def _answering(answer: Answer) -> CallbackAsker:
    return CallbackAsker(lambda _: answer)


# What a model gets


def _make_texts(profile: str, root: Path) -> dict[str, str]:
    """Return every text of the profile by the name of its file."""
    _write_skills(root)
    with _open(profile, root) as runtime:
        texts = {
            **dict(_tell(runtime, root)),
            **dict(_call(runtime)),
            **dict(_refuse(runtime)),
            **dict(_run(runtime, root)),
            **dict(_bring_tools(runtime, root)),
            **dict(_converse(runtime)),
            **dict(_disclose(runtime)),
        }
    return {name: _normalise(text, root) for name, text in texts.items()}


def _tell(runtime: Runtime, root: Path) -> Iterator[tuple[str, str]]:
    """What stands in the system prompt, and what is added to it."""
    session = runtime.session("telling")
    yield "prompt.txt", session.prompt()
    for dialect in DIALECTS:
        yield f"tools-{dialect}.json", json.dumps(session.tools(dialect), indent=2, ensure_ascii=False)
    session.activate("pdf-fill")
    session.activate("notes")
    yield "prompt-with-active-skills.txt", session.prompt()
    if runtime.policy.tools is ToolSet.REMCOCHAT:
        yield "prompt-for-openai.txt", session.prompt(dialect="openai")
    if runtime.policy.tools is ToolSet.STANDARD:
        without_scripts = runtime.session("telling less", skills=["notes", "tasks"])
        yield "prompt-without-scripts.txt", without_scripts.prompt()
        names = [tool["name"] for tool in without_scripts.tools("mcp")]
        yield "tools-without-scripts.json", json.dumps(names, indent=2)
    if runtime.policy.catalog_text in _WITHOUT_PATHS:  # Elsewhere the length of a path decides what fits.
        for budget in (50, 60, 100):
            yield f"catalog-in-{budget}-tokens.txt", runtime.plan(budget=budget).text
    added = write_skill(root, "added", description="Does what was missing.")
    os.rename(root / "tasks" / "SKILL.md", root / "tasks" / "SKILL.old")
    runtime.rescan()
    yield "delta.txt", session.catalog_delta().text
    os.rename(root / "tasks" / "SKILL.old", root / "tasks" / "SKILL.md")
    (added / "SKILL.md").unlink()
    runtime.rescan()


def _call(runtime: Runtime) -> Iterator[tuple[str, str]]:
    """What tools return."""
    tools = runtime.policy.tools
    if tools is ToolSet.NONE:
        return
    session, activate = runtime.session("calling"), _ACTIVATE[tools]
    yield "activated.txt", _show(session.call(activate, {"name": "pdf-fill"}))
    yield "activated-again.txt", _show(session.call(activate, {"name": "pdf-fill"}))
    yield "activated-with-documented-tools.txt", _show(session.call(activate, {"name": "tasks"}))
    yield "unknown-skill.txt", _show(session.call(activate, {"name": "pdf-fil"}))
    yield "bad-arguments.txt", _show(session.call(activate, {"skill": "pdf-fill"}))
    yield "unknown-tool.txt", _show(session.call("delete_skill", {"name": "pdf-fill"}))
    if tools in _READ:
        read = _READ[tools]
        for name, path in (
            ("resource", "references/FIELDS.md"),
            ("binary", "assets/stamp.png"),
            ("traversal", "../tasks/SKILL.md"),
            ("missing", "references/FIELD.md"),
        ):
            yield f"read-{name}.txt", _show(session.call(read, {"name": "pdf-fill", "path": path}))
    if tools is ToolSet.STANDARD:
        yield (
            "read-lines.txt",
            _show(
                session.call(
                    "read_skill_resource", {"name": "pdf-fill", "path": "references/FIELDS.md", "lines": "3-3"}
                )
            ),
        )
        yield (
            "activated-with-arguments.txt",
            _show(session.call(activate, {"name": "pdf-fill", "arguments": "tax.pdf 'a b'"})),
        )
        yield "found.txt", _show(session.call("search_skills", {"query": "PDF forms"}))
        yield "found-nothing.txt", _show(session.call("search_skills", {"query": "zzyzx"}))
        yield "deactivated.txt", _show(session.call("deactivate_skill", {"name": "pdf-fill"}))
        yield "deactivated-again.txt", _show(session.call("deactivate_skill", {"name": "pdf-fill"}))


def _refuse(runtime: Runtime) -> Iterator[tuple[str, str]]:
    """What comes of a refusal, where the profile asks at all."""
    tools = runtime.policy.tools
    if tools not in (ToolSet.STANDARD, ToolSet.WORKSPACE):
        return
    nobody = runtime.session("nobody", asker=HeadlessAsker())
    yield "nobody-to-ask.txt", _show(nobody.call(_ACTIVATE[tools], {"name": "notes"}))
    refusing = runtime.session("refusing", asker=_answering(Answer.REFUSE_ONCE))
    yield "refused.txt", _show(refusing.call(_ACTIVATE[tools], {"name": "notes"}))


def _run(runtime: Runtime, root: Path) -> Iterator[tuple[str, str]]:
    """What comes of scripts, and of no consent to them."""
    if runtime.policy.tools is not ToolSet.STANDARD:
        return
    fill = {"name": "pdf-fill", "script": "scripts/fill.py"}
    session = runtime.session("running")
    yield "ran.txt", _show(session.call(_RUN, fill))
    yield "unknown-script.txt", _show(session.call(_RUN, fill | {"script": "scripts/fil.py"}))
    yield "script-of-no-kind.txt", _show(session.call(_RUN, fill | {"script": "references/FIELDS.md"}))
    yield "bad-arguments-of-a-script.txt", _show(session.call(_RUN, fill | {"arguments": "tax.pdf"}))
    nobody = runtime.session("nobody running", asker=HeadlessAsker())
    yield "run-nobody-to-ask.txt", _show(nobody.call(_RUN, fill))
    refusing = runtime.session("refusing to run", asker=_answering(Answer.REFUSE_ONCE))
    yield "run-refused.txt", _show(refusing.call(_RUN, fill))
    with _added(runtime, root, "report", extra="allowed-tools: Read\n", files={"scripts/report.py": _REPORT}):
        given = {"name": "report", "script": "scripts/report.py", "arguments": ["a b"], "input": {"title": "Tax"}}
        yield "ran-and-failed.txt", _show(session.call(_RUN, given))


def _bring_tools(runtime: Runtime, root: Path) -> Iterator[tuple[str, str]]:
    """What comes of a skill that brings tools of its own, where the profile reads that it does."""
    if runtime.policy.tools is not ToolSet.STANDARD:
        return
    session = runtime.session("counting")
    only_use = CallbackAsker(lambda asked: Answer.REFUSE_ONCE if asked.act is Act.RUN else Answer.ALLOW_FOR_SESSION)
    refusing = runtime.session("counting by hand", asker=only_use)
    toolset = {"toolsets/index.py": _TOOLSET}
    with _added(runtime, root, "numbers", extra='toolsets: ["toolsets/index:Numbers"]\n', files=toolset):
        yield "activated-without-its-tools.txt", _show(refusing.call("activate_skill", {"name": "numbers"}))
        yield "activated-with-tools.txt", _show(session.call("activate_skill", {"name": "numbers"}))
        (divide,) = (tool for tool in session.tools("mcp") if "divide" in tool["name"])
        yield "tool-of-a-skill.json", json.dumps(divide, indent=2)
        yield "called-tool-of-a-skill.txt", _show(session.call(divide["name"], {"a": 7, "b": 2}))
        yield "failed-tool-of-a-skill.txt", _show(session.call(divide["name"], {"a": 7, "b": 0}))
        yield "bad-arguments-of-a-tool.txt", _show(session.call(divide["name"], {"a": "seven"}))


@contextmanager
def _added(runtime: Runtime, root: Path, name: str, *, extra: str, files: dict[str, str]) -> Generator[None]:
    """Let there be one more skill for a while."""
    folder = write_skill(root, name, extra=extra, files=files)
    runtime.rescan()
    yield
    shutil.rmtree(folder)
    runtime.rescan()


def _converse(runtime: Runtime) -> Iterator[tuple[str, str]]:
    """What comes of a user's message, and what is given again after compaction."""
    if runtime.policy.mentions is not Mentions.OFF:
        received = runtime.session("mentioning").receive("/pdf-fill tax.pdf")
        yield "mentioned.txt", received.content
        yield "mentioned-bare.txt", runtime.session("bare").receive("/pdf-fill").reply
        yield "fallback.txt", runtime.session("no tools").receive("/pdf-fill tax.pdf", tools=ToolUse.OFF).system
    session = runtime.session("compacted")
    session.activate("pdf-fill")
    session.activate("notes")
    yield "reattached.txt", session.reattach().text


def _disclose(runtime: Runtime) -> Iterator[tuple[str, str]]:
    """What the three tiers give to those who disclose skills themselves."""
    session = runtime.session("tiers")
    yield "tier1.txt", session.tier1_context()
    yield "tier2.txt", session.tier2_context("pdf-fill") or ""
    yield "tier3.txt", session.tier3_resource("pdf-fill", "references/FIELDS.md") or ""


def _show(result: ToolResult) -> str:
    """Return what the model reads, and below a line what programs and people get."""
    data = json.dumps(result.data, indent=2, ensure_ascii=False)
    kind = "error" if result.is_error else "result"
    return f"{result.content}\n{'=' * 40}\n{kind} of {result.tool}: {result.summary}\n{data}"


def _normalise(text: str, root: Path) -> str:
    """Put fixed values in the place of those that differ each time."""
    text = text.replace(str(root), "/skills")
    text = re.sub(r'"id": "[0-9a-f]{32}"', '"id": "RECEIPT"', text)
    text = re.sub(r'"run": "[0-9a-f]{32}"', '"run": "RECEIPT"', text)
    text = re.sub(r'"session": "([^"#]*)#[0-9a-f]{16}"', r'"session": "\1#TASK"', text)
    text = re.sub(r"after \d+\.\d s", "after TIME s", text)
    text = re.sub(r'"seconds": [0-9.]+', '"seconds": TIME', text)
    text = re.sub(r'"backend": "\w+"', '"backend": "SANDBOX"', text)
    return re.sub(r'"score": [0-9.e-]+', '"score": SCORE', text) + "\n"


# The tests


@pytest.mark.requirement(
    "R43",
    "R44",
    "R45",
    "R46",
    "R47",
    "R48",
    "R49",
    "R51",
    "R55",
    "R56",
    "R57",
    "R58",
    "R59",
    "R61",
    "R62",
    "R66",
    "R69",
    "R96",
    "J7",
    "J8",
)
@pytest.mark.slow
@profiles
def test_every_text_is_as_in_its_golden_file(home: Home, profile: str) -> None:
    texts = _make_texts(profile, home.path / "skills")
    folder = _GOLDEN / profile
    if _REWRITE:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
    assert texts == {file.name: file.read_text("utf-8") for file in folder.iterdir()}


@pytest.mark.requirement("R41")
@pytest.mark.parametrize("profile", [name for name, one in PROFILES.items() if one.catalog_text in _WITHOUT_PATHS])
def test_profile_that_hides_paths_has_none_of_the_host_in_any_text(home: Home, profile: str) -> None:
    texts = _make_texts(profile, home.path / "skills")
    assert PROFILES[profile].base_directory is not BaseDirectory.HOST
    assert [name for name, text in texts.items() if re.search(r"(?<!/shared)/skills|/tmp|/home", text)] == []


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("profile", ["standard", "workspace"])
def test_model_is_not_told_how_to_lift_a_refusal(home: Home, profile: str) -> None:
    """It may have a shell, and the command is for a person."""
    texts = _make_texts(profile, home.path / "skills")
    for name in ("run-nobody-to-ask.txt", "run-refused.txt") if profile == "standard" else ():
        for_model, for_programs = texts[name].split("=" * 40)
        assert "prowess grants" not in for_model
        assert ("prowess grants" in for_programs) == (name == "run-nobody-to-ask.txt")
    for name in ("nobody-to-ask.txt", "refused.txt"):
        for_model, for_programs = texts[name].split("=" * 40)
        assert "prowess grants" not in for_model
        # The other refusal is for once, and in a workspace each task asks anew.
        assert ("prowess grants" in for_programs) == (name == "nobody-to-ask.txt" and profile == "standard")


def test_hidden_characters_of_the_frontmatter_do_not_reach_the_model(home: Home) -> None:
    root = home.path / "skills"
    write_skill(root, "pdf-fill", extra="license: MI\u200bT\n")
    lenient = _settings("standard", root)
    with Runtime(replace(lenient, policy=replace(lenient.policy, tools=ToolSet.REMCOCHAT)), skills=[root]) as runtime:
        result = runtime.session("chat").call("skills.activate", {"name": "pdf-fill"})
    assert '"license": "MIT"' in result.content


@pytest.mark.requirement("J6", "R63")
@profiles
def test_without_a_visible_skill_there_is_no_prompt_and_no_tool(home: Home, profile: str) -> None:
    root = home.path / "skills"
    root.mkdir()
    with _open(profile, root) as runtime:
        session = runtime.session("chat")
        assert session.prompt("complete a form") == ""
        assert [session.tools(dialect) for dialect in DIALECTS] == [[], [], []]
        assert session.catalog_delta("complete a form").text == ""
        assert session.tier1_context() == ""


@pytest.mark.requirement("R33", "R63")
def test_profile_that_is_off_has_no_prompt_and_no_tool(home: Home) -> None:
    root = home.path / "skills"
    _write_skills(root)
    settings = replace(load_settings(profile="remcochat"), directories=(str(root),))
    with Runtime(settings) as runtime:
        session = runtime.session("chat")
        assert (session.prompt(), session.tools()) == ("", [])
        assert session.receive("/pdf-fill tax.pdf").text == "/pdf-fill tax.pdf"


@pytest.mark.requirement("J6", "J7", "R40")
@pytest.mark.parametrize("profile", [name for name, policy in PROFILES.items() if policy.tools is not ToolSet.NONE])
def test_enumeration_is_what_the_session_may_see(home: Home, profile: str) -> None:
    root = home.path / "skills"
    _write_skills(root)
    with _open(profile, root) as runtime:
        for allowed in (["notes"], ["pdf-fill", "notes"], ["*"]):
            session = runtime.session(skills=allowed)
            assert _enumerated(session) == list(session.view().names())
        assert runtime.session(skills=[]).tools() == []


def _enumerated(session: Session) -> list[str]:
    return session.tools("anthropic")[0]["input_schema"]["properties"]["name"]["enum"]
