"""Generated skills as values, for sizes at which writing folders would take longer than measuring."""

import random

from bench.generate import make_description, make_name
from prowess.policy import SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill

__all__ = ["make_skills"]


def make_skills(count: int, *, seed: int = 7) -> tuple[Skill, ...]:
    """Return skills with the names and descriptions that `bench.generate` would write; their folders are not there."""
    return tuple(_make_skill(index, seed) for index in range(count))


def _make_skill(index: int, seed: int) -> Skill:
    rng = random.Random(f"{seed}:{index}")
    name = make_name(rng, index=index)
    manifest = Manifest(name, make_description(rng))
    return Skill(f"project:{name}", SourceKind.PROJECT, "/nowhere", name, f"/nowhere/{name}", manifest)
