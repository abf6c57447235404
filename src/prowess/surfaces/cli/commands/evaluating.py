"""`prowess eval`."""

import math
from dataclasses import replace
from typing import Any

import click

from prowess.errors import SettingsError
from prowess.runtime import Runtime
from prowess.runtime.evaluation import Evaluation, Goals
from prowess.settings import Settings
from prowess.surfaces.cli.evaluation_report import print_annotations, print_evaluation, sum_up
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_json, step_bar
from prowess.surfaces.evaluation_records import evaluation_record

__all__ = ["command"]


class _Share(click.FloatRange):
    """A number from 0 to 1; what is no number at all is none."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = super().convert(value, param, ctx)
        return self.fail("give a number from 0 to 1", param, ctx) if math.isnan(found) else found


@click.command("eval")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_skill)
@click.option("--min-recall", type=_Share(), metavar="SHARE", help="Say no if a skill finds fewer of its queries.")
@click.option("--min-planned", type=_Share(), metavar="SHARE", help="Say no if the plan tells of it for fewer of them.")
@click.option("--max-false-alarms", type=_Share(), metavar="SHARE", help="Say no if a skill has more false alarms.")
@click.option(
    "--at",
    type=click.IntRange(1, 50),
    metavar="N",
    default=5,
    show_default=True,
    help="Depth of the search for recall.",
)
@click.option("--model", metavar="NAME", help="Ask this model which skill it would use, not the one of the settings.")
@click.option("--no-model", is_flag=True, help="Ask no model, even if the settings name one.")
@click.option(
    "--runs", type=click.IntRange(1, 20), metavar="N", default=3, show_default=True, help="How often for each query."
)
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS", help="What the catalog may cost.")
@click.option("--agent", default="", metavar="NAME", help="As seen by this agent of the settings.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    help="For people, for programs, or for GitHub's annotations.",
)
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    names: tuple[str, ...],
    min_recall: float | None,
    min_planned: float | None,
    max_false_alarms: float | None,
    at: int,
    model: str | None,
    no_model: bool,
    runs: int,
    budget: int | None,
    agent: str,
    form: str,
) -> int:
    """Measure the trigger tests that skills ship in evals/triggers.yaml, by the planner and search of conversations.

    Recall is the share of queries that should trigger a skill and find it among the first N of the search, or by a
    trigger; PLANNED is the share with which a model is told what the skill is for. A false alarm is a query that should
    not, and finds it first, or by a trigger. With a model, what it would activate counts instead: the one that --model
    names, or that of the settings unless it is the offline one. The status is 1 if a skill misses a goal, if a file of
    tests is faulty, or if there are no tests.

    \b
    prowess eval
    prowess eval pdf-fill --at 1
    prowess --skills ./skills eval --min-recall 0.8 --max-false-alarms 0.1 --format github
    prowess eval --model anthropic:NAME --runs 5 --json
    prowess eval --no-model --budget 2000 --min-planned 0.9
    """
    if no_model and model is not None:
        raise click.UsageError("--model and --no-model exclude each other")
    goals = Goals(min_recall, max_false_alarms, at, min_planned)
    settings = _with_budget(invocation.settings(), budget)
    asked = "" if no_model else model or _find_model(settings)
    with Runtime(settings, skills=invocation.skills or None) as runtime:
        invocation.check_agent(runtime, agent)
        with step_bar("measuring") as advance:
            evaluation = runtime.evaluate(*names, agent=agent, progress=advance)
        if asked and evaluation.trials:
            evaluation = _ask(runtime, evaluation, asked, runs=runs, agent=agent)
    if invocation.as_json or form == "json":
        print_json(evaluation_record(evaluation, goals))
    else:
        (print_annotations if form == "github" else print_evaluation)(evaluation, goals)
        sum_up(evaluation)
    return 0 if evaluation.passes(goals) else 1


def _find_model(settings: Settings) -> str:
    """Return the model of the settings if it can be asked, and the empty text if it is the offline one."""
    from prowess.agent.providers.usability import OFFLINE, check_model

    if settings.model == OFFLINE:
        return ""
    try:
        check_model(settings.model, url=settings.model_url)
    except SettingsError as error:  # Before the measuring, which takes long, and might end well without the model.
        error.hint = f"{error.hint}; or `prowess eval --no-model`" if error.hint else "`prowess eval --no-model`"
        raise
    note(f"The settings name the model {settings.model}, so it is asked as well; --no-model leaves it out.")
    return settings.model


def _with_budget(settings: Settings, budget: int | None) -> Settings:
    if budget is None:
        return settings
    policy = settings.policy
    return replace(settings, policy=replace(policy, prompting=replace(policy.prompting, budget_tokens=budget)))


def _ask(runtime: Runtime, evaluation: Evaluation, model: str, *, runs: int, agent: str) -> Evaluation:
    import anyio

    from prowess.agent.agent import Agent
    from prowess.agent.evaluating import ask_model

    async def ask() -> Evaluation:
        async with Agent(runtime, model=model, agent=agent) as asked:
            queries = len(evaluation.trials)
            note(f"Asking {asked.model.name} about {queries:,} queries, {runs} times each.")
            with step_bar("asking") as advance:
                return await ask_model(asked, evaluation, runs=runs, progress=advance)

    return anyio.run(ask)
