"""A conversation: what a message calls for, and a prompt that stays the same while nothing visible changes."""

import os
import shutil
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.activation.receipts import AskedBy
from prowess.activation.triggers import Triggered, TriggerKind
from prowess.catalog.switches import Switch
from prowess.disclosure.deltas import CatalogDelta
from prowess.disclosure.guidance import GUIDANCE
from prowess.policy import ToolSet
from prowess.runtime import Runtime, Session
from prowess.runtime.reception import Reception, ToolUse
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

_OPEN = f'{ONLY_MINE}[activation]\nconsent = "never"\n'
_ACTIVE = "\n\nActive skills: "
_RUN = "run_skill_script"


@pytest.fixture
def root(root: Path, home: Home) -> Path:
    """The user's skills, which nobody is asked about."""
    home.write_settings(_OPEN)
    write_skill(root, "alpha", description="Paints walls.", body="Paint with $1.\n")
    write_skill(root, "beta", description="Bakes bread.")
    return root


@pytest.fixture
def session(runtime: Runtime) -> Session:
    return runtime.session("chat")


def _names(session: Session) -> list[str]:
    return [receipt.name for receipt in session.active()]


# Mentions


@pytest.mark.requirement("R65", "J10")
@pytest.mark.parametrize("sign", ["/", "$"])
def test_mention_activates_and_is_taken_off(session: Session, sign: str) -> None:
    reception = session.receive(f"{sign}alpha red paint\nand be quick")
    (activation,) = reception.activations
    assert reception == Reception(
        "red paint\nand be quick", (activation,), content=activation.text, system="", reply=""
    )
    assert "Paint with red." in reception.content
    assert (activation.receipt.asked_by, activation.receipt.arguments) == (AskedBy.USER, "red paint")
    assert not reception.bare


@pytest.mark.requirement("R65", "J10")
def test_several_mentions_activate_in_their_order(session: Session) -> None:
    reception = session.receive("/beta /alpha go and use $beta")
    assert reception.text == "go and use $beta"
    assert [activation.skill.name for activation in reception.activations] == ["beta", "alpha"]
    assert reception.content == "\n\n".join(activation.text for activation in reception.activations)
    assert _names(session) == ["beta", "alpha"]


@pytest.mark.requirement("R65")
@pytest.mark.parametrize("message", ["/unknown x", "text /alpha", " /alpha", "/alpha, x", "hello", ""])
def test_what_is_no_mention_is_plain_text(session: Session, message: str) -> None:
    assert session.receive(message) == Reception(message)
    assert _names(session) == []


@pytest.mark.requirement("R125")
@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("/alpha", "alpha is active. What should be done with it?"),
        ("/alpha /beta \n", "alpha, beta are active. What should be done with it?"),
    ],
)
def test_bare_mention_is_answered_without_a_model(session: Session, message: str, reply: str) -> None:
    reception = session.receive(message)
    assert (reception.bare, reception.reply, reception.text) == (True, reply, "")
    assert len(_names(session)) == len(reception.activations)


@pytest.mark.requirement("R125", "K1")
def test_bare_mention_that_is_refused_is_answered_too(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open(asker=Person(Answer.REFUSE)) as runtime:
        reception = runtime.session("chat").receive("/alpha")
        assert (reception.bare, reception.activations) == (True, ())
        assert reception.reply == "alpha is not active: the user refused skill 'alpha'."


@pytest.mark.requirement("J9")
def test_repeated_mention_is_a_note(session: Session) -> None:
    session.receive("/beta now")
    again = session.receive("/beta now")
    assert [activation.already_active for activation in again.activations] == [True]
    assert again.content == "Skill beta is already active. Its instructions stand above in this conversation."


@pytest.mark.requirement("K1")
def test_refused_skill_does_not_stop_the_others(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open(asker=Person(Answer.REFUSE, Answer.ALLOW_ONCE)) as runtime:
        session = runtime.session("chat")
        reception = session.receive("/alpha /beta go")
        assert [(one.name, one.error.code) for one in reception.refusals] == [("alpha", "refused")]
        assert (_names(session), reception.text) == (["beta"], "go")
        assert "Paint" not in reception.content


def test_broken_skill_does_not_stop_the_others(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}[catalog]\nrefresh = "start"\n')
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        session.prompt()
        (root / "alpha" / "SKILL.md").unlink()
        reception = session.receive("/alpha /beta go")
        assert [(one.name, one.error.code) for one in reception.refusals] == [("alpha", "skill-md-unreadable")]
        assert _names(session) == ["beta"]


@pytest.mark.requirement("K1")
def test_skill_that_keeps_changing_does_not_stop_the_others(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    write_skill(root, "gamma")

    def change() -> None:
        if person.questions[-1].name == "gamma":
            write_skill(root, "gamma", body=os.urandom(8).hex())

    person = Person(*[Answer.ALLOW_ONCE] * 4, before=change)
    with Runtime.open(asker=person) as runtime:
        session = runtime.session("chat")
        reception = session.receive("/gamma /beta go")
        assert [(one.name, one.error.code) for one in reception.refusals] == [("gamma", "skill-changed")]
        assert _names(session) == ["beta"]


@pytest.mark.parametrize(("mentions", "found"), [("off", []), ("slash", ["alpha"]), ("slash-and-dollar", ["alpha"])])
def test_policy_says_which_signs_count(home: Home, root: Path, mentions: str, found: list[str]) -> None:
    home.write_settings(f'{_OPEN}mentions = "{mentions}"\n')
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        session.receive("/alpha x")
        assert _names(session) == found
        session.receive("$beta x")
        assert ("beta" in _names(session)) == (mentions == "slash-and-dollar")


# Without tools


@pytest.mark.requirement("R66")
def test_without_tools_the_instructions_go_into_the_system_prompt_each_time(session: Session) -> None:
    receptions = [session.receive("/alpha red", tools=ToolUse.OFF) for _ in range(3)]
    assert [reception.content for reception in receptions] == [""] * 3
    assert all("Paint with red." in reception.system for reception in receptions)
    assert len({reception.system for reception in receptions}) == 1
    assert session.receive("and now?", tools=ToolUse.OFF).system == ""
    assert _names(session) == ["alpha"]


@pytest.mark.requirement("R66", "K6")
def test_what_a_request_without_tools_was_given_is_not_in_the_conversation(session: Session) -> None:
    session.receive("/beta x")
    session.receive("/alpha red", tools=ToolUse.OFF)
    assert [(receipt.name, receipt.in_context) for receipt in session.active()] == [("beta", True), ("alpha", False)]
    assert "Paint with red." in session.receive("/alpha red").content
    assert session.receive("/alpha red").activations[0].already_active


# Triggers


def _write_triggered(root: Path) -> None:
    triggers = "triggers:\n  keywords: [invoice]\n  verbs: [fill]\n  patterns: ['[A-Z]{3}-\\d+']\n"
    write_skill(root, "gamma", extra=triggers)


_MESSAGES = [
    ("Where is the invoice?", Triggered("agents:gamma", TriggerKind.KEYWORD, "invoice", "invoice")),
    ("Filling a form", Triggered("agents:gamma", TriggerKind.VERB, "fill", "Filling")),
    ("What of ABC-42?", Triggered("agents:gamma", TriggerKind.PATTERN, "[A-Z]{3}-\\d+", "ABC-42")),
]


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(("message", "triggered"), _MESSAGES)
def test_trigger_suggests_by_default(session: Session, root: Path, message: str, triggered: Triggered) -> None:
    _write_triggered(root)
    assert session.receive(message) == Reception(message, triggered=(triggered,))
    assert _names(session) == []


@pytest.mark.requirement("R68", "K6")
@pytest.mark.parametrize(("message", "triggered"), _MESSAGES)
def test_trigger_activates_where_the_policy_says_so(home: Home, root: Path, message: str, triggered: Triggered) -> None:
    home.write_settings(f'{_OPEN}triggers = "activate"\n')
    _write_triggered(root)
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        reception = session.receive(message)
        assert (reception.text, reception.triggered) == (message, (triggered,))
        (receipt,) = session.active()
        assert (receipt.asked_by, receipt.trigger) == (AskedBy.TRIGGER, f"{triggered.kind}: {triggered.what}")
        assert "Do the thing." in reception.content
        assert not reception.bare


@pytest.mark.requirement("R68")
def test_triggers_may_be_off(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}triggers = "off"\n')
    _write_triggered(root)
    with Runtime.open() as runtime:
        assert runtime.session("chat").receive("invoice") == Reception("invoice")


@pytest.mark.requirement("R68", "K1")
def test_trigger_asks_for_consent_as_any_call_does(home: Home, root: Path) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\ntriggers = "activate"\n')
    _write_triggered(root)
    with Runtime.open() as runtime:
        reception = runtime.session("chat").receive("invoice")
        assert [(one.name, one.error.code) for one in reception.refusals] == [("gamma", "consent-needed")]


@pytest.mark.requirement("R68")
def test_mention_counts_before_a_trigger_and_triggers_are_few(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}triggers = "activate"\n')
    for number in range(5):
        write_skill(root, f"invoice-{number}", extra="triggers: [invoice]\n")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        reception = session.receive("/invoice-0 look at the invoice")
        assert [one.receipt.asked_by for one in reception.activations] == [AskedBy.USER, *[AskedBy.TRIGGER] * 3]
        assert _names(session) == ["invoice-0", "invoice-1", "invoice-2", "invoice-3"]
        assert len(reception.triggered) == 5


@pytest.mark.requirement("R68", "J6")
def test_hidden_skill_is_not_triggered(runtime: Runtime, session: Session, root: Path) -> None:
    _write_triggered(root)
    for position in (Switch.OFF, Switch.USER_ONLY):
        runtime.set_switch("gamma", position)
        assert session.receive("invoice").triggered == ()


# The prompt


@pytest.mark.requirement("R51", "J6")
def test_prompt_is_guidance_catalog_and_active_names(session: Session) -> None:
    catalog = session.tier1_context()
    assert session.prompt() == f"{_guide_without_scripts()}\n\n{catalog}"
    session.activate("beta")
    session.activate("alpha")
    assert session.prompt() == (
        f"{_guide_without_scripts()}\n\n{catalog}\n\n"
        "Active skills: beta, alpha. Their instructions hold; they need not be activated again."
    )


def _guide_without_scripts() -> str:
    """Return what a model is told that is offered no tool for scripts."""
    lines = GUIDANCE[ToolSet.STANDARD].splitlines(keepends=True)
    without = [line for line in lines if _RUN not in line]
    assert len(without) == len(lines) - 1
    return "".join(without)


def _tool_names(session: Session) -> list[str]:
    return [tool["name"] for tool in session.tools("mcp")]


@pytest.mark.requirement("R96", "R48", "R63")
@pytest.mark.parametrize("path", ["scripts/paint.py", "scripts/paint", "paint.sh"])
def test_model_hears_of_scripts_once_a_skill_that_it_sees_has_one(session: Session, root: Path, path: str) -> None:
    write_skill(root, "gamma", files={path: "#!/bin/sh\n"})
    assert _tool_names(session) == [
        "activate_skill",
        "read_skill_resource",
        _RUN,
        "search_skills",
        "deactivate_skill",
    ]
    assert session.prompt() == f"{GUIDANCE[ToolSet.STANDARD]}\n\n{session.tier1_context()}"


@pytest.mark.requirement("R96", "J6")
@pytest.mark.parametrize("way", ["switched off", "not for models", "not for this session", "no runs", "no script"])
def test_model_does_not_hear_of_scripts_that_it_could_not_run(home: Home, root: Path, way: str) -> None:
    extra = "disable-model-invocation: true\n" if way == "not for models" else ""
    path = "references/paint.md" if way == "no script" else "scripts/paint.py"
    write_skill(root, "gamma", extra=extra, files={path: "x"})
    home.write_settings(_OPEN + ("[execution]\nenabled = false\n" if way == "no runs" else ""))
    with Runtime.open() as runtime:
        if way == "switched off":
            runtime.set_switch("gamma", Switch.OFF)
        session = runtime.session("chat", skills=["alpha", "beta"] if way == "not for this session" else None)
        assert _tool_names(session) == ["activate_skill", "read_skill_resource", "search_skills", "deactivate_skill"]
        assert session.prompt() == f"{_guide_without_scripts()}\n\n{session.tier1_context()}"
        result = session.call(_RUN, {"name": "gamma", "script": "scripts/paint.py"})
        assert result.data["error"]["code"] == "unknown-tool"


@pytest.mark.requirement("J6", "R63")
def test_nothing_visible_means_no_prompt_and_no_tools(runtime: Runtime) -> None:
    nothing = runtime.session("chat", skills=[])
    assert (nothing.prompt("x"), nothing.tools(), nothing.tier1_context()) == ("", [], "")
    assert nothing.call("activate_skill", {"name": "alpha"}).data["error"]["code"] == "unknown-tool"


@pytest.mark.requirement("K11")
def test_prompt_is_the_same_byte_for_byte(runtime: Runtime, session: Session) -> None:
    first = session.prompt("paint the wall")
    assert session.prompt("paint the wall") == first
    assert session.prompt("bake bread") == session.prompt() == first
    runtime.rescan()
    assert session.prompt() == first
    with Runtime.open() as other:
        assert other.session("another").prompt() == first


@pytest.mark.requirement("K11")
def test_prompt_does_not_change_with_what_it_does_not_show(
    runtime: Runtime, session: Session, root: Path, home: Home
) -> None:
    first = session.prompt()
    write_skill(root, "alpha", description="Paints walls.", body="Paint with another $1.\n", extra="license: MIT\n")
    assert session.prompt() == first
    (root / "beta" / "notes.md").write_text("x")
    assert session.prompt() == first
    os.utime(root / "beta" / "SKILL.md", (1, 1))
    assert session.prompt() == first
    write_skill(root, "shy", extra="disable-model-invocation: true\n")
    assert session.prompt() == first
    runtime.trust()
    runtime.session("other").activate("alpha")
    assert session.prompt() == first
    assert session.catalog_delta() == CatalogDelta()


@pytest.mark.requirement("K11", "R51")
def test_activation_leaves_the_beginning_of_the_prompt(session: Session) -> None:
    first = session.prompt()
    assert _ACTIVE not in first
    session.activate("alpha")
    prefix, line, _ = session.prompt().partition(_ACTIVE)
    assert (prefix, line) == (first, _ACTIVE)
    session.activate("beta")
    assert session.prompt().startswith(first + _ACTIVE)
    session.deactivate("alpha")
    session.deactivate("beta")
    assert session.prompt() == first


@pytest.mark.requirement("K11", "K4")
@pytest.mark.parametrize("name", ["chat", None])
def test_full_prompt_keeps_its_choice_whatever_is_asked_later(home: Home, root: Path, name: str | None) -> None:
    """With more skills than the budget holds, the first query shapes the prompt and later ones leave it."""
    home.write_settings(f"{_OPEN}[prompt]\nbudget_tokens = 300\n")
    for number in range(60):
        write_skill(root, f"filler-{number:02}", description=f"Fills gap {number} in a long and tedious fence. " * 4)
    with Runtime.open() as runtime:
        session = runtime.session(name)
        first = session.prompt("paint the walls")
        assert "Paints walls." in first
        session.activate("filler-33")
        assert session.prompt("bake bread").partition(_ACTIVE)[0] == first
        write_skill(root, "filler-07", description="Fills gap 7 in a long and tedious fence. " * 4, body="New.\n")
        assert session.prompt("fill gap 44").partition(_ACTIVE)[0] == first
    with Runtime.open() as later:
        again = later.session(name).prompt("fill gap 55").partition(_ACTIVE)[0]
        assert (again == first) == (name == "chat")


# Deltas


@pytest.mark.requirement("K11")
def test_delta_is_empty_while_nothing_changes(runtime: Runtime, session: Session) -> None:
    assert session.catalog_delta() == CatalogDelta()
    session.prompt()
    assert session.catalog_delta() == CatalogDelta()
    runtime.rescan()
    assert not session.catalog_delta()
    assert session.catalog_delta().text == ""


@pytest.mark.requirement("K11")
def test_delta_tells_what_was_added_changed_and_removed(runtime: Runtime, session: Session, root: Path) -> None:
    session.prompt()
    write_skill(root, "gamma", description="Mows lawns.")
    write_skill(root, "alpha", description="Paints walls & doors.")
    shutil.rmtree(root / "beta")
    delta = session.catalog_delta()
    names = {
        "added": [skill.name for skill in delta.added],
        "changed": [skill.name for skill in delta.changed],
        "removed": list(delta.removed),
        "relevant": [skill.name for skill in delta.relevant],
    }
    assert names == {"added": ["gamma"], "changed": ["alpha"], "removed": ["beta"], "relevant": []}
    assert (
        "<available_skills>\n"
        "<skill>\n<name>gamma</name>\n<description>Mows lawns.</description>\n</skill>\n"
        "<skill>\n<name>alpha</name>\n<description>Paints walls &amp; doors.</description>\n</skill>\n"
        "</available_skills>"
    ) in delta.text
    assert delta.text.endswith("No longer available: beta.")
    assert session.catalog_delta() == CatalogDelta()


@pytest.mark.requirement("K11")
def test_delta_follows_switches(runtime: Runtime, session: Session) -> None:
    session.prompt()
    runtime.set_switch("beta", Switch.OFF)
    assert session.catalog_delta().removed == ("beta",)
    runtime.set_switch("beta", Switch.NAME_ONLY)
    delta = session.catalog_delta()
    assert [skill.name for skill in delta.added] == ["beta"]
    assert "Bakes" not in delta.text
    runtime.set_switch("beta", Switch.ON)
    assert [skill.name for skill in session.catalog_delta().changed] == ["beta"]


@pytest.mark.requirement("K11", "K4")
def test_delta_points_out_what_fits_and_is_not_shown(home: Home, root: Path) -> None:
    home.write_settings(f"{_OPEN}[prompt]\nbudget_tokens = 300\n")
    for number in range(60):
        write_skill(root, f"filler-{number:02}", description=f"Fills gap {number} in a long and tedious fence. " * 4)
    write_skill(root, "zither", description="Tunes zithers.")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        first = session.prompt("paint the walls")
        assert "Tunes zithers." not in first
        delta = session.catalog_delta("tune my zither")
        assert [skill.name for skill in delta.relevant][:1] == ["zither"]
        assert delta.text.startswith("These skills may fit the request:\n<available_skills>\n")
        assert "Tunes zithers." in delta.text
        assert len(delta.relevant) <= 5
        assert session.prompt() == first
        assert "alpha" not in [skill.name for skill in session.catalog_delta("paint the walls").relevant]


# Tools


@pytest.mark.requirement("J7", "R64")
def test_model_activates_by_the_names_that_it_sees(runtime: Runtime, session: Session) -> None:
    tool = session.tools()[0]["function"]
    assert (tool["name"], tool["parameters"]["properties"]["name"]["enum"]) == ("activate_skill", ["alpha", "beta"])
    result = session.call("activate_skill", '{"name": "alpha", "arguments": "red"}')
    assert (result.is_error, result.summary, result.data["already_active"]) == (False, "Skill alpha activated", False)
    assert result.content.startswith('<skill_content name="alpha">\nBase directory for this skill: /shared/skills/')
    runtime.set_switch("alpha", Switch.OFF)
    assert session.tools()[0]["function"]["parameters"]["properties"]["name"]["enum"] == ["beta"]


@pytest.mark.requirement("R59")
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("activate_skill", {"name": "nope"}, "unknown-skill"),
        ("activate_skill", {"name": "alpha", "mode": "x"}, "bad-arguments"),
        ("activate_skill", {"name": 1}, "bad-arguments"),
        ("activate_skill", {}, "bad-arguments"),
        ("activate_skill", "{", "bad-arguments"),
        ("activate_skill", "[]", "bad-arguments"),
        ("read_skill_resource", {"name": "nope", "path": "x"}, "unknown-skill"),
        ("read_skill_resource", {"name": "alpha", "path": "x"}, "resource-not-found"),
        ("search_skills", {"query": "x", "limit": 0}, "bad-arguments"),
        ("nope", {}, "unknown-tool"),
    ],
)
def test_wrong_call_gets_an_error_that_a_model_can_act_on(
    session: Session, tool: str, arguments: dict[str, object] | str, code: str
) -> None:
    result = session.call(tool, arguments)
    error = result.data["error"]
    assert (result.is_error, error["code"]) == (True, code)
    assert result.content.startswith(error["message"])
    assert error["hint"]
    if code == "unknown-skill":
        assert result.data["available_skills"] == ["alpha", "beta"]
    assert _names(session) == []


def test_only_skill_for_people_can_be_read_once_it_is_on(home: Home, root: Path) -> None:
    for name in ("alpha", "beta"):
        shutil.rmtree(root / name)
    write_skill(root, "shy", extra="disable-model-invocation: true\n", files={"note.md": "Noted.\n"})
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        assert session.tools() == []
        session.receive("/shy go")
        assert session.call("read_skill_resource", {"name": "shy", "path": "note.md"}).content == "Noted.\n"
        session.deactivate("shy")
        assert session.tools() == []


@pytest.mark.requirement("R96")
def test_script_that_comes_while_its_skill_is_active_can_be_run(session: Session, root: Path) -> None:
    session.activate("alpha")
    assert _RUN not in _tool_names(session)
    (root / "alpha" / "scripts").mkdir()
    (root / "alpha" / "scripts" / "paint.py").write_text("print('painted')\n")
    assert _RUN in _tool_names(session)
