"""The catalogs that Hypothesis draws for the planner and its neighbours.

Alphabets are listed or counted: Hypothesis' own tables of characters take seconds to build on a fresh machine.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from prowess.catalog.views import View
from prowess.disclosure.planner import Favour
from prowess.policy import SourceKind
from prowess.skill.deception import clean_text
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill

__all__ = ["any_favours", "any_line", "any_view", "make_skill", "make_view"]

_SENTENCE = "Fills reads checks PDF forms, tables and reports. Use when: a <form> & its \"fields\" are 'open' …"
_ODD = (
    "技能",
    "表單填寫工具，适用于各种文件",
    "😀",
    "👩\u200d🔬",
    "naïve",
    "Ω≈ç√",
    "&amp;",
    "</skill>",
    "]]>",
    "-->",
    "`x`",
)
_SIGNS = ("--", "a" * 40, "x-y_z.py", "{}", "\\n", "**b**", "https://example.org/a?b=c&d=e")
_WORDS = (*_SENTENCE.split(), *_ODD, *_SIGNS)
_ANY = st.text(st.integers(0, 0x10FFFF).map(chr), max_size=40)

any_line = (
    st.lists(st.sampled_from(_WORDS), max_size=60).map(" ".join)
    | _ANY
    | st.sampled_from(_WORDS).map(lambda word: word * 30)
).map(lambda text: clean_text(text).text)
"""A text on one line, cleaned as every text of a manifest is: of no length or of a thousand characters."""

_any_name = (st.sampled_from(_WORDS) | _ANY).map(lambda text: clean_text(text).text[:64] or "x")


def make_skill(name: str, description: str = "Does it.", *, skill_id: str = "", relative: str = "") -> Skill:
    """Return a skill without any file."""
    relative = relative or name
    folder = f"/srv/skills/{relative}"
    manifest = Manifest(name, description)
    return Skill(skill_id or f"project:{relative}", SourceKind.PROJECT, "/srv/skills", relative, folder, manifest)


def make_view(*skills: Skill, name_only: Sequence[str] = ()) -> View:
    """Return a view in which these are visible."""
    return View("", skills, frozenset(name_only))


@st.composite
def any_view(draw: st.DrawFn, *, at_most: int = 80) -> View:
    """Draw a view: any number of skills with any texts, some of them to be shown by name only."""
    texts = draw(st.lists(st.tuples(_any_name, any_line), max_size=8))
    count = draw(st.integers(0, at_most))
    skills = [
        make_skill(name, description, skill_id=f"project:{number}", relative=f"s{number}")
        for number, (name, description) in zip(range(count), texts * count, strict=False)
    ]
    name_only = draw(st.sets(st.sampled_from([skill.id for skill in skills]), max_size=4)) if skills else set[str]()
    return make_view(*skills, name_only=sorted(name_only))


@st.composite
def any_favours(draw: st.DrawFn, view: View) -> dict[str, Favour]:
    """Draw which skills come first, in any order; some that are not there among them."""
    ids = [*(skill.id for skill in view.visible), "project:gone"]
    return draw(st.dictionaries(st.sampled_from(ids), st.sampled_from(Favour), max_size=12))
