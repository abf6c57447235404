"""Skills that a person calls for by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.mentions import (
    MAX_COMPLETIONS,
    MAX_MENTIONS,
    Completion,
    Mention,
    ParsedMessage,
    complete_mention,
    parse_message,
)
from prowess.policy import SourceKind
from prowess.skill.manifest import Argument, Behaviour, Interface, Manifest
from prowess.skill.skill import Skill

_NAMES = frozenset({"my-skill", "a", "b", "技能", "a.b"})


def _parse(message: str, *, signs: str = "/$") -> ParsedMessage:
    return parse_message(message, names=_NAMES, signs=signs)


def _plain(message: str) -> ParsedMessage:
    return ParsedMessage((), message)


# At the start


@pytest.mark.requirement("R65", "J10")
@pytest.mark.parametrize("sign", ["/", "$"])
@pytest.mark.parametrize(
    ("after", "arguments", "text"),
    [
        pytest.param("", "", "", id="RC10: alone"),
        pytest.param("\nnext line", "", "next line", id="RC11: next line"),
        pytest.param("\r\nnext line", "", "next line", id="next line of Windows"),
        pytest.param("\t\t x", "x", "x", id="tabs"),
        pytest.param(" do it\nand more", "do it", "do it\nand more", id="rest of the line"),
        pytest.param(" \n\n x", "", "x", id="blank lines"),
        pytest.param(" x y ", "x y", "x y ", id="blanks at the end"),
        pytest.param(" /etc/passwd", "/etc/passwd", "/etc/passwd", id="path as an argument"),
    ],
)
def test_mention_at_the_start_is_taken_off_the_message(sign: str, after: str, arguments: str, text: str) -> None:
    assert _parse(f"{sign}my-skill{after}") == ParsedMessage((Mention("my-skill", sign, arguments),), text)


@pytest.mark.requirement("R65", "J10")
@pytest.mark.parametrize(
    "message",
    [
        "/unknown x",
        " /my-skill x",
        "\n/my-skill x",
        "/my-skill, x",
        "/My-Skill x",
        "/a--b x",
        "/my-skills x",
        "text /my-skill",
        "//my-skill x",
        "/ my-skill x",
        "/my-skill/x",
        "/",
        "",
        "my-skill",
    ],
)
def test_anything_else_is_plain_text(message: str) -> None:
    """RC12, and the vectors beside it."""
    assert _parse(message) == _plain(message)


@pytest.mark.requirement("J10")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("/a /b x", ParsedMessage((Mention("a", "/", "x"), Mention("b", "/", "x")), "x")),
        ("/a $b x\ny", ParsedMessage((Mention("a", "/", "x"), Mention("b", "$", "x")), "x\ny")),
        ("/a\n/b x", ParsedMessage((Mention("a", "/", ""), Mention("b", "/", "x")), "x")),
        ("/a /b", ParsedMessage((Mention("a", "/"), Mention("b", "/")), "")),
        ("/a /a x", ParsedMessage((Mention("a", "/", "x"),), "x")),
        ("/a /unknown x", ParsedMessage((Mention("a", "/", "/unknown x"),), "/unknown x")),
        ("/a x /b y", ParsedMessage((Mention("a", "/", "x /b y"),), "x /b y")),
        ("/技能 x", ParsedMessage((Mention("技能", "/", "x"),), "x")),
        ("/a.b x", ParsedMessage((Mention("a.b", "/", "x"),), "x")),
    ],
)
def test_several_may_stand_in_a_row(message: str, expected: ParsedMessage) -> None:
    assert _parse(message) == expected


@pytest.mark.parametrize(
    ("message", "bare"),
    [
        ("/my-skill", True),
        ("/my-skill \n ", True),
        ("/a $b", True),
        ("/my-skill x", False),
        ("/unknown", False),
        ("", False),
        ("use $a", False),
    ],
)
def test_mention_and_nothing_else_is_bare(message: str, bare: bool) -> None:
    """RC14, RC15."""
    assert _parse(message).bare is bare


# Anywhere


@pytest.mark.requirement("J10")
@pytest.mark.parametrize(
    ("message", "mentions"),
    [
        ("use $my-skill for it", (Mention("my-skill", "$", "for it"),)),
        ("use $my-skill", (Mention("my-skill", "$"),)),
        ("($a) and\n$b, now\nx", (Mention("a", "$", ") and"), Mention("b", "$", ", now"))),
        ("$a, x", (Mention("a", "$", ", x"),)),
        ("use $a and $a", (Mention("a", "$", "and $a"),)),
        ("用 $技能。", (Mention("技能", "$", "。"),)),
    ],
)
def test_dollar_mentions_anywhere_and_leaves_the_text(message: str, mentions: tuple[Mention, ...]) -> None:
    assert _parse(message) == ParsedMessage(mentions, message)


@pytest.mark.requirement("J10")
@pytest.mark.parametrize(
    "message", ["x$a", "x-$a", "use $as", "use $a-", "use $-a", "use $A", "use $unknown", "use $ a", "_$a", "1$a"]
)
def test_dollar_inside_a_word_is_plain_text(message: str) -> None:
    assert _parse(message) == _plain(message)


@pytest.mark.requirement("J10")
def test_mentions_at_the_start_and_further_on_are_found_together() -> None:
    assert _parse("/a x $b y\nz $a") == ParsedMessage(
        (Mention("a", "/", "x $b y"), Mention("b", "$", "y")), "x $b y\nz $a"
    )


def test_only_the_given_signs_count() -> None:
    assert _parse("$a x $b", signs="/") == _plain("$a x $b")
    assert _parse("/a x $b", signs="$") == ParsedMessage((Mention("b", "$"),), "/a x $b")
    assert _parse("/a $b", signs="") == _plain("/a $b")


# Bounds and laws


def test_number_of_mentions_is_bounded() -> None:
    names = {f"s{number}" for number in range(100)}
    row = " ".join(f"/s{number}" for number in range(100))
    found = parse_message(row, names=names)
    assert len(found.mentions) == MAX_MENTIONS
    assert found.text.startswith(f"/s{MAX_MENTIONS} ")
    inside = parse_message(f"x {row}".replace("/", "$"), names=names)
    assert [mention.name for mention in inside.mentions] == [f"s{number}" for number in range(MAX_MENTIONS)]


@given(st.text(st.sampled_from("/$ab -_\n\tx,"), max_size=40) | st.text(max_size=40))
def test_each_known_name_is_mentioned_once_and_the_text_is_an_end_of_the_message(message: str) -> None:
    found = _parse(message)
    names = [mention.name for mention in found.mentions]
    assert len(set(names)) == len(names)
    assert set(names) <= _NAMES
    assert message.endswith(found.text)
    assert all("\n" not in mention.arguments for mention in found.mentions)
    assert found.text == message or message[0] in "/$"


@pytest.mark.parametrize("part", ["/", "$", "$a", "/a", "$a ", "/a ", "$$a-", " ", "\n", "a"])
def test_long_messages_are_read_in_one_pass(part: str) -> None:
    message = part * 500_000
    assert message.endswith(_parse(message).text)


# Completion


def _skill(name: str, description: str = "Does it.", *, additions: Behaviour | None = None) -> Skill:
    manifest = Manifest(name, description, additions=additions)
    return Skill(f"user:{name}", SourceKind.USER, "/srv", name, f"/srv/{name}", manifest)


_SKILLS = (
    _skill("fill-pdf"),
    _skill("pdf-merge", additions=Behaviour(argument_hint="FILE...")),
    _skill("pdf-fill", additions=Behaviour(arguments=(Argument("form", required=True), Argument("data")))),
    _skill("hidden-pdf", additions=Behaviour(user_invocable=False)),
    _skill("other", "word " * 100),
    _skill("short", "long", additions=Behaviour(interface=Interface(short_description="Short\nindeed."))),
)


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("/pdf", ["pdf-fill", "pdf-merge", "fill-pdf"]),
        ("$PDF", ["pdf-fill", "pdf-merge", "fill-pdf"]),
        ("fill", ["fill-pdf", "pdf-fill"]),
        ("/", ["fill-pdf", "other", "pdf-fill", "pdf-merge", "short"]),
        ("/pdf-fill", ["pdf-fill"]),
        ("/pdf-fill x", []),
        ("/nothing", []),
    ],
)
def test_names_that_begin_so_come_first(typed: str, names: list[str]) -> None:
    assert [row.name for row in complete_mention(typed, skills=_SKILLS)] == names


def test_row_says_what_the_skill_does_and_what_it_takes() -> None:
    rows = {row.name: row for row in complete_mention("/", skills=_SKILLS)}
    assert rows["pdf-merge"] == Completion("pdf-merge", "Does it.", "FILE...")
    assert rows["pdf-fill"] == Completion("pdf-fill", "Does it.", "<form> [data]")
    assert rows["short"] == Completion("short", "Short indeed.")
    assert rows["other"] == Completion("other", "word " * 19 + "word…")


def test_number_of_completions_is_bounded_and_each_name_comes_once() -> None:
    many = [_skill(f"s{number:03}") for number in range(200)] * 2
    assert [row.name for row in complete_mention("/s", skills=many)] == [f"s{n:03}" for n in range(MAX_COMPLETIONS)]
