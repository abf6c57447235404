"""Who wins when skills share a name, and how skills that share an id are told apart."""

import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from prowess.policy import SameName, SourceKind
from prowess.skill.problems import make_problem
from prowess.skill.skill import Skill

__all__ = ["Ranking", "rank_skills"]

_MAX_TOLD = 5
"""How many of those that share a name a message names."""


@dataclass(slots=True)
class Ranking:
    """Skills with their names and ids settled."""

    skills: list[Skill] = field(default_factory=list[Skill])
    by_name: dict[str, Skill] = field(default_factory=dict[str, Skill])
    by_id: dict[str, Skill] = field(default_factory=dict[str, Skill])
    shadowed: dict[str, str] = field(default_factory=dict[str, str])


def rank_skills(skills: Iterable[Skill], same_name: SameName) -> Ranking:
    """Settle names and ids of `skills`, which come highest precedence first.

    Losers stay in the list, with a Problem; under `keep-all` nobody loses, and a look-up by name gives the first. A
    skill that is not trusted never takes a name from one that is: else a stranger's project could switch skills off.
    A skill from an MCP server takes no name from a trusted one, whatever the policy: it would be taken for that one.
    Several of them that share a name go by their ids: neither must be taken for the other, nor hide it.
    """
    ranking = Ranking()
    by_name, by_id, ordered = ranking.by_name, ranking.by_id, ranking.skills
    doubled: list[str] = []
    for found in skills:
        skill = found if found.id not in by_id else found._replace(id=_distinct_id(found, by_id))
        by_id[skill.id] = skill
        ordered.append(skill)
        name = skill.manifest.name
        if name not in by_name:
            by_name[name] = skill
        else:
            doubled.append(name)
    if doubled:
        _settle(ranking, set(doubled), same_name)
    return ranking


def _settle(ranking: Ranking, names: set[str], same_name: SameName) -> None:
    rivals: dict[str, list[int]] = {}
    for index, skill in enumerate(ranking.skills):
        if skill.name in names:
            rivals.setdefault(skill.name, []).append(index)
    for name, places in rivals.items():
        left = _set_apart(ranking, name, places)
        if not left:
            continue
        winner = _choose_winner([ranking.skills[index] for index in left], same_name)
        ranking.by_name[name] = winner
        for index in left:
            loser = ranking.skills[index]
            if loser is not winner and (same_name is not SameName.KEEP_ALL or loser.kind is SourceKind.MCP):
                _mark_shadowed(ranking, index, loser, winner)


def _choose_winner(rivals: Sequence[Skill], same_name: SameName) -> Skill:
    hosted = [skill for skill in rivals if skill.kind is SourceKind.MCP]
    if same_name is SameName.KEEP_ALL and not hosted:
        return rivals[0]
    own = [skill for skill in rivals if skill.kind is not SourceKind.MCP and skill.trusted]
    return (own or hosted or rivals)[-1 if same_name is SameName.LAST_WINS else 0]


def _set_apart(ranking: Ranking, name: str, places: Sequence[int]) -> Sequence[int]:
    """Let skills of servers that share a name nobody is entitled to go by their ids; return where the others are."""
    hosted = [index for index in places if ranking.skills[index].kind is SourceKind.MCP]
    own = [index for index in places if index not in hosted]
    if len(hosted) < 2 or any(ranking.skills[index].trusted for index in own):
        return places
    del ranking.by_name[name]
    _call_by_ids(ranking, hosted)
    return own


def _call_by_ids(ranking: Ranking, places: Sequence[int]) -> None:
    ids = " and ".join(ranking.skills[index].id for index in places[:_MAX_TOLD])
    for index in places:
        skill = ranking.skills[index]
        message = f"duplicate skill '{skill.name}': {ids} come from MCP servers, and go by their ids"
        marked = skill._replace(problems=(*skill.problems, make_problem("duplicate-name", message)), called=skill.id)
        ranking.skills[index] = ranking.by_id[skill.id] = ranking.by_name[skill.id] = marked


def _mark_shadowed(ranking: Ranking, index: int, loser: Skill, winner: Skill) -> None:
    message = f"duplicate skill '{loser.name}': {winner.id} takes precedence over {loser.id}"
    marked = loser._replace(problems=(*loser.problems, make_problem("duplicate-name", message)))
    ranking.skills[index] = marked
    ranking.by_id[loser.id] = marked
    ranking.shadowed[loser.id] = winner.id


def _distinct_id(skill: Skill, taken: Container[str]) -> str:
    """Return an id that also tells the root: two roots of one kind may both have a skill at the same path.

    Names on disk that differ only in bytes that cannot be shown have one id too; a number tells those apart.
    """
    mark = hashlib.sha256(skill.root.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    candidate, number = f"{skill.id}@{mark}", 1
    while candidate in taken:
        number += 1
        candidate = f"{skill.id}@{mark}-{number}"
    return candidate
