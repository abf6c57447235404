"""The list of skills as its page shows it: rows, filters, the order, and what is wrong with the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from prowess.catalog.switches import Switch
from prowess.policy import SourceKind
from prowess.runtime.tool_results import show_moment
from prowess.surfaces.records import problem_record, rejected_record
from prowess.surfaces.skill_choice import STATES
from prowess.surfaces.web.skill_table import SORTS, SkillRow, Snapshot, Wanted

__all__ = ["Badge", "make_badges", "parse_wanted", "show_list"]

_PER_PAGE = 50
_MAX_LISTED = 200
"""Names that were lost to others, folders that gave no skill, and Problems of sources."""
_LONGEST_DESCRIPTION = 180
_LONGEST_QUERY = 200
_FIRST_DOWN = frozenset({"uses", "used", "tokens", "problems"})
"""Columns of which most people want the largest first."""
_COLUMNS = (
    ("name", "Skill"),
    ("source", "Source"),
    ("state", "State"),
    ("problems", "Problems"),
    ("uses", "Uses"),
    ("used", "Last used"),
    ("tokens", "Tokens"),
)
_TONES = {
    "visible": "good",
    "hidden": "muted",
    "disabled": "muted",
    "shadowed": "warn",
    "untrusted": "warn",
    "ineligible": "warn",
}
_WORDS = {"hidden": "people only", "disabled": "off", "visible": "visible"}


@dataclass(frozen=True, slots=True)
class Badge:
    """A word on the state of a skill."""

    text: str
    tone: str


def make_badges(row: SkillRow) -> list[Badge]:
    """Return the words on a skill's state."""
    badges = [Badge(_WORDS.get(state, state), _TONES.get(state, "muted")) for state in row.states]
    return [*badges, Badge("name only", "muted")] if row.switch is Switch.NAME_ONLY and row.is_visible else badges


def parse_wanted(given: Mapping[str, str]) -> Wanted:
    """Return what an address asks for; what cannot be meant counts as not said."""
    sort = given.get("sort", "")
    page = given.get("page", "")
    return Wanted(
        query=given.get("query", "")[:_LONGEST_QUERY],
        source=_one_of(given.get("source", ""), [kind.value for kind in SourceKind]),
        state=_one_of(given.get("state", ""), STATES),
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 and int(page) else 1,
        limit=_PER_PAGE,
    )


def show_list(snapshot: Snapshot, wanted: Wanted, *, show: Callable[[Any], Any]) -> dict[str, Any]:
    """Return all that the page of the list shows; `show` makes records fit for whoever looks."""
    cut = snapshot.choose(wanted)
    catalog = snapshot.catalog
    rejected = [rejected_record(one) for one in catalog.rejected[:_MAX_LISTED]]
    problems = [problem_record(one) for one in catalog.problems[:_MAX_LISTED]]
    by_id = {row.skill.id: row for row in snapshot.rows if row.shadowed_by} if catalog.shadowed else {}
    return {
        "rows": [_show_row(snapshot, row) for row in cut.rows],
        "cut": cut,
        "first": (cut.number - 1) * wanted.limit + 1,
        "wanted": wanted,
        "columns": [_show_column(wanted, name, title) for name, title in _COLUMNS],
        "filters": [_show_filter(snapshot, wanted, state) for state in ("", *STATES)],
        "sources": sorted(
            {row.skill.kind.value for row in snapshot.rows} | ({wanted.source} if wanted.source else set())
        ),
        "former": _address(replace(wanted, page=cut.number - 1)) if cut.number > 1 else "",
        "next": _address(replace(wanted, page=cut.number + 1)) if cut.number < cut.pages else "",
        "collisions": [
            (by_id[loser], snapshot.find(winner)) for loser, winner in list(catalog.shadowed.items())[:_MAX_LISTED]
        ],
        "collisions_total": len(catalog.shadowed),
        "rejected": show(rejected),
        "rejected_total": len(catalog.rejected),
        "problems": show(problems),
        "problems_total": len(catalog.problems),
        "untrusted": snapshot.count("untrusted"),
        "total": len(snapshot.rows),
    }


def _show_row(snapshot: Snapshot, row: SkillRow) -> dict[str, Any]:
    used_at = snapshot.used_at(row)
    text = row.skill.description
    return {
        "row": row,
        "description": text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 1].rstrip() + "…",
        "badges": make_badges(row),
        "uses": snapshot.uses(row),
        "used_at": show_moment(used_at)[:10] if used_at else "",
        "tokens": snapshot.tokens(row),
    }


def _show_column(wanted: Wanted, name: str, title: str) -> dict[str, str]:
    first, other = (f"-{name}", name) if name in _FIRST_DOWN else (name, f"-{name}")
    order = {name: "ascending", f"-{name}": "descending"}.get(wanted.sort, "none")
    address = _address(replace(wanted, sort=other if wanted.sort == first else first, page=1))
    return {"name": name, "title": title, "order": order, "address": address}


def _show_filter(snapshot: Snapshot, wanted: Wanted, state: str) -> dict[str, Any]:
    count = snapshot.count(state) if state else len(snapshot.rows)
    address = "#rejected" if state == "rejected" else _address(replace(wanted, state=state, page=1))
    return {"state": state, "count": count, "address": address, "is_chosen": wanted.state == state}


def _address(wanted: Wanted) -> str:
    parts = {
        "query": wanted.query,
        "source": wanted.source,
        "state": wanted.state,
        "sort": wanted.sort,
        "page": str(wanted.page) if wanted.page > 1 else "",
    }
    said = urlencode({key: value for key, value in parts.items() if value})
    return f"/skills?{said}" if said else "/skills"


def _one_of(text: str, known: list[str] | tuple[str, ...]) -> str:
    return text if text in known else ""
