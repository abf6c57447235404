"""The HTML of blocks, made once for each."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from prowess.surfaces.web.scene.blocks import (
    AssistantText,
    Block,
    Compaction,
    ConsentQuestion,
    Failure,
    ForkPanel,
    Notice,
    ToolCard,
    TurnEnd,
    UserMessage,
)
from prowess.surfaces.web.scene.board import Patch, Patches
from prowess.surfaces.web.scene.environment import make_environment

__all__ = ["BlockRenderer", "make_environment"]

_TEMPLATES: dict[type[Block], str] = {
    UserMessage: "message",
    AssistantText: "answer",
    ToolCard: "card",
    ForkPanel: "fork",
    ConsentQuestion: "consent",
    Notice: "line",
    Compaction: "line",
    Failure: "failure",
    TurnEnd: "end",
}
_CHILDREN = "<!--children-->"
"""Where the blocks within a block go. Nobody else can write it: texts are escaped, and Markdown has no comments."""
_MAX_KEPT = 16_000_000
"""Characters of HTML that are remembered."""


class BlockRenderer:
    """Makes the HTML of blocks. Can be used by several threads."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._kept: OrderedDict[str, tuple[Block, str]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def html(self, block: Block) -> str:
        """Return the HTML of a block, without what lies within it."""
        with self._lock:
            kept = self._kept.get(block.id)
            if kept is not None and kept[0] is block:
                self._kept.move_to_end(block.id)
                return kept[1]
        template = self._environment.get_template(f"blocks/{_TEMPLATES[type(block)]}.html")
        html = template.render(block=block, kind=type(block).__name__).strip()
        self._keep(block, html)
        return html

    def record(self, patches: Patches) -> dict[str, Any]:
        """Return patches as the page's own module takes them."""
        made = [
            {"id": one.id, "parent": one.parent, "html": None if one.block is None else self.html(one.block)}
            for one in patches.patches
        ]
        return {"reset": patches.reset, "patches": made}

    def page(self, patches: Patches) -> Markup:
        """Return the HTML of all blocks, each within its parent."""
        within: dict[str, list[Patch]] = {}
        for patch in patches.patches:
            within.setdefault(patch.parent, []).append(patch)
        return Markup(self._nest(within.get("", ()), within))  # noqa: S704 - made from templates, which escape

    def _nest(self, patches: Sequence[Patch], within: dict[str, list[Patch]]) -> str:
        return "\n".join(self._nest_all(patches, within))

    def _nest_all(self, patches: Iterable[Patch], within: dict[str, list[Patch]]) -> Iterable[str]:
        for patch in patches:
            if patch.block is not None:
                html = self.html(patch.block)
                inner = within.get(patch.id)
                yield html.replace(_CHILDREN, self._nest(inner, within), 1) if inner else html

    def _keep(self, block: Block, html: str) -> None:
        with self._lock:
            former = self._kept.pop(block.id, None)
            self._size += len(html) - (len(former[1]) if former else 0)
            self._kept[block.id] = (block, html)
            while self._size > _MAX_KEPT:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= len(oldest)
