"""Who wins when skills share a name, and how skills that share an id are told apart."""

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from prowess.policy import SameName
from prowess.skill.problems import make_problem
from prowess.skill.skill import Skill

__all__ = ["Ranking", "rank_skills"]


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
    if doubled and same_name is not SameName.KEEP_ALL:
        _settle(ranking, set(doubled), last_wins=same_name is SameName.LAST_WINS)
    return ranking


def _settle(ranking: Ranking, names: set[str], *, last_wins: bool) -> None:
    rivals: dict[str, list[int]] = {}
    for index, skill in enumerate(ranking.skills):
        if skill.name in names:
            rivals.setdefault(skill.name, []).append(index)
    for name, places in rivals.items():
        entitled = [index for index in places if ranking.skills[index].trusted] or places
        winner = ranking.skills[entitled[-1 if last_wins else 0]]
        ranking.by_name[name] = winner
        for index in places:
            loser = ranking.skills[index]
            if loser is not winner:
                _mark_shadowed(ranking, index, loser, winner)


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
