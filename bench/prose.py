"""The words generated skills are made of."""

VERBS = (
    "analyse",
    "build",
    "check",
    "convert",
    "draft",
    "extract",
    "format",
    "map",
    "merge",
    "migrate",
    "plan",
    "review",
)
OBJECTS = (
    "api clients", "audit logs", "brand guides", "changelogs", "charts", "contracts", "csv tables", "dashboards",
    "docker images", "invoices", "meeting notes", "pdf forms", "pull requests", "release notes", "slide decks",
    "spreadsheets", "sql queries", "support tickets", "terraform plans", "test suites",
)  # fmt: skip
DOMAINS = (
    "accounting", "data engineering", "customer support", "devops", "hiring", "legal review", "marketing",
    "mobile apps", "product research", "security reviews", "site reliability", "technical writing",
)  # fmt: skip
LICENSES = ("MIT", "Apache-2.0", "Proprietary. LICENSE.txt has complete terms", "CC-BY-4.0")
TOOLS = ("Read", "Write", "Grep", "Glob", "Bash(git:*)", "Bash(python:*)", "WebFetch")
USES = (
    "Use when the user asks for {object} or mentions {domain}.",
    "Use this skill whenever {object} have to be read, changed or compared.",
    "Triggers on 'help with {object}' and 'look at our {domain}'.",
    "Do not use it for {domain} that need no {object}.",
    "Handles {object}, {domain} and what lies between — also in naïve or legacy formats.",
    "It knows the team's conventions, so that {object} come out the same each time.",
)
# A colon and quotes: no plain scalar can hold it.
QUOTED_USE = "Triggers: 'help with {object}', \"look at our {domain}\"."
BODY_SECTIONS = (
    """## When to {verb} {object}

Read the request first. People in {domain} mean different things by **{object}**: ask when the source, the period or the
audience is unclear. Work on a copy, keep the original, and say which of the {number} checks were left out and why.
""",
    """## Steps

1. List the {object} with `python scripts/run.py --list`.
2. Compare them with `references/REFERENCE.md`, section {number}.
3. {verb} what differs; leave the rest as it is.
4. Report in a table, and name the {object} that need a person's decision.
""",
    """## Example

```python
from pathlib import Path

rows = [line.split(",") for line in Path("input.csv").read_text().splitlines()]
print(len(rows), "{object}", max(len(row) for row in rows) > {number})
```
""",
    """## Rules

- Never send {object} outside {domain} without a yes from their owner.
- Numbers keep {number} digits at most; dates are written as 2026-01-31.
- Links look like [this one](references/REFERENCE.md); names stay as they are in the source.
""",
    """## Reference table

| field | meaning | kept |
| --- | --- | --- |
| `id` | number of the {object} | yes |
| `owner` | who in {domain} answers for it | yes |
| `age` | days, at most {number} | no |
""",
)
