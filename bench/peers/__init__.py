"""The peers: one file each, whose `discover(root)` lists every skill through that peer's public interface.

Where the peer has them, `Use(root)` opens a folder once and then answers `prompt()`, `activate(name)` and
`read(name, path)` with text; and `examine(root)` gives what was found together with the reasons for what was not, where
a peer hands these out rather than logging them.

Each file is named after its distribution and runs only inside that peer's own environment, started by
`bench/measure.py` and its neighbours; nothing here is ever imported by ours. `requirements/` pins each environment with
hashes.
"""
