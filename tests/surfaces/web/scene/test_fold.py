"""What happens as blocks: the same live and after a reload, and never more than what is kept."""

import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
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
    Resumed,
    Retried,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
)
from prowess.state.conversations import Outcome
from prowess.surfaces.web.scene.blocks import (
    AssistantText,
    Block,
    ConsentQuestion,
    ForkPanel,
    Notice,
    OutputPiece,
    SkillRef,
    ToolCard,
    TurnEnd,
    UserMessage,
)
from prowess.surfaces.web.scene.board import Patches
from prowess.surfaces.web.scene.scene import Scene
from tests.surfaces.web.scene.made_up import FIRST, OPEN, SECOND, Told_, happen, play

pytestmark = pytest.mark.requirement("R71")


def _shown(scene: Scene) -> list[tuple[str, Block | None]]:
    """Return all blocks with their parents, in their order."""
    return [(patch.parent, patch.block) for patch in scene.patches("").patches]


def _blocks(scene: Scene) -> list[Block | None]:
    return [block for _, block in _shown(scene)]


def _kept(happenings: Iterable[Happening]) -> list[Happening]:
    return [one for one in happenings if one.number is not None]


def _tell(*events: Told_, turn: str = "1", after: int = 0) -> list[Happening]:
    return happen(events, turn=turn, after=after)


_BEGUN = Begun(message="Hello.", model="offline")
_DONE = Done(text="")


# The law


@pytest.mark.parametrize("events", [FIRST, SECOND])
def test_reload_shows_what_was_shown_live(events: Sequence[Told_]) -> None:
    told = happen(events, turn="1")
    assert _shown(play(told)) == _shown(play(_kept(told)))


_TEXTS = st.sampled_from(["a", "b\n", ""])
_CALLS = st.sampled_from(["c1", "c2"])
_FORKS = st.sampled_from(["f1", "f2"])
_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(TextHeard, text=_TEXTS),
    st.builds(ThinkingHeard, text=_TEXTS),
    st.builds(Retried, reason=_TEXTS, attempt=st.just(2), seconds=st.just(1.0)),
    st.builds(Resumed, id=_TEXTS),
    st.builds(Answered, text=_TEXTS, thinking=_TEXTS),
    st.builds(Noticed, text=_TEXTS),
    st.builds(Failed, code=_TEXTS, message=_TEXTS),
    st.builds(CallBegun, call=_CALLS, tool=_TEXTS, role=st.just("run")),
    st.builds(OutputHeard, call=_CALLS, stream=st.sampled_from(["stdout", "stderr"]), text=_TEXTS),
    st.builds(CallEnded, call=_CALLS, tool=_TEXTS, content=_TEXTS),
    st.builds(ConsentAsked, call=_CALLS, question=_TEXTS, title=_TEXTS, record=st.just({})),
    st.builds(ConsentAnswered, call=_CALLS, question=_TEXTS, answer=st.sampled_from(["allow-once", "nobody"])),
    st.builds(ForkBegun, call=_CALLS, fork=_FORKS, skill=_TEXTS, name=_TEXTS, digest=_TEXTS),
    st.builds(ForkEnded, call=_CALLS, fork=_FORKS, outcome=st.sampled_from(Outcome)),
    st.builds(
        SkillLoaded,
        name=_TEXTS,
        skill=_TEXTS,
        digest=_TEXTS,
        receipt=_TEXTS,
        asked_by=_TEXTS,
        text=_TEXTS,
        call=st.sampled_from(["", "c1"]),
    ),
    st.just(_BEGUN),
    st.just(_DONE),
)
_TOLD = st.lists(st.tuples(st.sampled_from(["", "", "f1", "f2"]), _EVENTS), max_size=30)


@settings(max_examples=200)
@given(st.lists(_TOLD, min_size=1, max_size=3))
def test_what_is_kept_of_ended_turns_gives_all_their_blocks(turns: list[list[tuple[str, Event]]]) -> None:
    told: list[Happening] = []
    for number, events in enumerate(turns):
        told += _tell(_BEGUN, *events, _DONE, turn=str(number), after=len(told))
    assert _shown(play(told)) == _shown(play(_kept(told)))


class _Page:
    """Shows patches as the page's own module does."""

    def __init__(self) -> None:
        self.cursor = ""
        self._parents: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}

    def take(self, patches: Patches) -> None:
        self.cursor = patches.cursor
        if patches.reset:
            self._blocks = {}
        for patch in patches.patches:
            if patch.block is None:
                self._blocks.pop(patch.id, None)
            elif patch.id in self._blocks:
                self._blocks[patch.id] = patch.block
            else:
                self._add(patch.id, patch.parent, patch.block)

    def _add(self, block_id: str, parent: str, block: Block) -> None:
        """Put a block at the end of its parent; an answer that is growing stays behind it."""
        self._parents[block_id] = parent
        beside = [one for one in self._blocks.values() if self._parents[one.id] == parent]
        last = beside[-1] if beside else None
        self._blocks[block_id] = block
        if isinstance(last, AssistantText) and last.is_partial:
            self._blocks[last.id] = self._blocks.pop(last.id)

    def within(self, parent: str) -> list[Block]:
        return [block for block_id, block in self._blocks.items() if self._parents[block_id] == parent]

    def parents(self) -> set[str]:
        return {self._parents[block_id] for block_id in self._blocks}


@settings(max_examples=200)
@given(_TOLD, st.integers(1, 7))
def test_patches_lead_to_what_a_reload_shows(events: list[tuple[str, Event]], step: int) -> None:
    scene, page = Scene(), _Page()
    for number, happening in enumerate(_tell(_BEGUN, *events)):
        scene.take(happening)
        if number % step == 0:
            page.take(scene.patches(page.cursor))
    page.take(scene.patches(page.cursor))
    fresh = _Page()
    fresh.take(scene.patches(""))
    assert page.parents() == fresh.parents()
    for parent in fresh.parents():
        assert page.within(parent) == fresh.within(parent)


# Answers


def test_answer_grows_and_is_then_whole_in_the_same_place() -> None:
    scene = play(_tell(_BEGUN, ThinkingHeard(text="Hm."), TextHeard(text="It "), TextHeard(text="is")))
    (growing,) = (block for block in _blocks(scene) if isinstance(block, AssistantText))
    assert (growing.text, growing.thinking, growing.is_partial) == ("It is", "Hm.", True)
    cursor = scene.cursor
    scene.take(_tell(Answered(text="It is so."), after=1)[0])
    (patch,) = scene.patches(cursor).patches
    assert patch.block == AssistantText(growing.id, "It is so.")


def test_void_answer_is_shown_no_more() -> None:
    scene = play(_tell(_BEGUN, TextHeard(text="It is fi")))
    scene.take(_tell(Retried(reason="it broke\noff", attempt=2, seconds=1.0))[0])
    (answer,) = (block for block in _blocks(scene) if isinstance(block, AssistantText))
    assert (answer.text, answer.note) == ("", "the provider failed: it broke off; asked again, attempt 2")
    cursor = scene.cursor
    scene.take(_tell(Failed(code="x", message="no"), after=1)[0])
    patches = scene.patches(cursor).patches
    assert [(patch.id, patch.block is None) for patch in patches] == [(answer.id, True), ("t1-n1", False)]


def test_resumed_turn_has_its_answer_once() -> None:
    told = _tell(_BEGUN, TextHeard(text="One ha"), Resumed(id="r"), TextHeard(text="Whole."), Answered(text="Whole."))
    assert [type(block) for block in _blocks(play(told))] == [UserMessage, Notice, AssistantText]


def test_notice_that_comes_while_an_answer_grows_stands_before_it() -> None:
    scene = play(_tell(_BEGUN, TextHeard(text="It is"), Noticed(text="many calls")))
    assert [type(block) for block in _blocks(scene)] == [UserMessage, Notice, AssistantText]


# Cards


def test_output_is_shown_until_there_is_a_result() -> None:
    begun = CallBegun(call="c", tool="run", role="run", arguments={"script": "a.py"})
    heard = [OutputHeard(call="c", stream=stream, text=stream) for stream in ("stdout", "stdout", "stderr")]
    scene = play(_tell(_BEGUN, begun, *heard))
    (card,) = (block for block in _blocks(scene) if isinstance(block, ToolCard))
    assert card.output == (OutputPiece("stdout", "stdoutstdout"), OutputPiece("stderr", "stderr"))
    scene.take(_tell(CallEnded(call="c", tool="run", role="run", content="ok", seconds=1.5), after=2)[0])
    (card,) = (block for block in _blocks(scene) if isinstance(block, ToolCard))
    assert (card.state, card.output, card.content, card.arguments) == ("done", (), "ok", {"script": "a.py"})


def test_long_output_shows_its_end_and_what_was_cut() -> None:
    begun = CallBegun(call="c", tool="run", role="run")
    heard = [OutputHeard(call="c", stream="stdout", text=f"{number:09}\n") for number in range(10_000)]
    scene = play(_tell(_BEGUN, begun, *heard))
    (card,) = (block for block in _blocks(scene) if isinstance(block, ToolCard))
    assert card.output_cut + sum(len(piece.text) for piece in card.output) == 100_000
    assert card.output[-1].text.endswith("000009999\n")


def test_long_content_is_cut_and_says_so() -> None:
    begun = CallBegun(call="c", tool="read", role="read")
    scene = play(_tell(_BEGUN, begun, CallEnded(call="c", tool="read", role="read", content="x" * 200_001)))
    (card,) = (block for block in _blocks(scene) if isinstance(block, ToolCard))
    assert (len(card.content), card.content_cut) == (200_000, 1)


def test_file_is_of_the_skill_that_the_name_stood_for() -> None:
    loaded = SkillLoaded(name="pdf", skill="user:pdf", digest="d1", receipt="r", asked_by="user", text="⚡")
    read = [
        CallBegun(call="c", tool="read", role="read", arguments={"name": "pdf", "path": "a.png"}),
        CallEnded(call="c", tool="read", role="read", data={"name": "pdf", "path": "a.png"}),
    ]
    scene = play(_tell(_BEGUN, loaded, *read))
    assert [card.skill for card in _blocks(scene) if isinstance(card, ToolCard)] == [SkillRef("user:pdf", "d1")] * 2


def test_skill_that_the_message_calls_for_has_a_card_with_what_the_model_gets() -> None:
    loaded = SkillLoaded(
        name='a"&b', skill="user:ab", digest="d1", receipt="r", asked_by="user", text="⚡ Skill loaded", truncated=True
    )
    told = '<skill_content name="a&quot;&amp;b">\nDo it.\n</skill_content>'
    old = '<skill_content name="old">\nAgain.\n</skill_content>'
    for asked in (Asked(text="Go.", context=f"{old}\n\n{told}", receipts=("r",)), Asked(text="Go.", system=told)):
        (_, card) = _blocks(play(_tell(_BEGUN, loaded, asked)))
        assert card == ToolCard(
            "t1-l1",
            "",
            "activate",
            "Activate a skill",
            "done",
            data={"name": 'a"&b', "truncated": True, "asked_by": "user"},
            content=told,
            skill=SkillRef("user:ab", "d1"),
            loaded=("⚡ Skill loaded",),
        )


# Forks


def test_blocks_of_a_fork_lie_within_it_and_it_within_its_card() -> None:
    shown = _shown(play(happen(SECOND, turn="1")))
    (card,) = (block for _, block in shown if isinstance(block, ToolCard) and block.arguments.get("name") == "deploy")
    ((parent, panel),) = ((parent, block) for parent, block in shown if isinstance(block, ForkPanel))
    assert parent == card.id
    assert (panel.outcome, panel.permissions) == ("answered", ("Read", "Bash(git:*)"))
    assert [type(block) for within, block in shown if within == panel.id] == [UserMessage, ToolCard, AssistantText]


def test_same_call_in_a_fork_is_another_card() -> None:
    fork = ForkBegun(call="c", fork="f", skill="user:x", name="x", digest="d")
    begun, ended = CallBegun(call="c", tool="t"), CallEnded(call="c", tool="t", summary="inner")
    scene = play(_tell(_BEGUN, begun, fork, ("f", begun), ("f", ended)))
    cards = [block for block in _blocks(scene) if isinstance(block, ToolCard)]
    assert [(card.state, card.summary) for card in cards] == [("running", ""), ("done", "inner")]


# Questions


def test_question_shows_its_details_whenever_they_come() -> None:
    asked = ConsentAsked(call="", question="q", title="Run it", record={})
    before, after = Scene(), Scene()
    before.set_question("q", {"diffs": []})
    for scene in (before, after):
        for happening in _tell(_BEGUN, asked):
            scene.take(happening)
    after.set_question("q", {"diffs": []})
    assert _blocks(before) == _blocks(after)
    cursor = after.cursor
    after.set_question("q", {"diffs": []})
    assert after.patches(cursor).patches == ()


def test_question_that_nobody_can_answer_any_more_is_closed() -> None:
    asked = ConsentAsked(call="", question="q", title="Run it", record={})
    scene = play(_tell(_BEGUN, asked, CallBegun(call="c", tool="t"), Done(text="", outcome=Outcome.CANCELLED)))
    assert [block.answer for block in _blocks(scene) if isinstance(block, ConsentQuestion)] == ["nobody"]
    assert [block.state for block in _blocks(scene) if isinstance(block, ToolCard)] == ["cancelled"]


# Turns


def test_scene_is_busy_from_the_beginning_to_the_end_of_a_turn() -> None:
    scene = Scene()
    assert (scene.is_busy, scene.turn) == (False, "")
    begun, done = _tell(_BEGUN, _DONE, turn="t7")
    scene.take(begun)
    assert (scene.is_busy, scene.turn) == (True, "t7")
    scene.take(done)
    assert (scene.is_busy, scene.turn, scene.last) == (False, "", 2)


def test_turn_whose_end_was_never_told_is_interrupted_by_the_next() -> None:
    scene = play([*_tell(_BEGUN, TextHeard(text="It is")), *_tell(_BEGUN, turn="2", after=1)])
    blocks = _blocks(scene)
    assert [type(block) for block in blocks] == [UserMessage, TurnEnd, UserMessage]
    assert blocks[1] == TurnEnd("t1-end", "interrupted")
    assert scene.turn == "2"


def test_what_was_taken_is_not_taken_twice() -> None:
    told = happen(FIRST, turn="1")
    scene = play(told)
    cursor = scene.cursor
    for happening in _kept(told):
        scene.take(happening)
    assert scene.patches(cursor).patches == ()


def test_cursor_of_another_scene_resets() -> None:
    told = happen(FIRST, turn="1")
    one, other = play(told), play(told)
    assert one.epoch != other.epoch
    for cursor in ("", one.cursor, f"{other.epoch}-99999", f"{other.epoch}-x", "-", f"{other.epoch}-{'9' * 5000}"):
        assert other.patches(cursor).reset
    assert other.patches(other.cursor) == Patches(other.cursor, reset=False, patches=())


# Drafts


def test_draft_shows_elsewhere_what_is_heard_here() -> None:
    told = happen([*FIRST[:-3], TextHeard(text="Half an ans"), *OPEN[2:6]], turn="1")
    fork = ForkBegun(call="c1", fork="f", skill="user:x", name="x", digest="d")
    told += _tell(fork, ("f", ThinkingHeard(text="Hm.")), after=told[-1].number or len(_kept(told)))
    here, elsewhere = play(told), play(_kept(told))
    elsewhere.take_draft("1", here.draft())
    assert _shown(elsewhere) == _shown(here)
    cursor = elsewhere.cursor
    elsewhere.take_draft("1", here.draft())
    assert elsewhere.patches(cursor).patches == ()


def test_draft_that_is_out_of_date_shows_nothing() -> None:
    told = _tell(_BEGUN, TextHeard(text="Half"))
    draft = play(told).draft()
    scene = play([*told, *_tell(Answered(text="Whole."), after=1)])
    shown = _shown(scene)
    scene.take_draft("1", draft)
    scene.take_draft("another", draft)
    assert _shown(scene) == shown


@pytest.mark.parametrize("draft", ["", "{", "[]", '{"answers": 3}', '{"answers": {"t1-a1": {"text": 1}}}', '"\ud800"'])
def test_malformed_draft_is_ignored(draft: str) -> None:
    scene = play(_tell(_BEGUN))
    scene.take_draft("1", draft)
    assert [type(block) for block in _blocks(scene)] == [UserMessage]


@pytest.mark.parametrize("letter", ["x", "\0", "é"])
def test_draft_is_bounded(letter: str) -> None:
    begun = [CallBegun(call=f"c{number}", tool="run") for number in range(20)]
    heard = [OutputHeard(call=f"c{number}", stream="stdout", text=letter * 50_000) for number in range(20)]
    scene = play(_tell(_BEGUN, *begun, *heard, TextHeard(text=letter * 300_000)))
    draft = scene.draft()
    assert len(draft) <= 200_000
    (answer,) = json.loads(draft)["answers"].values()
    assert answer["is_cut"]
