"""The steps of a turn, with tools that answer as they are told to."""

import json
from collections.abc import Mapping

import pytest

from prowess.activation.tools import Tool, make_python_tool, make_tools
from prowess.agent.chat_model import ModelRequest
from prowess.agent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from prowess.agent.offline.answers import HEAD
from prowess.agent.offline.steps import MAX_CALLS, decide_step
from prowess.agent.offline.work import MAX_READS, MAX_RUNS
from prowess.policy import ToolSet
from tests.agent.offline.playing import STANDARD, Player, list_catalog, play, wrap

_CATALOG = list_catalog(alpha="Paints walls in red. Use for walls.", beta="Bakes bread. Use for bread and cakes.")
_BODY = "# Painting\n\nRead `references/paint.md`. MARKER: no label here.\n\nRun `scripts/mix.py` if asked.\n"


def _answer(results: Mapping[str, str]):
    """Answer each tool with its text; one that begins with `!` is an error."""

    def answer(call: ToolCall) -> tuple[str, bool]:
        text = results[call.tool]
        return text.removeprefix("!"), text.startswith("!")

    return answer


def _names(calls: tuple[tuple[str, object], ...]) -> list[str]:
    return [tool for tool, _ in calls]


# Which skill


@pytest.mark.requirement("R64")
def test_skill_is_searched_activated_and_its_files_are_read() -> None:
    played = play(
        "Paint the walls",
        _answer(
            {
                "search_skills": list_catalog(alpha="Paints walls in red. Use for walls."),
                "activate_skill": wrap("alpha", _BODY, files=["references/paint.md", "scripts/mix.py"]),
                "read_skill_resource": "# Paint\n\nMARKER: RED\n\nTwo coats on the walls.\n",
            }
        ),
        tools=STANDARD,
        system=_CATALOG,
    )
    assert played.calls == (
        ("search_skills", {"query": "paint walls"}),
        ("activate_skill", {"name": "alpha"}),
        ("read_skill_resource", {"name": "alpha", "path": "references/paint.md"}),
    )
    why = "the search found it (paint, walls). The catalog says of it:\n\n> Paints walls in red."
    assert played.text.startswith(f"{HEAD}\n\n**Skill `alpha`**: {why}\n\n")
    assert "From `references/paint.md`:\n\n> # Paint  \n> MARKER: RED  \n> Two coats on the walls." in played.text
    assert played.text.endswith("`scripts/mix.py`. To have it run, say `run scripts/mix.py`.")


def test_without_a_search_the_catalog_is_compared() -> None:
    tools = make_tools(ToolSet.DAYCARE, names=["alpha", "beta"])
    played = play("bread, please", _answer({"skill": "Skill name: beta\n\nBake."}), tools=tools, system=_CATALOG)
    assert played.calls == (("skill", {"name": "beta"}),)


def test_search_that_finds_nothing_that_fits_activates_nothing() -> None:
    found = _answer({"search_skills": list_catalog(beta="Bakes bread. Use for bread and cakes.")})
    played = play("Which poems rhyme with orange?", found, tools=STANDARD, system=_CATALOG)
    assert _names(played.calls) == ["search_skills"]
    assert "No skill fits your message well enough, so none was activated." in played.text


def test_search_that_fails_is_told() -> None:
    played = play("poems", _answer({"search_skills": "!the index is gone"}), tools=STANDARD, system=_CATALOG)
    assert "The search for skills failed: the index is gone" in played.text


def test_triggered_skill_comes_first_whatever_it_says_of_itself() -> None:
    message = UserMessage("do the walls", "Triggers in the message speak for: beta.", ("beta",))
    played = play(message, _answer({"activate_skill": wrap("beta", "Bake.")}), tools=STANDARD, system=_CATALOG)
    assert played.calls == (("activate_skill", {"name": "beta"}),)
    assert "**Skill `beta`**: your message triggers it." in played.text


@pytest.mark.parametrize(
    ("suggested", "calls"),
    [
        (("beta", "alpha"), [("activate_skill", {"name": "alpha"})]),
        (("unlisted",), [("activate_skill", {"name": "unlisted"})]),
    ],
)
def test_suggestion_is_taken_if_none_fits_better(suggested: tuple[str, ...], calls: list[object]) -> None:
    answer = _answer({"activate_skill": wrap("alpha", "Paint.")})
    assert list(play(UserMessage("walls", "", suggested), answer, tools=STANDARD, system=_CATALOG).calls) == calls


def test_suggestion_that_does_not_fit_is_not_taken() -> None:
    answer = _answer({"search_skills": "No skill fits. Try other words, or go on without a skill."})
    played = play(UserMessage("poems", "", ("beta",)), answer, tools=STANDARD, system=_CATALOG)
    assert _names(played.calls) == ["search_skills"]


def test_skill_that_is_named_needs_no_search() -> None:
    answer = _answer({"activate_skill": wrap("alpha", "Paint.")})
    assert play("use the alpha skill", answer, tools=STANDARD, system=_CATALOG).calls == (
        ("activate_skill", {"name": "alpha"}),
    )


def test_skill_that_the_model_was_told_is_active_is_not_activated_again() -> None:
    state = "Active skills: alpha. Their instructions hold; they need not be activated again."
    played = play("use the alpha skill", tools=STANDARD, system=f"{_CATALOG}\n\n{state}")
    assert "Its instructions do not stand in this conversation." in played.text


@pytest.mark.requirement("R120")
def test_skill_is_activated_once_in_a_conversation() -> None:
    results = {"search_skills": _CATALOG, "activate_skill": wrap("alpha", "# Walls\n\nPaint with red.")}
    player = Player(lambda: STANDARD, _answer(results), system=_CATALOG)
    assert _names(player.say(UserMessage("paint walls")).calls) == ["search_skills", "activate_skill"]
    again = player.say(UserMessage("which walls to paint next?"))
    assert _names(again.calls) == ["search_skills"]
    assert "**Skill `alpha`**: it is active, and the search found it (walls, paint)." in again.text
    assert "> Paint with red." in again.text


def test_message_about_nothing_else_is_about_the_active_skill() -> None:
    player = Player(lambda: STANDARD, _answer({"search_skills": "No skill fits."}), system=_CATALOG)
    player.say(UserMessage("go", wrap("alpha", "# Walls\n\nStir the turpentine.")))
    assert "**Skill `alpha`**: it is active." in player.say(UserMessage("turpentine?")).text
    assert "so none was activated" in player.say(UserMessage("poems?")).text


# Activation


def test_refused_activation_is_told_and_not_tried_again() -> None:
    answer = _answer({"activate_skill": "!the user refused skill 'alpha'\nGo on without it"})
    played = play("use the alpha skill", answer, tools=STANDARD, system=_CATALOG)
    assert played.calls == (("activate_skill", {"name": "alpha"}),)
    assert "It could not be activated: the user refused skill 'alpha'" in played.text


@pytest.mark.requirement("R93")
@pytest.mark.parametrize(
    ("tools", "tool", "argument"),
    [
        (make_tools(ToolSet.DAYCARE, names=["alpha"], forks=True), "skill", "prompt"),
        (make_tools(ToolSet.STANDARD, names=["alpha"], forks=True), "activate_skill", "arguments"),
    ],
)
def test_skill_of_a_subagent_is_called_again_with_the_users_words(
    tools: tuple[Tool, ...], tool: str, argument: str
) -> None:
    message = "use the alpha skill on my wall"

    def answer(call: ToolCall) -> tuple[str, bool]:
        if json.loads(call.arguments).get(argument) == message:
            return "The wall is red.\nMARKER: DONE", False
        return "skill 'alpha' is worked by a subagent, which needs a prompt\nSay all that it should do", True

    played = play(message, answer, tools=tools, system=_CATALOG)
    assert played.calls == ((tool, {"name": "alpha"}), (tool, {"name": "alpha", argument: message}))
    assert "A subagent has worked it and says:\n\n> The wall is red.  \n> MARKER: DONE" in played.text


def test_subagent_that_answers_with_the_message_is_quoted() -> None:
    answer = '<skill_answer name="alpha">\nThe wall is red.\n</skill_answer>'
    played = play(UserMessage("paint", answer), tools=STANDARD, system=_CATALOG)
    assert "**Skill `alpha`**: your message calls for it." in played.text
    assert "> The wall is red." in played.text
    both = play(UserMessage("go", f"{wrap('beta', 'Bake.')}\n\n{answer}"), tools=STANDARD, system=_CATALOG)
    assert "**Skill `beta`**: its instructions came with your message." in both.text
    assert "**Skill `alpha`**: A subagent has worked it and says:\n\n> The wall is red." in both.text


@pytest.mark.parametrize(
    "result",
    [
        json.dumps({"name": "alpha", "instructions": _BODY, "folderStructure": "SKILL.md", "alreadyActivated": False}),
        json.dumps({"name": "alpha", "frontmatter": {}, "body": _BODY, "truncated": False}),
        f"Base directory for this skill: /shared/skills/a\nSkill name: alpha\n\n{_BODY}",
    ],
)
def test_instructions_are_understood_in_the_manner_of_each_profile(result: str) -> None:
    tools = make_tools(ToolSet.WORKSPACE, names=["alpha", "beta"])
    played = play("paint walls", _answer({"activateSkill": result}), tools=tools, system=_CATALOG)
    assert "> # Painting  \n> Read `references/paint.md`." in played.text
    assert "Not read, since no tool here reads files of skills: `references/paint.md`." in played.text


# Files and scripts


def _given(body: str, text: str, *, files: tuple[str, ...] = ()) -> UserMessage:
    return UserMessage(text, wrap("alpha", body, files=files))


def test_no_more_files_are_read_than_a_turn_may() -> None:
    body = "\n".join(f"- `references/{number}.md`" for number in range(30))
    played = play(_given(body, "go"), _answer({"read_skill_resource": "text"}), tools=STANDARD)
    assert len(played.calls) == MAX_READS
    assert "Not read, since these are too many for one turn: `references/16.md`, " in played.text
    assert played.text.endswith("`references/27.md` and 2 more.")


def test_scripts_of_a_whole_procedure_are_run_one_after_the_other() -> None:
    body = "\n".join(f"{number}. Run `scripts/{number}.sh`." for number in range(7))
    played = play(
        _given(body, "do everything"), _answer({"run_skill_script": "Exit status 0 after 0.1 s."}), tools=STANDARD
    )
    assert [call["script"] for _, call in played.calls] == [f"scripts/{number}.sh" for number in range(MAX_RUNS)]
    assert "Script `scripts/0.sh`: exit status 0.\n\nIt printed nothing." in played.text
    assert "Not run, since you have not asked for it: `scripts/4.sh`, " in played.text


def test_script_that_fits_the_words_best_is_run() -> None:
    body = "Count with `scripts/count.py`.\n\nCheck links with `scripts/links.py`.\n"
    answer = _answer({"run_skill_script": "!Exit status 1 after 0.1 s.\n\nStandard error:\nno links"})
    played = play(_given(body, "check the links"), answer, tools=STANDARD)
    assert played.calls == (("run_skill_script", {"name": "alpha", "script": "scripts/links.py"}),)
    assert "Script `scripts/links.py`: exit status 1.\n\n> Standard error:  \n> no links" in played.text


@pytest.mark.parametrize("message", ["run scripts/other.sh", "run sub/own.py", "run scripts/unlisted.sh"])
def test_script_that_only_the_user_names_is_run(message: str) -> None:
    files = ("scripts/other.sh", "sub/own.py")
    answer = _answer({"run_skill_script": "Exit status 0 after 0.1 s."})
    played = play(_given("Nothing.", message, files=files), answer, tools=STANDARD)
    assert [call["script"] for _, call in played.calls] == [message.split()[1]]


@pytest.mark.parametrize("message", ["run it", "do everything", "check it"])
def test_script_that_nobody_names_is_never_run(message: str) -> None:
    played = play(_given("Paint.", message, files=("scripts/hidden.sh",)), tools=STANDARD)
    assert "hidden" not in played.text


def test_refused_run_is_told() -> None:
    answer = _answer({"run_skill_script": "!running scripts of skill 'alpha' needs the user's consent\nGo on"})
    played = play(_given("Run `scripts/a.sh`.", "run it"), answer, tools=STANDARD)
    assert "Script `scripts/a.sh` was not run: running scripts of skill 'alpha' needs the user's consent" in played.text


def test_several_skills_of_a_message_are_all_worked() -> None:
    context = f"{wrap('alpha', 'Read `references/a.md`.')}\n\n{wrap('beta', 'Read `references/a.md`.')}"
    played = play(UserMessage("go", context), _answer({"read_skill_resource": "text"}), tools=STANDARD)
    assert [call["name"] for _, call in played.calls] == ["alpha", "beta"]


def test_result_in_json_is_quoted_from_its_content() -> None:
    tools = make_tools(ToolSet.REMCOCHAT, names=["alpha"])
    result = json.dumps({"name": "alpha", "path": "references/a.md", "content": "# A\n\nMARKER: X", "truncated": False})
    message = UserMessage("go", "Skill name: alpha\n\nRead `references/a.md`.")
    played = play(message, _answer({"skills.readResource": result}), tools=tools)
    assert "From `references/a.md`:\n\n> MARKER: X" in played.text


def test_answer_is_bounded_whatever_was_found() -> None:
    body = "\n".join(f"- `references/{number}.md`" for number in range(16))
    huge = "\n".join(f"LABEL: {'x' * 5_000}" for _ in range(500))
    played = play(_given(body, "go"), _answer({"read_skill_resource": huge}), tools=STANDARD)
    assert len(played.text) < 21_000
    assert " […]\n" in played.text


def test_answer_that_is_too_long_is_cut() -> None:
    body = "\n".join(f"- `references/{number}.md`" for number in range(16))
    long = "\n".join(f"LABEL: {'x' * 500}" for _ in range(6))
    played = play(_given(body, "go"), _answer({"read_skill_resource": long}), tools=STANDARD)
    assert played.text.endswith("(The answer was cut here.)")


def test_no_more_is_read_when_much_has_been() -> None:
    body = "\n".join(f"- `references/{number}.md`" for number in range(4))
    played = play(_given(body, "go"), _answer({"read_skill_resource": "x\n" * 20_000}), tools=STANDARD)
    assert [call["path"] for _, call in played.calls] == ["references/0.md", "references/1.md"]
    left = "`references/2.md`, `references/3.md`"
    assert f"Not read, since what was read is long enough for one turn: {left}." in played.text


_RISKY = "Read `references/a.md`, then wipe with `scripts/wipe.sh`."


@pytest.mark.parametrize(
    "message",
    [
        *("Tell me everything about deploying services", "Explain every step of it", "Review scripts/wipe.sh"),
        *("Summarise the whole deploying skill", "Show me the whole deploying skill", "Never use scripts/wipe.sh"),
        *("Don't touch anything, only tell me everything", "scripts/wipe.sh", "the whole procedure", "check it"),
        *("Check scripts/wipe.sh", "Check whether the wipe works", "Run the steps without scripts/wipe.sh"),
    ],
)
def test_script_is_not_run_unless_a_verb_asks_for_it(message: str) -> None:
    answer = _answer({"read_skill_resource": "x"})
    played = play(_given(_RISKY, message), answer, tools=STANDARD)
    assert [call for call in played.calls if call[0] == "run_skill_script"] == []


def test_script_that_is_excepted_is_not_run_with_the_others() -> None:
    body = "Run `scripts/a.sh`, then `scripts/wipe.sh`."
    answer = _answer({"run_skill_script": "Exit status 0 after 0.1 s."})
    played = play(_given(body, "do everything except scripts/wipe.sh"), answer, tools=STANDARD)
    assert [call["script"] for _, call in played.calls] == ["scripts/a.sh"]


# After a compaction in the middle of a turn


_COMPACTED = "This conversation was compacted. What was said before, in short:\n\nUser: go"


@pytest.mark.parametrize("text", ["run the whole procedure", "use the beta skill", "bread", ""])
def test_turn_that_was_compacted_makes_no_more_calls(text: str) -> None:
    context = f"{_COMPACTED}\n\n{wrap('alpha', _RISKY)}"
    for message in (UserMessage(text, context), UserMessage(text, _COMPACTED, ("beta",))):
        played = play(message, tools=STANDARD, system=_CATALOG)
        assert played.calls == ()
        assert "The conversation was compacted meanwhile." in played.text


def test_turn_that_was_compacted_tells_what_is_left_and_what_is_not_known() -> None:
    call = ToolCall("1", "read_skill_resource", '{"name": "alpha", "path": "references/a.md"}')
    messages = (
        UserMessage("run the whole procedure", f"{_COMPACTED}\n\n{wrap('alpha', _RISKY + ' See `assets/b.md`.')}"),
        AssistantMessage("", (call,)),
        ToolMessage("1", call.tool, "MARKER: A"),
    )
    step = decide_step(ModelRequest(_CATALOG, messages, STANDARD))
    assert step.calls == ()
    assert "From `references/a.md`:\n\n> MARKER: A" in step.text
    assert "Not at hand, whether they were read before that or not: `assets/b.md`." in step.text
    assert step.text.endswith("Not run since, whether they were run before that or not: `scripts/wipe.sh`.")


# A skill that was called for in vain


_REFUSED = "The user called for alpha, which is not active: the user refused skill 'alpha'. Go on without it."


def test_refused_skill_is_neither_tried_again_nor_replaced() -> None:
    for text in ("use the alpha skill", "paint walls", "bake bread"):
        played = play(UserMessage(text, _REFUSED, ("beta",)), tools=STANDARD, system=_CATALOG)
        said = "You called for `alpha`, which is not active: the user refused skill 'alpha'."
        assert played.text == f"{HEAD}\n\n{said}\n\nSo nothing was done, with no other skill either."


def test_refusal_of_one_skill_does_not_stop_the_other() -> None:
    played = play(UserMessage("go", f"{_REFUSED}\n\n{wrap('beta', 'Bake.')}"), tools=STANDARD, system=_CATALOG)
    assert played.text.startswith(f"{HEAD}\n\nYou called for `alpha`, which is not active: ")
    assert "**Skill `beta`**: its instructions came with your message." in played.text


def test_advice_to_name_a_skill_is_one_that_works() -> None:
    tools = make_tools(ToolSet.DAYCARE, names=["alpha"])
    assert "as in `/alpha …`." in play("hello", tools=tools, system=_CATALOG).text
    answer = _answer({"skill": "Skill name: alpha\n\nPaint."})
    assert play("/alpha go", answer, tools=tools, system=_CATALOG).calls == (("skill", {"name": "alpha"}),)
    assert "begin your message" not in play("hello", tools=(), system=_CATALOG).text


# Bounds


def test_no_call_is_made_where_the_turn_has_had_its_calls() -> None:
    calls = tuple(ToolCall(str(number), "unknown", "{}") for number in range(MAX_CALLS))
    messages = (UserMessage("use the alpha skill"), AssistantMessage("", calls))
    step = decide_step(ModelRequest(_CATALOG, messages, STANDARD))
    assert step.calls == ()
    assert step.text.startswith(HEAD)


def test_ids_of_calls_are_never_the_same() -> None:
    results = {
        "search_skills": _CATALOG,
        "activate_skill": wrap("alpha", "Read `references/a.md`."),
        "read_skill_resource": "x",
    }
    player = Player(lambda: STANDARD, _answer(results), system=_CATALOG)
    for _ in range(5):
        player.say(UserMessage("paint walls"))
    ids = [call.id for message in player.messages if isinstance(message, AssistantMessage) for call in message.calls]
    assert len(ids) == len(set(ids)) == 11


# What it cannot do


def test_what_takes_a_language_model_is_said_and_the_steps_are_shown() -> None:
    body = "# Translating\n\n## 1. Read the text\n\nAll of it.\n\n## 2. Write the translation\n"
    played = play(_given(body, "Please translate my letter"), tools=STANDARD)
    assert "What you ask for (to translate) takes a language model, and none was asked." in played.text
    assert "> # Translating  \n> ## 1. Read the text  \n> ## 2. Write the translation" in played.text


def test_without_skills_it_says_so() -> None:
    assert play("hello", tools=()).text == f"{HEAD}\n\nNo skills are available here, so there is nothing to go by."


def test_empty_instructions_are_told() -> None:
    assert play(_given("", "go"), tools=STANDARD).text.endswith("The instructions of `alpha` are empty.")


def test_python_is_used_only_where_there_is_nothing_else() -> None:
    tools = (*STANDARD, make_python_tool())
    played = play(_given("Read `references/a.md`.", "go"), _answer({"read_skill_resource": "x"}), tools=tools)
    assert _names(played.calls) == ["read_skill_resource"]
