"""All pages."""

from prowess.surfaces.web.pages.chat import CHAT_PAGES
from prowess.surfaces.web.pages.skill_pages import SKILL_PAGES

__all__ = ["PAGES"]

PAGES = (*CHAT_PAGES, *SKILL_PAGES)
