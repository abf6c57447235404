"""Documents made to hurt a reader come back with a verdict, in little memory and time.

They are read in a process of its own under hard limits of the system, so that a bound which fails shows as a dead
process instead of a dead machine.
"""

import subprocess
import sys

import msgspec
import pytest

from prowess.skill.frontmatter import MAX_FRONTMATTER_BYTES

_HEAD = "name: pdf\ndescription: d\n"
_ROOM = MAX_FRONTMATTER_BYTES - len(_HEAD) - 16


def _fill(part: str) -> str:
    return part * (_ROOM // len(part.encode()))


def _bomb(width: int, depth: int, opening: str, closing: str) -> str:
    lines = ["x0: &x0 x"]
    lines += [f"x{n}: &x{n} {opening}{','.join([f'*x{n - 1}'] * width)}{closing}" for n in range(1, depth)]
    return "\n".join(lines)[:_ROOM] + "\n"


_DOCUMENTS = {
    **{
        f"many {part!r}": f"x: {_fill(part)}\n"
        for part in ("[", "{", "- ", "? ", "&a ", "*a ", "!t ", "!", "[{", "{[", "a: ")
    },
    **{
        f"from the start {part!r}": f"{_fill(part)}\n"
        for part in ("[", "{", "- ", "? ", "&a ", "%", "- - ? ", ":", "'", '"')
    },
    **{
        f"lines of {part!r}": _fill(part)
        for part in ("-\n", "- [\n", "? a\n", "#\n", "\n", " \n", "\t\n", "a\n", "|\n", "---x\n")
    },
    **{
        f"one value of {part!r}": f"x: {_fill(part)}\n"
        for part in ("a", "é", "😀", " ", "\t", "'", '"', "\\", "a ", "a, ", "# ", ": ")
    },
    "quoted value": f'x: "{_fill("a")[:-8]}"\n',
    "quoted escapes": f'x: "{_fill(chr(92) + "n")[:-8]}"\n',
    "never closed quote": f'x: "{_fill("a" + chr(10) + " ")[:-8]}\n',
    "block text": "x: |\n" + _fill("  a\n"),
    "folded text": "x: >\n" + _fill("  a\n\n"),
    "staircase": "".join(f"{' ' * n}a:\n" for n in range(350)),
    "carriage returns": _fill("a: b\r"),
    "long key": f"{_fill('k')[:-8]}: v\n",
    "long complex key": f"? {_fill('k')[:-8]}\n: v\n",
    "many items": "x:\n" + _fill("- a\n"),
    "many flow items": f"x: [{_fill('a,')[:-8]}]\n",
    "many flow maps": f"x: [{_fill('{a: b},')[:-8]}]\n",
    "one key again and again": _fill("a: b\n"),
    "one broken key again and again": _fill("a: b: c\n"),
    "broken lines with continuations": "".join(f"k{n}: a: b\n{'  c: d' * 20}\n" for n in range(150)),
    "commas in tools": f"allowed-tools: {_fill('a,')}\n",
    "parentheses in tools": f"allowed-tools: {_fill('a(')}\n",
    "closed parentheses in tools": f"allowed-tools: '{_fill('a() ')[:-8]}'\n",
    "odd pairs in tools": f"allowed-tools: {_fill('(a)')}\n",
    "hashes in a description": f"description: {_fill('a #')}\n",
    "mixed scripts": f"license: {_fill('аb ')}\n",
    "many mixed words": "license: " + " ".join(f"а{n}xа" for n in range(5_000)) + "\n",
    "invisible letters": f"license: {_fill(chr(0x200B))}\n",
    "metadata as deep JSON": f"metadata: '{_fill('{')[:-8]}'\n",
    "metadata as a bomb in a text": f"metadata: '{{a: &a [x,x], b: [{'*a,' * 900}]}}'\n",
    "wide bomb of lists": _bomb(9, 60, "[", "]"),
    "deep bomb of lists": _bomb(2, 1_500, "[", "]"),
    "bomb of keys": "x: &a {a: b}\n" + "".join(f"y{n}: {{*a : *a}}\n" for n in range(400)),
    "tags of a language": 'x: !!python/object/apply:os.system ["true"]\n',
    "many unknown keys": "".join(f"k{n}: v\n" for n in range(600)),
    "endless merge": "x: &a\n  <<: *a\n",
}

_WHOLE_FILES = {
    "many line breaks in a body": "---\nname: pdf\n---\n" + "\n" * 4_000 + "#",
    "many blanks in a skimmed description": f"---\nname: pdf\nx: [\ndescription: a{' ' * 16_000}b\n---\n",
}

_CHILD = """
import resource, sys, msgspec
from prowess.policy import PROFILES, MissingDescription, Reading
from prowess.skill.reading import parse_skill

documents = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=dict[str, bytes])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 64_000_000,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
readings = {profile: policy.reading for profile, policy in PROFILES.items()}
readings["first paragraph"] = Reading(missing_description=MissingDescription.FIRST_PARAGRAPH)
verdicts = {}
for name, document in documents.items():
    for profile, reading in readings.items():
        found = parse_skill(document, folder="pdf", reading=reading)
        refused = any(problem.severity == "error" for problem in found.problems)
        verdicts[f"{name}, {profile}"] = (found.manifest is not None, refused)
sys.stdout.buffer.write(msgspec.msgpack.encode(verdicts))
"""


@pytest.mark.slow
@pytest.mark.requirement("R15", "J3")
def test_every_hostile_document_gets_a_verdict_within_the_limits_of_the_process() -> None:
    documents = {name: f"---\n{_HEAD}{text}---\nBody\n".encode() for name, text in _DOCUMENTS.items()}
    documents |= {
        f"{name}, alone": f"---\n{text}---\nBody\n".encode()
        for name, text in _DOCUMENTS.items()
        if "from the start" in name
    }
    documents |= {name: text.encode() for name, text in _WHOLE_FILES.items()}
    child = subprocess.run(
        [sys.executable, "-c", _CHILD], input=msgspec.msgpack.encode(documents), capture_output=True, check=False
    )
    assert child.returncode == 0, child.stderr.decode()[-2_000:]
    verdicts = msgspec.msgpack.decode(child.stdout, type=dict[str, tuple[bool, bool]])
    assert len(verdicts) == 6 * len(documents)
    assert {name for name, (loaded, refused) in verdicts.items() if loaded == refused} == set()
