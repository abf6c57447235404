"""What a user wants, told by the words of a message."""

import pytest

from prowess.agent.offline.wishes import read_wish, split_command


@pytest.mark.parametrize(
    "message",
    [
        "run it",
        "Please run the whole procedure.",
        "Execute scripts/x.sh now",
        "Can you run the script?",
        "Look at it first. Then validate it!",
        "would you check the dates",
        "Test the connection",
        "Do the whole procedure, and read on",
        "Now do step 4.",
        "carry out all of the steps",
        "start scripts/x.sh",
        "`run scripts/x.sh`",
        "Read it and then run it",
    ],
)
def test_request_to_run_is_one(message: str) -> None:
    assert read_wish(message).runs


@pytest.mark.parametrize(
    "message",
    [
        "",
        "hello",
        "How do I run the tests?",
        "What does it check?",
        "Is it possible to run this?",
        "write a test for it",
        "the check failed",
        "a failing test",
        "I need the unit test",
        "explain the run",
        "Review scripts/run.sh",
        "Tell me everything about it",
        "Explain every step of the run and how to deploy and run it",
        "Tell me how to run the whole procedure",
        "I run it each day",
        "It was run yesterday.",
        "When it is late, run it",
        "Translate 'run it' into German",
        "use test-first-fix",
        "Check what the script does",
        "Check the whole skill",
        "Test skill support",
    ],
)
def test_question_or_noun_is_no_request_to_run(message: str) -> None:
    assert not read_wish(message).runs


@pytest.mark.parametrize(
    "message",
    [
        *("Do not run anything", "don't run it", "don’t ever run it", "check it without running scripts"),
        *("Never use scripts/wipe.sh", "Don't touch anything, only tell me everything", "run nothing, check it"),
        *(
            "Do all steps, but no scripts",
            "Only show me how you would run it",
            "It must never be started: do the steps",
        ),
    ],
)
def test_what_must_not_be_run_is_not_wanted(message: str) -> None:
    wish = read_wish(message)
    assert (wish.runs, wish.forbids_runs) == (False, True)


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ("run the whole procedure", True),
        ("all of the steps, please", True),
        ("do everything", True),
        ("go through it step by step", True),
        ("from start to finish", True),
        ("the whole day was nice", False),
        ("all my notes", False),
        ("step 2", False),
    ],
)
def test_whole_procedure_is_asked_for_in_several_ways(message: str, whole: bool) -> None:
    assert read_wish(message).is_whole == whole


@pytest.mark.parametrize(
    ("message", "steps"),
    [
        ("only 1 to 3", (1, 2, 3)),
        ("only steps 2-4", (2, 3, 4)),
        ("do step 4", (4,)),
        ("Steps 1, 2 and 5", (1, 2, 5)),
        ("step 3 and then step 1", (3, 1)),
        ("steps 4 to 2", (4, 2)),
        ("only steps 1 through 99", tuple(range(1, 100))),
        ("only the first", ()),
        ("chapter 3", ()),
    ],
)
def test_steps_are_read_as_people_write_them(message: str, steps: tuple[int, ...]) -> None:
    assert read_wish(message).steps == steps


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("with 'plum' and 'two words'", ("plum", "two words")),
        ('with "plum", “two words” and ‘three’', ("plum", "two words", "three")),
        ("run `a b`", ("a b",)),
        ("don't say it's 'so'", ("so",)),
        ("the users' and the cats' things", ()),
        ("an '' empty one", ("",)),
        ("a 'line\nbreak'", ()),
    ],
)
def test_quotation_marks_are_told_from_apostrophes(message: str, quoted: tuple[str, ...]) -> None:
    assert read_wish(message).quoted == quoted


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("run it -- plum 'two words'", ("plum", "two words")),
        ("run it -- --flag\nand tell me", ("--flag",)),
        ("run it -- it's open", ("it's", "open")),
        ("run it --flag", None),
        ("well -- perhaps", ("perhaps",)),
        ("no", None),
    ],
)
def test_words_after_two_dashes_are_divided_as_by_a_shell(message: str, words: tuple[str, ...] | None) -> None:
    assert read_wish(message).after_dashes == words


def test_what_is_quoted_after_two_dashes_is_not_quoted_besides() -> None:
    wish = read_wish("run 'a' -- 'b c'")
    assert (wish.quoted, wish.after_dashes) == (("a",), ("b c",))


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        ("read references/a.md.", ("references/a.md",)),
        ("scripts/run and `x.py`, (docs/y.txt)", ("scripts/run", "x.py", "docs/y.txt")),
        ("../up/x.md /etc/passwd.conf ..\\a\\b.md", ("../up/x.md", "/etc/passwd.conf", "..\\a\\b.md")),
        ("see https://example.org/a.html", ()),
        ("this, 3.5 and v2.0", ()),
        ("a.md a.md", ("a.md",)),
        ("x" * 400 + ".md", ()),
    ],
)
def test_paths_are_found_and_addresses_are_not(message: str, paths: tuple[str, ...]) -> None:
    assert read_wish(message).paths == paths


@pytest.mark.parametrize(
    ("message", "avoided"),
    [
        ("run scripts/a.sh, not scripts/b.sh", ("scripts/b.sh",)),
        ("do everything except scripts/b.sh", ("scripts/b.sh",)),
        ("run all but b.sh", ("b.sh",)),
        ("do not wait, run scripts/a.sh", ()),
    ],
)
def test_path_that_words_speak_against_is_avoided(message: str, avoided: tuple[str, ...]) -> None:
    assert read_wish(message).avoided == avoided


@pytest.mark.parametrize(
    ("message", "verb"),
    [
        ("Translate this into German", "translate"),
        ("could you write a poem?", "write"),
        ("please fix the crash", "fix"),
        ("How do I write a skill?", ""),
        ("the fix did not hold", ""),
        ("remind me at nine", ""),
    ],
)
def test_verb_for_what_only_a_language_model_can_do_is_found(message: str, verb: str) -> None:
    assert read_wish(message).beyond == verb


@pytest.mark.parametrize(
    ("message", "is_small"),
    [
        ("Hello there!", True),
        ("thanks a lot, good night", False),
        ("Good morning", True),
        ("", True),
        ("build it", False),
    ],
)
def test_small_talk_asks_for_nothing(message: str, is_small: bool) -> None:
    assert read_wish(message).is_small_talk == is_small


def test_very_long_message_is_read_in_part_and_quickly() -> None:
    wish = read_wish("run " + "x" * 1_000_000 + " references/a.md")
    assert (wish.runs, wish.paths, len(wish.text)) == (True, (), 20_000)


def test_command_whose_quotes_do_not_close_is_divided_at_blanks() -> None:
    assert split_command("a 'b c") == ["a", "'b", "c"]
