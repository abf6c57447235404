"""Containers that were started before their job is known, so that it need not wait. Each serves one job."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from prowess.errors import ProwessError
from prowess.execution.engines.container_arguments import Shape
from prowess.execution.engines.job_containers import JobContainer
from prowess.execution.engines.run_guard import forget_in_forks

__all__ = ["SpareContainers"]

_MAX_SPARES = 2
_IDLE_SECONDS = 60.0
_START_SECONDS = 120.0
_LOG = logging.getLogger("prowess")


@dataclass(frozen=True, slots=True)
class _Spare:
    shape: Shape
    container: JobContainer
    timer: threading.Timer


class SpareContainers:
    """The spares of one sandbox, two at most. Any thread may use it."""

    def __init__(self, launch: Callable[[Shape], JobContainer], *, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._launch = launch
        self._idle_seconds = idle_seconds
        self._spares: list[_Spare] = []
        self._of_the_parent: list[_Spare] = []
        self._started: dict[threading.Thread, Shape] = {}
        self._closed = False
        self._lock = threading.Lock()
        forget_in_forks(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the containers that wait."""
        with self._lock:
            return tuple(spare.container.name for spare in self._spares)

    def take(self, shape: Shape) -> JobContainer | None:
        """Return a container of this shape, which is the caller's now; None if there is none that will do."""
        while spare := self._find(shape):
            spare.timer.cancel()
            if spare.container.fresh:
                return spare.container
            self._in_background(spare.container.remove)
        return None

    def prepare(self, shape: Shape) -> None:
        """Start a container of this shape in the background, if there is none."""
        with self._lock:
            shapes = [*self._started.values(), *(spare.shape for spare in self._spares)]
            if self._closed or shape in shapes or len(self._started) >= _MAX_SPARES:
                return
            thread = threading.Thread(target=self._start, args=(shape,), name="prowess-spare", daemon=True)
            self._started[thread] = shape
            thread.start()

    def settle(self) -> None:
        """Wait until every container that is being started waits, or has failed."""
        with self._lock:
            threads = list(self._started)
        for thread in threads:
            thread.join(_START_SECONDS)

    def close(self) -> None:
        """Remove all containers that wait, and start no other."""
        with self._lock:
            self._closed = True
        self.settle()
        self._drop(but=0)

    def forget(self) -> None:
        """See `Forgetful`."""
        self._lock = threading.Lock()
        self._of_the_parent, self._spares = self._spares, []
        self._started = {}

    def _find(self, shape: Shape) -> _Spare | None:
        with self._lock:
            for spare in self._spares:
                if spare.shape == shape:
                    self._spares.remove(spare)
                    return spare
        return None

    def _start(self, shape: Shape) -> None:
        try:
            container = self._launch(shape)
        except ProwessError as error:  # The next run will say so.
            _LOG.warning("a container cannot be started ahead: %s", error.message)
        else:
            self._keep(shape, container)
        finally:
            with self._lock:
                self._started.pop(threading.current_thread(), None)

    def _keep(self, shape: Shape, container: JobContainer) -> None:
        timer = threading.Timer(self._idle_seconds, self._expire, (container,))
        timer.daemon = True
        with self._lock:
            self._spares.append(_Spare(shape, container, timer))
        timer.start()
        self._drop(but=_MAX_SPARES)

    def _expire(self, container: JobContainer) -> None:
        with self._lock:
            expired = [spare for spare in self._spares if spare.container is container]
            self._spares = [spare for spare in self._spares if spare.container is not container]
        for spare in expired:
            spare.container.remove()

    def _drop(self, *, but: int) -> None:
        """Remove the oldest, but for so many."""
        with self._lock:
            surplus = len(self._spares) - but
            dropped, self._spares = self._spares[: max(0, surplus)], self._spares[max(0, surplus) :]
        for spare in dropped:
            spare.timer.cancel()
            spare.container.remove()

    def _in_background(self, work: Callable[[], object]) -> None:
        threading.Thread(target=work, name="prowess-spare", daemon=True).start()
