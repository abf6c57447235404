"""What another agent would lose of a skill, found from its files."""

import os

from prowess.policy import Limits
from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.frontmatter import Frontmatter, split_frontmatter
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.skill.targets import Loss, find_losses
from prowess.sources.heads import read_sidecar, read_start

__all__ = ["read_losses"]


def read_losses(skill: Skill, target: str, *, limits: Limits) -> tuple[Loss, ...]:
    """Return what a target would refuse, ignore or cut, worst first."""
    raw = read_start(skill.folder, limit=limits.max_skill_md_bytes)
    raw = b"" if isinstance(raw, Problem) else raw
    found = split_frontmatter(raw)
    original = found.text if isinstance(found, Frontmatter) else ""
    body = raw[found.body_offset :].decode("utf-8", "replace") if isinstance(found, Frontmatter) else ""
    sidecar = parse_yaml((read_sidecar(skill.folder) or b"").decode("utf-8", "replace"))
    return find_losses(
        skill.manifest,
        target=target,
        folder=os.path.basename(skill.folder),
        original=original,
        sidecar=sidecar.values if isinstance(sidecar, YamlDocument) else None,
        body=body,
    )
