"""Where the page finds skills, their files, and what runs have left. An address is empty if there can be none."""

from urllib.parse import quote

from prowess.errors import ToolInputError
from prowess.skill.activation_keys import make_activation_key
from prowess.surfaces.web.scene.blocks import SkillRef

__all__ = ["find_file", "find_output", "find_picture", "find_skill"]


def find_skill(skill_id: str) -> str:
    """Return the page of a skill."""
    key = _key(skill_id)
    return f"/skills/{key}" if key else ""


def find_file(skill: SkillRef | None, path: str) -> str:
    """Return a file of a skill, to be downloaded: as it was when it was read, if its digest is known."""
    key = _key(skill.id) if skill else ""
    if not skill or not key or not _is_plain(path):
        return ""
    digest = f"?digest={quote(skill.digest)}" if skill.digest else ""
    return f"/api/skills/{key}/files/{quote(path)}{digest}"


def find_picture(skill: SkillRef | None, path: str) -> str:
    """Return a file of a skill as a picture; only as it was when it was read."""
    address = find_file(skill, path)
    return f"{address}&as=image" if "?digest=" in address else ""


def find_output(run: str, path: str) -> str:
    """Return a file that a run has left."""
    return f"/api/runs/{quote(run, safe='')}/outputs/{quote(path)}" if run and _is_plain(path) else ""


def _key(skill_id: str) -> str:
    try:
        return make_activation_key(skill_id)
    except ToolInputError:
        return ""


def _is_plain(path: str) -> bool:
    """Whether a browser leaves the path as it is."""
    return all(part not in {"", ".", ".."} for part in path.split("/"))
