"""The page on architecture names files that are there."""

import importlib.util
import pkgutil
import re
from pathlib import Path

import prowess
from prowess.surfaces import web

_PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
_ROOMS = {module.name for module in pkgutil.iter_modules(prowess.__path__)}
_WEB = {module.name for module in pkgutil.iter_modules(web.__path__) if module.ispkg}
"""The section on pages names files of the web app by their inner room."""


def _named_files() -> set[str]:
    names = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", _PAGE.read_text("utf-8"))
    rooms = {name: name.partition(".")[0] for name in names}
    inner = {f"surfaces.web.{name}" for name, room in rooms.items() if room in _WEB - _ROOMS}
    return inner | {name for name, room in rooms.items() if room in _ROOMS}


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(f"prowess.{name}") is not None
    except ModuleNotFoundError:  # One of its parents is no package.
        return False


def test_every_file_that_the_page_names_is_there() -> None:
    named = _named_files()
    assert len(named) > 60
    assert sorted(name for name in named if not _is_there(name)) == []


def test_every_room_is_on_the_page() -> None:
    text = _PAGE.read_text("utf-8")
    ours = _ROOMS - {"version", "bundled"}
    assert sorted(room for room in ours if f"`{room}`" not in text) == []
