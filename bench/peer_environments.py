"""Makes each peer's own environment from its pinned requirements."""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).resolve().parent / "peers"
ENVIRONMENTS = PROJECT_ROOT / ".bench" / "peers"
INSTALL_TIMEOUT_SECONDS = 300
PYTHON_VERSIONS = {"openhands-sdk": "3.12"}
"""Of peers that do not run on the Python of this project."""


def peer_names() -> list[str]:
    """Distributions, one for each file in `peers/`."""
    scripts = PEERS.glob("[!_]*.py")
    return sorted(script.stem.replace("_", "-") for script in scripts)


def peer_script(name: str) -> Path:
    return PEERS / f"{name.replace('-', '_')}.py"


def pinned_versions(names: Iterable[str]) -> dict[str, str]:
    """The version of each peer, as its requirements pin it; who is none is left out."""
    found: dict[str, str] = {}
    for name in names:
        peer = name.partition(",")[0]
        requirements = PEERS / "requirements" / f"{peer}.txt"
        text = requirements.read_text(encoding="utf-8") if requirements.exists() else ""
        pin = re.search(rf"^{re.escape(peer)}==(\S+)", text, re.MULTILINE)
        if pin:
            found[peer] = pin[1]
    return found


def installed_versions(*distributions: str) -> dict[str, str]:
    """The version of each, in this environment."""
    return {name: version(name) for name in distributions}


def make_peer_environment(name: str) -> Path:
    """The peer's interpreter, in an environment that matches its requirements."""
    wanted = PYTHON_VERSIONS.get(name)
    python = sys.executable if wanted is None else find_python(wanted)
    return make_environment(ENVIRONMENTS / name, PEERS / "requirements" / f"{name}.txt", python=python)


def make_environment(folder: Path, requirements: Path, *, python: str = sys.executable) -> Path:
    """The interpreter of an environment that matches its requirements; made anew only when these changed."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    made = folder / "bin" / "python"
    stamp = folder / "requirements.sha256"
    if made.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return made
    uv = find_uv()
    _run_uv(uv, "venv", "--clear", "--no-python-downloads", "--python", python, str(folder))
    # Compiled now, so that the first timed import is not the one that compiles.
    sync = ("pip", "sync", "--require-hashes", "--compile-bytecode")
    _run_uv(uv, *sync, "--python", str(made), str(requirements))
    stamp.write_text(digest, encoding="ascii")
    return made


def find_uv() -> str:
    """The uv of this environment, else the one on the path."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise FileNotFoundError(f"uv is neither beside {sys.executable} nor on PATH; run make install")
    return found


def find_python(version: str) -> str:
    """An interpreter of this version that starts: from the path, or of those that pyenv keeps."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, kept)):
        # A shim of pyenv is on the path even where its version is not chosen, and fails when it is started.
        if candidate is not None and not subprocess.run((candidate, "-V"), check=False, capture_output=True).returncode:
            return candidate
    raise FileNotFoundError(f"it needs Python {version}, which is not on PATH")


def _run_uv(uv: str, *arguments: str) -> None:
    command = (uv, "--quiet", *arguments)
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS)
