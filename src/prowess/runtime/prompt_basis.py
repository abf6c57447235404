"""What a prompt was planned from, kept with its session so that another process makes the same bytes of it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from prowess.catalog.views import View
from prowess.disclosure.deltas import tell
from prowess.disclosure.planner import Favour
from prowess.policy import CatalogText

__all__ = ["mark_view", "parse_basis", "render_basis"]


def mark_view(view: View, *, form: CatalogText) -> str:
    """Return what is the same for two views of which a model is told the same."""
    whole = hashlib.sha256()
    for skill_id, told in tell(view, form=form).items():
        whole.update(f"{skill_id}\0{told}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()[:32]


def render_basis(favours: Mapping[str, Favour], *, mark: str) -> str:
    """Return the favoured ids and why, with the mark of the view that they are for."""
    return json.dumps({"view": mark, "favours": list(favours.items())})


def parse_basis(text: str, *, mark: str) -> dict[str, Favour] | None:
    """Return the favours that were kept; None if there are none, or if they are for another view."""
    try:
        kept = cast("dict[str, Any]", json.loads(text)) if text else {}
        if kept.get("view") != mark:
            return None
        return {str(skill_id): Favour(favour) for skill_id, favour in kept["favours"]}
    except (ValueError, KeyError, TypeError, AttributeError):  # Another version may have written it.
        return None
