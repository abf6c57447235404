"""The cases of the documents that Prowess reproduces, each under its profile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.consent import Answer
from prowess.activation.receipts import AskedBy
from prowess.catalog.switches import Switch
from prowess.errors import SettingsError
from prowess.policy import Consent, SessionMemory
from prowess.runtime import Runtime, Session
from prowess.runtime.reception import ToolUse
from prowess.settings import load_settings
from prowess.sources.places import BUNDLED_SKILLS
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

# Daycare (000, 004)


@pytest.fixture
def personal(home: Home) -> Path:
    """Where a user of Daycare keeps skills."""
    return home.prowess / "users" / "local" / "skills" / "personal"


@pytest.fixture
def daycare(home: Home) -> Iterator[Session]:
    with Runtime.open(profile="daycare") as runtime:
        yield runtime.session("agent")


@pytest.mark.requirement("R55", "R62")
def test_skill_tool_returns_the_body(daycare: Session, personal: Path) -> None:
    """D28, D29."""
    write_skill(personal, "planning", body="# Plan\n\nMake a plan.\n")
    result = daycare.call("skill", {"name": "planning"})
    assert (result.is_error, result.content) == (
        False,
        "Base directory for this skill: /shared/skills/user--planning\nSkill name: planning\n\n# Plan\n\nMake a plan.",
    )
    assert daycare.call("skill", {"name": "scheduling"}).content.splitlines()[:2] == [
        "Base directory for this skill: /shared/skills/core--scheduling",
        "Skill name: scheduling",
    ]


@pytest.mark.requirement("R118")
def test_documented_tools_come_with_stubs(daycare: Session, personal: Path) -> None:
    """D30."""
    write_skill(personal, "planner", extra="tools: [task_create, search-v2]\n")
    lines = daycare.call("skill", {"name": "planner"}).content.splitlines()
    assert lines[2:6] == ["", "Skill-documented tools: task_create, search-v2", "def task_create(): ...", ""]


@pytest.mark.requirement("R59")
def test_unknown_skill_is_named(daycare: Session) -> None:
    """D33."""
    result = daycare.call("skill", {"name": "missing-skill"})
    assert result.is_error
    assert result.content.splitlines()[0] == "Unknown skill: missing-skill."
    assert "scheduling" in result.data["available_skills"]


@pytest.mark.requirement("R29")
def test_first_of_two_skills_with_one_name_wins(daycare: Session, home: Home) -> None:
    """D34."""
    write_skill(home.prowess / "skills", "scheduling", body="The one of the settings.\n")
    by_name, by_id = (daycare.call("skill", {"name": name}) for name in ("scheduling", "config:scheduling"))
    assert (by_name.data["id"], by_id.data["id"]) == ("core:scheduling", "config:scheduling")
    assert "The one of the settings." in by_id.content
    assert "The one of the settings." not in by_name.content


@pytest.mark.requirement("R55")
def test_skill_may_be_called_by_its_path(daycare: Session, personal: Path) -> None:
    """D36, D38."""
    folder = write_skill(personal, "myskill", body="Mine.\n")
    results = [daycare.call("skill", {"name": name}) for name in ("myskill/SKILL.md", f"{folder}/SKILL.md")]
    assert ["Mine." in results[0].content, results[1].data["already_active"]] == [True, True]
    for path in ("/etc/SKILL.md", "../myskill/SKILL.md", "nope/SKILL.md"):
        assert daycare.call("skill", {"name": path}).is_error


@pytest.mark.requirement("R45")
@pytest.mark.parametrize("dialect", ["openai", None])
def test_list_of_skills_is_in_the_prompt_once(daycare: Session, dialect: Any) -> None:
    """D60. Without tools the prompt is the same: what is told of skills does not hang on them."""
    prompt = daycare.prompt(dialect=dialect)
    assert prompt.count("<available_skills>") == prompt.count("</available_skills>") == 1
    assert prompt.count("<name>scheduling</name>") == 1
    assert prompt.startswith("# Skills")
    assert prompt.endswith("</available_skills>")
    assert BUNDLED_SKILLS not in prompt


@pytest.mark.requirement("R120")
def test_skill_is_loaded_once_and_a_person_is_told(daycare: Session, personal: Path) -> None:
    write_skill(personal, "myskill")
    results = [daycare.call("skill", {"name": "myskill"}) for _ in range(2)]
    assert [result.summary for result in results] == ["Skill myskill activated", "Skill myskill already active"]
    assert "Do the thing." not in results[1].content


@pytest.mark.requirement("R67", "R91")
def test_skill_is_unloaded_when_the_task_ends(home: Home, personal: Path) -> None:
    write_skill(personal, "myskill")
    with Runtime.open(profile="daycare", asker=Person()) as runtime:
        with runtime.session("agent") as session:
            session.call("skill", {"name": "myskill"})
        assert runtime.session("agent").active() == ()
        assert [tool["function"]["name"] for tool in session.tools()] == ["skill"]


@pytest.mark.requirement("R18", "R36")
def test_prompt_has_what_is_on_disk_now(daycare: Session, home: Home) -> None:
    assert "brand-new" not in daycare.prompt()
    write_skill(home.prowess / "skills", "brand-new")
    assert "<name>brand-new</name>" in daycare.prompt()


# The workspace pipeline (001)


@pytest.fixture
def survey(home: Home) -> Path:
    return write_skill(home.project / "skills", "repo-survey", files={"references/checklist.md": "- [ ] look\n"})


@pytest.fixture
def pipeline(home: Home, survey: Path) -> Iterator[Runtime]:
    with Runtime.open(profile="workspace", asker=Person(Answer.ALLOW_ONCE)) as runtime:
        yield runtime


@pytest.mark.requirement("R38", "R39", "R40")
@pytest.mark.parametrize(
    ("names", "visible"), [(None, ["alpha", "beta"]), ([], []), (["*"], ["alpha", "beta"]), (["beta"], ["beta"])]
)
def test_list_of_a_task_says_what_it_sees(home: Home, names: list[str] | None, visible: list[str]) -> None:
    """S7, S9."""
    for name in ("alpha", "beta"):
        write_skill(home.project / "skills", name)
    with Runtime.open(profile="workspace") as runtime:
        session = runtime.session("task-1", skills=names)
        assert [skill.name for skill in session.view().visible] == visible
        enums = [tool["function"]["parameters"]["properties"]["name"]["enum"] for tool in session.tools()]
        assert enums == ([visible] if visible else [])


@pytest.mark.requirement("R58", "R61", "R90")
def test_first_activation_in_a_task_is_risky_and_the_second_is_safe(pipeline: Runtime, survey: Path) -> None:
    """S11, as far as the answer goes."""
    task = pipeline.session("task-1")
    call = ("activateSkill", {"name": "repo-survey"})
    question = task.question(*call)
    assert question is not None
    assert question.title == 'Activate skill "repo-survey"'
    result = task.call(*call)
    assert result.data == {
        "name": "repo-survey",
        "instructions": "Do the thing.",
        "folderStructure": "SKILL.md\nreferences/\n  checklist.md",
        "mountPath": "private:/.skills/repo-survey",
        "alreadyActivated": False,
        "metadata": {"description": "Does a thing. Use when the thing is asked for.", "id": "workspace:repo-survey"},
    }
    assert json.loads(result.content) == result.data
    assert task.question(*call) is None
    again = task.call(*call)
    assert (again.data["alreadyActivated"], again.data["mountPath"]) == (True, "private:/.skills/repo-survey")


@pytest.mark.requirement("R90", "R91")
def test_other_task_is_asked_anew(pipeline: Runtime) -> None:
    with pipeline.session("task-1") as task:
        task.call("activateSkill", {"name": "repo-survey"})
    for name in ("task-1", "task-2"):
        assert pipeline.session(name).question("activateSkill", {"name": "repo-survey"}) is not None
        assert pipeline.session(name).active() == ()


@pytest.mark.requirement("R39", "R59")
@pytest.mark.parametrize("name", ["beta", "nope"])
def test_invisible_and_unknown_skills_look_the_same(pipeline: Runtime, home: Home, name: str) -> None:
    """S12, S15."""
    write_skill(home.project / "skills", "beta")
    pipeline.rescan()
    task = pipeline.session("task-1", skills=["repo-survey"])
    result = task.call("activateSkill", {"name": name})
    assert result.is_error
    assert json.loads(result.content) == {
        "error": f"Unknown or unavailable skill: {name}",
        "availableSkills": ["repo-survey"],
    }
    assert task.question("activateSkill", {"name": name}) is None


def test_activation_has_a_line_for_people(pipeline: Runtime) -> None:
    """S18."""
    task = pipeline.session("task-1")
    summaries = [task.call("activateSkill", {"name": "repo-survey"}).summary for _ in range(2)]
    assert summaries == ["Skill repo-survey activated", "Skill repo-survey already active"]


@pytest.mark.requirement("R47", "R43", "R60")
def test_prompt_of_a_workspace_is_a_markdown_list(pipeline: Runtime, survey: Path) -> None:
    prompt = pipeline.session("task-1").prompt()
    assert prompt.endswith(
        "## Available Skills\n\n"
        f"- **repo-survey**: Does a thing. Use when the thing is asked for. (`{survey}/SKILL.md`)"
    )
    assert "Do the thing." not in prompt


# Three tiers (002)


@pytest.fixture
def agent_base(home: Home) -> Iterator[Runtime]:
    home.write_settings('profile = "agent-base"\n[sources]\ndirectories = ["./.agent/skills"]\n')
    (home.project / ".agent" / "skills").mkdir(parents=True)
    with Runtime.open() as runtime:
        yield runtime


@pytest.fixture
def own(home: Home) -> Path:
    """Where a project's own skills are for agent-base."""
    return home.project / ".agent" / "skills"


@pytest.mark.requirement("R44")
def test_xml_is_escaped(agent_base: Runtime, own: Path) -> None:
    """A26."""
    write_skill(own, "alpha", description="""'a & b < c > d "e" it''s'""")
    text = agent_base.tier1_context()
    assert "<description>a &amp; b &lt; c &gt; d &quot;e&quot; it&apos;s</description>" in text


@pytest.mark.requirement("J6", "R53")
def test_no_skills_are_no_text(agent_base: Runtime) -> None:
    """A27."""
    assert (agent_base.tier1_context(), agent_base.session("chat").prompt()) == ("", "")


@pytest.mark.requirement("J6", "R37", "R121")
def test_unavailable_and_disabled_skills_are_left_out(agent_base: Runtime, own: Path, home: Home) -> None:
    """A28."""
    needs = "metadata:\n  requires: no-such-command-4d1f\n"
    write_skill(own, "fine")
    write_skill(own, "unavailable", extra=needs)
    write_skill(own, "disabled")
    write_skill(own, "both", extra=needs)
    for name in ("disabled", "both"):
        agent_base.set_switch(name, Switch.OFF)
    text = agent_base.tier1_context()
    assert [name for name in ("fine", "unavailable", "disabled", "both") if f"<name>{name}" in text] == ["fine"]
    agent_base.set_switch("fine", Switch.OFF)
    assert agent_base.tier1_context() == ""


@pytest.mark.parametrize("number", [0, 1, 3])
def test_catalog_takes_about_a_hundred_tokens_a_skill(agent_base: Runtime, own: Path, number: int) -> None:
    """A30, counted and not assumed."""
    for name in ("alpha", "beta", "gamma")[:number]:
        write_skill(own, name, description="Fills PDF forms. Use when the user names a PDF, a form or a document.")
    tokens = agent_base.plan().tokens
    assert 50 * number <= tokens <= 100 * number


@pytest.mark.requirement("R99")
def test_linked_skill_folder_is_not_loaded(agent_base: Runtime, own: Path, tmp_path: Path) -> None:
    """A43."""
    write_skill(tmp_path / "elsewhere", "linked")
    (own / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    write_skill(own, "real")
    assert agent_base.view().names() == ("real",)
    assert agent_base.tier2_context("linked") is None


@pytest.mark.requirement("R53")
def test_content_of_a_skill_is_given_or_nothing(agent_base: Runtime, own: Path) -> None:
    """A44."""
    write_skill(own, "alpha", body="Mine.\n")
    assert agent_base.tier2_context("alpha") == "Skill name: alpha\n\nMine."
    assert agent_base.tier2_context("beta") is None
    assert agent_base.session("chat").tools() == []


# RemcoChat (003)

_VALIDATION = "skills-system-validation"


@pytest.fixture
def fixture_skill(home: Home) -> Path:
    files = {
        "references/REFERENCE.md": "REFERENCE_MARKER\n",
        "big.txt": "big\n",
        "sub/f": "f\n",
        "..notes.md": "notes\n",
        "logo.png": b"\x89PNG\r\n\x1a\n\x00",
    }
    return write_skill(home.project / ".skills", _VALIDATION, body="# Check\n", files=files)


@pytest.fixture
def remcochat(home: Home, fixture_skill: Path) -> Iterator[Runtime]:
    home.write_settings("[app.skills]\nenabled = true\n")
    with Runtime.open() as runtime:
        yield runtime


@pytest.fixture
def chat(remcochat: Runtime) -> Session:
    return remcochat.session("chat-1")


def _read(chat: Session, path: str) -> dict[str, Any]:
    return json.loads(chat.call("skills.readResource", {"name": _VALIDATION, "path": path}).content)


@pytest.mark.requirement("R56", "R64", "R92")
def test_activation_gives_name_frontmatter_and_body(remcochat: Runtime, chat: Session) -> None:
    result = chat.call("skills.activate", {"name": _VALIDATION})
    assert json.loads(result.content) == {
        "name": _VALIDATION,
        "frontmatter": {"name": _VALIDATION, "description": "Does a thing. Use when the thing is asked for."},
        "body": "# Check",
        "truncated": False,
    }
    assert [receipt.asked_by for receipt in remcochat.session("chat-1").active()] == [AskedBy.MODEL]
    unknown = chat.call("skills.activate", {"name": "nope"})
    assert (unknown.is_error, json.loads(unknown.content)["error"]) == (True, "Unknown or unavailable skill: nope")


@pytest.mark.requirement("R57")
def test_resource_is_read_with_its_name_and_path(chat: Session) -> None:
    assert _read(chat, "references/REFERENCE.md") == {
        "name": _VALIDATION,
        "path": "references/REFERENCE.md",
        "content": "REFERENCE_MARKER\n",
        "truncated": False,
    }


@pytest.mark.requirement("R100", "R102")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/passwd", "Absolute paths are not allowed"),
        ("C:\\x", "Absolute paths are not allowed"),
        ("../SKILL.md", "Path traversal is not allowed"),
        ("references/../../../../etc/passwd", "Path traversal is not allowed"),
        ("..\\out", "Path traversal is not allowed"),
        ("", "Missing resource path."),
        (".", "Invalid resource path."),
        (" ..", "Invalid resource path."),
        ("references", "Not a file."),
        ("a\0b", "Unable to read resource."),
        ("logo.png", "binary not supported"),
    ],
)
def test_path_that_must_not_be_read_is_refused(chat: Session, fixture_skill: Path, path: str, message: str) -> None:
    """RC5, and the vectors beside it."""
    answer = _read(chat, path)
    assert answer["error"] == message
    assert str(fixture_skill) not in json.dumps(answer)


@pytest.mark.requirement("R101", "R99")
def test_link_that_leads_out_is_refused(chat: Session, fixture_skill: Path) -> None:
    """RC6."""
    (fixture_skill / "out.md").symlink_to("/etc/passwd")
    (fixture_skill / "etc").symlink_to("/etc")
    assert [_read(chat, path)["error"] for path in ("out.md", "etc/passwd")] == ["Access denied"] * 2


@pytest.mark.requirement("R57", "R100")
@pytest.mark.parametrize(
    ("path", "plain", "content"),
    [
        ("sub/../big.txt", "big.txt", "big\n"),
        ("./big.txt", "big.txt", "big\n"),
        ("..notes.md", "..notes.md", "notes\n"),
        ("sub//f", "sub/f", "f\n"),
        ("inner.txt", "inner.txt", "big\n"),
    ],
)
def test_path_is_read_in_its_plain_form(
    chat: Session, fixture_skill: Path, path: str, plain: str, content: str
) -> None:
    """The vectors beside RC5; the last is a link inside the skill."""
    (fixture_skill / "inner.txt").symlink_to("big.txt")
    answer = _read(chat, path)
    assert (answer["path"], answer["content"]) == (plain, content)


def test_removed_file_is_not_found_and_no_path_is_told(chat: Session, home: Home, fixture_skill: Path) -> None:
    """RC8."""
    chat.prompt()
    (fixture_skill / "SKILL.md").unlink()
    for result in (
        chat.call("skills.activate", {"name": _VALIDATION}),
        chat.call("skills.readResource", {"name": _VALIDATION, "path": "SKILL.md"}),
    ):
        assert result.is_error
        assert "resource not found" in result.content
        assert str(home.project) not in result.content


@pytest.mark.requirement("R65")
@pytest.mark.parametrize(
    ("after", "text", "bare"),
    [
        pytest.param("", "", True, id="RC10, RC14"),
        pytest.param("\nnext line", "next line", False, id="RC11"),
        pytest.param(" run the check", "run the check", False, id="RC15"),
        pytest.param("\t\t x", "x", False, id="tabs"),
    ],
)
def test_message_that_begins_with_a_skill_invokes_it(chat: Session, after: str, text: str, bare: bool) -> None:
    reception = chat.receive(f"/{_VALIDATION}{after}")
    assert (reception.text, reception.bare) == (text, bare)
    assert [receipt.asked_by for receipt in chat.active()] == [AskedBy.USER]


@pytest.mark.requirement("R65")
@pytest.mark.parametrize(
    "message",
    [
        "/unknown x",
        f" /{_VALIDATION} x",
        f"/{_VALIDATION}, x",
        "/Skills-System-Validation x",
        "/skills--system-validation x",
        f"/{_VALIDATION}s x",
        f"text /{_VALIDATION}",
        f"${_VALIDATION} x",
    ],
)
def test_any_other_message_is_plain_text(chat: Session, message: str) -> None:
    """RC12, and the extra vectors."""
    reception = chat.receive(message)
    assert (reception.text, reception.activations, chat.active()) == (message, (), ())


@pytest.mark.requirement("R66")
def test_without_tools_there_are_two_sections(chat: Session) -> None:
    """RC24."""
    reception = chat.receive(f"/{_VALIDATION} go", tools=ToolUse.OFF)
    guidance, skill = reception.system.split("\n\n", 1)
    assert guidance.startswith("The user has called for the skill below")
    assert skill == f"Skill name: {_VALIDATION}\n\n# Check"
    assert (reception.text, reception.content) == ("go", "")


@pytest.mark.requirement("R33", "R104", "R108")
def test_defaults(home: Home) -> None:
    """RC26."""
    home.write_settings("[app.skills]\n")
    settings = load_settings()
    policy = settings.policy
    assert (policy.enabled, policy.limits.max_skills) == (False, 200)
    assert (policy.limits.max_skill_md_bytes, policy.limits.max_resource_bytes) == (200_000, 2_000_000)
    assert settings.directories == ("./.skills", "./.agents/skills", "~/.agents/skills", "~/.remcochat/skills")
    assert (policy.consent, policy.sessions) == (Consent.NEVER, SessionMemory.CHAT)


@pytest.mark.requirement("R33", "R63", "J6")
def test_disabled_means_no_prompt_and_no_tools(home: Home, fixture_skill: Path) -> None:
    home.write_settings("[app.skills]\nenabled = false\n")
    with Runtime.open() as runtime:
        chat = runtime.session("chat-1")
        assert (chat.prompt(), chat.tools()) == ("", [])
        assert chat.receive(f"/{_VALIDATION} x").text == f"/{_VALIDATION} x"


@pytest.mark.requirement("R108")
def test_no_room_for_any_skill_is_a_mistake(home: Home) -> None:
    """RC28."""
    home.write_settings("[app.skills]\nmax_skills = 0\n")
    with pytest.raises(SettingsError, match="max_skills"):
        load_settings()


@pytest.mark.requirement("R43", "R46")
def test_prompt_names_skills_and_no_paths(home: Home, chat: Session, remcochat: Runtime) -> None:
    """RC29."""
    prompt = chat.prompt()
    assert f'"name": "{_VALIDATION}"' in prompt
    assert "available_skills" in prompt
    for path in ("SKILL.md", str(home.project), ".skills/"):
        assert path not in prompt
    assert "available_skills" not in remcochat.session("chat-2", skills=[]).prompt()


@pytest.mark.requirement("R51", "R92")
def test_activated_names_are_in_the_prompt_of_the_same_chat(remcochat: Runtime, chat: Session) -> None:
    chat.receive(f"/{_VALIDATION} go")
    with Runtime.open() as later:
        assert f"Active skills: {_VALIDATION}." in later.session("chat-1").prompt()
        assert "Active skills" not in later.session("chat-2").prompt()


@pytest.mark.requirement("R104")
def test_long_texts_are_cut_with_a_notice(home: Home, fixture_skill: Path) -> None:
    write_skill(home.project / ".skills", _VALIDATION, body="# Check\n" + "long " * 100)
    (fixture_skill / "big.txt").write_text("line\n" * 100)
    home.write_settings("[app.skills]\nenabled = true\nmax_skill_md_bytes = 200\nmax_resource_bytes = 50\n")
    with Runtime.open() as runtime:
        chat = runtime.session("chat-1")
        activated = chat.call("skills.activate", {"name": _VALIDATION})
        read = chat.call("skills.readResource", {"name": _VALIDATION, "path": "big.txt"})
    assert (activated.data["truncated"], read.data["truncated"]) == (True, True)
    assert "[Cut: the first 200 of" in activated.data["body"]
    assert read.data["content"].startswith("line\n" * 10 + "\n")
    assert "[Cut:" in read.data["content"]


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("openai", ["skillsActivate", "skillsReadResource"]),
        ("anthropic", ["skillsActivate", "skillsReadResource"]),
        ("mcp", ["skills.activate", "skills.readResource"]),
    ],
)
def test_tools_have_names_that_a_provider_takes(chat: Session, dialect: Any, names: list[str]) -> None:
    tools = chat.tools(dialect)
    assert [tool.get("function", tool)["name"] for tool in tools] == names
    for name in (names[0], "skills.activate"):
        assert not chat.call(name, {"name": _VALIDATION}).is_error
    assert all(f"`{name}`" in chat.prompt(dialect=dialect) for name in names)
