"""Lines of plain commands are read; every other line is refused."""

import pytest

from prowess.execution.rules.shell_words import MAX_LINE_LENGTH, split_commands

Commands = tuple[tuple[str, ...], ...]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("git status", (("git", "status"),)),
        ("  git\t status  ", (("git", "status"),)),
        ("a && b || c ; d | e |& f & g", (("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",))),
        ("a&&b||c;d|e|&f&g", (("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",))),
        ("a\nb", (("a",), ("b",))),
        ("\n\na\n\n  \nb\n", (("a",), ("b",))),
        ("a;", (("a",),)),
        ("a &", (("a",),)),
        ("a;\nb &\n", (("a",), ("b",))),
        ("a &&\n b |\n\n c", (("a",), ("b",), ("c",))),
    ],
)
def test_separators_divide_a_line_into_commands(line: str, commands: Commands) -> None:
    assert split_commands(line) == commands


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ("a b'c'\"d\"\\e", ("a", "bcde")),
        ("a '' \"\"", ("a", "", "")),
        (r'a "x\"y\\z"', ("a", 'x"y\\z')),
        (r"a 'x\y' \\ \'", ("a", r"x\y", "\\", "'")),
        ("a '$(b)' '`c`' '>d' '!e' '*' '{f}' '#' '~'", ("a", "$(b)", "`c`", ">d", "!e", "*", "{f}", "#", "~")),
        ('a "b;c" "&&" "|" "(*)" "{}" "it\'s"', ("a", "b;c", "&&", "|", "(*)", "{}", "it's")),
        (r"a \$b \* \; \& \> \! \~/x \#x", ("a", "$b", "*", ";", "&", ">", "!", "~/x", "#x")),
        ("a 'one\ntwo' \"three\n\tfour\"", ("a", "one\ntwo", "three\n\tfour")),
        (
            "git 'diff' HEAD~1 HEAD^ a#b main..dev x=1 --a=b",
            ("git", "diff", "HEAD~1", "HEAD^", "a#b", "main..dev", "x=1", "--a=b"),
        ),
        ("cat é 技能.md %1 a,b @c +d -e x] f:g", ("cat", "é", "技能.md", "%1", "a,b", "@c", "+d", "-e", "x]", "f:g")),
        ("ifx timer ./eval echo if for . exec", ("ifx", "timer", "./eval", "echo", "if", "for", ".", "exec")),
    ],
)
def test_quotes_and_escapes_are_taken_off(line: str, words: tuple[str, ...]) -> None:
    expected = (words,)
    assert split_commands(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        *("a $b", "a ${b}", "a $(b)", 'a "$(b)"', 'a "$b"', "a $'b'", 'a $"b"', "a $((1))", "a $"),
        *("a `b`", 'a "`b`"', r'a "\$b"', r'a "\`b"', r'a "\n"'),
        *(
            "a <(b)",
            "a >(b)",
            "a > b",
            "a >> b",
            "a 2>&1",
            "a < b",
            "a <<E\nb\nE",
            "a <<< b",
            "a &> b",
            "a>b",
            "a >| b",
        ),
        *("(a)", "a (b)", "{ a; }", "! a", "a {b,c}", "a {1..3}", "a b}", "f() { a; }", "((1))", "a=(b)"),
    ],
)
def test_expansions_redirections_and_groups_are_refused(line: str) -> None:
    assert split_commands(line) is None


@pytest.mark.parametrize(
    "word",
    [
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select"),
        *("function", "time", "coproc", "'[['", "'{'", "'!'", "eval", "exec", "source", ".", "builtin", "command"),
        *("'eval'", r"\eval", 'e"va"l', "A=b", "A=", "A+=b", "_a1='b c'", "''", "^a^b", "-c", "+x", "%1"),
    ],
)
@pytest.mark.parametrize("before", ["", "x && ", "x\n", "x | ", "x & "])
def test_words_that_change_what_follows_are_refused_where_a_command_begins(before: str, word: str) -> None:
    assert split_commands(f"{before}{word} a") is None


@pytest.mark.parametrize(
    "line",
    [
        *("a *", "a b?c", "a [b]", "[ a ]", "a ~", "a ~/b", "a ~root", "a ''~", "a b=~/c", "a b=c:~/d", "a 'b='~"),
        *("a # b", "#a", "a;#b", "a ''#b", "a!", "a !b", '"a!b"', "!!", "a \\"),
    ],
)
def test_globs_homes_comments_and_history_are_refused(line: str) -> None:
    assert split_commands(line) is None


@pytest.mark.parametrize(
    "char",
    [
        *("\0", "\r", "\f", "\v", "\x07", "\x1b", "\x7f", "\x85"),
        *("\xa0", "\u2028", "\u3000", "\u202e", "\ud800"),
    ],
)
@pytest.mark.parametrize("line", ["a{}b", "a {}", "'{}' b", '"a{}" b', "a \\{} b", "{}"])
def test_control_characters_and_foreign_blanks_are_refused_even_in_quotes(line: str, char: str) -> None:
    assert split_commands(line.replace("{}", char)) is None


@pytest.mark.parametrize(
    "line",
    [
        *("a 'b", 'a "b', "a '", 'a "b\\"', "a b\\\nc", 'a "b\\\nc"'),
        *(
            "a;;b",
            "a &&",
            "a ||",
            "a |",
            "a |&",
            "a && && b",
            "; a",
            "& a",
            "&& a",
            "| a",
            "a & ; b",
            "a ;& b",
            "a &&& b",
        ),
        *("a\n&& b", "a ||| b", "a &&\n", "a |\n\n", "a & | b", ";", "&", "", "  ", "\n"),
    ],
)
def test_open_quotes_and_empty_commands_are_refused(line: str) -> None:
    assert split_commands(line) is None


def test_line_may_be_long_but_not_longer() -> None:
    longest = "a " + "b" * (MAX_LINE_LENGTH - 2)
    assert split_commands(longest) == (("a", "b" * (MAX_LINE_LENGTH - 2)),)
    assert split_commands(longest + "b") is None


@pytest.mark.parametrize(
    "line",
    [
        *("test -v 'a[$(b)]'", "'[' -v 'a[$(b)]' ]", "printf -v 'a[$(b)]' c", "printf -v PATH /c", "printf -vPATH /c"),
        *("read 'a[$(b)]'", "unset 'a[$(b)]'", "wait -n -p 'a[b]'", "export 'a[b]=1'", "hash -p /c a", "jobs -x a"),
        *("alias a=b", "trap a EXIT", "let a", "declare -i a=b", "compgen -C a", "x && test -v 'a[b]' && y"),
    ],
)
def test_built_in_commands_that_evaluate_their_words_are_refused(line: str) -> None:
    assert split_commands(line) is None


def test_built_in_commands_with_harmless_words_are_read() -> None:
    assert split_commands("test -f a && printf '%s' b && '[' c ] ; export d=e") == (
        ("test", "-f", "a"),
        ("printf", "%s", "b"),
        ("[", "c", "]"),
        ("export", "d=e"),
    )
