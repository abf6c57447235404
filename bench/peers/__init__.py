"""The peers: one file each, whose `discover(root)` lists every skill through that peer's public interface.

Each file is named after its distribution and runs only inside that peer's own environment, started by
`bench/measure.py`; nothing here is ever imported by ours. `requirements/` pins each environment with hashes.
"""
