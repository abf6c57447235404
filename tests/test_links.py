"""Links between files of the project lead somewhere. `make docs` looks at those within the docs, too."""

import re
from pathlib import Path

import pytest

_PROJECT = Path(__file__).parents[1]
_PAGES = [
    *(_PROJECT / name for name in ("README.md", "CHANGELOG.md", "bench/RESULTS.md")),
    *sorted((_PROJECT / "docs").rglob("*.md")),
]


def _links(page: Path) -> list[tuple[str, str]]:
    """The local links of a page outside of its code: files and anchors."""
    text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"))
    found = re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)|<img[^>]* src=\"([^\"]+)\"", text)
    return [(link or image, anchor) for link, anchor, image in found if ":" not in link + image]


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text("utf-8"))
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"\s+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_PROJECT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    lost: list[str] = []
    for link, anchor in _links(page):
        target = (page.parent / link).resolve() if link else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            lost.append(f"{link}#{anchor}" if anchor else link)
    assert lost == []


def test_there_are_links_to_follow() -> None:
    assert len(_links(_PROJECT / "README.md")) > 10
