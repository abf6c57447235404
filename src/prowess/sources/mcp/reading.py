"""Read all files of one skill, each verified against what was listed.

Small files are asked for several at once, since it is the way there and back that takes its time; large ones one after
the other, so that none takes the time of another.
"""

import hashlib
from collections.abc import Sequence

import anyio

from prowess.skill.problems import Problem, make_problem
from prowess.sources.mcp.listed import Listed, ListedFile
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.talks import Talk, TalkFailed
from prowess.sources.mcp.wire import SKILL_MD
from prowess.sources.mcp.wire_frontmatter import matches_frontmatter

__all__ = ["AT_ONCE", "Unfit", "read_skill"]

AT_ONCE = 8
"""Small files that are asked for at once."""
_SMALL_BYTES = 128 << 10


class Unfit(Exception):
    """A skill could not be read as it was listed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


async def read_skill(talk: Talk, one: Listed, *, server: McpServer) -> dict[str, bytes]:
    """Return every file of a skill as it was listed, its SKILL.md first; raise `Unfit` if one is not."""
    reader = _Reader(talk, one, server)
    head = next(file for file in one.files if file.path == SKILL_MD)
    await reader.read(head)
    if not matches_frontmatter(one.frontmatter, reader.found[SKILL_MD]):
        what = f"the server '{server.name}' lists {one.path} with another frontmatter than its {SKILL_MD} has"
        raise reader.unfit("mcp-frontmatter-differs", what)
    others = [file for file in one.files if file is not head]
    await reader.read_at_once([file for file in others if file.size <= _SMALL_BYTES])
    for file in others:
        if file.size > _SMALL_BYTES:
            await reader.read(file)
    return {file.path: reader.found[file.path] for file in (head, *others)}


class _Reader:
    """Asks for the files of one skill, and keeps what was found."""

    def __init__(self, talk: Talk, one: Listed, server: McpServer) -> None:
        self.found: dict[str, bytes] = {}
        self._talk = talk
        self._one = one
        self._server = server

    async def read_at_once(self, files: Sequence[ListedFile]) -> None:
        """Read several files at once. What counts as silence is that none of them comes."""
        patience = self._server.timeout_seconds
        waiting = list(reversed(files))
        faults: list[Unfit] = []
        with anyio.move_on_after(patience) as silence:
            async with anyio.create_task_group() as tasks:

                async def read_on() -> None:
                    try:
                        while waiting:
                            # A server that does one thing after the other answers the last of them much later.
                            await self.read(waiting.pop(), seconds=float(patience * AT_ONCE))
                            silence.deadline = anyio.current_time() + patience
                    except Unfit as unfit:  # Raised, it would come out in a group.
                        faults.append(unfit)
                        tasks.cancel_scope.cancel()

                for _ in range(min(AT_ONCE, len(files))):
                    tasks.start_soon(read_on)
        if faults:
            raise faults[0]
        missing = next((file for file in files if file.path not in self.found), None)
        if silence.cancelled_caught and missing is not None:  # The last one may come in the instant of the end.
            what = f"it gave no answer to the file {missing.uri} within {patience} seconds"
            raise self.unfit("mcp-unreachable", f"the server '{self._server.name}': {what}")

    async def read(self, file: ListedFile, *, seconds: float | None = None) -> None:
        """Read one file, within so many seconds if they are given."""
        try:
            content = await self._talk.read(file.uri, size_bytes=file.size, seconds=seconds)
        except TalkFailed as failure:
            raise self.unfit(failure.code, f"the server '{self._server.name}': {failure.message}") from failure
        if len(content) != file.size or hashlib.sha256(content).hexdigest() != file.sha256:
            what = f"gives {file.path} of {self._one.path} with other bytes than it lists"
            raise self.unfit("mcp-mismatch", f"the server '{self._server.name}' {what}")
        self.found[file.path] = content

    def unfit(self, code: str, what: str) -> Unfit:
        """Return what is to be raised, with the skill as its place."""
        return Unfit(make_problem(code, what, path=f"mcp:{self._server.name}/{self._one.path}"))
