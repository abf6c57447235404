"""How every surface says the same things to a person: powers, answers, what was used, what was made short."""

from typing import TYPE_CHECKING

from prowess.state.conversations import TokenUse

if TYPE_CHECKING:  # Commands that tell of costs start without the agent.
    from prowess.agent.events import Compacted, Resumed

__all__ = [
    "describe_answer",
    "describe_compaction",
    "describe_power",
    "describe_resumption",
    "describe_use",
    "shorten_given",
    "show_cost",
    "show_seconds",
    "show_use",
]

_POWERS = {
    "network": "reach the network",
    "workspace:read": "read the folder",
    "workspace:write": "read and change the folder",
    "secret": "be given a secret",
    "packages": "have packages installed",
}
_ANSWERS = {
    "allow-once": "allowed this once",
    "allow-for-session": "allowed for this session",
    "allow-always": "allowed always",
    "refuse": "refused for good",
    "refuse-once": "not now",
    "nobody": "nobody has answered",
}
_MAX_GIVEN = 2_000
"""Characters of all arguments together, of a prompt, and of an input."""


def describe_power(power: str) -> str:
    """Return what a run could do with a power, as in `be given a secret: TOKEN`."""
    for kind, what in _POWERS.items():
        if power == kind or power.startswith(f"{kind}:"):
            which = power[len(kind) + 1 :]
            return f"{what}: {which}" if which else what
    return power


def describe_use(*, spares_runs: bool) -> str:
    """Return what a yes to the use of a skill means."""
    runs = (
        "its scripts may run in a sandbox without another question, and ask for whatever lies beyond it"
        if spares_runs
        else "to run its scripts is another question"
    )
    return f"a yes gives its instructions to the model, which may then read its files; {runs}"


def describe_answer(answer: str) -> str:
    """Return what a person said to a question of consent."""
    return _ANSWERS.get(answer, answer)


def describe_compaction(event: "Compacted") -> str:
    """Return that the older part of the conversation was replaced, and what became of its skills."""
    how = "summed up" if event.by == "model" else "truncated"
    kept = f"; kept: {', '.join(event.skills)}" if event.skills else ""
    dropped = f"; to be activated again: {', '.join(event.dropped)}" if event.dropped else ""
    return f"the conversation was {how}: {event.tokens_before:,} → {event.tokens_after:,} tokens{kept}{dropped}"


def describe_resumption(event: "Resumed") -> str:
    """Return that another process goes on with a turn."""
    who = " ".join(event.by.split()) or "another process"
    return f"{who} goes on with this answer; what was heard of it does not count"


def shorten_given(text: str) -> str:
    """Return what a call was given, such as arguments, as much of it as a question shows; what is cut is said."""
    more = len(text) - _MAX_GIVEN
    return f"{text[:_MAX_GIVEN]} … and {more:,} more characters" if more > 0 else text


def show_use(use: TokenUse, seconds: float | None = None) -> str:
    """Return what requests have used: tokens, what they cost if that is known, and how long it took."""
    cached = f" ({use.cached_tokens:,} cached)" if use.cached_tokens else ""
    parts = [f"{use.input_tokens:,} tokens in{cached}, {use.output_tokens:,} out", show_cost(use.cost_usd or None)]
    parts.append("" if seconds is None else show_seconds(seconds))
    return " · ".join(part for part in parts if part)


def show_cost(usd: float | None) -> str:
    """Return what something cost; nothing if that is not known."""
    return "" if usd is None else f"${usd:,.4f}"


def show_seconds(seconds: float) -> str:
    """Return how long something took."""
    return f"{seconds:.1f} s"
