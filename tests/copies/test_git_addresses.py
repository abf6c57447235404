"""Addresses of skills in git repositories."""

import pytest

from prowess.copies.git_addresses import GitAddress, is_git_address, parse_git_address
from prowess.errors import Refused

_SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.requirement("R122")
@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://host/a/b.git", GitAddress("https://host/a/b.git", "https")),
        ("git+https://host/a/b", GitAddress("https://host/a/b", "https")),
        ("git+https://host:8443/a.git@v1.2#x/y", GitAddress("https://host:8443/a.git", "https", "v1.2", "x/y")),
        ("https://host/a.git#x/", GitAddress("https://host/a.git", "https", "", "x")),
        ("https://host/a.git@feature/one", GitAddress("https://host/a.git", "https", "feature/one")),
        ("git@host:a/b.git", GitAddress("git@host:a/b.git", "ssh")),
        ("git@host:a/b.git@main#x", GitAddress("git@host:a/b.git", "ssh", "main", "x")),
        ("git+ssh://git@host/a.git@main", GitAddress("ssh://git@host/a.git", "ssh", "main")),
        ("ssh://host/a.git", GitAddress("ssh://host/a.git", "ssh")),
        ("file:///srv/a.git#x", GitAddress("file:///srv/a.git", "file", "", "x")),
        ("git+/srv/a b%.git@v1#x", GitAddress("file:///srv/a%20b%25.git", "file", "v1", "x")),
        ("git+./a.git", GitAddress("file:///base/a.git", "file")),
        ("git+../a.git#x", GitAddress("file:///a.git", "file", "", "x")),
        ("git+-x", GitAddress("file:///base/-x", "file")),
        (f"git+/a@{_SHA}", GitAddress("file:///a", "file", _SHA)),
    ],
)
def test_address_is_taken_apart(text: str, address: GitAddress) -> None:
    assert is_git_address(text)
    assert parse_git_address(text, base="/base") == address


@pytest.mark.requirement("R122")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://host/a.git", "Invalid git URL format"),
        ("git://host/a.git", "Invalid git URL format"),
        ("git+ftp://host/a.git", "Invalid git URL format"),
        ("ext::sh -c 'touch x'", "Invalid git URL format"),
        ("git+ext::sh", "Invalid git URL format"),
        ("git+fd::17", "Invalid git URL format"),
        ("git+https://host/a::b", "Invalid git URL format"),
        ("https://host/a b.git", "Invalid git URL format"),
        ("https://host/a\n.git", "Invalid git URL format"),
        ("git+ssh://-oProxyCommand=x/a", "Invalid git URL format"),
        ("git+ssh://git@-oProxyCommand=x/a", "Invalid git URL format"),
        ("git@-oProxyCommand=x:a", "Invalid git URL format"),
        ("git@host:-a", None),
        ("https://user:secret@host/a.git", "Invalid git URL format: the address holds a password"),
        ("https://secret@host/a.git", "Invalid git URL format: the address holds a password"),
        ("ssh://me:secret@host/a.git", "Invalid git URL format: the address holds a password"),
        ("https://host/a.git@", "Invalid ref format"),
        ("https://host/a.git@-x", "Invalid ref format"),
        ("https://host/a.git@a..b", "Invalid ref format"),
        ("https://host/a.git@a:b", "Invalid ref format"),
        ("https://host/a.git@{0}", "Invalid ref format"),
        ("https://host/a.git#../x", "Invalid folder in a repository"),
        ("https://host/a.git#x/../../y", "Invalid folder in a repository"),
        ("https://host/a.git#/etc", "Invalid folder in a repository"),
    ],
)
def test_address_that_could_be_misunderstood_is_refused(text: str, message: str | None) -> None:
    assert is_git_address(text)
    if message is None:
        assert parse_git_address(text, base="/base").repository == text
        return
    with pytest.raises(Refused) as caught:
        parse_git_address(text, base="/base")
    assert caught.value.message.startswith(message)
    assert caught.value.code == "bad-address"
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("text", ["./a", "a", "/a/b", "a.git", "gitlab", "-x", "", "C:\\a", "https"])
def test_path_is_no_address(text: str) -> None:
    assert not is_git_address(text)


def test_only_a_whole_commit_is_a_pin() -> None:
    refs = [_SHA, _SHA[:39], _SHA.upper(), "main", "", _SHA * 2]
    assert [GitAddress("r", "file", ref).is_pinned for ref in refs] == [True, False, False, False, False, False]
