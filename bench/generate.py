"""Makes folders of skills that look like those in the wild and that every peer accepts.

Strictly the open standard: its six fields and no other, metadata of strings, tools as one string. Left out because a
peer refuses them: flow maps and lists (strictyaml in skills-ref), numbers and dates without quotes (typed readers see
no string), `---` inside a value (skills-ref cuts there).
"""

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.prose import BODY_SECTIONS, DOMAINS, LICENSES, OBJECTS, QUOTED_USE, TOOLS, USES, VERBS

DESCRIPTION_CHARACTERS = (60, 400)
BODY_BYTES = (2_000, 8_000)
# How many of all skills, or of all metadata, have it.
SHARES = {
    "quoted use": 0.06,
    "comment": 0.05,
    "license": 0.6,
    "compatibility": 0.15,
    "allowed-tools": 0.5,
    "metadata": 0.55,
    "tags": 0.3,
    "category": 0.2,
}


@dataclass(frozen=True, slots=True)
class GeneratedSkill:
    """What a reader of the folder should find."""

    name: str
    description: str


def generate(root: Path, *, count: int, seed: int = 7) -> list[GeneratedSkill]:
    """`root` holds `count` skills of three files each.

    The same seed gives the same bytes, and a larger count only adds.
    """
    root.mkdir(parents=True, exist_ok=True)
    return [_write_skill(root, index=index, seed=seed) for index in range(count)]


def _write_skill(root: Path, *, index: int, seed: int) -> GeneratedSkill:
    rng = random.Random(f"{seed}:{index}")
    skill = GeneratedSkill(name=make_name(rng, index=index), description=make_description(rng))
    folder = root / skill.name
    for part in (folder, folder / "references", folder / "scripts"):
        part.mkdir()
    frontmatter = render_frontmatter(rng, skill=skill)
    body = _make_markdown(rng, title=skill.name)
    (folder / "SKILL.md").write_text(f"---\n{frontmatter}---\n\n{body}", encoding="utf-8")
    reference = _make_markdown(rng, title=f"Reference of {skill.name}")
    (folder / "references" / "REFERENCE.md").write_text(reference, encoding="utf-8")
    script = f'"""Runs {skill.name}."""\n\nimport sys\n\nprint("{skill.name}", sys.argv[1:])\n'
    (folder / "scripts" / "run.py").write_text(script, encoding="utf-8")
    return skill


def _has(rng: random.Random, what: str) -> bool:
    return rng.random() < SHARES[what]


def make_name(rng: random.Random, *, index: int) -> str:
    return f"{rng.choice(VERBS)}-{rng.choice(OBJECTS)}-{index:05d}".lower().replace(" ", "-")


def make_description(rng: random.Random) -> str:
    least, most = DESCRIPTION_CHARACTERS
    wanted = rng.randint(least, most - 60)
    text = f"{rng.choice(VERBS).capitalize()} {rng.choice(OBJECTS)} for {rng.choice(DOMAINS)}."
    uses = [QUOTED_USE] if _has(rng, "quoted use") else []
    while uses or len(text) < wanted:
        use = uses.pop() if uses else rng.choice(USES)
        text = f"{text} {use.format(object=rng.choice(OBJECTS), domain=rng.choice(DOMAINS))}"
    return text if len(text) <= most else text[: most - 1].rstrip(" .,:") + "."


def render_frontmatter(rng: random.Random, *, skill: GeneratedSkill) -> str:
    """YAML whose fields come and go, and whose description takes one of the spellings seen in the wild."""
    lines = [f"name: {skill.name}", _choose_spelling(rng, text=skill.description)(skill.description)]
    if _has(rng, "license"):
        lines.append(f"license: {rng.choice(LICENSES)}")
    if _has(rng, "compatibility"):
        lines.append("compatibility: Requires Python 3.11+ and network access")
    if _has(rng, "allowed-tools"):
        lines.append(f"allowed-tools: {' '.join(rng.sample(TOOLS, k=rng.randint(1, 4)))}")
    if _has(rng, "metadata"):
        lines.append(_render_metadata(rng))
    if _has(rng, "comment"):
        lines.insert(1, "# Keep the description below 1024 characters.")
    return "\n".join(lines) + "\n"


def _render_metadata(rng: random.Random) -> str:
    lines = [
        "metadata:",
        f"  author: {rng.choice(DOMAINS).split()[0]}-team",
        f'  version: "{rng.randint(0, 4)}.{rng.randint(0, 20)}"',
    ]
    if _has(rng, "tags"):
        lines.append(f"  tags: {', '.join(rng.sample(OBJECTS, k=3))}")
    if _has(rng, "category"):
        lines.append(f"  category: '{rng.choice(DOMAINS)}'")
    return "\n".join(lines)


def _choose_spelling(rng: random.Random, *, text: str) -> Callable[[str], str]:
    spellings, weights = zip(*_SPELLINGS.items(), strict=True)
    chosen = rng.choices(spellings, weights=weights)[0]
    if chosen in (_spell_plain, _spell_wrapped) and (": " in text or " #" in text):
        return _spell_double_quoted
    return chosen


def _spell_plain(text: str) -> str:
    return f"description: {text}"


def _spell_double_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'description: "{escaped}"'


def _spell_single_quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"description: '{escaped}'"


def _spell_folded(text: str) -> str:
    return f"description: >\n{_indent_lines(text)}"


def _spell_folded_stripped(text: str) -> str:
    return f"description: >-\n{_indent_lines(text)}"


def _spell_literal(text: str) -> str:
    return f"description: |\n  {text}"


def _spell_wrapped(text: str) -> str:
    return f"description:\n{_indent_lines(text)}"


def _indent_lines(text: str) -> str:
    lines = textwrap.wrap(text, width=76, break_on_hyphens=False, break_long_words=False)
    return textwrap.indent("\n".join(lines), "  ")


_SPELLINGS: dict[Callable[[str], str], float] = {
    _spell_plain: 0.66,
    _spell_double_quoted: 0.11,
    _spell_single_quoted: 0.06,
    _spell_folded: 0.06,
    _spell_folded_stripped: 0.04,
    _spell_literal: 0.05,
    _spell_wrapped: 0.02,
}


def _make_markdown(rng: random.Random, *, title: str) -> str:
    wanted = rng.randint(BODY_BYTES[0], BODY_BYTES[1] - 600)
    parts = [f"# {title}\n"]
    size = 0
    while size < wanted:
        section = rng.choice(BODY_SECTIONS).format(
            verb=rng.choice(VERBS), object=rng.choice(OBJECTS), domain=rng.choice(DOMAINS), number=rng.randint(2, 90)
        )
        parts.append(section)
        size += len(section)
    return "\n".join(parts)
