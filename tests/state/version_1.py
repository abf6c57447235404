"""A database as the first schema has it, with rows. The text of the schema stands here as it was released."""

from prowess.catalog.switches import Switch, SwitchKey

__all__ = ["STATEMENTS", "SWITCHES", "TRUSTED"]

SWITCHES = {("", SwitchKey("core:pdf")): Switch.OFF, ("x", SwitchKey("project:pdf", "/old\udcff")): Switch.NAME_ONLY}
TRUSTED = frozenset({"/old", "/old\udcff"})
STATEMENTS = (
    """CREATE TABLE switches (
            agent TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            position TEXT NOT NULL,
            PRIMARY KEY (agent, skill, root)
        )""",
    """CREATE TABLE trusted_projects (
            path TEXT NOT NULL PRIMARY KEY
        )""",
    "INSERT INTO switches VALUES ('', 'core:pdf', '', 'off'), ('x', 'project:pdf', 'bytes:2f6f6c64ff', 'name-only')",
    "INSERT INTO trusted_projects VALUES ('/old'), ('bytes:2f6f6c64ff')",
)
