"""What a user wants, as far as the words of a message tell."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from prowess.agent.offline.content_words import find_words

__all__ = ["Wish", "read_wish", "split_command"]

_MAX_CHARACTERS = 20_000
"""Of a message; what follows is not looked at."""
_MAX_ARGUMENTS = 50
_MAX_STEPS = 99
_MAX_WORD = 40
_MAX_PATH = 300
_MAX_CLAUSE = 80
"""Characters before a path that may speak against it."""
_MAX_BEFORE = 500
"""Characters before a verb that may turn its meaning."""
_MAX_VERBS = 20
"""Of a sentence."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_QUESTION = re.compile(
    r"(?:and|but|hello|hey|hi|ok|okay|so|well)?[\s,]*(?:how|what|when|where|which|who|whose|why)\b", re.IGNORECASE
)
_REQUEST = re.compile(r"\b(?:can|could|will|would)\s+you\b|\bplease\b", re.IGNORECASE)
_THINGS = r"(?:checklist|checks?|everything|it\s+all|procedure|process|routine|steps?|tests?|thing|validation|workflow)"
_ALONE = r"(?<![\w./\\-])", r"(?![\w/\\-]|\.\w)"
"""Around a word that is no part of a path or of a name."""
_START = re.compile(
    rf"{_ALONE[0]}(?:run|rerun|re-run|execute|launch|invoke|perform|"
    rf"(?:carry\s+out|do|start|work(?:\s+through)?)(?=\s+(?:[\w-]+\s+){{0,3}}{_THINGS}\b)|"
    rf"start(?=\s+(?:it\b|[\w./-]*/)))\b{_ALONE[1]}",
    re.IGNORECASE,
)
_CHECK = re.compile(
    rf"{_ALONE[0]}(?:check|validate|verify|test|smoke-test|compute|calculate|measure){_ALONE[1]}", re.IGNORECASE
)
_INSPECTED = re.compile(
    r"\b(?:code|files?|how|if|instructions|scripts?|skills?|source|what|when|where|whether|which|who|why)\b",
    re.IGNORECASE,
)
"""After a verb of checking, these say that something is to be looked at, and not to be run."""
_OTHER_MATTER = re.compile(
    r"\b(?:how|if|unless|until|what|when|whenever|where|whether|which|who|why)\b|"
    r"\b(?:analy[sz]e|compare|describe|discuss|display|document|draft|explain|learn|list|mention|outline|print|quote|read|"
    r"remember|review|say|show|summari[sz]e|tell|translate|understand|write)\b(?!.*(?:[,:;]|\b(?:and|then)\b))",
    re.IGNORECASE | re.DOTALL,
)
"""Before a verb of running, these make it a thing that is told of, or one that depends on something."""
_NOUN_MARKS = frozenset(
    (
        *("a", "an", "another", "any", "each", "every", "first", "last", "my", "no", "our", "that", "the", "their"),
        *("these", "this", "those", "unit", "your"),
        *("be", "been", "did", "does", "had", "has", "have", "he", "i", "is", "it", "she", "they", "was", "we", "were"),
    )
)
"""Before `test` and its like, these make a thing of it, or tell what somebody did."""
_NOT = (
    r"(?:\b\w{1,20}n['\u2019]t|\b(?:avoid|cannot|cant|dont|except|excluding|instead\s+of|leave\s+out|mustnt|neither|never|no|"
    r"nor|not|omit|rather\s+than|refrain\s+from|shouldnt|skip|stop|without|wont|(?:all|any\w*|everything)\s+but))\b"
)
_DOINGS = r"(?:call|carry|do|doing|execut|fire|invok|launch|perform|re-?run|run|start|touch|trigger|us(?:e|ing)|work)"
_NO_RUN = re.compile(
    rf"{_NOT}\s+(?:[\w'\u2019-]+\s+){{0,4}}{_DOINGS}\w*|\bno\s+(?:execution|running|runs?|scripts?)\b|"
    rf"\b(?:execute|run|start|touch|use)\s+(?:no|none|nothing)\b|"
    r"\b(?:just|merely|only|simply)\s+(?:\w+\s+){0,2}(?:describe|explain|list|look|quote|read|review|say|show|summari[sz]e|tell)\b|"
    r"\b(?:describe|explain|list|quote|read|review|say|show|summari[sz]e|tell)\s+(?:\w+\s+)?only\b",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(rf"{_NOT}[^,;:.!?]*\Z", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:whole|entire|full|complete|all)\s+(?:\w+\s+){0,2}(?:checklist|instructions|it|procedure|process|run|skill|steps|"
    r"thing|validation|workflow)\b|\bevery\s+step\b|\beverything\b|\bstep\s+by\s+step\b|\bfrom\s+\w+\s+to\s+(?:end|finish)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"\b(?:cat|describe|display|examine|explain|fetch|inspect|load|look|open|print|quote|read|review|show|summari[sz]e|view)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"\b(?:only\s+(?:the\s+)?(?:steps?\s+)?|steps?\s+)(\d{1,2}(?:\s*(?:,|and|&|to|through|-|\u2013)\s*\d{1,2}){0,20})\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(to|through|-|\u2013)?\s*(\d{1,2})\b", re.IGNORECASE)
_BEYOND = re.compile(
    r"\b(?:analy[sz]e|answer|brainstorm|compare|compose|create|decide|design|draft|"
    r"explain|fix|generate|implement|improve|invent|make|paraphrase|propose|reason|recommend|refactor|rename|rephrase|"
    r"review|rewrite|solve|sum up|summari[sz]e|translate|write)\b",
    re.IGNORECASE,
)
_GREETINGS = frozenset(
    (
        *(
            "afternoon",
            "bye",
            "cheers",
            "cool",
            "day",
            "doing",
            "evening",
            "fine",
            "good",
            "goodbye",
            "great",
            "greetings",
        ),
        *(
            "hello",
            "hey",
            "hi",
            "lovely",
            "morning",
            "name",
            "nice",
            "night",
            "ok",
            "okay",
            "perfect",
            "sorry",
            "thank",
        ),
        *("thanks", "there", "today", "weekend", "welcome", "well", "wonderful", "world", "yeah", "yes", "yo"),
    )
)
_GREETING_STEMS = frozenset(word for greeting in _GREETINGS for word in find_words(greeting))
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{0,500})'(?!\w)|(?<!\w)\"([^\"\n]{0,500})\"(?!\w)|\u201c([^\u201d\n]{0,500})\u201d|\u2018([^\u2019\n]{0,500})\u2019|`([^`\n]{1,500})`"
)
_DASHES = re.compile(r"(?:^|\s)--\s+(.+)$", re.MULTILINE)
_TOKEN = re.compile(r"[^\s'\"`()<>,;\u2018\u2019\u201c\u201d]+")
_PATH = re.compile(
    r"(?:\.{1,2}[/\\]|/)*(?:[\w-][\w.-]*[/\\])*[\w-][\w.-]*\.[A-Za-z]\w{0,7}|(?:scripts|references|assets)/[\w./-]*\w"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a message asks for."""

    text: str
    words: tuple[str, ...] = ()
    """Stems of the words that say something."""
    starts: bool = False
    """Whether something is to be run, in so many words."""
    checks: bool = False
    """Whether something is to be checked or computed."""
    forbids_runs: bool = False
    reads: bool = False
    """Whether something is to be read or shown."""
    is_whole: bool = False
    """Whether all steps of a procedure are wanted."""
    steps: tuple[int, ...] = ()
    """Numbers of the steps that are wanted, if not all."""
    quoted: tuple[str, ...] = ()
    """What stands in quotation marks."""
    after_dashes: tuple[str, ...] | None = None
    """The words after `--`, as a shell divides them."""
    paths: tuple[str, ...] = ()
    """What looks like a file."""
    avoided: tuple[str, ...] = ()
    """Of those: the ones that the user does not want."""
    beyond: str = ""
    """The verb for what only a language model can do."""

    @property
    def runs(self) -> bool:
        """Whether something is to be run, checked or computed."""
        return self.starts or self.checks

    @property
    def is_small_talk(self) -> bool:
        """Whether it asks for nothing."""
        return all(word in _GREETING_STEMS for word in self.words)


def read_wish(message: str) -> Wish:
    """Return what a message asks for."""
    text = message[:_MAX_CHARACTERS]
    asking = [one for one in _SENTENCE_END.split(text) if one.strip() and not _is_question(one)]
    plain = _hide_quoted(text)
    doing = [one for one in _SENTENCE_END.split(plain) if one.strip() and not _is_question(one)]
    forbids = _NO_RUN.search(plain) is not None
    verbs = [verb for one in asking if (verb := _find_verb(_BEYOND, one))]
    dashes = _DASHES.search(text)
    paths = tuple(_find_paths(text))
    return Wish(
        text,
        find_words(text),
        starts=not forbids and any(map(_is_start, doing)),
        checks=not forbids and any(map(_is_check, doing)),
        forbids_runs=forbids,
        reads=_READ.search(text) is not None,
        is_whole=_WHOLE.search(text) is not None,
        steps=_read_steps(text),
        quoted=tuple(_find_quoted(text[: dashes.start()] if dashes else text)),
        after_dashes=tuple(split_command(dashes[1])) if dashes else None,
        paths=tuple(dict.fromkeys(path for _, path in paths)),
        avoided=tuple(dict.fromkeys(path for at, path in paths if _is_avoided(text, at))),
        beyond=verbs[0].lower() if verbs else "",
    )


def _hide_quoted(text: str) -> str:
    """Return a text with blanks for what is quoted: that is what somebody else says, or is given to a script."""
    whole = text.strip()
    if len(whole) > 2 and whole[0] == whole[-1] == "`" and "`" not in whole[1:-1]:
        return whole[1:-1]  # The whole message, as an answer may have proposed it.
    return _QUOTED.sub(lambda found: " " * len(found[0]), text)


def _is_start(sentence: str) -> bool:
    """Whether a sentence asks for something to be run, and not to be told of it."""
    verbs = _find_verbs(_START, sentence.partition(" -- ")[0])
    return any(_OTHER_MATTER.search(sentence, *_look_back(verb)) is None for verb in verbs)


def _is_check(sentence: str) -> bool:
    """Whether a sentence asks for something to be checked, other than the skill itself or what is in it."""
    if _INSPECTED.search(sentence):
        return False
    verbs = _find_verbs(_CHECK, sentence)
    return any(_OTHER_MATTER.search(sentence, *_look_back(verb)) is None for verb in verbs)


def _look_back(verb: re.Match[str]) -> tuple[int, int]:
    return max(verb.start() - _MAX_BEFORE, 0), verb.start()


def _is_avoided(text: str, at: int) -> bool:
    """Whether the words before a path speak against it."""
    return _NOT_THIS.search(text[max(at - _MAX_CLAUSE, 0) : at]) is not None


def _is_question(sentence: str) -> bool:
    """Whether a sentence asks for knowledge and not for a deed."""
    if _REQUEST.search(sentence):
        return False
    return sentence.rstrip().endswith("?") or _QUESTION.match(sentence.lstrip()) is not None


def _find_verb(pattern: re.Pattern[str], sentence: str) -> str:
    """Return the first such word that is a verb in this sentence."""
    return next((found[0] for found in _find_verbs(pattern, sentence)), "")


def _find_verbs(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Return such words that are verbs, as far as the word before each tells."""
    for found in islice(pattern.finditer(sentence), _MAX_VERBS):
        before = sentence[max(found.start() - _MAX_WORD, 0) : found.start()].lower().split()[-1:] or [""]
        if before[0] not in _NOUN_MARKS and not (len(before[0]) > 4 and before[0].endswith("ing")):
            yield found


def _read_steps(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for steps in _STEPS.finditer(text):
        for tie, digits in _NUMBER.findall(steps[1]):
            number = int(digits)
            first = found[-1] + 1 if tie and found and found[-1] < number else number
            found += range(first, number + 1)
    return tuple(dict.fromkeys(found[:_MAX_STEPS]))


def _find_paths(text: str) -> Iterator[tuple[int, str]]:
    for found in _TOKEN.finditer(text):
        token = found[0].rstrip(".:!?")
        if len(token) <= _MAX_PATH and _PATH.fullmatch(token):
            yield found.start(), token


def _find_quoted(text: str) -> Iterator[str]:
    for number, found in enumerate(_QUOTED.finditer(text)):
        if number == _MAX_ARGUMENTS:
            return
        yield next((part for part in found.groups() if part is not None), "")


def split_command(text: str) -> list[str]:
    """Return the words of a command line; if its quotes do not close, what stands between blanks."""
    try:
        return shlex.split(text)[:_MAX_ARGUMENTS]
    except ValueError:
        return text.split()[:_MAX_ARGUMENTS]
