"""The skills extension: `skills/list`, `skills/get` and `resources/directory/read`.

A skill is published if the client may read it: nothing is to be asked, or the client can ask. What other hosts could
not take, because of its size, its name or its frontmatter, is left out, and the log says so once.
"""

from typing import Any

import mcp_types as types

from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import SKILL_MD, Fault, SkillEntry, render_entry
from prowess.surfaces.mcp.faults import no_such, telling_faults
from prowess.surfaces.mcp.paging import cut_page, fill_page
from prowess.surfaces.mcp.published import Asks, decide_refusal, list_folder, make_entry
from prowess.surfaces.mcp.requests import ClientContext, ClientRequest
from prowess.surfaces.mcp.resources import make_resource
from prowess.surfaces.mcp.visits import Hall

__all__ = ["DirectoryParams", "GetSkillParams", "SkillsExtension"]

_PAGE = 100
_FOLDER_PAGE = 500
_FRESH = {"ttlMs": 5_000, "cacheScope": "private", "resultType": "complete"}
"""How long a host may take an entry for current; what counts is the digest."""


class GetSkillParams(types.RequestParams):
    """Which skill: by the address of its SKILL.md."""

    uri: str


class DirectoryParams(types.PaginatedRequestParams):
    """Which folder."""

    uri: str


class SkillsExtension:
    """Answers the methods of the extension."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._known: dict[str, tuple[tuple[str, str, str], SkillEntry | Fault]] = {}
        """By id, the entries that were made, each for a digest, a frontmatter and an address."""

    async def list(self, ctx: ClientContext, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """Return the entries of all skills that the client may have, page by page."""
        request = await self._hall.begin(ctx)

        def collect() -> tuple[list[dict[str, Any]], str | None]:
            published = self._hall.publication(request.visit)

            def make(skill: Skill) -> list[dict[str, Any]]:
                entry = self.find_entry(request, skill, published.root(skill))
                return [] if isinstance(entry, Fault) else [render_entry(entry)]

            return fill_page(published.skills, params.cursor, make=make, size=_PAGE)

        with telling_faults():
            skills, cursor = await request.look(collect)
        return {"skills": skills, **_FRESH, **({"nextCursor": cursor} if cursor else {})}

    async def get(self, ctx: ClientContext, params: GetSkillParams) -> dict[str, Any]:
        """Return the entry of one skill."""
        request = await self._hall.begin(ctx)

        def find() -> SkillEntry | Fault | None:
            published = self._hall.publication(request.visit)
            found = published.find(params.uri)
            if found is None or found[1] != SKILL_MD.encode():
                return None
            return self.find_entry(request, found[0], published.root(found[0]))

        with telling_faults():
            entry = await request.look(find)
        if isinstance(entry, SkillEntry):
            return {"skill": render_entry(entry), **_FRESH}
        reason = f": {entry.message}" if entry else ""
        raise no_such(f"No skill is served at {params.uri[:500]}{reason}")

    async def read_directory(self, ctx: ClientContext, params: DirectoryParams) -> dict[str, Any]:
        """Return what lies directly in a folder of a skill."""
        request = await self._hall.begin(ctx)

        def collect() -> list[types.Resource] | None:
            published = self._hall.publication(request.visit)
            found = published.find(params.uri)
            if found is None:
                return None
            skill, path = found
            children = list_folder(request.visit.session.files(skill).files, path)
            if children is None:
                return None
            root = published.root(skill)
            return [make_resource(skill, root, inner, file) for inner, file in children]

        with telling_faults():
            found = await request.look(collect)
        if found is None:
            raise no_such(f"{params.uri[:500]} is not a directory resource")
        page, cursor = cut_page(found, params.cursor, size=_FOLDER_PAGE)
        resources = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in page]
        return {"resources": resources, "resultType": "complete", **({"nextCursor": cursor} if cursor else {})}

    def find_entry(self, request: ClientRequest, skill: Skill, root: str) -> SkillEntry | Fault:
        """Return the entry of a skill, or why the client cannot have it. Blocks."""
        session = request.visit.session
        asks = Asks.USER if request.can_ask else Asks.NOBODY
        refusal = decide_refusal(skill, session.decide(skill), asks=asks)
        if refusal is not None:
            return refusal
        files = session.files(skill)
        basis = (files.digest, skill.manifest.text, root)
        known = self._known.get(skill.id)
        if known is not None and known[0] == basis and files.digest:
            return known[1]
        entry = make_entry(skill, root, files)
        self._known[skill.id] = (basis, entry)
        self._hall.note_told(root, files)
        if isinstance(entry, Fault):
            self._hall.runtime.warn_once(
                (skill.id, "mcp"), f"skill '{skill.name}' is not published over MCP: {entry.message}"
            )
        return entry
