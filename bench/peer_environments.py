"""Makes each peer's own environment from its pinned requirements."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).resolve().parent / "peers"
ENVIRONMENTS = PROJECT_ROOT / ".bench" / "peers"
INSTALL_TIMEOUT_SECONDS = 300


def peer_names() -> list[str]:
    """Distributions, one for each file in `peers/`."""
    scripts = PEERS.glob("[!_]*.py")
    return sorted(script.stem.replace("_", "-") for script in scripts)


def peer_script(name: str) -> Path:
    return PEERS / f"{name.replace('-', '_')}.py"


def make_environment(name: str) -> Path:
    """The peer's interpreter, in an environment that matches its requirements; made anew only when these changed."""
    requirements = PEERS / "requirements" / f"{name}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    stamp = folder / "requirements.sha256"
    if python.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return python
    uv = find_uv()
    _run_uv(uv, "venv", "--clear", "--no-python-downloads", "--python", sys.executable, str(folder))
    # Compiled now, so that the first timed import is not the one that compiles.
    sync = ("pip", "sync", "--require-hashes", "--compile-bytecode")
    _run_uv(uv, *sync, "--python", str(python), str(requirements))
    stamp.write_text(digest, encoding="ascii")
    return python


def find_uv() -> str:
    """The uv of this environment, else the one on the path."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise FileNotFoundError(f"uv is neither beside {sys.executable} nor on PATH; run make install")
    return found


def _run_uv(uv: str, *arguments: str) -> None:
    command = (uv, "--quiet", *arguments)
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS)
