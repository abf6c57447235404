"""What the runs of all sessions share: the sandboxes, what they have, secrets, packages, and where outputs are kept."""

import os
import shutil
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess.errors import WorldError
from prowess.execution.choosing import SandboxChoice
from prowess.execution.jobs import make_search_path
from prowess.execution.probing import Facts, FactsCache, SandboxProbe
from prowess.execution.sandbox import NoSandbox, ScriptSandbox
from prowess.policy import Backend, Execution
from prowess.settings import Settings
from prowess.sources.source import is_below

if TYPE_CHECKING:
    from prowess.execution.packages.environments import Environments
    from prowess.execution.secrecy.secret_stores import SecretStore

__all__ = ["Workbench"]

_DAY_SECONDS = 86_400
_LOOK_AGAIN_SECONDS = 60.0
"""How long it is believed that no sandbox works."""
_MAX_ENVIRONMENTS = 50


class Workbench:
    """One for a runtime. Any thread may use it; nothing is made before it is needed."""

    def __init__(self, settings: Settings) -> None:
        self.policy: Execution = settings.policy.execution
        self.reading = settings.policy.reading
        self.cache = settings.cache_folder
        self.workspace = settings.place.working_folder
        self._home = settings.place.prowess_home
        self._user = settings.place.user
        path = make_search_path(self.policy.programs)
        self.facts = FactsCache(os.path.join(self.cache, "sandboxes-1"), path=path)
        self.sandboxes = SandboxChoice(self.policy, self.facts)
        self._without_until = 0.0
        self._tidied_at: float | None = None
        self._environments: Environments | None = None
        self._secrets: SecretStore | None = None
        self._lock = threading.Lock()

    @property
    def is_exposed(self) -> bool:
        """Whether whoever sees the workspace sees the folder of Prowess too, or is in it."""
        home, workspace = os.path.realpath(self._home), os.path.realpath(self.workspace)
        return is_below(home, workspace) or is_below(workspace, home)

    def close(self) -> None:
        """Give back what the sandboxes hold."""
        self.sandboxes.close()

    def choose(self, backend: Backend | None = None) -> tuple[ScriptSandbox, Facts]:
        """Return the sandbox for a run, and what it has; raise if none works."""
        return self.sandboxes.choose(backend)

    def find_sandbox(self) -> ScriptSandbox | None:
        """Return the sandbox for a run; None if none works, which is believed for a minute."""
        if time.monotonic() < self._without_until or not self.policy.enabled:
            return None
        try:
            return self.choose()[0]
        except NoSandbox:
            self._without_until = time.monotonic() + _LOOK_AGAIN_SECONDS
            return None

    def make_probe(self) -> SandboxProbe:
        """Return what answers whether skills are eligible, for the place where their scripts run."""
        return SandboxProbe(self.find_sandbox, self.facts, find_secrets=self.find_secrets, tools=self.policy.tools)

    # Secrets

    def secrets(self) -> "SecretStore":
        """Return where secrets are kept."""
        from prowess.execution.secrecy.secret_stores import open_secret_store

        with self._lock:
            if self._secrets is None:
                self._secrets = open_secret_store(self.policy.secrets, home=self._home)
            return self._secrets

    def find_secrets(self) -> frozenset[str]:
        """Return the names under which values are kept, for any skill or for all."""
        try:
            return frozenset(kept.name for kept in self.secrets().names())
        except WorldError:  # Who wants to use one is told what is wrong with the store.
            return frozenset()

    # Packages

    def environments(self) -> "Environments":
        """Return the installed packages of all scripts."""
        from prowess.execution.packages.environments import Environments

        with self._lock:
            if self._environments is None:
                self._environments = Environments(self.cache)
                self._environments.collect(_MAX_ENVIRONMENTS)
            return self._environments

    # Outputs

    def output_folder(self, run: str) -> str:
        """Return where the files that a run leaves are kept."""
        return os.path.join(self._runs, run)

    def tidy_outputs(self) -> None:
        """Remove the outputs of runs that are older than the settings want; once a day."""
        now = time.monotonic()
        if self._tidied_at is not None and now - self._tidied_at < _DAY_SECONDS:
            return
        self._tidied_at = now
        oldest = time.time() - self.policy.keep_outputs_days * _DAY_SECONDS
        with suppress(OSError), os.scandir(self._runs) as runs:
            for run in runs:
                if run.is_dir(follow_symlinks=False) and run.stat(follow_symlinks=False).st_mtime < oldest:
                    shutil.rmtree(run.path, ignore_errors=True)

    @property
    def _runs(self) -> str:
        return os.path.join(self._home, "users", self._user, "runs")
