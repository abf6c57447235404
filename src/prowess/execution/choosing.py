"""Which sandbox runs a script: the one that is asked for, or the first of those that work here. Never the host."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from types import MappingProxyType

from prowess.execution.probing import Facts, FactsCache
from prowess.execution.sandbox import NoSandbox, ScriptSandbox
from prowess.policy import Backend, Execution

__all__ = ["BACKENDS", "SandboxChoice"]


def _make_bubblewrap(policy: Execution) -> ScriptSandbox:
    from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox

    return BubblewrapSandbox(programs=policy.programs)


def _make_docker(policy: Execution) -> ScriptSandbox:
    from prowess.execution.engines.container_sandbox import docker_sandbox

    return docker_sandbox(image=policy.image, programs=policy.programs, spares=policy.spare_containers)


def _make_podman(policy: Execution) -> ScriptSandbox:
    from prowess.execution.engines.container_sandbox import podman_sandbox

    return podman_sandbox(image=policy.image, programs=policy.programs, spares=policy.spare_containers)


BACKENDS: Mapping[Backend, Callable[[Execution], ScriptSandbox]] = MappingProxyType(
    {
        Backend.BUBBLEWRAP: _make_bubblewrap,
        Backend.DOCKER: _make_docker,
        Backend.PODMAN: _make_podman,
    }
)
"""By name, the preferred one first."""


class SandboxChoice:
    """The sandboxes of a runtime, made when they are first asked for. Any thread may use it."""

    def __init__(
        self,
        policy: Execution,
        facts: FactsCache,
        *,
        backends: Mapping[Backend, Callable[[Execution], ScriptSandbox]] = BACKENDS,
    ) -> None:
        self._policy = policy
        self._facts = facts
        self._backends = backends
        self._made: dict[Backend, ScriptSandbox] = {}
        self._automatic: Backend | None = None
        self._lock = threading.RLock()

    def choose(self, name: Backend | None = None) -> tuple[ScriptSandbox, Facts]:
        """Return the sandbox of this name, or the one of the settings, with what it has; raise if it does not work."""
        name = name or self._policy.backend
        if name is not Backend.AUTO:
            sandbox = self.get(name)
            return sandbox, self._facts.get(sandbox)
        with self._lock:
            if self._automatic is not None:
                sandbox = self.get(self._automatic)
                with suppress(NoSandbox):  # It worked before; now another one may.
                    return sandbox, self._facts.get(sandbox)
            return self._choose_first()

    def get(self, name: Backend) -> ScriptSandbox:
        """Return the sandbox of this name, whether it works or not."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._backends[name](self._policy)
            return self._made[name]

    def close(self) -> None:
        """Give back what the sandboxes hold."""
        with self._lock, ExitStack() as stack:
            for sandbox in self._made.values():
                stack.callback(sandbox.close)
            self._made.clear()

    def _choose_first(self) -> tuple[ScriptSandbox, Facts]:
        reasons: list[str] = []
        for name in self._backends:
            sandbox = self.get(name)
            try:
                found = sandbox, self._facts.get(sandbox)
            except NoSandbox as error:
                reasons.append(f"{name}: {error.message}")
            else:
                self._automatic = name
                return found
        raise NoSandbox(
            f"no sandbox works here, so no script is run ({'; '.join(reasons)})",
            hint="install bubblewrap (Debian: apt-get install bubblewrap), or start Docker or Podman; "
            "`prowess doctor` tries all of them",
        )
