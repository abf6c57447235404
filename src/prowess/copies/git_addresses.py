"""Addresses of skills in git repositories: `git+https://host/repo.git@ref#folder` and its kin."""

import os
import re
from dataclasses import dataclass
from urllib.parse import quote

from prowess.errors import Refused

__all__ = ["GitAddress", "is_git_address", "parse_git_address"]

_MARKS = ("git+", "git@", "ssh://", "file://", "ext::", "git://")
_WEB = re.compile(r"https?://", re.IGNORECASE)
_SCP = re.compile(r"(?P<repository>[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!/?/)[^@#]+)(?P<rest>.*)", re.DOTALL)
_URL = re.compile(
    r"(?P<repository>(?P<scheme>https|ssh|file)://(?P<host>[^/@]*@)?[^/@#]*/[^@#]*)(?P<rest>.*)", re.DOTALL
)
_REST = re.compile(r"(?:@(?P<ref>[^#]*))?(?:#(?P<folder>.*))?", re.DOTALL)
_REF = re.compile(r"(?!-)[A-Za-z0-9._/+-]{1,200}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ODD = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class GitAddress:
    """A folder of a repository at a ref. What git may speak to is fixed by the protocol."""

    repository: str
    protocol: str
    ref: str = ""
    """A branch, a tag or a whole commit; empty: what the repository shows by itself."""
    folder: str = ""
    """Below the repository's top, with `/`."""

    @property
    def is_pinned(self) -> bool:
        """Whether the ref is a commit, which never changes."""
        return _COMMIT.fullmatch(self.ref) is not None


def is_git_address(text: str) -> bool:
    """Whether a text is meant as the address of a repository, and not as a path."""
    return text.startswith(_MARKS) or _WEB.match(text) is not None


def parse_git_address(text: str, *, base: str) -> GitAddress:
    """Return the parts of an address; local paths start at `base`. What git could misunderstand is refused."""
    plain = text.removeprefix("git+")
    if plain != text and "://" not in plain and not _SCP.fullmatch(plain) and "::" not in plain:
        plain = _as_url(plain, base)
    found = _URL.fullmatch(plain) or _SCP.fullmatch(plain)
    if found is None or plain.startswith("-") or "::" in plain or _ODD.search(plain):
        raise _bad("Invalid git URL format", text)
    parts = found.groupdict()
    protocol: str = parts.get("scheme") or "ssh"
    user: str = parts.get("host") or ""
    if ":" in user or (user and protocol != "ssh"):
        raise Refused(
            "Invalid git URL format: the address holds a password or a token",
            hint="leave it out, and let git's own credential helper supply it",
            code="bad-address",
        )
    rest = _REST.fullmatch(parts["rest"])
    ref, folder = (rest["ref"] or "", rest["folder"] or "") if rest else ("", "")
    if rest is None or (rest["ref"] is not None and (not _REF.fullmatch(ref) or ".." in ref)):
        raise _bad("Invalid ref format", text)
    steps = [step for step in folder.split("/") if step not in ("", ".")]
    if ".." in steps or folder.startswith("/") or "\\" in folder:
        raise _bad("Invalid folder in a repository", text)
    repository: str = parts["repository"]
    if protocol == "ssh" and re.search(r"(^|@|//)-", repository):  # ssh would take a host for an option.
        raise _bad("Invalid git URL format", text)
    return GitAddress(repository, protocol, ref, "/".join(steps))


def _as_url(path: str, base: str) -> str:
    end = min((place for place in (path.find("@"), path.find("#")) if place >= 0), default=len(path))
    return "file://" + quote(os.path.normpath(os.path.join(base, path[:end]))) + path[end:]


def _bad(what: str, text: str) -> Refused:
    hint = "as in git+https://host/repository.git@v1.2#skills/pdf-fill; https, ssh and file are spoken"
    return Refused(f"{what}: '{text[:200]}'", hint=hint, code="bad-address")
