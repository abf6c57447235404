"""Which triggers can be used, and what is said of the others."""

import pytest

from prowess.skill.manifest import Triggers
from prowess.skill.problems import Severity
from prowess.skill.trigger_words import find_words, inflect_verb
from prowess.skill.triggers import (
    MAX_PATTERN_LENGTH,
    MAX_PATTERNS,
    MAX_PATTERNS_SIZE,
    MAX_PHRASE_WORDS,
    Pattern,
    Phrase,
    judge_patterns,
    judge_triggers,
    parse_phrase,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fill the PDF-form, now!", ["fill", "the", "pdf", "form", "now"]),
        ("Größe ÉTÉ naïve", ["grosse", "ete", "naive"]),
        ("cafe\u0301 Ωμέγα Ёлка", ["cafe", "ωμεγα", "елка"]),
        ("安排日程", ["安", "排", "日", "程"]),
        ("일정을", ["일", "정", "을"]),
        ("हिन्दी भाषा", ["हिनदी", "भाषा"]),
        ("ﬁle ２０", ["file", "20"]),
        ("🚀 … !!", []),
        ("", []),
    ],
)
def test_words_are_compared_without_case_and_accents(text: str, words: list[str]) -> None:
    assert [word.folded for word in find_words(text)] == words


def test_words_know_their_place() -> None:
    text = "  Größe, 日"
    assert [text[word.start : word.end] for word in find_words(text)] == ["Größe", "日"]


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("deploy", {"deploy", "deploys", "deployed", "deploying"}),
        ("create", {"create", "creates", "created", "creating"}),
        ("copy", {"copy", "copies", "copied", "copying"}),
        ("fix", {"fix", "fixes", "fixed", "fixing"}),
        ("push", {"push", "pushes", "pushed", "pushing"}),
        ("plan", {"plan", "plans", "planned", "planning"}),
        ("visit", {"visit", "visits", "visited", "visiting"}),
        ("clean", {"clean", "cleans", "cleaned", "cleaning"}),
        ("tie", {"tie", "ties", "tied", "tying"}),
        ("go", {"go", "goes", "going"}),
        ("x", {"x"}),
        ("технически", {"технически"}),
    ],
)
def test_verbs_are_found_in_their_regular_forms(verb: str, forms: set[str]) -> None:
    assert forms <= set(inflect_verb(verb))


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("PDF", Phrase(("pdf",))),
        ("pull  Request", Phrase(("pull", "request"))),
        ("C++", Phrase(("c",), after="++")),
        (".NET", Phrase(("net",), before=".")),
        ('"quoted"', Phrase(("quoted",))),
        ("…", Phrase(())),
    ],
)
def test_phrase_is_its_words_and_the_signs_that_belong_to_it(phrase: str, expected: Phrase) -> None:
    assert parse_phrase(phrase) == expected


def _find_faults(pattern: str) -> list[str]:
    return [problem.message for problem in judge_patterns(Triggers(patterns=(pattern,))).problems]


@pytest.mark.requirement("R68")
@pytest.mark.parametrize("pattern", [r"\bpdf\b", r"(?:fill|sign) (?:a|the) form", r"(a+)+$", r"(a|a)*b", r"\pL+ing\b"])
def test_good_pattern_has_no_fault(pattern: str) -> None:
    assert _find_faults(pattern) == []


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("a{1000}{1000}", "is refused by RE2: bad repetition operator: {1000}{1000}"),
        ("(", "is refused by RE2: missing ): ("),
        (r"(?=a)b", "is refused by RE2: invalid perl operator: (?="),
        (r"(a)\1", r"is refused by RE2: invalid escape sequence: \1"),
        (r"(\pL{1,500})x", "is too large when its repetitions are written out"),
        ("(a?){1000}a{1000}", "is too large when its repetitions are written out"),
        (".*", "matches the empty text, and so every message"),
        ("(x*)*", "matches the empty text, and so every message"),
        ("a" * (MAX_PATTERN_LENGTH + 1), f"is longer than {MAX_PATTERN_LENGTH} characters"),
        ("\ud800", "is not text"),
    ],
)
def test_pattern_that_cannot_be_used_has_a_fault(pattern: str, fault: str) -> None:
    (found,) = _find_faults(pattern)
    assert found.endswith(f"' {fault}")


@pytest.mark.requirement("R68")
def test_each_trigger_that_cannot_be_used_is_a_problem() -> None:
    long = " ".join(["w"] * (MAX_PHRASE_WORDS + 1))
    triggers = Triggers(("pdf", "!!"), ("fill", long), ("(", "ok", *["p"] * MAX_PATTERNS))
    problems = list(judge_triggers(triggers))
    assert [problem.message for problem in problems] == [
        "the trigger '!!' has no letters or digits",
        f"the trigger '{long}' has 17 words; at most 16 are compared",
        "the trigger pattern '(' is refused by RE2: missing ): (",
        "there are 18 trigger patterns; only the first 16 count",
    ]
    assert {(problem.code, problem.severity) for problem in problems} == {("trigger-invalid", Severity.WARNING)}
    assert [pattern.text for pattern in judge_patterns(triggers).usable] == ["ok", *["p"] * (MAX_PATTERNS - 2)]


@pytest.mark.requirement("R68")
def test_patterns_of_a_skill_are_bounded_together() -> None:
    """Each of them alone may be used."""
    large = [rf"[a-z ]{{0,100}}[b-y ]{{0,90}}[a-x ]{{0,80}}{number}\d" for number in range(8)]
    assert [_find_faults(pattern) for pattern in large] == [[]] * 8
    judged = judge_patterns(Triggers(patterns=(*large, "pdf")))
    kept = len(judged.usable)
    assert [pattern.text for pattern in judged.usable] == large[:kept]
    assert sum(pattern.size for pattern in judged.usable) <= MAX_PATTERNS_SIZE < judged.size
    assert [problem.message for problem in judged.problems] == [
        f"the trigger pattern '{pattern}' is left out, since the patterns up to it are too large together"
        for pattern in (*large[kept:], "pdf")
    ]


@pytest.mark.requirement("R68")
def test_patterns_that_are_too_large_are_not_compiled_without_end() -> None:
    judged = judge_patterns(Triggers(patterns=tuple(rf"(\w+\s+){{1,{number}}}x" for number in range(900, 916))))
    assert (judged.usable, len(judged.problems)) == ((), MAX_PATTERNS)
    assert judged.size <= MAX_PATTERNS_SIZE * 2


def test_size_of_a_pattern_is_that_of_its_program() -> None:
    assert judge_patterns(Triggers(patterns=("pdf", "(pdf"))).usable == (Pattern("pdf", 7),)
