"""A package index of the test's own, on loopback, with wheels that it writes itself."""

import base64
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

__all__ = ["PackageIndex", "isolate", "serving"]


class PackageIndex:
    """Files by name, served as a simple index with hashes; knows what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.metadata: dict[str, bytes] = {}
        self.pages: dict[str, str] = {}
        """Pages of packages that stay as they were, whatever becomes of the files."""
        self.fetched: list[str] = []
        """Names of the files that were asked for, in order."""
        self.address = ""
        self.gate = threading.Event()
        """Files are given only while it is open."""
        self.waiting = threading.Event()
        """Set once somebody waits for a file at the closed gate."""
        self.gate.set()

    def add_wheel(
        self,
        name: str,
        version: str,
        *,
        requires: Iterable[str] = (),
        content: Mapping[str, str | bytes] | None = None,
    ) -> str:
        """Add a wheel with one module that knows its version, or with other files; return its SHA-256."""
        info = f"{name}-{version}.dist-info"
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata = head + "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        files = {
            **(content or {f"{name}.py": f"version = {version!r}\n"}),
            f"{info}/METADATA": metadata,
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        file = f"{name}-{version}-py3-none-any.whl"
        self.files[file] = _zip(files, record=f"{info}/RECORD")
        self.metadata[file] = metadata.encode()
        return hashlib.sha256(self.files[file]).hexdigest()

    def add_source(self, name: str, version: str, *, setup: str) -> None:
        """Add a source distribution, whose setup.py would be run to build it."""
        folder = f"{name}-{version}"
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            for path, text in ((f"{folder}/PKG-INFO", head), (f"{folder}/setup.py", setup)):
                entry = tarfile.TarInfo(path)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        self.files[f"{folder}.tar.gz"] = buffer.getvalue()

    def render_page(self, package: str) -> str:
        names = [name for name in sorted(self.files) if name.partition("-")[0] == package]
        rows = (f'<a href="/files/{name}#sha256={self._hash(name)}"{self._offer(name)}>{name}</a>' for name in names)
        return "<!DOCTYPE html><html><body>" + "\n".join(rows) + "</body></html>" if names else ""

    def _hash(self, name: str) -> str:
        return hashlib.sha256(self.files[name]).hexdigest()

    def _offer(self, name: str) -> str:
        return ' data-core-metadata="true"' if name in self.metadata else ""

    def get(self, path: str) -> bytes | None:
        """Return what lies at a path of the index."""
        kind, _, name = path.strip("/").partition("/")
        if kind == "simple":
            return (self.pages.get(name) or self.render_page(name)).encode() or None
        if name.endswith(".metadata"):
            return self.metadata.get(name.removesuffix(".metadata"))
        self.fetched.append(name)
        if not self.gate.is_set():
            self.waiting.set()
            self.gate.wait(60)
        return self.files.get(name)


def _zip(files: Mapping[str, str | bytes], *, record: str) -> bytes:
    rows = ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            body = content.encode() if isinstance(content, str) else content
            digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
            rows += f"{path},sha256={digest},{len(body)}\n"
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith(".sh") else 0o644) << 16
            archive.writestr(entry, body, zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo(record, (2020, 1, 1, 0, 0, 0)), rows + f"{record},,\n")
    return buffer.getvalue()


@contextmanager
def serving(index: PackageIndex) -> Generator[None]:
    """Serve the index on loopback, as `index.address`."""

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # Head and body go out together; else each body waits for an acknowledgement of its head.

        def do_GET(self) -> None:
            content = index.get(self.path)
            try:
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.send_header("Content-Type", "text/html" if "simple" in self.path else "application/octet-stream")
                self.end_headers()
                self.wfile.write(content or b"")
            except (BrokenPipeError, ConnectionResetError):
                return  # Who asked was killed.

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002 - as in the standard library
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.address = f"http://127.0.0.1:{server.server_address[1]}/simple"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        index.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Let uv see nothing of the machine's own settings."""
    for name in list(os.environ):
        if name.upper().startswith(("UV_", "PIP_", "XDG_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    home.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
