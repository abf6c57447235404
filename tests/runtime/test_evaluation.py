"""Trigger tests are measured by the planner and the search that every conversation uses."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure.planner import Favour, Level
from prowess.errors import NotFound
from prowess.policy import PROFILES
from prowess.runtime import Runtime
from prowess.runtime.evaluation import DEPTHS, Evaluation, Goals, Trial, count_confusions, judge_skill, score_trials
from prowess.settings import load_settings
from prowess.skill.trigger_tests import Expectation, TriggerQuery
from prowess.sources.places import BUNDLED_SKILLS
from tests.skills_on_disk import Home, write_skill

_DESCRIPTIONS = {
    "bread": "Bakes sourdough bread. Use when somebody is hungry.",
    "calendar": "Plans appointments and meetings. Use for dates.",
    "pdf-fill": "Fills in PDF forms. Use when a form is to be completed.",
    "translate": "Translates texts between languages.",
}


def _write(
    root: Path, name: str, *, should: Sequence[str] = (), should_not: Sequence[str] = (), extra: str = ""
) -> Path:
    lines = [
        f"{key}: [{', '.join(map(repr, texts))}]" for key, texts in (("should", should), ("should_not", should_not))
    ]
    files: Mapping[str, str] = {"evals/triggers.yaml": "\n".join(lines) + "\n"} if should or should_not else {}
    return write_skill(root, name, description=_DESCRIPTIONS.get(name, "Does a thing."), extra=extra, files=files)


@pytest.fixture
def skills(home: Home) -> Path:
    folder = home.project / "skills"
    _write(folder, "bread", should=["Bake me a sourdough"], should_not=["Plan a meeting"])
    _write(folder, "calendar", should=["an appointment, please", "fill in a form"])
    _write(folder, "pdf-fill", should=["complete the form", "zebra"], should_not=["form a band"])
    _write(folder, "translate")
    return folder


@pytest.fixture
def opened(skills: Path) -> Iterator[Runtime]:
    with Runtime.open(skills=[str(skills)]) as runtime:
        yield runtime


def _trials(evaluation: Evaluation) -> dict[str, Trial]:
    return {trial.query.text: trial for trial in evaluation.trials}


@pytest.mark.requirement("K12")
def test_queries_are_measured_for_a_whole_catalog(opened: Runtime) -> None:
    evaluation = opened.evaluate()
    assert [one.skill.name for one in evaluation.skills] == ["bread", "calendar", "pdf-fill"]
    assert evaluation.untested == 1
    trials = _trials(evaluation)
    assert (trials["Bake me a sourdough"].rank, trials["Bake me a sourdough"].shown) == (1, Level.FULL)
    assert (trials["zebra"].rank, trials["zebra"].first) == (None, "")
    assert trials["fill in a form"].first == "project:pdf-fill"
    assert trials["form a band"].is_false_alarm
    assert not trials["Plan a meeting"].is_false_alarm
    score = evaluation.score()
    assert (score.should, score.should_not, score.ranked_first, score.called) == (5, 2, 1, 0)
    assert (score.recall(1), score.false_alarm_share, score.model_recall) == (0.6, 0.5, None)


def test_confusion_says_who_came_first(opened: Runtime) -> None:
    (confusion,) = opened.evaluate().find_confusions()
    assert (confusion.expected, confusion.first, confusion.queries) == ("project:calendar", "project:pdf-fill", 1)


def test_measure_agrees_with_search_and_plan(opened: Runtime) -> None:
    for trial in opened.evaluate().trials:
        found = [one.skill.id for one in opened.search(trial.query.text, limit=50)]
        assert trial.rank == (found.index(trial.skill) + 1 if trial.skill in found else None)
        placement = opened.plan(query=trial.query.text).find(trial.skill)
        assert placement is not None
        assert trial.shown is placement.level


def test_plan_of_a_small_budget_shows_what_the_query_is_about(skills: Path) -> None:
    settings = load_settings()
    prompting = replace(settings.policy.prompting, budget_tokens=60)
    settings = replace(settings, policy=replace(settings.policy, prompting=prompting))
    with Runtime(settings, skills=[str(skills)]) as runtime:
        trials = _trials(runtime.evaluate())
        assert trials["Bake me a sourdough"].favour is Favour.RELEVANT
        for text, trial in trials.items():
            placement = runtime.plan(query=text).find(trial.skill)
            assert placement is not None
            assert trial.shown is placement.level
        assert trials["zebra"].shown is not Level.FULL


@pytest.mark.parametrize("use", ["suggest", "activate"])
def test_trigger_counts_as_found_and_as_a_false_alarm(home: Home, use: str) -> None:
    home.write_settings(f'[activation]\ntriggers = "{use}"\n')
    extra = "triggers:\n  keywords: [umbrella]\n"
    _write(home.project / "skills", "bread", should=["my umbrella"], should_not=["an umbrella"], extra=extra)
    with Runtime.open(skills=[str(home.project / "skills")]) as runtime:
        first, second = runtime.evaluate().trials
    assert (first.favour, first.is_found(1), second.is_false_alarm) == (Favour.TRIGGERED, True, True)


def test_mention_counts_as_found(skills: Path) -> None:
    _write(skills, "translate", should=["/translate this"])
    with Runtime.open(skills=[str(skills)]) as runtime:
        (trial,) = runtime.evaluate("translate").trials
    assert trial.is_found(1)


def test_names_and_ids_choose_skills_and_their_order_does_not_matter(opened: Runtime) -> None:
    one = opened.evaluate("pdf-fill", "project:bread", "bread")
    assert [skill.skill.name for skill in one.skills] == ["bread", "pdf-fill"]
    assert one == opened.evaluate("bread", "pdf-fill")
    assert one.trials == tuple(trial for trial in opened.evaluate().trials if trial.skill != "project:calendar")


@pytest.mark.parametrize(("name", "code"), [("nope", "unknown-skill"), ("translate", "no-evals")])
def test_name_that_cannot_be_measured_is_refused(opened: Runtime, name: str, code: str) -> None:
    with pytest.raises(NotFound) as refused:
        opened.evaluate(name)
    assert refused.value.code == code


def test_hidden_skill_is_left_out_with_the_reason(home: Home) -> None:
    _write(home.project / ".agents" / "skills", "bread", should=["Bake"])
    with Runtime.open() as runtime:
        evaluation = runtime.evaluate()
        assert [(one.id, one.reason) for one in evaluation.left_out] == [
            ("project:bread", "its project is not trusted")
        ]
        with pytest.raises(NotFound, match="a model does not see"):
            runtime.evaluate("bread")


def test_progress_counts_every_query(opened: Runtime) -> None:
    heard: list[tuple[int, int]] = []
    opened.evaluate(progress=lambda done, total: heard.append((done, total)))
    assert heard == [(done, 7) for done in range(1, 8)]


def test_measuring_leaves_nothing_behind(opened: Runtime) -> None:
    opened.evaluate()
    assert (opened.sessions(), opened.receipts(), opened.usage().skills) == ((), (), ())


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_measured(skills: Path, profile: str) -> None:
    with Runtime.open(skills=[str(skills)], profile=profile) as runtime:
        assert len(runtime.evaluate().trials) == 7


# Goals


def test_goals_are_for_every_skill(opened: Runtime) -> None:
    evaluation = opened.evaluate()
    assert evaluation.passes(Goals())
    assert not evaluation.passes(Goals(min_recall=0.6, at=1))  # Of all, but not of each.
    assert evaluation.passes(Goals(min_recall=0.5, max_false_alarms=1.0, at=1))
    found = {one.skill.name: judge_skill(one, Goals(0.6, 0.5, at=1)) for one in evaluation.skills}
    assert {name: [problem.code for problem in problems] for name, problems in found.items()} == {
        "bread": [],
        "calendar": ["trigger-recall-low"],
        "pdf-fill": ["trigger-recall-low", "trigger-false-alarms"],
    }
    assert found["calendar"][0].message == ("recall among the first 1 is 0.50, below 0.60; missed: 'fill in a form'")


def test_faulty_file_never_passes(skills: Path) -> None:
    (skills / "bread" / "evals" / "triggers.yaml").write_text("should: [Bake]\nshoud_not: [x]\n")
    with Runtime.open(skills=[str(skills)]) as runtime:
        evaluation = runtime.evaluate("bread")
    assert not evaluation.passes(Goals())
    assert [problem.code for problem in evaluation.skills[0].problems] == ["evals-unusable"]


def test_nothing_measured_never_passes() -> None:
    assert not Evaluation().passes(Goals())


# Laws


def _trial(rank: int | None, expected: Expectation, favour: Favour | None = None) -> Trial:
    return Trial("a:b", TriggerQuery("q", expected), rank, "a:b" if rank == 1 else "a:c", Level.FULL, favour)


_TRIALS = st.lists(
    st.builds(
        _trial,
        st.none() | st.integers(1, 50),
        st.sampled_from(Expectation),
        st.none() | st.sampled_from(Favour),
    ),
    max_size=30,
)


@given(_TRIALS, st.randoms(use_true_random=False))
def test_score_does_not_depend_on_the_order(trials: list[Trial], chance: random.Random) -> None:
    shuffled = list(trials)
    chance.shuffle(shuffled)
    assert score_trials(shuffled) == score_trials(trials)
    assert count_confusions(shuffled) == count_confusions(trials)


@given(_TRIALS)
def test_recall_never_falls_with_the_depth(trials: list[Trial]) -> None:
    score = score_trials(trials, depths=range(1, 51))
    counts = [count for _, count in score.found]
    assert counts == sorted(counts)
    assert max(counts) <= score.should
    assert score.false_alarms <= score.ranked_first + score.called
    assert score.false_alarms <= score.should_not


@pytest.mark.parametrize("seed", range(5))
def test_report_does_not_depend_on_the_order_in_which_skills_were_written(home: Home, seed: int) -> None:
    def measure(folder: Path, names: Sequence[str]) -> tuple[Trial, ...]:
        for name in names:
            _write(folder, name, should=[_DESCRIPTIONS[name], "plan the bread"], should_not=["form a band"])
        with Runtime.open(skills=[str(folder)]) as runtime:
            return runtime.evaluate().trials

    shuffled = random.Random(seed).sample(sorted(_DESCRIPTIONS), len(_DESCRIPTIONS))
    assert measure(home.project / "one", shuffled) == measure(home.project / "two", sorted(_DESCRIPTIONS))


@pytest.mark.requirement("K12")
def test_query_that_is_the_description_ranks_its_own_skill_first(home: Home) -> None:
    folder = home.project / "skills"
    for name, description in _DESCRIPTIONS.items():
        _write(folder, name, should=[description])
    with Runtime.open(skills=[str(folder)]) as runtime:
        assert runtime.evaluate().score().recall(1) == 1.0


# The bundled skills


@pytest.mark.requirement("K12")
def test_bundled_skills_ship_tests_and_are_found_by_them(home: Home) -> None:
    with Runtime.open(skills=[BUNDLED_SKILLS]) as runtime:
        evaluation = runtime.evaluate()
    assert evaluation.untested == 0
    for one in evaluation.skills:
        score = one.score()
        assert (one.problems, score.should >= 10, score.should_not >= 10) == ((), True, True)
        assert (score.recall(5), score.called) == (1.0, 0)
    recall = evaluation.score().recall(1)
    assert recall is not None
    assert recall >= 0.8


def test_depths_are_always_told_and_the_wanted_one_too() -> None:
    assert Goals(at=3).depths == (1, 3, 5, 10)
    assert Goals().depths == DEPTHS
