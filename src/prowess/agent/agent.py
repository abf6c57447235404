"""The Agent: a runtime and a model, for conversations that use skills."""

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType

import anyio.to_thread

from prowess.activation.consent import ConsentAsker
from prowess.agent.chat import Chat, TurnAnswer
from prowess.agent.chat_model import ChatModel
from prowess.agent.conversation import Audience
from prowess.agent.evaluating import ask_model
from prowess.agent.model_choice import open_model
from prowess.agent.stage import Watcher
from prowess.catalog.switches import EVERY_AGENT
from prowess.execution.rules.rights import EVERYTHING, Rights
from prowess.runtime.evaluation import Evaluation
from prowess.runtime.host_tools import HostTool
from prowess.runtime.runtime import Runtime

__all__ = ["Agent"]


class Agent:
    """Leads conversations. `model` is a name as in the settings, or any `ChatModel`; without one, that of the settings.

    `instructions` come before what the model is told of skills. `agent`, `skills`, `rights` and `tools` are as for
    `Runtime.session`. `asker` puts questions of consent to a person. `watchers` are told whatever happens, in
    whichever thread, and must not wait.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        model: str | ChatModel | None = None,
        instructions: str | None = None,
        agent: str = EVERY_AGENT,
        skills: Sequence[str] | None = None,
        tools: Sequence[HostTool] = (),
        asker: ConsentAsker | None = None,
        rights: Rights = EVERYTHING,
        audience: Audience = Audience.USER,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self.runtime = runtime
        settings = runtime.settings
        chosen = settings.model if model is None else model
        self.model: ChatModel = open_model(chosen, url=settings.model_url) if isinstance(chosen, str) else chosen
        self.instructions = runtime.policy.turns.instructions if instructions is None else instructions
        self.agent = agent
        self.skills = skills
        self.tools = tuple(tools)
        self.asker = asker or runtime.asker
        self.rights = rights
        self.audience = audience
        self.watchers = tuple(watchers)

    async def __aenter__(self) -> "Agent":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give back the model's connections. The runtime stays open."""
        await self.model.close()

    def chat(self, chat_id: str | None = None) -> Chat:
        """Return the conversation of this id, with all that was said in it; without one, a new one that is not kept."""
        return Chat(self, chat_id)

    async def evaluate(
        self, *names: str, runs: int = 3, progress: Callable[[int, int], None] | None = None
    ) -> Evaluation:
        """Measure the trigger tests of skills as `Runtime.evaluate` does, and then by what the model chooses.

        The model is asked so many times about each query, which costs what its provider charges; the result says how
        much that was. No skill is activated. `progress` is told how many of these conversations are done.
        """
        measured = await anyio.to_thread.run_sync(partial(self.runtime.evaluate, *names, agent=self.agent))
        return await ask_model(self, measured, runs=runs, progress=progress or (lambda _done, _total: None))

    async def ask(self, message: str) -> TurnAnswer:
        """Answer one message in a conversation of its own, which is gone afterwards."""
        chat = self.chat()
        try:
            return await chat.say(message)
        finally:
            chat.close()
