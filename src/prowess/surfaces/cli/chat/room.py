"""Where a conversation goes on: the runtime, the agent, and the conversation that is open now."""

from prowess.agent.agent import Agent
from prowess.agent.chat import Chat
from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Begun, Done
from prowess.errors import ProwessError
from prowess.policy import SessionMemory
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from prowess.surfaces.chat_ids import make_chat_id

__all__ = ["Room"]


class Room:
    """Holds one conversation at a time."""

    def __init__(self, runtime: Runtime, agent: Agent, *, chat_id: str | None) -> None:
        self.runtime = runtime
        self.agent = agent
        self.chat: Chat = agent.chat(chat_id)

    @property
    def is_kept(self) -> bool:
        """Whether the conversation can be gone on with later."""
        return self.runtime.policy.sessions is SessionMemory.CHAT

    def can_return(self) -> bool:
        """Whether something of the conversation is kept, for somebody to come back to."""
        key = self.chat.session.key
        try:
            return self.is_kept and self.runtime.store.last_event(user=key.user, session=key.session) > 0
        except (ProwessError, OSError):
            return False

    def begin_anew(self) -> None:
        """Leave the conversation for a new one."""
        self.chat.close()
        self.chat = self.agent.chat(make_chat_id(self.runtime.clock()))

    async def use_model(self, model: ChatModel) -> None:
        """Have another model answer from now on."""
        former, self.agent.model = self.chat.model, model
        self.chat.use_model(model)
        await former.close()

    def leave(self) -> None:
        """Leave the conversation."""
        self.chat.close()

    def last_turn(self) -> tuple[int, str, str]:
        """Return how many turns there were, and the last of them that was answered: the message and the answer."""
        turns, message, found = 0, "", ("", "")
        for happening in self.chat.happenings():
            match happening.event:
                case Begun() if not happening.within:
                    turns, message = turns + 1, happening.event.message
                case Done() if not happening.within and happening.event.outcome is Outcome.ANSWERED:
                    found = (message, happening.event.text)
                case _:
                    pass
        return turns, *found
