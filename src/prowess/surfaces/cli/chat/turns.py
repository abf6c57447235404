"""One message in a conversation, answered at the terminal, and the exit status that comes of it."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from prowess.agent.chat import Chat
from prowess.agent.events import Done, Failed, Happening, Noticed
from prowess.state.conversations import Outcome
from prowess.surfaces.cli.chat.interrupts import heed_interrupts
from prowess.surfaces.cli.statuses import STATUS_OF_REFUSAL, STATUS_OF_SETTINGS, STATUS_OF_WORLD

__all__ = ["TurnEnd", "run_turn"]

_STATUSES = {"settings": STATUS_OF_SETTINGS, "world": STATUS_OF_WORLD}
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn has ended."""

    outcome: Outcome
    failed: Failed | None = None
    interrupted: bool = False
    """Whether somebody at the keyboard has ended it."""
    lacked_skill: bool = False
    """Whether a skill that the message called for was refused, so that it was answered without."""

    @property
    def status(self) -> int:
        """The exit status: 0 answered, 1 no, 2 settings, 3 the model or the world failed, 130 Ctrl-C."""
        if self.outcome is Outcome.ANSWERED:
            return STATUS_OF_REFUSAL if self.lacked_skill else 0
        if self.interrupted:
            return _INTERRUPTED
        return _STATUSES.get(self.failed.kind, STATUS_OF_REFUSAL) if self.failed else STATUS_OF_REFUSAL


async def run_turn(
    chat: Chat,
    message: str,
    *,
    show: Callable[[Happening], None],
    on_interrupt: Callable[[], None] = lambda: None,
) -> TurnEnd:
    """Have a message answered, and show what happens. Ctrl-C cancels the turn, and not the program."""
    outcome, failed, lacked_skill = Outcome.FAILED, None, False

    def cancel() -> None:
        on_interrupt()
        chat.cancel()

    with heed_interrupts(cancel) as interrupts:
        async with aclosing(chat.stream(message)) as happenings:
            async for happening in happenings:
                show(happening)
                match happening.event:
                    case Failed() if not happening.within:
                        failed = happening.event
                    case Noticed(refused=str(skill)) if skill and not happening.within:
                        lacked_skill = True
                    case Done() if not happening.within:
                        outcome = happening.event.outcome
                    case _:
                        pass
    return TurnEnd(outcome, failed, interrupts.happened, lacked_skill)
