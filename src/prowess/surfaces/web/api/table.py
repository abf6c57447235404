"""All operations of the HTTP interface."""

from prowess.surfaces.web.api.conversations import CONVERSATION_OPERATIONS
from prowess.surfaces.web.api.decisions import DECISION_OPERATIONS
from prowess.surfaces.web.api.own_skills import OWN_SKILL_OPERATIONS
from prowess.surfaces.web.api.runs import RUN_OPERATIONS
from prowess.surfaces.web.api.skills import SKILL_OPERATIONS
from prowess.surfaces.web.api.telling import TELLING_OPERATIONS

__all__ = ["OPERATIONS"]

OPERATIONS = (
    *SKILL_OPERATIONS,
    *OWN_SKILL_OPERATIONS,
    *DECISION_OPERATIONS,
    *TELLING_OPERATIONS,
    *CONVERSATION_OPERATIONS,
    *RUN_OPERATIONS,
)
