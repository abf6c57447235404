"""Keeps `bench/RESULTS.md`: one section a benchmark, replaced when it is run again."""

import re
from pathlib import Path

RESULTS = Path(__file__).resolve().with_name("RESULTS.md")
_HEAD = """# Results

Ratios matter, not the times: they come from one run on one machine, contestants taking turns. Each section names the
command that makes it; `make bench` makes all of them.
"""


def write_section(title: str, text: str) -> None:
    """Put the text under its title, in place of what stood there."""
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else _HEAD
    head, *parts = re.split(r"^## ", old, flags=re.MULTILINE)
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in parts}
    sections[title] = text.strip("\n")
    body = "\n".join(f"## {name}\n\n{content}\n" for name, content in sorted(sections.items()))
    RESULTS.write_text(f"{head.rstrip()}\n\n{body}", encoding="utf-8")
    print(f"## {title}\n\n{text}")
