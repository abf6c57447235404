"""Find out what works here by trying it."""

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from prowess.agent.providers.usability import check_model, survey_providers
from prowess.catalog.watching import Watcher
from prowess.copies.disk_trial import try_disk
from prowess.copies.migration import plan_migration, read_old_folder
from prowess.errors import ProwessError
from prowess.execution.choosing import BACKENDS
from prowess.execution.interpreters import INTERPRETERS
from prowess.policy import Backend, NetworkUse
from prowess.runtime import Runtime
from prowess.sources.folders import find_root_problem
from prowess.state.opening import describe_database
from prowess.surfaces.cli.extras import EXTRAS, find_missing, render_install
from prowess.version import __version__

__all__ = ["Finding", "diagnose"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried."""

    about: str
    works: bool
    detail: str
    hint: str = ""


def diagnose(runtime: Runtime) -> list[Finding]:
    """Try everything that Prowess relies on, and return what came of it."""
    return [
        Finding("prowess", works=True, detail=f"{__version__} on Python {platform.python_version()}, {sys.platform}"),
        _settings(runtime),
        _home(runtime),
        *_sources(runtime),
        *_servers(runtime),
        _watching(),
        _database(runtime),
        _copies(runtime),
        *_extras(),
        *(_sandbox(runtime, backend) for backend in BACKENDS),
        _scripts(runtime),
        _model(runtime),
        *_providers(),
    ]


def _settings(runtime: Runtime) -> Finding:
    settings = runtime.settings
    where = settings.file or "no file, so defaults"
    state = "" if settings.policy.enabled else ", skills are switched off"
    return Finding("settings", works=True, detail=f"profile {settings.profile}, {where}{state}")


def _home(runtime: Runtime) -> Finding:
    home = runtime.settings.place.prowess_home
    nearest = home
    while not os.path.exists(nearest):
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK):
        return Finding("home", works=True, detail=home if nearest == home else f"{home}, made when it is needed")
    return Finding("home", works=False, detail=f"{home} cannot be written", hint="set PROWESS_HOME to another folder")


def _sources(runtime: Runtime) -> Iterator[Finding]:
    try:
        skills = runtime.catalog().skills
    except ProwessError as error:
        yield Finding("sources", works=False, detail=error.message, hint=error.hint)
        return
    for source in runtime.sources():
        problem = find_root_problem(source.root)
        if problem is not None and (source.expected or problem.code != "source-missing"):
            yield Finding(f"source {source.kind}", works=False, detail=problem.message, hint=problem.remedy)
        elif problem is None:
            count = sum(skill.root == source.root for skill in skills)
            trust = "" if source.trusted else ", not trusted"
            hint = "" if source.trusted else "`prowess trust` lets models see them"
            yield Finding(
                f"source {source.kind}", works=True, detail=f"{source.root}: {count} skills{trust}", hint=hint
            )


def _servers(runtime: Runtime) -> Iterator[Finding]:
    """Say what came of the last talk with each MCP server that skills are taken from."""
    for server in runtime.settings.mcp_servers:
        about = f"mcp server {server.name}"
        if runtime.hosting is None or not server.enabled:
            yield Finding(about, works=True, detail="switched off")
            continue
        record = runtime.hosting.record(server)
        count = f"{len(record.skills)} skills, {len(record.problems)} problems"
        if record.failure is None:
            yield Finding(about, works=True, detail=count)
        else:
            yield Finding(about, works=False, detail=record.failure.message, hint=record.failure.remedy)


def _watching() -> Finding:
    watcher = Watcher()
    works = watcher.works
    watcher.close()
    if works:
        return Finding(
            "watching", works=True, detail=f"inotify, up to {_read('/proc/sys/fs/inotify/max_user_watches')} watches"
        )
    return Finding(
        "watching", works=False, detail="no inotify here", hint="sources are searched before each turn instead"
    )


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _database(runtime: Runtime) -> Finding:
    try:
        trusted, sessions = len(runtime.trusted_projects()), len(runtime.sessions())
    except ProwessError as error:
        return Finding("database", works=False, detail=error.message, hint=error.hint)
    where = describe_database(runtime.settings.database, state_file=runtime.settings.state_file)
    return Finding("database", works=True, detail=f"{where}, {trusted} trusted projects, {sessions} sessions")


def _copies(runtime: Runtime) -> Finding:
    """Try what copies rely on in the home itself: hard links, and a swap in one step."""
    layout, user = runtime.copying.layout, runtime.settings.place.user
    try:
        trial = try_disk(layout)
        moves = plan_migration(read_old_folder(layout, user))
    except ProwessError as error:
        return Finding("copies", works=False, detail=error.message, hint=error.hint)
    links = "hard links" if trial.links else "no hard links, so each user's copies take their own space"
    swap = "swapped in one step" if trial.exchanges else "swapped in two steps, between which a path may lead nowhere"
    hint = (
        f"{len(moves)} entries are from an old layout; `prowess migrate --dry-run` shows what it would do"
        if moves
        else ""
    )
    return Finding("copies", works=True, detail=f"{layout.active(user).folder}: {links}, {swap}", hint=hint)


def _extras() -> Iterator[Finding]:
    for extra in EXTRAS:
        if any(find_missing(extra)):
            detail, hint = f"not installed, so no {extra.purpose}", render_install(extra)
            yield Finding(f"extra {extra.name}", works=False, detail=detail, hint=hint)
        else:
            yield Finding(f"extra {extra.name}", works=True, detail=extra.purpose)


def _sandbox(runtime: Runtime, backend: Backend) -> Finding:
    """Run a trial in a sandbox as a script would be run."""
    probed = runtime.workbench.sandboxes.get(backend).probe()
    return Finding(f"sandbox {backend}", works=probed.works, detail=probed.detail, hint=probed.hint)


def _scripts(runtime: Runtime) -> Finding:
    """Say where scripts would run, and with which interpreters."""
    execution = runtime.policy.execution
    if not execution.enabled:
        return Finding(
            "scripts", works=False, detail="switched off", hint="set execution.enabled = true in the settings"
        )
    try:
        sandbox, facts = runtime.workbench.choose()
    except ProwessError as error:
        return Finding("scripts", works=False, detail=error.message, hint=error.hint)
    there = [row.name for row in INTERPRETERS if any(way[0] in facts.commands for way in row.commands)]
    network = "no network" if execution.network is NetworkUse.NONE else "a network where it is granted"
    detail = f"run by {sandbox.name} with {', '.join(there)}; {network}"
    return Finding("scripts", works=True, detail=detail)


def _model(runtime: Runtime) -> Finding:
    """Say whether the model of the settings can be used, without asking it."""
    try:
        usable = check_model(runtime.settings.model, url=runtime.settings.model_url)
    except ProwessError as error:
        return Finding("model", works=False, detail=error.message, hint=error.hint)
    return Finding("model", works=True, detail=usable.summary)


def _providers() -> Iterator[Finding]:
    """Name the providers of models whose key is here; the key itself is nobody's business."""
    for usable in survey_providers():
        yield Finding(
            f"provider {usable.provider.prefix}",
            works=not usable.missing,
            detail=f"{usable.provider.title}, with the key in {usable.key}",
            hint=usable.missing,
        )
