"""Write generated pages, or say which are stale."""

import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["DOCS", "write_or_check"]

DOCS = Path(__file__).resolve().parents[1] / "docs"


def write_or_check(pages: Mapping[str, str], *, tool: str) -> int:
    """Write each page into docs/; with `--check` among the arguments, compare instead, and return 1 if one differs."""
    if "--check" not in sys.argv[1:]:
        DOCS.mkdir(exist_ok=True)
        for name, text in pages.items():
            (DOCS / name).write_text(text, "utf-8")
        return 0
    stale = [name for name, text in pages.items() if not _is_current(DOCS / name, text)]
    for name in stale:
        print(f"docs/{name} is stale: run python tools/{tool}", file=sys.stderr)
    return 1 if stale else 0


def _is_current(page: Path, text: str) -> bool:
    return page.is_file() and page.read_text("utf-8") == text
