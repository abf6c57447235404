"""A model is asked which skill it would use, with the prompt and the tools of a session, and nothing is done for it."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from prowess.agent.agent import Agent
from prowess.agent.chat_model import ChatModel, FinishPiece, ModelFailure, ModelRequest, Piece
from prowess.agent.messages import ToolMessage, UserMessage
from prowess.errors import SettingsError
from prowess.runtime import Runtime
from prowess.runtime.evaluation import Evaluation, Goals
from prowess.sources.places import BUNDLED_SKILLS
from tests.agent.conftest import OPEN
from tests.agent.conversations import open_chat, watch
from tests.agent.scripted_model import USE, Answer, ScriptedModel, call, calls, say
from tests.skills_on_disk import Home, write_skill

_TESTS = "should: [Make my wall red, Colour the kitchen]\nshould_not: [Paint me a word picture]\n"


@pytest.fixture
def tested(root: Path) -> Path:
    (root / "painting" / "evals").mkdir()
    (root / "painting" / "evals" / "triggers.yaml").write_text(_TESTS)
    write_skill(root, "cooking", description="Cooks meals in a kitchen.")
    return root


def _evaluate(runtime: Runtime, model: str | ChatModel, *names: str, runs: int = 1) -> Evaluation:
    async def ask() -> Evaluation:
        async with Agent(runtime, model=model) as agent:
            return await agent.evaluate(*names, runs=runs)

    return anyio.run(ask)


def _question(request: ModelRequest) -> str:
    return next(message.text for message in request.messages if isinstance(message, UserMessage))


def _choose(request: ModelRequest) -> Answer:
    chosen = {
        "Make my wall red": call("activate_skill", name="painting"),
        "Colour the kitchen": call("activate_skill", name="cooking"),
    }
    return chosen.get(_question(request), say("Once upon a time"))


@pytest.mark.requirement("K12")
def test_choice_of_the_model_counts(tested: Path, runtime: Runtime) -> None:
    evaluation = _evaluate(runtime, ScriptedModel(script=_choose))
    assert [trial.chosen for trial in evaluation.trials] == [(("agents:painting",),), (("agents:cooking",),), ((),)]
    score = evaluation.score()
    assert (score.model_recall, score.model_false_alarm_share) == (0.5, 0.0)
    assert evaluation.passes(Goals(min_recall=0.5, max_false_alarms=0.0))
    assert not evaluation.passes(Goals(min_recall=0.6))


def test_use_of_all_requests_is_told(tested: Path, runtime: Runtime) -> None:
    evaluation = _evaluate(runtime, ScriptedModel(script=_choose), runs=2)
    assert evaluation.model is not None
    assert (evaluation.model.name, evaluation.model.runs) == ("scripted", 2)
    assert evaluation.model.use.requests == 6
    assert evaluation.model.use.cost_usd == pytest.approx(6 * (USE.cost_usd or 0))  # pyright: ignore[reportUnknownMemberType]


def test_model_gets_what_it_would_get_in_a_chat(tested: Path, runtime: Runtime) -> None:
    asked = ScriptedModel(script=lambda _: say("No."))
    _evaluate(runtime, asked)
    chatted = ScriptedModel(script=lambda _: say("No."))
    watch(open_chat(runtime, chatted, None), "Make my wall red")
    (same,) = [request for request in asked.requests if _question(request) == "Make my wall red"]
    assert same == chatted.requests[0]


def test_nothing_is_activated_and_nothing_is_kept(tested: Path, runtime: Runtime) -> None:
    model = ScriptedModel(script=lambda _: calls(call("activate_skill", name="painting"), call("run_skill_script")))
    _evaluate(runtime, model)
    assert len(model.requests) == 3
    assert (runtime.receipts(), runtime.runs(), runtime.sessions(), runtime.turns()) == ((), (), (), ())
    assert runtime.conversations() == ()


class _Holding(ScriptedModel):
    """Has another thread hold the runtime, from the end of its first answer until the loop goes on with something."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(script=_choose)
        self._lock = runtime._lock  # pyright: ignore[reportPrivateUsage]
        self._go_on = threading.Event()
        self._threads: list[threading.Thread] = []
        self._went_on: list[bool] = []

    @property
    def went_on(self) -> list[bool]:
        for thread in self._threads:
            thread.join()
        return self._went_on

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        async for piece in super().stream(request):
            if isinstance(piece, FinishPiece) and not self._threads:
                self._hold()
            yield piece

    def _hold(self) -> None:
        is_held = threading.Event()

        def work() -> None:
            with self._lock:
                is_held.set()
                self._went_on.append(self._go_on.wait(5))

        self._threads.append(threading.Thread(target=work))
        self._threads[0].start()
        assert is_held.wait(60)
        asyncio.get_running_loop().call_soon(self._go_on.set)


def test_loop_goes_on_while_the_choice_is_looked_up(tested: Path, runtime: Runtime) -> None:
    model = _Holding(runtime)
    _evaluate(runtime, model, "painting")
    assert model.went_on == [True]


def test_search_is_answered_before_the_choice(tested: Path, runtime: Runtime) -> None:
    def search_first(request: ModelRequest) -> Answer:
        results = [message for message in request.messages if isinstance(message, ToolMessage)]
        if not results:
            return call("search_skills", query="walls")
        assert "painting" in results[0].content
        return call("activate_skill", name="painting")

    evaluation = _evaluate(runtime, ScriptedModel(script=search_first))
    assert all(trial.is_chosen for trial in evaluation.trials)


def test_endless_search_is_no_choice(tested: Path, runtime: Runtime) -> None:
    model = ScriptedModel(script=lambda _: call("search_skills", query="walls"))
    evaluation = _evaluate(runtime, model)
    assert len(model.requests) == 9
    assert not any(trial.is_chosen for trial in evaluation.trials)


@pytest.mark.parametrize(
    "answer",
    [
        call("activate_skill", name="nope"),
        call("activate_skill"),
        call("nope", name="painting"),
        call("read_skill_resource", name="painting", path="SKILL.md"),
        say("painting"),
    ],
)
def test_what_activates_no_skill_is_no_choice(tested: Path, runtime: Runtime, answer: Answer) -> None:
    evaluation = _evaluate(runtime, ScriptedModel(script=lambda _: answer))
    assert {trial.chosen for trial in evaluation.trials} == {((),)}


def test_half_of_the_runs_is_enough(tested: Path, runtime: Runtime) -> None:
    seen: dict[str, int] = {}

    def waver(request: ModelRequest) -> Answer:
        number = seen[_question(request)] = seen.get(_question(request), 0) + 1
        return call("activate_skill", name="painting") if number % 2 else say("No.")

    assert _evaluate(runtime, ScriptedModel(script=waver), runs=2).score().model_recall == 1.0
    seen.clear()
    assert _evaluate(runtime, ScriptedModel(script=waver), runs=3).score().model_recall == 1.0


@pytest.mark.parametrize("use", ["suggest", "activate"])
def test_mention_or_active_trigger_asks_no_model(home: Home, tested: Path, use: str) -> None:
    home.write_settings(OPEN + f'triggers = "{use}"\n')
    write_skill(
        tested,
        "umbrella",
        extra="triggers:\n  keywords: [rain]\n",
        files={"evals/triggers.yaml": "should: [/umbrella please, it will rain]\n"},
    )
    model = ScriptedModel(script=lambda _: call("activate_skill", name="umbrella"))
    with Runtime.open() as opened:
        assert _evaluate(opened, model, "umbrella").score().model_recall == 1.0
    assert [_question(request) for request in model.requests] == (["it will rain"] if use == "suggest" else [])


def test_failure_of_the_model_ends_it(tested: Path, runtime: Runtime) -> None:
    model = ScriptedModel(script=lambda _: [ModelFailure("the key is wrong", code="model-refused")])
    with pytest.raises(ModelFailure, match="the key is wrong"):
        _evaluate(runtime, model, runs=20)
    assert len(model.requests) <= 4


@pytest.mark.parametrize(("profile", "calls_tools"), [("standard", False), ("agent-base", True)])
def test_model_that_cannot_activate_is_refused(tested: Path, profile: str, calls_tools: bool) -> None:
    model = ScriptedModel()
    model.calls_tools = calls_tools
    with Runtime.open(skills=[str(tested)], profile=profile) as opened, pytest.raises(SettingsError) as refused:
        _evaluate(opened, model)
    assert refused.value.code == "no-activation-tool"


def test_without_tests_nobody_is_asked(runtime: Runtime) -> None:
    evaluation = _evaluate(runtime, ScriptedModel())
    assert (evaluation.skills, evaluation.untested) == ((), 1)


def test_offline_model_always_chooses_the_same(home: Home) -> None:
    with Runtime.open(skills=[BUNDLED_SKILLS]) as opened:
        one, two = (_evaluate(opened, "offline", "scheduling", "repo-survey", runs=2) for _ in range(2))
    assert one == two
    assert all(len(set(trial.chosen)) == 1 for trial in one.trials)
    recall = one.score().model_recall
    assert recall is not None
    assert recall > 0.5
