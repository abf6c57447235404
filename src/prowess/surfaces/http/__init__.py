"""What a server needs that speaks HTTP: its options, its names, where it listens, whom and how much it takes.

`options` says how it is reached and within which bounds, `host_names` and `authorities` which names and origins are
its own, `bodies` bounds what is sent to it, `refusals` is how it says no, and `listening` opens its sockets and runs
it. The web app and the MCP server import it; it knows neither.
"""
