"""A conversation of 200 turns: compacted many times, reloaded in the middle, and true to its skills in every turn."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from prowess.agent.chat import Chat
from prowess.agent.events import Compacted, Done, Failed, Happening, Told
from prowess.runtime import Runtime
from tests.agent.conftest import OPEN
from tests.agent.conversations import find, hear, open_chat
from tests.agent.obedient_model import INSTRUCTION, ObedientModel, measure
from tests.agent.valid_requests import find_faults
from tests.runtime.opening import run_python
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow

TURNS = 200
BEGIN = 4
"""The turn in which the skill is activated."""
OTHER_PROCESS = range(120, 126)
COMPACT = 3_000
SETTINGS = f"{OPEN}[turns]\ncompact_tokens = {COMPACT}\nkeep_tokens = 600\n"


def message_of(turn: int) -> str:
    """Return what the user says in a turn, with what is to be done in it."""
    if turn == BEGIN:
        return "Please activate signing for me."
    if turn == 150:
        return "Please activate rhyming as well."
    if turn == 175:
        return "Now deactivate rhyming again."
    if turn % 5 == 0:
        return f"Turn {turn}: read long-{turn % 3}.md, and tell me of it."
    if turn % 13 == 0:
        return f"Turn {turn}: read short.md and read no-such-file.md, and tell me of both."
    if turn % 17 == 0:
        return f"Turn {turn}: /library and what is in it?"
    return f"Turn {turn}: what do you think of {'this and ' * (turn % 40)}that?"


def wanted(turn: int) -> str:
    """Return what is answered in a turn by whoever obeys all skills that are active then."""
    if turn < BEGIN:
        return "Very well."
    return "Very well. RHYME-19 SIGN-73" if 150 <= turn < 175 else "Very well. SIGN-73"


@pytest.fixture
def root(home: Home, root: Path) -> Path:
    home.write_settings(SETTINGS)
    write_skill(root, "signing", description="Signs answers.", body=INSTRUCTION.format(word="SIGN-73") + "\n")
    write_skill(root, "rhyming", description="Makes rhymes.", body=INSTRUCTION.format(word="RHYME-19") + "\n")
    files = {f"long-{number}.md": f"Volume {number}: {'word ' * 500}" for number in range(3)} | {"short.md": "Short."}
    write_skill(root, "library", description="Keeps files.", body="Look into the files.\n", files=files)
    return root


@contextmanager
def opened(*, can_sum_up: bool) -> Generator[tuple[Chat, ObedientModel]]:
    """Give the conversation as a new process finds it."""
    with Runtime.open() as runtime:
        model = ObedientModel(can_sum_up=can_sum_up)
        yield open_chat(runtime, model, instructions="Be brief."), model


def talk(turns: Sequence[int], *, can_sum_up: bool) -> tuple[list[Happening], list[str]]:
    """Say what is said in these turns; return what happens, and the system prompts that the model gets."""

    async def lead() -> list[Happening]:
        found: list[Happening] = []
        for turn in turns:
            happenings = await hear(chat, message_of(turn))
            assert find(happenings, Done)[-1].text == wanted(turn), f"turn {turn}"
            found += happenings
        return found

    with opened(can_sum_up=can_sum_up) as (chat, model):
        happenings = anyio.run(lead)
        for request in model.requests:
            assert find_faults(request.messages) == []
            assert measure(request, chat.session.count_tokens) <= COMPACT
        return happenings, [request.system for request in model.requests]


IN_ANOTHER_PROCESS = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.agent.test_long_conversation import OTHER_PROCESS, talk
_, systems = talk(OTHER_PROCESS, can_sum_up=sys.argv[1] == "True")
print(json.dumps(systems))
"""


@pytest.mark.requirement("J9", "K11")
@pytest.mark.parametrize("can_sum_up", [True, False])
def test_skill_is_obeyed_in_every_turn_of_a_long_conversation(root: Path, can_sum_up: bool) -> None:
    first, early = talk(range(1, 60), can_sum_up=can_sum_up)
    second, middle = talk(range(60, OTHER_PROCESS.start), can_sum_up=can_sum_up)
    elsewhere: list[str] = json.loads(run_python(IN_ANOTHER_PROCESS, str(can_sum_up)))
    assert {*early, *middle, *elsewhere} == {early[0]}
    assert early[0].startswith("Be brief.\n\n")
    write_skill(root, "baking", description="Bakes bread.")
    third, late = talk(range(OTHER_PROCESS.stop, TURNS + 1), can_sum_up=can_sum_up)
    assert len({*late}) == 1
    assert "Bakes bread." in late[0]
    happenings = [*first, *second, *third]
    assert find(happenings, Failed) == []
    assert len(find(happenings, Compacted)) >= 5
    assert [len(find(part, Told)) for part in (first, second, third)] == [1, 0, 1]
    with opened(can_sum_up=can_sum_up) as (chat, _):
        numbers = [one.number for one in chat.happenings()]
        assert numbers == list(range(1, len(numbers) + 1))


def test_log_of_a_long_conversation_has_no_gaps_and_gives_it_back(root: Path) -> None:
    happenings, _ = talk(range(1, 80), can_sum_up=True)
    kept = [one for one in happenings if one.number is not None]
    with opened(can_sum_up=True) as (chat, _):
        assert list(chat.happenings()) == kept
        assert [one.number for one in kept] == list(range(1, len(kept) + 1))
        assert find_faults(chat.messages()) == []


def test_catalog_that_changes_leaves_the_prompt_until_the_next_compaction(root: Path) -> None:
    async def lead() -> list[tuple[bool, bool]]:
        seen: list[tuple[bool, bool]] = []
        for turn in range(1, 60):
            if turn == 30:
                write_skill(root, "baking", description="Bakes bread.")
            before = len(model.requests)
            happenings = await hear(chat, message_of(turn))
            told = [request.system != model.requests[before - 1].system for request in model.requests[before:]]
            seen.append((any(told) and before > 0, bool(find(happenings, Compacted))))
        return seen

    with opened(can_sum_up=True) as (chat, model):
        seen = anyio.run(lead)
    changed = [turn for turn, (is_new, _) in enumerate(seen, 1) if is_new]
    compacted = [turn for turn, (_, is_compacted) in enumerate(seen, 1) if is_compacted and turn >= 30]
    assert changed == compacted[:1] != []
