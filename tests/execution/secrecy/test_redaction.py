"""Redaction: secrets go out of output in every form that a person would try, however the output is cut."""

import base64
import html
import json
import random
import shlex
import subprocess
import sys
import traceback
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.execution.secrecy.redaction import Redactor

_TOKEN = "gT7_pq9+/Zk2-x'\"\\ &<%$~é9Wm"
_PLAIN = "hunter2-correct-horse-battery"
_FRAME = frozenset("<>\"'[]{}, \n\\x0%:-bn")
"""What may be left beside the label: the quotes and signs around the secret."""
_Way = Callable[[str], str]


def _redact(value: str, content: bytes | str) -> str:
    return Redactor({"T": value}).redact(content if isinstance(content, bytes) else content.encode()).decode()


def _hex_with(sign: str) -> _Way:
    return lambda value: sign + sign.join(f"{byte:02x}" for byte in value.encode())


_WAYS: dict[str, _Way] = {
    "plain": str,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 without padding": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "base64 for addresses": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 in lines": lambda value: base64.encodebytes((value * 4).encode()).decode(),
    "base64 in lines in json": lambda value: json.dumps(base64.encodebytes((value * 4).encode()).decode()),
    "base64 in an address": lambda value: urllib.parse.quote(base64.b64encode(value.encode()).decode(), safe=""),
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "base32 in small letters": lambda value: base64.b32encode(value.encode()).decode().lower(),
    "hex": lambda value: value.encode().hex(),
    "hex in capitals": lambda value: value.encode().hex().upper(),
    "hex in capitals with colons": lambda value: value.encode().hex(":").upper(),
    **{f"hex with {sign!r}": _hex_with(sign) for sign in (" ", ":", "-", "\\x", "%", "0x", ", 0x", ",", "\n", "\\\\x")},
    "an address": lambda value: urllib.parse.quote(value, safe=""),
    "an address with slashes": urllib.parse.quote,
    "a web form": urllib.parse.quote_plus,
    "every byte in percent": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "every byte in small percent": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "an address in an address": lambda value: urllib.parse.quote(urllib.parse.quote(value, safe=""), safe=""),
    "json": json.dumps,
    "json as it is": lambda value: json.dumps(value, ensure_ascii=False),
    "json with slashes": lambda value: json.dumps(value).replace("/", "\\/"),
    "json in json": lambda value: json.dumps(json.dumps(value)),
    "json in numbers": lambda value: "".join(f"\\u{ord(letter):04X}" for letter in value),
    "python": repr,
    "python bytes": lambda value: repr(value.encode()),
    "a list of bytes": lambda value: repr(list(value.encode())),
    "a list of code points": lambda value: json.dumps(list(map(ord, value)), indent=4),
    "shell": shlex.quote,
    "shell with backslashes": lambda value: value.replace("'", "'\\''"),
    "every sign with a backslash": lambda value: "".join(sign if sign.isalnum() else f"\\{sign}" for sign in value),
    "html": html.escape,
    "html in numbers": lambda value: "".join(f"&#{ord(letter)};" for letter in value),
    "html in hex": lambda value: "".join(f"&#x{ord(letter):X};" for letter in value),
    "sql": lambda value: value.replace("'", "''"),
    "csv": lambda value: value.replace('"', '""'),
    "backwards": lambda value: value[::-1],
}
_WAYS_OF_LONGER_VALUES: dict[str, _Way] = {
    "capitals": str.upper,
    "small letters": str.lower,
    "capitals and small letters": str.swapcase,
    "a list of letters": lambda value: json.dumps(list(value), ensure_ascii=False),
    "blanks between": " ".join,
    "a letter a line": "\n".join,
}
_CASES = [
    *(
        pytest.param(way, value, id=name)
        for name, way in _WAYS.items()
        for value in (_TOKEN, _PLAIN, "ab12", "ß5'x\n\"q")
    ),
    *(pytest.param(way, value, id=name) for name, way in _WAYS_OF_LONGER_VALUES.items() for value in (_TOKEN, _PLAIN)),
]


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize(("way", "value"), _CASES)
def test_nothing_is_left_of_a_secret_however_it_is_written(way: _Way, value: str) -> None:
    redacted = _redact(value, f"<{way(value)}>")
    assert "[secret T]" in redacted
    left = redacted.replace("[secret T]", "")
    assert set(left) <= _FRAME, left
    assert len(left) <= 12
    assert Redactor({"T": value}).redact_text(f"<{way(value)}>") == redacted


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_letters_are_redacted(encoding: str) -> None:
    assert Redactor({"T": _TOKEN}).redact(b"<" + _TOKEN.encode(encoding) + b">") == b"<[secret T]>"


_PROGRAMS = {
    **{f"base64 {options}": b"" for options in ("", "-w0", "-w20", "-w5")},
    "base32": b"",
    "base32 -w 7": b"",
    **{f"xxd {options}": b"00000000: " for options in ("", "-u", "-c 8", "-g 4")},
    **{f"xxd {options}": b"" for options in ("-p", "-p -c 5", "-i")},
    **{f"od {options}": b"0000000 " for options in ("-c", "-x", "-b", "-t x1", "-t x1z", "-t u1", "-A x -t x1")},
    **{f"od -An {options}": b"" for options in ("-c", "-x", "-t x1", "-t u1")},
    "hexdump": b"0000000 ",
    "hexdump -C": b"00000000  ",
    "rev": b"",
    "fold -w 10": b"",
    "fold -w 1": b"",
    "sed 's/./& /g'": b"",
    "tr a-z A-Z": b"",
}


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize("before", ["", "token=", "Authorization: Basic me:"])
@pytest.mark.parametrize("program", _PROGRAMS)
def test_what_real_programs_make_of_a_secret_is_redacted(program: str, before: str) -> None:
    said = subprocess.run(
        ["bash", "-c", program], input=f"{before}{_PLAIN}".encode(), capture_output=True, check=True
    ).stdout
    redactor = Redactor({"T": _PLAIN})
    redacted = redactor.redact(said)
    assert redacted.count(b"[secret T]") == 1
    assert redactor.found(said) == ("T",)
    left = redacted.replace(b"[secret T]", b"").decode()
    for part in ("hunter2", "correct", "horse", "battery", "nter2", "ttery"):
        assert part not in "".join(left.lower().split())
        assert part.encode().hex() not in "".join(left.lower().split())
    if not before:
        rows = [row for row in left.splitlines() if row.strip()]
        assert all(len(row) < 14 for row in rows), "an address, an ending and signs around it are left, and no more"


@pytest.mark.slow
@pytest.mark.requirement("K8")
def test_what_other_languages_make_of_a_secret_is_redacted() -> None:
    script = (
        "import sys,json,urllib.parse as u;v=sys.argv[1];print(v,json.dumps(v),u.quote(v),repr(v),v.encode(),sep='\\n')"
    )
    said = subprocess.run([sys.executable, "-c", script, _TOKEN], capture_output=True, check=True).stdout
    assert _redact(_TOKEN, said).splitlines() == [
        "[secret T]",
        '"[secret T]"',
        "[secret T]",
        "'[secret T]'",
        "b'[secret T]'",
    ]
    shell = 'printf "%q\\n" "$1"; declare -p 1 2>/dev/null; v=$1; declare -p v; echo "${v@Q}"'
    said = subprocess.run(["bash", "-c", shell, "bash", _TOKEN], capture_output=True, check=True).stdout
    assert _redact(_TOKEN, said).splitlines() == ["[secret T]", 'declare -- v="[secret T]"', "'[secret T]'"]


@pytest.mark.parametrize(
    ("value", "content", "expected"),
    [
        ("abc", "abc YWJj 616263 cba", "[secret T] YWJj 616263 cba"),
        ("a", "banana", "b[secret T]n[secret T]n[secret T]"),
        ("abcd", "ABCD a b c d abcd", "ABCD a b c d [secret T]"),
        ("abcdefg", "ABCDEFG", "ABCDEFG"),
        ("abcdefgh", "ABCDEFGH Abcdefgh a b c d e f g h", "[secret T] [secret T] [secret T]"),
        ("  padded-value \n", ">  padded-value \n<>padded-value<", ">[secret T]<>[secret T]<"),
        ("first line\nshort\nthird line", "third line, short, first line", "[secret T], short, [secret T]"),
        ("first line\n  second line\n", "first line second line", "[secret T] [secret T]"),
        ("", "nothing", "nothing"),
        ("   ", "a   b", "a[secret T]b"),
    ],
)
def test_short_long_and_many_lined_values_have_their_own_rules(value: str, content: str, expected: str) -> None:
    assert _redact(value, content) == expected


@pytest.mark.parametrize(
    ("values", "content", "expected"),
    [
        ({"A": "password", "B": "password123"}, "password123 password", "[secret B] [secret A]"),
        ({"A": "password123", "B": "password"}, "password123 password", "[secret A] [secret B]"),
        ({"A": "abcdef", "B": "defghi"}, "xabcdefghix", "x[secret A][secret B]x"),
        ({"A": "abcdef", "B": "cd"}, "abcdefcd", "[secret A][secret B]"),
        ({"A": "abab", "B": "zz"}, "ababababzz", "[secret A][secret B]"),
        ({"A": "same-value", "B": "same-value"}, "same-value", "[secret A]"),
        ({"A": "abcd"}, "abcdabcd", "[secret A][secret A]"),
    ],
)
def test_overlapping_secrets_all_go(values: Mapping[str, str], content: str, expected: str) -> None:
    assert Redactor(values).redact_text(content) == expected


def test_found_names_every_secret_even_inside_of_another() -> None:
    redactor = Redactor({"A": "password", "B": "password123", "C": "elsewhere"})
    assert redactor.found(b"password123") == ("A", "B")
    assert redactor.found(b"nothing") == ()
    assert Redactor({}).found(b"x") == ()
    assert Redactor({}).redact(b"x") == b"x"


def _model(values: Mapping[str, str], content: bytes) -> bytes:
    """Return what values that are only looked for as they are leave of a content, found place by place."""
    spans = [
        (start, -start - len(value), order, name)
        for order, (name, value) in enumerate(values.items())
        for start in range(len(content))
        if content.startswith(value.encode(), start)
    ]
    said, covered = b"", 0
    shown: set[str] = set()
    for start, negative_end, _, name in sorted(spans):
        if start >= covered:
            said += content[covered:start]
            shown.clear()
        elif -negative_end <= covered:
            continue
        said += b"" if name in shown else f"[secret {name}]".encode()
        shown.add(name)
        covered = -negative_end
    return said + content[covered:]


@given(
    st.dictionaries(st.sampled_from(["A", "B", "C"]), st.text("ab", min_size=1, max_size=3)),
    st.text("abc", max_size=30),
)
def test_every_match_counts_however_matches_overlap(values: dict[str, str], content: str) -> None:
    assert Redactor(values).redact(content.encode()) == _model(values, content.encode())


_LETTERS = st.sampled_from([*"abcXYZ019 +/-_=%&\\'\"<\n\t", "é", "😀"])
_VALUES = st.dictionaries(
    st.sampled_from(["A", "B", "C"]), st.text(_LETTERS, min_size=1, max_size=14), min_size=1, max_size=3
)
_NOISE = st.one_of(
    st.binary(max_size=12), st.sampled_from([b" ", b"\n", b"=", b"%", b"\\", b"0x", b"  abc\n00000010: ", b"\r\n"])
)
_ALL_WAYS = [*_WAYS.values(), *_WAYS_OF_LONGER_VALUES.values()]


@st.composite
def _outputs(draw: st.DrawFn) -> tuple[dict[str, str], bytes, list[int]]:
    """Draw secrets, an output with them or parts of them in many forms, and places where it is cut."""
    values = draw(_VALUES)
    parts: list[bytes] = []
    for _ in range(draw(st.integers(0, 5))):
        value = draw(st.sampled_from(sorted(values.values())))
        written = draw(st.sampled_from(_ALL_WAYS))(value).encode()
        start, end = draw(st.sampled_from([(0, None), (0, -1), (1, None), (0, len(written) // 2)]))
        parts += [draw(_NOISE), written[start:end]]
    content = b"".join([*parts, draw(_NOISE)])
    return values, content, sorted(draw(st.lists(st.integers(0, len(content)), max_size=8)))


def _stream(redactor: Redactor, parts: Sequence[bytes]) -> bytes:
    stream = redactor.stream()
    return b"".join([*map(stream.feed, parts), stream.finish()])


@pytest.mark.slow
@pytest.mark.requirement("K8")
@settings(max_examples=150)
@given(_outputs())
def test_stream_says_what_the_whole_says_wherever_it_is_cut(drawn: tuple[dict[str, str], bytes, list[int]]) -> None:
    values, content, cuts = drawn
    redactor = Redactor(values)
    whole = redactor.redact(content)
    assert _stream(redactor, [content[start:end] for start, end in pairwise([0, *cuts, len(content)])]) == whole
    assert _stream(redactor, [bytes([byte]) for byte in content]) == whole
    assert all(value.encode() not in whole for value in values.values() if value not in _labels(values))


def _labels(values: Mapping[str, str]) -> str:
    """Return all that stands in a row of labels."""
    return "".join(f"[secret {one}][secret {other}]" for one in values for other in values)


@pytest.mark.slow
@pytest.mark.requirement("K8")
@settings(max_examples=200)
@given(st.text(_LETTERS, min_size=4, max_size=30), st.binary(max_size=20), st.binary(max_size=20))
def test_secret_is_found_inside_of_longer_encoded_texts(value: str, before: bytes, after: bytes) -> None:
    whole = before + value.encode() + after
    redactor = Redactor({"T": value})
    for said in (
        base64.b64encode(whole),
        base64.urlsafe_b64encode(whole).rstrip(b"="),
        base64.encodebytes(whole),
        base64.b32encode(whole),
        whole.hex().encode(),
        whole.hex(":", 2).encode(),
        urllib.parse.quote_from_bytes(whole).encode(),
        urllib.parse.quote_plus(whole).encode(),
        repr(whole).encode(),
        "".join(f"\\x{byte:02x}" for byte in whole).encode(),
        " ".join(map(str, whole)).encode(),
    ):
        assert redactor.found(said) == ("T",), said


@pytest.mark.slow
@settings(max_examples=200)
@given(st.text(_LETTERS, min_size=4, max_size=30), st.text(max_size=20), st.text(max_size=20))
def test_secret_is_found_inside_of_longer_escaped_texts(value: str, before: str, after: str) -> None:
    whole = before + value + after
    redactor = Redactor({"T": value})
    for said in (json.dumps(whole), repr(whole), html.escape(whole), whole[::-1], shlex.quote(whole)):
        assert redactor.found(said.encode()) == ("T",), said


@pytest.mark.slow
@given(st.text(max_size=60))
def test_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert Redactor({"T": "no such text anywhere"}).redact_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\udcff and s3cr3t-value \udc80", "\udcff and [secret T] \udc80"),
        ("\ud800 and s3cr3t-value", "\ud800 and [secret T]"),
    ],
)
def test_text_that_is_no_proper_unicode_is_redacted_too(text: str, expected: str) -> None:
    assert Redactor({"T": "s3cr3t-value"}).redact_text(text) == expected


def test_value_with_bytes_that_are_no_text_is_redacted() -> None:
    value = b"s3cr3t\xff\xfe-value".decode("utf-8", "surrogateescape")
    redactor = Redactor({"T": value})
    assert redactor.redact(b"<s3cr3t\xff\xfe-value>") == b"<[secret T]>"
    assert redactor.redact(base64.b64encode(b"<s3cr3t\xff\xfe-value>")) == b"P[secret T]Pg=="
    assert redactor.redact_text(f"<{value}>") == "<[secret T]>"
    assert Redactor({"T": "lone \ud800 half"}).redact_text("<lone \ud800 half>") == "<[secret T]>"


def test_ordinary_lines_are_said_at_once() -> None:
    stream = Redactor({"T": _TOKEN, "P": _PLAIN}).stream()
    lines = [b"Reading the file.\n", b"42 rows\n", b"see https://example.org/?q=1#top\n", b"done in 0.3 s\n"]
    assert [stream.feed(line) for line in lines] == lines
    assert stream.finish() == b""


def test_beginning_of_a_secret_is_held_until_it_is_certain() -> None:
    stream = Redactor({"T": _PLAIN}).stream()
    assert stream.feed(b"it is hunter2-corr") == b"it is "
    assert stream.feed(b"ect-horse-batter") == b""
    assert stream.feed(b"y indeed") == b""
    assert stream.finish() == b"[secret T] indeed"
    stream = Redactor({"T": _PLAIN}).stream()
    assert stream.feed(b"it is hunter2") == b"it is "
    assert stream.feed(b", no more\n") == b"hunter2, no more\n"


def test_memory_of_a_stream_is_bounded_by_the_longest_form() -> None:
    stream, most, held = Redactor({"T": _PLAIN}).stream(), 0, 0
    for part in [_PLAIN[:-1].encode() * 40, b"68:75:6e:74:65:72:32  " * 40, b"aHVudGVyMi1jb3JyZWN0   " * 40] * 200:
        held += len(part) - len(stream.feed(part))
        most = max(most, held)
    assert 0 < most < 4_000
    assert held == len(stream.finish())


def _long_value(size: int) -> str:
    letters = random.Random(size).choices("abcdefghijKLMNOPQ0123456789+/ '\"\\\n%&$=é", k=size)
    return "".join(["k", *letters, "z"])


@pytest.mark.slow
@pytest.mark.requirement("K8")
@pytest.mark.parametrize("size", [140, 3_000, 65_000])
@pytest.mark.parametrize(
    "name",
    ["plain", "base64 in lines", "base32", "hex", "hex with ':'", "json", "html", "shell", "a web form", "python"],
)
def test_long_value_goes_as_a_whole(name: str, size: int) -> None:
    value = _long_value(size)
    said = b"<" + _WAYS[name](value).encode() + b">"
    redactor = Redactor({"T": value})
    whole = redactor.redact(said)
    left = whole.replace(b"[secret T]", b"").decode()
    assert set(left) <= _FRAME, left[:200]
    assert len(left) <= 12
    parts = [said[at : at + 1_000] for at in range(0, len(said), 1_000)]
    assert _stream(redactor, parts) == whole


@pytest.mark.slow
@settings(max_examples=30)
@given(st.sampled_from(_ALL_WAYS), st.integers(0, 400), st.lists(st.integers(0, 2_000), max_size=6))
def test_stream_of_a_long_value_says_what_the_whole_says(way: _Way, lost: int, cuts: list[int]) -> None:
    value = _long_value(160)
    said = way(value).encode()
    said = said[: len(said) - lost] + b"<" + said + b">"
    redactor = Redactor({"T": value})
    places = [0, *sorted(min(cut, len(said)) for cut in cuts), len(said)]
    assert _stream(redactor, [said[start:end] for start, end in pairwise(places)]) == redactor.redact(said)
    assert redactor.found(said) == ("T",)


@pytest.mark.slow
def test_key_of_many_lines_goes_line_by_line() -> None:
    body = base64.encodebytes(random.Random(7).randbytes(600)).decode()
    key = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
    assert _redact(key, f"<{key}>") == "<[secret T]>"
    assert _redact(key, json.dumps({"key": key})) == '{"key": "[secret T]"}'
    assert _redact(key, " ".join(key.split("\n"))) == "[secret T]"
    indented = _redact(key, "".join(f"    > {line}\n" for line in key.splitlines()))
    assert indented == "    > [secret T]\n" * len(key.splitlines())


def test_nothing_shows_the_value_of_a_secret() -> None:
    redactor = Redactor({"T": _PLAIN})
    stream = redactor.stream()
    stream.feed(_PLAIN.encode())
    shown = [form(thing) for thing in (redactor, stream) for form in (repr, str, "{}".format)]
    try:
        redactor.redact(None)  # type: ignore[arg-type]
    except TypeError as error:
        shown += ["".join(traceback.format_exception(error))]
    assert len(shown) == 7
    assert not any(_PLAIN in text for text in shown)
