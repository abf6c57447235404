"""Who makes a request, and what of this machine they may be shown."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from prowess.surfaces.web.redaction import redact_conversation, redact_paths, redact_record
from prowess.surfaces.web.site import Site

__all__ = ["Visitor"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """One request to a site, and what is shown to whoever made it: all, or nothing of the folders of this machine."""

    site: Site
    request: Request

    @property
    def is_local(self) -> bool:
        """Whether it comes from this very machine, so that paths of the host may be shown."""
        return bool(self.request.scope.get("prowess.local"))

    def show_text(self, text: str) -> str:
        """Return a text in words of Prowess as it may be shown."""
        return text if self.is_local else redact_paths(text, self.site.runtime.settings)

    def show_record(self, record: Any) -> Any:
        """Return a record of skills, decisions or models as it may be shown."""
        return record if self.is_local else redact_record(record, self.site.runtime.settings)

    def show_conversation(self, record: Any) -> Any:
        """Return a record of what was said, done and asked in conversations as it may be shown."""
        return record if self.is_local else redact_conversation(record, self.site.runtime.settings)
