"""Laws of compaction, over whole conversations: whatever is said and called, and however short they must be kept."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prowess.agent.chat import Chat
from prowess.agent.chat_model import ModelFailure, ModelRequest
from prowess.agent.cuts import SUMMARISE
from prowess.agent.events import Compacted, Done
from prowess.agent.messages import AssistantMessage, ToolMessage, UserMessage
from prowess.agent.transcript import Transcript
from prowess.runtime import Runtime
from tests.agent.conftest import OPEN
from tests.agent.conversations import find, open_chat, watch
from tests.agent.scripted_model import Answer, ScriptedModel, call, calls, say
from tests.agent.valid_requests import find_faults
from tests.skills_on_disk import Home, write_skill

SKILLS = ("red", "green", "blue")
SIZES = (1, 60, 400, 2_000)
"""Of files and answers, in words of five characters."""
BOUNDS = {"tiny": (1, 1), "short": (1_200, 200), "ample": (4_000, 2_500)}

TOO_LONG: Answer = [ModelFailure("too long", code="model-too-long")]
NO_LUCK: Answer = [ModelFailure("no luck")]


def activate(name: str) -> Answer:
    return call("activate_skill", "activate", name=name)


def deactivate(name: str) -> Answer:
    return call("deactivate_skill", name=name)


def read(size: int) -> Answer:
    return call("read_skill_resource", "read", name="red", path=f"{size}.md")


def chatter(size: int) -> Answer:
    return calls(say("text " * size), call("search_skills", query="paint"))


words = st.sampled_from(SIZES)
names = st.sampled_from(SKILLS)
steps = st.one_of(
    names.map(activate),
    names.map(deactivate),
    words.map(read),
    words.map(chatter),
    st.builds(calls, names.map(activate), words.map(read)),
    st.just(call("no_such_tool", word="x" * 500)),
    st.just(TOO_LONG),
    st.just(NO_LUCK),
)
turns = st.tuples(
    st.sampled_from(["", "/red ", "/blue "]),
    words,
    st.lists(steps, max_size=7),
)


class Playing(ScriptedModel):
    """Plays the steps of a turn, then says that it is done. It looks at all that it is sent."""

    def __init__(self, look: Callable[[ModelRequest], None], *, can_sum_up: bool) -> None:
        super().__init__(script=self._play)
        self.summarises = can_sum_up  # type: ignore[misc]
        self.steps: list[Answer] = []
        self._look = look

    def _play(self, request: ModelRequest) -> Answer:
        if request.system == SUMMARISE:
            return say("In short: colours. " * 20)
        self._look(request)
        return self.steps.pop(0) if self.steps else say("Done.")


def read_all(request: ModelRequest) -> str:
    parts: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage(text, context):
                parts += [context, text]
            case ToolMessage(content=content):
                parts.append(content)
            case AssistantMessage():
                pass
    return "\n".join(parts)


@pytest.fixture(params=list(BOUNDS))
def runtime(request: pytest.FixtureRequest, home: Home, root: Path) -> Iterator[Runtime]:
    """A runtime in which conversations are kept short, with skills that have long files."""
    compact, keep = BOUNDS[request.param]
    home.write_settings(f"{OPEN}[turns]\ncompact_tokens = {compact}\nkeep_tokens = {keep}\n")
    files = {f"{size}.md": "file " * size for size in SIZES}
    for name in SKILLS:
        write_skill(root, name, description=f"Paints {name}.", body=f"Always mind {name}.\n", files=files)
    with Runtime.open() as opened:
        yield opened


@contextmanager
def chatting(runtime: Runtime, look: Callable[[ModelRequest], None], *, can_sum_up: bool) -> Generator[Chat]:
    chat = open_chat(runtime, Playing(look, can_sum_up=can_sum_up), None)
    try:
        yield chat
    finally:
        chat.close()


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(script=st.lists(turns, min_size=1, max_size=6), can_sum_up=st.booleans())
def test_every_request_is_whole_whatever_happened_before_it(
    runtime: Runtime, script: Sequence[tuple[str, int, list[Answer]]], can_sum_up: bool
) -> None:
    wish = ""

    def look(request: ModelRequest) -> None:
        assert find_faults(request.messages) == []
        last = [one.text for one in request.messages if isinstance(one, UserMessage) and one.text][-1]
        assert last == wish or (last.endswith(" […]") and wish.startswith(last.removesuffix(" […]")))
        held = [receipt.name for receipt in chat.session.active() if receipt.in_context]
        assert [name for name in held if f"Always mind {name}." not in read_all(request)] == []

    with chatting(runtime, look, can_sum_up=can_sum_up) as chat:
        model = chat.model
        assert isinstance(model, Playing)
        for number, (mention, size, todo) in enumerate(script):
            model.steps = list(todo)
            wish = f"Wish {number}: {'wish ' * size}".strip()
            before = len(model.requests)
            happenings = watch(chat, mention + wish)
            asked = len([one for one in model.requests[before:] if one.system != SUMMARISE])
            assert len(find(happenings, Compacted)) <= asked
            assert isinstance(happenings[-1].event, Done)
            assert find_faults(chat.messages()) == []
        again = Transcript(chat.session.count_tokens)
        for happening in chat.happenings():
            again.take(happening.event)
        assert (again.messages, again.system) == (chat.messages(), model.requests[-1].system)
