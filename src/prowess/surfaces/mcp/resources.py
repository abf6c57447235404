"""The files of visible skills as resources: listed, read byte by byte, and looked after."""

import base64

import mcp_types as types

from prowess.disclosure.media_types import binary_type, name_type, text_type
from prowess.skill.digest import SkillFile
from prowess.skill.skill import Skill
from prowess.sources.mcp.wire import DIRECTORY_TYPE, SCHEME, SKILL_MD, make_file_uri
from prowess.sources.source import show_bytes
from prowess.surfaces.exact_texts import find_exact_text
from prowess.surfaces.mcp.asking import InputWanted
from prowess.surfaces.mcp.faults import no_such, telling_faults
from prowess.surfaces.mcp.paging import fill_page
from prowess.surfaces.mcp.published import Publication
from prowess.surfaces.mcp.requests import ClientContext
from prowess.surfaces.mcp.visits import Hall, Visit

__all__ = ["ResourceDesk", "make_resource"]

_PAGE = 200
_START = 4_096
_MAX_SUBSCRIBED = 1_000
"""Addresses that one client may look at."""


class ResourceDesk:
    """Answers the requests about resources."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    async def list(self, ctx: ClientContext, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Return the files of visible skills, page by page; no skill is cut in two."""
        request = await self._hall.begin(ctx)
        visit = request.visit

        def collect() -> tuple[list[types.Resource], str | None]:
            published = self._hall.publication(visit)
            cursor = params.cursor if params else None
            return fill_page(
                published.skills, cursor, make=lambda skill: _list_files(visit, published, skill), size=_PAGE
            )

        with telling_faults():
            found, cursor = await request.look(collect)
        return types.ListResourcesResult(resources=found, next_cursor=cursor)

    async def templates(
        self, ctx: ClientContext, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return how addresses are made."""
        await self._hall.visit(ctx)
        file = types.ResourceTemplate(
            name="skill-file",
            title="A file of a skill",
            uri_template=SCHEME + "{+skill}/{+path}",
            description="`skill` is the address of the skill's folder without its scheme, `path` that of a file in it.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[file])

    async def read(
        self, ctx: ClientContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Return a file as it is, byte by byte. Whoever must be is asked first."""
        request = await self._hall.begin(ctx, responses=params.input_responses, state=params.request_state)
        visit, uri = request.visit, params.uri

        def fetch() -> tuple[bytes, bytes]:
            found = self._hall.publication(visit).find(uri)
            if found is None or not found[1]:
                raise no_such(f"No file is served at {uri[:500]}")
            skill, path = found
            return path, visit.session.fetch(skill.id, path)

        try:
            with telling_faults():
                path, raw = await request.run(fetch)
        except InputWanted as wanted:
            return await self._hall.suspend(request, wanted.question)
        return types.ReadResourceResult(contents=[_make_contents(uri, path, raw)])

    async def subscribe(self, ctx: ClientContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell the client of changes of a file from now on."""
        request = await self._hall.begin(ctx)
        visit = request.visit

        def find() -> bool:
            published = self._hall.publication(visit)
            found = published.find(params.uri)
            if found is not None:
                self._hall.note_told(published.root(found[0]), visit.session.files(found[0]))
            return found is not None

        with telling_faults():
            is_found = await request.look(find)
        if not is_found:
            raise no_such(f"No file is served at {params.uri[:500]}")
        if len(visit.subscribed) >= _MAX_SUBSCRIBED:
            raise no_such(f"at most {_MAX_SUBSCRIBED:,} addresses can be looked at; unsubscribe from others")
        visit.subscribed.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: ClientContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell the client no more."""
        (await self._hall.visit(ctx)).subscribed.discard(params.uri)
        return types.EmptyResult()


def _list_files(visit: Visit, published: Publication, skill: Skill) -> list[types.Resource]:
    root = published.root(skill)
    files = visit.session.files(skill)
    visit.hall.note_told(root, files)
    return [make_resource(skill, root, file.path, file) for file in files.files]


def make_resource(skill: Skill, root: str, path: bytes, file: SkillFile | None) -> types.Resource:
    """Return what is told of a file, or of a folder, without its content."""
    uri = make_file_uri(root, path)
    name = show_bytes(path.rpartition(b"/")[2])
    if file is None:
        return types.Resource(uri=uri, name=name, mime_type=DIRECTORY_TYPE)
    if path == SKILL_MD.encode():
        return types.Resource(
            uri=uri,
            name=skill.name,
            title=f"{skill.name}: instructions",
            description=skill.description,
            mime_type="text/markdown",
            size=file.size,
        )
    title = f"{skill.name}: {show_bytes(path)}"
    return types.Resource(uri=uri, name=name, title=title, mime_type=name_type(name), size=file.size)


def _make_contents(uri: str, path: bytes, raw: bytes) -> types.TextResourceContents | types.BlobResourceContents:
    name = path.decode("utf-8", "replace")
    text = find_exact_text(raw)
    if text is None:
        blob = base64.b64encode(raw).decode("ascii")
        return types.BlobResourceContents(uri=uri, mime_type=binary_type(name, raw), blob=blob)
    return types.TextResourceContents(uri=uri, mime_type=text_type(name, text[:_START]), text=text)
