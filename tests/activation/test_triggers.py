"""Skills that a message speaks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.triggers import (
    MAX_ALL_PATTERNS_SIZE,
    MAX_FOUND_LENGTH,
    MAX_MESSAGE_LENGTH,
    Triggered,
    TriggerIndex,
    TriggerKind,
)
from prowess.policy import SourceKind
from prowess.skill.manifest import Behaviour, Manifest, Triggers
from prowess.skill.skill import Skill
from tests.sources.building import ask_child, codes


def _skill(name: str, triggers: Triggers | None = None) -> Skill:
    additions = Behaviour(triggers=triggers) if triggers else None
    manifest = Manifest(name, "Does it.", additions=additions)
    return Skill(f"user:{name}", SourceKind.USER, "/srv", name, f"/srv/{name}", manifest)


def _index(**triggers: Triggers) -> TriggerIndex:
    return TriggerIndex([_skill("plain"), *(_skill(name, each) for name, each in triggers.items())])


def _match(triggers: Triggers, message: str) -> tuple[Triggered, ...]:
    return _index(s=triggers).match(message)


def _hit(kind: TriggerKind, what: str, found: str) -> tuple[Triggered, ...]:
    return (Triggered("user:s", kind, what, found),)


# Keywords


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("keyword", "message", "found"),
    [
        ("pdf", "Fill in this PDF, please.", "PDF"),
        ("PDF", "a pdf", "pdf"),
        ("pull request", "open a Pull\n Request now", "Pull Request"),
        ("pull request", "open a pull-request", "pull-request"),
        ("resume", "mein Résumé", "Résumé"),
        ("Größe", "die GRÖSSE", "GRÖSSE"),
        ("日程", "请安排日程吧", "日程"),
        ("일정", "일정을 잡아줘", "일정"),
        ("c++", "in C++ please", "C++"),
        (".net", "a .NET app", ".NET"),
        ("node.js", "Node.js app", "Node.js"),
        ("cafe\u0301", "un caf\u00e9", "caf\u00e9"),
    ],
)
def test_keyword_is_found_as_whole_words_in_any_spelling(keyword: str, message: str, found: str) -> None:
    assert _match(Triggers(keywords=(keyword,)), message) == _hit(TriggerKind.KEYWORD, keyword, found)


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("pdf", "pdfs and xpdf and pdf_x"),
        ("pull request", "pull the request"),
        ("pull request", "pull"),
        ("c++", "plan c, c+ and c#"),
        (".net", "net worth"),
        ("日程", "日 x 程"),
        ("!!", "wow !!"),
        ("pdf", ""),
    ],
)
def test_parts_of_words_do_not_count(keyword: str, message: str) -> None:
    assert _match(Triggers(keywords=(keyword,)), message) == ()


def test_same_words_with_and_without_signs_are_told_apart() -> None:
    index = _index(cpp=Triggers(keywords=("c++",)), c=Triggers(keywords=("c",)), sharp=Triggers(keywords=("c#",)))
    assert [hit.skill_id for hit in index.match("c++")] == ["user:cpp", "user:c"]
    assert [hit.skill_id for hit in index.match("c")] == ["user:c"]
    assert [(hit.skill_id, hit.found) for hit in index.match("c, C#")] == [("user:c", "c"), ("user:sharp", "C#")]


# Verbs


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("verb", "message", "found"),
    [
        ("deploy", "Deploying it today", "Deploying"),
        ("create", "it was created", "created"),
        ("copy", "she copies it", "copies"),
        ("plan", "planning ahead", "planning"),
        ("clean up", "I cleaned up", "cleaned up"),
        ("fix", "fix it", "fix"),
    ],
)
def test_verb_is_found_in_its_forms(verb: str, message: str, found: str) -> None:
    assert _match(Triggers(verbs=(verb,)), message) == _hit(TriggerKind.VERB, verb, found)


def test_keyword_is_not_inflected() -> None:
    assert _match(Triggers(keywords=("plan",)), "planning") == ()


# Patterns


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("pattern", "message", "found"),
    [
        (r"\binvoice #\d+", "see Invoice #42", "Invoice #42"),
        (r"^deploy", "deploy it", "deploy"),
        (r"größe\b", "DIE GRÖßE", "GRÖßE"),
        (r"(a+)+$", "baaa", "aaa"),
    ],
)
def test_pattern_is_searched_without_regard_to_case(pattern: str, message: str, found: str) -> None:
    assert _match(Triggers(patterns=(pattern,)), message) == _hit(TriggerKind.PATTERN, pattern, found)


@pytest.mark.requirement("R68")
@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", "a{1000}{1000}", r"(.*a){100}b", r"(?:a?){400}a{400}c"])
def test_hostile_pattern_neither_stalls_nor_raises(pattern: str) -> None:
    index = _index(hostile=Triggers(patterns=(pattern,)), good=Triggers(patterns=("!$",)))
    assert [hit.skill_id for hit in index.match("a" * (MAX_MESSAGE_LENGTH - 1) + "!")] == ["user:good"]
    assert [hit.skill_id for hit in index.match("a" * 10_000_000)] in ([], ["user:hostile"])


@pytest.mark.requirement("R68")
def test_pattern_that_is_refused_is_a_problem_of_its_skill_alone() -> None:
    index = _index(bad=Triggers(keywords=("pdf",), patterns=("(", "form")), good=Triggers(patterns=("form",)))
    assert {skill: codes(problems) for skill, problems in index.problems.items()} == {"user:bad": ["trigger-invalid"]}
    assert [hit.skill_id for hit in index.match("a form")] == ["user:bad", "user:good"]


_VAGUE = tuple(rf"[a-z ]{{0,100}}[b-y ]{{0,90}}[a-x ]{{0,80}}{number}?\d" for number in range(16))
"""Sixteen patterns that may be used, each of which may take 20 milliseconds for a long message."""


@pytest.mark.requirement("R68")
def test_whatever_patterns_skills_have_others_are_found_and_what_is_left_out_is_told() -> None:
    hostile = [_skill(f"hostile{number}", Triggers(("zap",), patterns=_VAGUE)) for number in range(40)]
    good = _skill("good", Triggers(patterns=(r"invoice \d+", r"\d#")))
    index = TriggerIndex([*hostile, good])
    long = f"a{'b c' * 2_700} invoice 12#"
    assert [hit.skill_id for hit in index.match(long)] == ["user:good"]
    assert index.match("zap 7")[-1] == Triggered("user:hostile39", TriggerKind.KEYWORD, "zap", "zap")
    assert set(index.problems) == {skill.id for skill in hostile}
    assert codes(index.problems["user:hostile0"]) == ["trigger-invalid"] * len(index.problems["user:hostile0"])
    assert "user:good" not in index.cut_short(long)
    assert set(index.cut_short(long)) <= {skill.id for skill in hostile}
    assert index.cut_short("a short message") == ()


@pytest.mark.requirement("R68")
def test_pattern_that_has_no_word_and_no_room_is_a_problem() -> None:
    index = TriggerIndex([_skill(f"s{number}", Triggers(patterns=_VAGUE[:4])) for number in range(4)])
    told = {problem.message for problems in index.problems.values() for problem in problems}
    assert f"the trigger pattern '{_VAGUE[3]}' is left out: it has no word to look for, like too many others" in told
    assert not any(_VAGUE[0] in message for message in told)
    assert [hit.skill_id for hit in index.match("a 7")] == [f"user:s{number}" for number in range(4)]


@pytest.mark.slow
@pytest.mark.requirement("R68")
def test_patterns_beyond_those_that_can_be_prepared_are_a_problem() -> None:
    count = MAX_ALL_PATTERNS_SIZE // (16 * 240 * 4) + 2
    patterns = [tuple(f"{number:03}x{which:02}" * 40 for which in range(16)) for number in range(count)]
    triggers = [Triggers((f"key{number}",), patterns=each) for number, each in enumerate(patterns)]
    skills = [_skill(f"s{number}", each) for number, each in enumerate(triggers)]
    index = TriggerIndex(skills)
    last = skills[-1].id
    assert [problem.message for problem in index.problems[last]] == [
        "its 16 trigger patterns are left out: all skills together have too many of them"
    ]
    assert skills[0].id not in index.problems
    assert [hit.skill_id for hit in index.match(f"key{count - 1} {patterns[0][3]}")] == [skills[0].id, last]
    assert index.match(patterns[-1][3]) == ()


_HOSTILE = """
import json, sys
from prowess.activation.triggers import TriggerIndex
from tests.activation.test_triggers import _VAGUE, _skill
from prowess.skill.manifest import Triggers

patterns = {
    "match": lambda n: tuple(f"{pattern}{n}?" for pattern in _VAGUE),
    "build": lambda n: tuple(rf"(\\w+\\s+){{1,{900 + i}}}{n}x" for i in range(16)),
}[sys.argv[1]]
index = TriggerIndex([_skill(f"s{n}", Triggers(patterns=patterns(n))) for n in range(500)])
found = [index.match(message) for message in ("ab " * 3_000, "x" * 9_000, "ba" * 5_000) for _ in range(5)]
print(json.dumps([len(one) for one in found]))
"""


@pytest.mark.slow
@pytest.mark.requirement("R68")
@pytest.mark.parametrize("what", ["match", "build"])
def test_five_hundred_hostile_skills_stall_nobody(what: str) -> None:
    """Without bounds for all of them together, this takes minutes, and the process is given up."""
    assert ask_child(_HOSTILE, what) == [0] * 15


# All together


@pytest.mark.requirement("R68")
def test_each_skill_is_reported_once_in_the_order_of_the_skills() -> None:
    index = _index(
        late=Triggers(patterns=("pdf",)),
        all=Triggers(("form", "pdf"), ("fill",), ("fill.*form",)),
        verb=Triggers(("nothing",), ("fill",), ("pdf",)),
        none=Triggers(("nothing",)),
    )
    assert index.match("Filling a PDF form") == (
        Triggered("user:late", TriggerKind.PATTERN, "pdf", "PDF"),
        Triggered("user:all", TriggerKind.KEYWORD, "pdf", "PDF"),
        Triggered("user:verb", TriggerKind.VERB, "fill", "Filling"),
    )
    assert index.problems == {}


def test_what_was_found_is_shortened() -> None:
    (hit,) = _match(Triggers(patterns=("a.*z",)), f"a{'b ' * 500}z")
    assert len(hit.found) == MAX_FOUND_LENGTH
    assert hit.found.endswith("…")


def test_only_the_beginning_of_a_long_message_is_looked_at() -> None:
    triggers = Triggers(keywords=("pdf",), patterns=("pdf",))
    assert _match(triggers, " " * MAX_MESSAGE_LENGTH + "pdf") == ()
    assert len(_match(triggers, " " * (MAX_MESSAGE_LENGTH - 3) + "pdf")) == 1


@given(st.text(max_size=60))
def test_any_message_has_an_answer(message: str) -> None:
    index = _index(s=Triggers(("a", "é", "c++", "日"), ("be",), (r"\d+", "[^a]z")))
    assert index.match(message) == index.match(message)


@given(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12), st.text(max_size=5))
def test_keyword_is_found_between_blanks_whatever_its_script(keyword: str, around: str) -> None:
    index = _index(s=Triggers(keywords=(keyword,)))
    found = index.match(f"{around} {keyword} {around}")
    assert [hit.what for hit in found] == ([] if index.problems else [keyword])


_LOADS = """
import json, sys
from prowess.activation.triggers import TriggerIndex
from prowess.policy import SourceKind
from prowess.skill.manifest import Behaviour, Manifest, Triggers
from prowess.skill.skill import Skill

def index(triggers):
    manifest = Manifest("s", "d", additions=Behaviour(triggers=triggers))
    TriggerIndex([Skill("user:s", SourceKind.USER, "/srv", "s", "/srv/s", manifest)]).match("a pdf")
    return "re2" in sys.modules

print(json.dumps([index(Triggers(("pdf",), ("fill",))), index(Triggers(patterns=("pdf",)))]))
"""


def test_re2_is_loaded_only_for_patterns() -> None:
    assert ask_child(_LOADS) == [False, True]


@pytest.mark.slow
def test_ten_thousand_skills_are_matched_together() -> None:
    skills = [
        _skill(f"s{n}", Triggers((f"key{n}", f"word{n} more"), (f"do{n}",), (rf"pattern{n}x\b", rf"(?:a|b){n}z")))
        for n in range(10_000)
    ]
    index = TriggerIndex(skills)
    assert [(hit.skill_id, hit.kind) for hit in index.match("key7 word8 more do9 pattern10x b11z and key99999")] == [
        ("user:s7", TriggerKind.KEYWORD),
        ("user:s8", TriggerKind.KEYWORD),
        ("user:s9", TriggerKind.VERB),
        ("user:s10", TriggerKind.PATTERN),
        ("user:s11", TriggerKind.PATTERN),
    ]
