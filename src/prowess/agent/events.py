"""What happens in a conversation: one stream of typed events for the terminal, the web, programs and the store.

As JSON, an event is an object whose `event` names its kind. Those of a turn begin with `begun` and end with `done`.
"""

from typing import Any, ClassVar, cast

import msgspec

from prowess.agent.messages import ToolCall
from prowess.errors import ProwessError, Refused, SettingsError, WorldError
from prowess.skill.deception import make_encodable
from prowess.state.conversations import Outcome, TokenUse

__all__ = [
    "Answered",
    "Asked",
    "Begun",
    "CallBegun",
    "CallEnded",
    "Compacted",
    "ConsentAnswered",
    "ConsentAsked",
    "Done",
    "Event",
    "Failed",
    "ForkBegun",
    "ForkEnded",
    "Happening",
    "Noticed",
    "OutputHeard",
    "Resumed",
    "Retried",
    "SkillLoaded",
    "TextHeard",
    "ThinkingHeard",
    "Told",
    "make_storable",
    "parse_event",
    "render_event",
]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    kept: ClassVar[bool] = True
    """Whether it is part of the conversation; else it is for those who watch, and gone afterwards."""


class Begun(_Event, frozen=True, kw_only=True, tag="begun"):
    """A turn has begun."""

    message: str
    """As the user typed it; for a fork, what it was asked to do."""
    model: str


class Resumed(_Event, frozen=True, kw_only=True, tag="resumed"):
    """Another process goes on with this turn; what was heard of the unfinished answer is void."""

    id: str
    """That no other has: of two processes which go on with a turn at once, the log takes the event of one."""
    by: str = ""
    """Who goes on, in words of its own."""


class SkillLoaded(_Event, frozen=True, kw_only=True, tag="loaded"):
    """A skill was switched on: by the user's message, or by a call."""

    name: str
    skill: str
    digest: str
    receipt: str
    asked_by: str
    text: str
    """For the user, in a line."""
    truncated: bool = False
    tokens: int = 0
    call: str = ""
    """The call that did it; empty for the message."""


class Told(_Event, frozen=True, kw_only=True, tag="told"):
    """The model is told this system prompt from now on."""

    system: str


class Asked(_Event, frozen=True, kw_only=True, tag="asked"):
    """The user's message, as the model gets it."""

    text: str
    context: str = ""
    suggested: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    """Of the skills whose instructions are in the context."""
    system: str = ""
    """What the system prompt says besides, for the answer to this message alone."""


class TextHeard(_Event, frozen=True, kw_only=True, tag="text"):
    """The next part of an answer."""

    kept: ClassVar[bool] = False
    text: str


class ThinkingHeard(_Event, frozen=True, kw_only=True, tag="thinking"):
    """The next part of what a model shows of its thinking."""

    kept: ClassVar[bool] = False
    text: str


class Retried(_Event, frozen=True, kw_only=True, tag="retried"):
    """The provider failed and is asked again; what was heard of this answer is void."""

    kept: ClassVar[bool] = False
    reason: str
    attempt: int
    seconds: float


class Answered(_Event, frozen=True, kw_only=True, tag="answer"):
    """A model has answered a request, with text, with calls, or with both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    native: str = ""
    thinking: str = ""
    use: TokenUse = TokenUse()
    cut: bool = False


class CallBegun(_Event, frozen=True, kw_only=True, tag="call"):
    """A tool is being called: a card begins."""

    call: str
    tool: str
    role: str = ""
    """What the tool does; empty if there is no such tool."""
    title: str = ""
    arguments: dict[str, Any] = {}
    """Empty if they cannot be read."""


class ConsentAsked(_Event, frozen=True, kw_only=True, tag="question"):
    """A person is asked before something goes on. `call` is empty for what a message itself calls for."""

    call: str
    question: str
    """The question's id."""
    title: str
    record: dict[str, Any]
    """All that there is to answer it by."""


class ConsentAnswered(_Event, frozen=True, kw_only=True, tag="consent"):
    """A person has answered, or nobody was there to."""

    call: str
    question: str
    answer: str
    """As in `allow-once`; `nobody` if there was no answer."""


class OutputHeard(_Event, frozen=True, kw_only=True, tag="output"):
    """A script has written something."""

    kept: ClassVar[bool] = False
    call: str
    stream: str
    text: str


class CallEnded(_Event, frozen=True, kw_only=True, tag="result"):
    """What came of a call: its card is whole."""

    call: str
    tool: str
    role: str = ""
    content: str = ""
    """What the model reads."""
    data: dict[str, Any] = {}
    state: str = "done"
    """`done`, `failed`, `refused` or `cancelled`."""
    summary: str = ""
    receipt: str = ""
    """Of the skill that it has switched on."""
    seconds: float = 0.0

    @property
    def is_error(self) -> bool:
        """Whether the model is told that it failed."""
        return self.state != "done"


class ForkBegun(_Event, frozen=True, kw_only=True, tag="fork"):
    """A subagent works a skill; what happens in it carries its id."""

    call: str
    fork: str
    skill: str
    name: str
    digest: str
    permissions: tuple[str, ...] = ()
    granted_by: str = ""
    depth: int = 1


class ForkEnded(_Event, frozen=True, kw_only=True, tag="joined"):
    """A subagent has ended."""

    call: str
    fork: str
    outcome: Outcome
    text: str = ""
    use: TokenUse = TokenUse()
    steps: int = 0
    seconds: float = 0.0


class Compacted(_Event, frozen=True, kw_only=True, tag="compacted"):
    """The older part of the conversation was replaced by a summary, and what must stay was given again."""

    summary: str
    by: str
    """`model` or `truncation`."""
    request: str = ""
    """What the user wants, word for word, if that is not among the messages that stay."""
    attached: str = ""
    """The instructions of active skills."""
    skills: tuple[str, ...] = ()
    """Names of those that are given again, the newest first."""
    dropped: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    """Of those that are given again."""
    kept_messages: int = 0
    """How many of the last messages stay as they are."""
    tokens_before: int = 0
    tokens_after: int = 0
    use: TokenUse = TokenUse()


class Noticed(_Event, frozen=True, kw_only=True, tag="notice"):
    """Something that the user should know."""

    text: str
    refused: str = ""
    """The skill that the message called for and that is not active; empty if it is about something else."""


class Failed(_Event, frozen=True, kw_only=True, tag="error"):
    """The turn cannot go on."""

    code: str
    message: str
    hint: str = ""
    kind: str = "refused"
    """Who can act: `world` (the model's provider too), `settings`, or `refused`."""


class Done(_Event, frozen=True, kw_only=True, tag="done"):
    """The turn is over."""

    text: str
    """The answer; what there is of it, if the turn did not end well."""
    outcome: Outcome = Outcome.ANSWERED
    use: TokenUse = TokenUse()
    """With that of its forks."""
    steps: int = 0
    seconds: float = 0.0


Event = (
    Begun
    | Resumed
    | SkillLoaded
    | Told
    | Asked
    | TextHeard
    | ThinkingHeard
    | Retried
    | Answered
    | CallBegun
    | ConsentAsked
    | ConsentAnswered
    | OutputHeard
    | CallEnded
    | ForkBegun
    | ForkEnded
    | Compacted
    | Noticed
    | Failed
    | Done
)


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the conversation."""

    event: Event
    turn: str
    number: int | None = None
    """In the log; None for what is not kept."""
    within: str = ""
    """The fork that it happened in; empty for the conversation itself."""
    at: float = 0.0

    def record(self) -> dict[str, Any]:
        """Return it as plain data, as `prowess chat --json` prints it."""
        place: dict[str, Any] = {"turn": self.turn}
        if self.number is not None:
            place["number"] = self.number
        if self.within:
            place["within"] = self.within
        return {**msgspec.to_builtins(self.event), **place, "at": self.at}


def make_storable(event: Event) -> tuple[Event, str]:
    """Return an event without half characters, which can be neither stored nor sent, and the same as JSON."""
    try:
        return event, render_event(event)
    except UnicodeEncodeError:
        plain = _make_encodable(msgspec.to_builtins(event))
        sound: Event = msgspec.convert(plain, type=Event)  # pyright: ignore[reportAssignmentType, reportUnknownVariableType]
        return sound, render_event(sound)


def _make_encodable(value: Any) -> Any:
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, dict):
        return {_make_encodable(key): _make_encodable(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_make_encodable(item) for item in cast("list[Any]", value)]
    return value


def make_failed(error: ProwessError) -> Failed:
    """Return an error as an event, with the hint for whoever has typed no command: most who read it have not."""
    kind = "settings" if isinstance(error, SettingsError) else "world" if isinstance(error, WorldError) else "refused"
    hint = error.hint_elsewhere if isinstance(error, Refused) else error.hint
    return Failed(code=error.code, message=error.message, hint=hint, kind=kind)


def render_event(event: Event) -> str:
    """Return an event as JSON."""
    return msgspec.json.encode(event).decode()


_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
"""Made once: to learn the kinds of events takes ten times as long as to read one."""


def parse_event(data: str) -> Event:
    """Return the event that JSON describes."""
    return _DECODER.decode(data)
