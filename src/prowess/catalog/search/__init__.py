"""Find skills by what somebody asks for.

`words` turns text into words (with `stems`), `documents` says which words of a skill count and how much, `cache` keeps
that while a skill stays the same, `index` has the documents of each word, `spelling` finds the words that were meant,
`lexical` ranks by words and `vectors` by meaning. `skill_search` puts them together.
"""

from prowess.catalog.search.skill_search import Hit, SkillSearch

__all__ = ["Hit", "SkillSearch"]
