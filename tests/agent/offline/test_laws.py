"""Laws: whatever is said and whatever comes back, a turn ends within its bounds, and the same request gets the same."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.activation.tools import Tool, make_python_tool, make_tools
from prowess.agent.chat_model import ModelRequest
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.offline.answers import HEAD
from prowess.agent.offline.steps import MAX_CALLS, Step, decide_step
from prowess.policy import ToolSet
from tests.agent.offline.playing import Player, list_catalog, wrap

_NAMES = ("alpha", "beta-two")
_PATHS = ("references/a.md", "assets/b.json", "../up.md", "scripts/run.sh", "", ".", "/etc/x")
_SETS: tuple[tuple[Tool, ...], ...] = (
    *(make_tools(tool_set, names=_NAMES, forks=True) for tool_set in ToolSet if tool_set is not ToolSet.PYTHON),
    (make_python_tool(),),
)
_wild = st.text(max_size=60)
_phrases = st.sampled_from(
    (
        *(
            "run the whole procedure",
            "only steps 1 to 2",
            "hello",
            "paint the walls",
            "use the alpha skill",
            "beta-two",
        ),
        *(
            "run scripts/run.sh with 'plum'",
            "read references/a.md",
            "-- a 'b c",
            "translate it",
            "Exit status 0 after 1 s.",
        ),
        *(
            "Read each file:\n\n1. `../up.md`\n2. an empty path\n3. `.`",
            "Run `scripts/run.sh` with two arguments: a word",
        ),
        *(
            "# 1. Step\n\nSee `references/a.md` and `assets/b.json` for `marker`.",
            "MARKER: X\n",
            "```sh\nscripts/b.py\n```",
        ),
        *(
            "Triggers in the message speak for: alpha.",
            "needs a prompt",
            "missing argument",
            "No longer available: alpha.",
        ),
        "Active before: alpha. Activate them again before you go by them.",
        "This conversation was compacted.\n\nWhat the user wants now, in their words:\nrun it",
        "Skill alpha is already active. Its instructions stand above in this conversation.",
        '<skill_answer name="alpha">\ndone\n</skill_answer>',
    )
)
_texts = st.recursive(
    st.one_of(_wild, _phrases, st.just(list_catalog(alpha="Paints walls.", **{"beta-two": "Bakes bread & cakes."}))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("\n\n".join),
        st.builds(wrap, st.sampled_from(_NAMES), inner, files=st.lists(st.sampled_from(_PATHS), max_size=3)),
        inner.map(lambda text: json.dumps({"name": "alpha", "body": text, "content": text, "error": text})),
    ),
    max_leaves=4,
)
_results = st.tuples(st.builds(str.__mul__, _texts, st.sampled_from([1, 1, 1, 40])), st.booleans())
_arguments = st.one_of(
    _wild,
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(_NAMES),
            **dict.fromkeys(("path", "script", "query", "code"), st.sampled_from(_PATHS) | _wild),
        }
    ).map(json.dumps),
)
_tool_names = st.sampled_from([tool.name for tools in _SETS for tool in tools])
_calls = st.builds(ToolCall, st.sampled_from("123"), _tool_names, _arguments)
_users = st.builds(UserMessage, _texts, _texts, st.lists(st.sampled_from((*_NAMES, "x")), max_size=2).map(tuple))
_messages: st.SearchStrategy[Message] = st.one_of(
    _users,
    st.builds(AssistantMessage, _wild, st.lists(_calls, max_size=3).map(tuple)),
    st.builds(ToolMessage, st.sampled_from("123"), _tool_names, _texts, st.booleans()),
)


@given(system=_texts, messages=st.lists(_messages, max_size=6), tools=st.sampled_from(_SETS))
@settings(max_examples=150)
def test_any_request_is_answered_and_always_alike(
    system: str, messages: list[Message], tools: tuple[Tool, ...]
) -> None:
    request = ModelRequest(system, tuple(messages), tools)
    step = decide_step(request)
    assert step == decide_step(request)
    assert bool(step.text) != bool(step.calls)
    assert step == Step(calls=step.calls) or step.text.startswith(HEAD)
    json.dumps(step.text, ensure_ascii=False).encode()  # It can be stored and sent.
    for call in step.calls:
        assert call.tool in {tool.name for tool in tools}
        json.loads(call.arguments)


@given(
    users=st.lists(_users, min_size=1, max_size=2),
    results=st.lists(_results, min_size=1, max_size=5),
    tools=st.sampled_from(_SETS),
    system=_texts,
)
@settings(max_examples=100)
def test_any_turn_ends_within_its_calls_and_makes_none_twice(
    users: list[UserMessage], results: list[tuple[str, bool]], tools: tuple[Tool, ...], system: str
) -> None:
    made: list[ToolCall] = []

    def answer(call: ToolCall) -> tuple[str, bool]:
        made.append(call)
        return results[len(made) % len(results)]

    player = Player(lambda: tools, answer, system=system)
    for user in users:
        begun = len(made)
        player.say(user)
        turn = [(call.tool, call.arguments) for call in made[begun:]]
        assert len(turn) == len(set(turn)) <= MAX_CALLS
    assert len({call.id for call in made}) == len(made)


@given(body=_texts, content=_texts, text=_texts)
@settings(max_examples=100)
def test_whatever_is_quoted_stands_in_what_was_given(body: str, content: str, text: str) -> None:
    context = wrap("alpha", f"Read `references/a.md`.\n\n{body}")
    answered = Player(lambda: _SETS[0], lambda _: (content, False)).say(UserMessage(text, context)).text
    given_texts = [context, content, *_strings(content)]
    for line in answered.split("\n"):
        if line.startswith("> "):
            quoted = line[2:].removesuffix("  ").removesuffix(" […]")
            assert any(quoted in one for one in given_texts)


def _strings(text: str) -> list[str]:
    """Return the texts that JSON holds."""
    try:
        found: object = json.loads(text)
    except ValueError:
        return []
    return [str(value) for value in found.values()] if isinstance(found, dict) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


_HUGE = (
    *(
        "x" * 300_000,
        "words of a text\n" * 10_000,
        "`" * 100_000,
        "[" * 100_000,
        "# ####a\n" * 10_000,
        "1. `a`\n" * 10_000,
    ),
    *("scripts/" * 20_000, "`scripts/a.py x`" * 5_000, "references/" * 10_000, "[a](references/b.md) " * 5_000),
    *('<skill_content name="x">\n' * 10_000, "<skill><name>" * 20_000, '{"available_skills":' * 5_000, "{" * 100_000),
    *("- **" * 20_000, "Skill name: x\n\n" * 5_000, "run it " * 20_000, "do not " * 20_000, "\n\n" * 50_000),
    *(("# !" + " " * 1_900 + "x\n") * 500, ("`scripts/a.py`" + " " * 500) * 1_000, "tell me to run " * 5_000),
    *(("`scripts/a.py` with " + "“" * 480) * 1_000, "don't " * 20_000, "The user called for " * 20_000),
)


@pytest.mark.slow
def test_huge_texts_are_worked_in_steady_time() -> None:
    """Each of them would take minutes if some part looked at all of it again and again."""
    tools = _SETS[0]
    for huge in _HUGE:
        for user in (UserMessage(huge), UserMessage("read it", huge), UserMessage("run it", wrap("alpha", huge))):
            begun = time.process_time()
            answered = Player(lambda: tools, lambda _, text=huge: (text, False), system=huge).say(user)
            assert time.process_time() - begun < 20
            assert len(answered.text) < 21_000
