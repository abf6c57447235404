"""Pins the newest release of each peer, with hashes, into `peers/requirements/`.

`python -m bench.peer_locks` for all, with names for some.
"""

import subprocess
import sys

from bench.peer_environments import PEERS, PYTHON_VERSIONS, find_uv, peer_names

PYTHON_VERSION = "3.11"
# What a peer imports without declaring it.
UNDECLARED: dict[str, tuple[str, ...]] = {"skillkit": ("aiofiles",)}


def main() -> None:
    for name in sys.argv[1:] or peer_names():
        lock_peer(name)


def lock_peer(name: str) -> None:
    """The peer's requirements file names every distribution with its hashes, and no registry's address."""
    wanted = "\n".join((name, *UNDECLARED.get(name, ())))
    # The address of a registry is the machine's business and stays out of the file.
    silent = ("--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate")
    target = PEERS / "requirements" / f"{name}.txt"
    command = (find_uv(), "pip", "compile", "--quiet", "--upgrade", "--generate-hashes", *silent)
    version = PYTHON_VERSIONS.get(name, PYTHON_VERSION)
    choice = ("--python-version", version, "--output-file", str(target), "-")
    subprocess.run((*command, *choice), input=wanted, check=True, text=True)


if __name__ == "__main__":
    main()
