"""The MCP server: skills for agents of others, as tools, resources, prompts, and by the skills extension.

`server` puts it together, `serving` has it listen. Of each request, `requests` carries the blocking part to a thread
that a cancelled request ends; `visits` knows whose request it is; `asking` puts questions of consent to the client's
user. `published` gives skills their addresses, `watching` tells clients what has changed. `installing` writes the files
in which other programs list their servers.

Words: Visit, Hall. Nothing here is imported by other surfaces but the command. The SDK takes long to load: only what is
needed to serve imports it.
"""
