"""Skills over MCP: the wire format that servers and hosts share, and the servers that skills are taken from.

`wire` has the entries, addresses and limits of the skills extension, `wire_frontmatter` the frontmatter as JSON. Both
are pure, and the MCP server among the surfaces imports them. `servers` are the servers that the settings name,
`hosting` has their mirrors as sources and says when they are asked. What talks to them (`work` and what it uses) runs
in a process of its own (`worker`, started by `workers`); nothing else here imports the SDK.
"""
