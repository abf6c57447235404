"""Which skill a message calls for, and why: one that is active, or one to be activated."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.agent.offline.acts import Activate, Search, Toolbox
from prowess.agent.offline.catalog_reading import Entry, parse_catalog
from prowess.agent.offline.content_words import Fit, find_plain_words, measure_fits
from prowess.agent.offline.markdown_blocks import parse_blocks
from prowess.agent.offline.named_files import match_file
from prowess.agent.offline.recollection import Deed, Recollection, read_instructions_of
from prowess.agent.offline.tool_texts import Instructions, read_answer, read_error
from prowess.agent.offline.wishes import Wish

__all__ = ["Focus", "decide_focus", "rank_entries"]

_MAX_SKILLS = 16
"""That one message calls for."""
_MAX_QUERY_WORDS = 12
_MAX_QUERY = 200
_MAX_ERROR = 2_000
"""Characters of an error that are looked at."""
_LEAST_SHARE = 0.5
"""Of a message's words, that the instructions of an active skill must have for it to be about them."""
_FITS = "its description fits your message"
_WANTS_PROMPT = re.compile(r"\bprompt\b", re.IGNORECASE)
_WANTS_ARGUMENTS = re.compile(
    r"\b(?:miss|need|requir)\w*\b.*\barguments?\b|\barguments?\b.*\b(?:missing|required)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Focus:
    """What a turn is about."""

    skills: tuple[Instructions, ...] = ()
    """Those whose instructions are gone by."""
    why: str = ""
    chosen: str = ""
    """The skill that was chosen, whether or not its instructions have come."""
    answer: str = ""
    """What a subagent says that has worked it."""
    failure: str = ""
    """Why it could not be activated."""


@dataclass(frozen=True, slots=True)
class _Choice:
    name: str
    why: str


def decide_focus(memory: Recollection, wish: Wish, toolbox: Toolbox) -> Focus | Search | Activate:
    """Return what the turn is about, or what must be done to know it."""
    deed = _find_activation(memory)
    if deed is None and memory.given:
        why = "it is active" if memory.is_compacted else "its instructions came with your message"
        return Focus(memory.given[:_MAX_SKILLS], why)
    if deed is None and memory.noted:
        known = tuple(one for name in memory.noted[:_MAX_SKILLS] if (one := memory.find(name)) is not None)
        return Focus(known, "it is active, and your message calls for it", memory.noted[0])
    if deed is None and memory.answers:
        name, answer = memory.answers[0]
        return Focus((), "your message calls for it", name, answer=answer)
    if memory.refused:  # The user wanted this skill and no other.
        return Focus()
    if deed is None and (named := _find_named_active(memory, wish)):
        return named
    choice = _choose(memory, wish, toolbox)
    if deed is not None:
        why = choice.why if isinstance(choice, _Choice) else "it was activated for your message"
        return _follow(deed, memory, wish, toolbox, why=why)
    if memory.is_compacted:
        return _find_topic(memory, wish)
    if isinstance(choice, Search):
        return choice
    if choice is None:
        return _find_topic(memory, wish)
    known = memory.find(choice.name)
    if known is not None:
        return Focus((known,), f"it is active, and {choice.why}", choice.name)
    if choice.name in memory.active_names or not toolbox.can(Activate):
        return Focus((), choice.why, choice.name)
    return Activate(choice.name)


def rank_entries(memory: Recollection, wish: Wish) -> tuple[tuple[Entry, Fit], ...]:
    """Return all skills that are known of, those that come nearest to the message first."""
    entries = _merge(_find_results(memory), memory.catalog)
    fits = measure_fits(wish.words, ((entry.name, entry.description) for entry in entries))
    order = sorted(range(len(entries)), key=lambda at: (-fits[at].score, at))
    return tuple((entries[at], fits[at]) for at in order)


# After an activation


def _find_activation(memory: Recollection) -> Deed | None:
    return next((deed for deed in reversed(memory.deeds) if isinstance(deed.act, Activate)), None)


def _follow(deed: Deed, memory: Recollection, wish: Wish, toolbox: Toolbox, *, why: str) -> Focus | Activate:
    """Return what an activation has brought; where it asks for a prompt or for arguments, it is tried once more."""
    assert isinstance(deed.act, Activate)
    name = deed.act.name
    if deed.failed:
        again = _try_again(deed.act, deed.result[:_MAX_ERROR], wish, toolbox)
        return Focus((), why, name, failure=read_error(deed.result)) if again is None else again
    known = memory.find(name)
    found = read_instructions_of(deed.act, deed.result, toolbox) or known
    return Focus((found,), why, name) if found else Focus((), why, name, answer=read_answer(deed.result))


def _try_again(act: Activate, said: str, wish: Wish, toolbox: Toolbox) -> Activate | None:
    """Return the call with the user's words, if it failed for want of them."""
    wants_prompt = _WANTS_PROMPT.search(said)
    if act.prompt or act.arguments or not wish.text.strip():
        return None
    if wants_prompt and toolbox.takes(Activate, "prompt"):
        return Activate(act.name, prompt=wish.text)
    if (wants_prompt or _WANTS_ARGUMENTS.search(said)) and toolbox.takes(Activate, "arguments"):
        return Activate(act.name, arguments=wish.text)
    return None


# Without one


def _choose(memory: Recollection, wish: Wish, toolbox: Toolbox) -> _Choice | Search | None:
    """Return the skill that fits, or the search that would find it."""
    named = next((entry.name for entry in memory.catalog if _names_skill(wish.text, entry.name)), None)
    if named is not None:
        return _Choice(named, "you named it")
    if memory.triggered:
        return _Choice(memory.triggered[0], "your message triggers it")
    if wish.is_small_talk:
        return None
    suggested = _choose_suggested(memory, wish)
    if suggested is not None:
        return suggested
    if not toolbox.can(Search):
        return _choose_best(memory.catalog, wish, how=_FITS)
    search = Search(_make_query(wish))
    done = memory.result_of(search)
    if done is None:
        return search
    return _choose_best(parse_catalog(done.result)[:1], wish, how="the search found it", among=memory.catalog)


def _choose_suggested(memory: Recollection, wish: Wish) -> _Choice | None:
    """Return the suggestion that fits best, if one does, unless another skill of the catalog fits better."""
    if not memory.suggested:
        return None
    listed = {entry.name: entry for entry in memory.catalog}
    unlisted = next((name for name in memory.suggested if name not in listed), None)
    if unlisted is not None:  # Whether it fits is not for this model to see.
        return _Choice(unlisted, "it was suggested for your message")
    return _choose_best(_merge([listed[name] for name in memory.suggested], memory.catalog), wish, how=_FITS)


def _choose_best(entries: Sequence[Entry], wish: Wish, *, how: str, among: Sequence[Entry] = ()) -> _Choice | None:
    """Return the best of these skills, if it fits well; a word counts more the fewer of all skills have it."""
    everything = _merge(entries, among)
    fits = measure_fits(wish.words, ((entry.name, entry.description) for entry in everything))[: len(entries)]
    if not fits:
        return None
    best = max(range(len(fits)), key=lambda at: (fits[at].score, -at))
    if not fits[best].is_good:
        return None
    words = [word for word in find_plain_words(wish.text) if measure_fits(fits[best].shared, [("", word)])[0].shared]
    return _Choice(everything[best].name, f"{how} ({', '.join(words[:6])})")


def _merge(first: Sequence[Entry], second: Sequence[Entry]) -> tuple[Entry, ...]:
    names = {entry.name for entry in first}
    return (*first, *(entry for entry in second if entry.name not in names))


def _find_results(memory: Recollection) -> tuple[Entry, ...]:
    results = [parse_catalog(deed.result) for deed in memory.deeds if isinstance(deed.act, Search) and not deed.failed]
    return results[-1] if results else ()


def _make_query(wish: Wish) -> str:
    return " ".join(find_plain_words(wish.text)[:_MAX_QUERY_WORDS])[:_MAX_QUERY]


def _names_skill(text: str, name: str) -> bool:
    """Whether a text names a skill in so many words; a name that is an ordinary word must be called one."""
    if not name or name.lower() not in text.lower():
        return False
    whole = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    if re.match(rf"\s*[/$]{whole}", text, re.IGNORECASE):
        return True
    pattern = whole if "-" in name else rf"\bskill\s+[`'\"“]?{whole}|{whole}[`'\"”]?\s+skill\b"
    return re.search(pattern, text, re.IGNORECASE) is not None


# Of what is active


def _find_named_active(memory: Recollection, wish: Wish) -> Focus | None:
    """Return the active skill that the message names, or a file or a step of which."""
    for skill in reversed(memory.active):
        if _names_skill(wish.text, skill.name):
            return Focus((skill,), "it is active, and you named it", skill.name)
    for skill in reversed(memory.active):
        for path in wish.paths:
            if path in skill.body or match_file(path, known=skill.files or ()):
                return Focus((skill,), f"it is active, and {path} is of it", skill.name)
    newest = memory.active[-1] if memory.active else None
    if newest and wish.steps and any(block.step in wish.steps for block in parse_blocks(newest.body)):
        return Focus((newest,), "it is active, and has the step that you name", newest.name)
    return None


def _find_topic(memory: Recollection, wish: Wish) -> Focus:
    """Return the newest active skill, if the message can only be about it."""
    if not memory.active or wish.is_small_talk:
        return Focus()
    newest = memory.active[-1]
    (fit,) = measure_fits(wish.words, [(newest.name, newest.body)])
    if wish.is_whole or fit.share >= _LEAST_SHARE:
        return Focus((newest,), "it is active", newest.name)
    return Focus()
