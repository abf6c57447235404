"""Where secrets are kept: one contract for the file and the keyring, and what is particular to each."""

import json
import os
import stat
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from prowess.errors import ProwessError, Refused, WorldError
from prowess.execution.secrecy.secret_stores import (
    MAX_SECRETS,
    MAX_VALUE_BYTES,
    FileSecretStore,
    KeyringSecretStore,
    SecretName,
    SecretStore,
    open_secret_store,
)
from prowess.policy import SecretKeeping

_VALUE = "hunter2-correct-horse"


class _DictKeyring(KeyringBackend):
    """A keyring that works, in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.entries:
            raise keyring.errors.PasswordDeleteError
        del self.entries[service, username]


class _LockedKeyring(_DictKeyring):
    """A keyring that fails, and tells what it was given."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.KeyringLocked(f"cannot keep {password} for {username} of {service}")


@pytest.fixture
def ring() -> Iterator[_DictKeyring]:
    before = keyring.get_keyring()
    ring = _DictKeyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


@pytest.fixture
def file_store(tmp_path: Path) -> FileSecretStore:
    return FileSecretStore(str(tmp_path / "home" / "secrets.json"))


@pytest.fixture(params=[SecretKeeping.FILE, SecretKeeping.KEYRING])
def store(request: pytest.FixtureRequest, ring: _DictKeyring, tmp_path: Path) -> SecretStore:
    return open_secret_store(request.param, home=str(tmp_path / "home"))


# What every store does


@pytest.mark.requirement("K8")
def test_value_comes_back_as_it_was_set(store: SecretStore) -> None:
    for value in (_VALUE, "é😀 \"'\\ \t", "two\nlines\r\n", "x", "x" * MAX_VALUE_BYTES):
        store.set("TOKEN", value)
        assert store.get("TOKEN") == value
    assert store.names() == (SecretName("TOKEN"),)


def test_empty_store_has_nothing(store: SecretStore) -> None:
    assert store.names() == ()
    assert store.get("TOKEN") is None
    assert not store.unset("TOKEN")


@pytest.mark.requirement("K8")
def test_value_for_one_skill_comes_before_the_one_for_all(store: SecretStore) -> None:
    store.set("TOKEN", "for all")
    store.set("TOKEN", "for pdf", "pdf")
    store.set("OTHER", "only pdf", "pdf")
    assert (store.get("TOKEN", "pdf"), store.get("TOKEN", "docx"), store.get("TOKEN")) == (
        "for pdf",
        "for all",
        "for all",
    )
    assert (store.get("OTHER", "pdf"), store.get("OTHER")) == ("only pdf", None)
    assert store.names() == (SecretName("OTHER", "pdf"), SecretName("TOKEN"), SecretName("TOKEN", "pdf"))


@pytest.mark.requirement("K8")
def test_values_are_found_under_exactly_these_names(store: SecretStore) -> None:
    store.set("TOKEN", "for all")
    store.set("TOKEN", "for pdf", "pdf")
    keys = [SecretName("TOKEN", "docx"), SecretName("TOKEN", "pdf"), SecretName("OTHER")]
    assert store.find(keys) == {SecretName("TOKEN", "pdf"): "for pdf"}
    assert store.find([]) == {}


def test_names_are_those_that_another_process_has_set_or_unset(store: SecretStore, tmp_path: Path) -> None:
    keeping = SecretKeeping.FILE if isinstance(store, FileSecretStore) else SecretKeeping.KEYRING
    other = open_secret_store(keeping, home=str(tmp_path / "home"))
    seen = [store.names()]
    for work in (lambda: other.set("A", "1"), lambda: other.set("B", "1"), lambda: other.unset("A")):
        work()
        seen.append(store.names())
    assert seen == [(), (SecretName("A"),), (SecretName("A"), SecretName("B")), (SecretName("B"),)]


def test_unset_forgets_exactly_one(store: SecretStore) -> None:
    store.set("TOKEN", "for all")
    store.set("TOKEN", "for pdf", "user:pdf")
    assert not store.unset("TOKEN", "pdf")
    assert store.unset("TOKEN", "user:pdf")
    assert not store.unset("TOKEN", "user:pdf")
    assert store.get("TOKEN", "user:pdf") == "for all"
    assert store.unset("TOKEN")
    assert store.names() == ()


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A=B", "é", "A" * 129, "A\n", "-names"])
def test_wrong_name_is_refused_and_not_repeated(store: SecretStore, name: str) -> None:
    for act in (lambda: store.set(name, _VALUE), lambda: store.get(name), lambda: store.unset(name)):
        with pytest.raises(Refused) as caught:
            act()
        assert (caught.value.code, caught.value.message) == ("bad-secret-name", "this cannot be the name of a secret")


@pytest.mark.parametrize("skill", ["a\nb", "x" * 257, "\x1b[31m"])
def test_wrong_skill_is_refused(store: SecretStore, skill: str) -> None:
    with pytest.raises(Refused, match="cannot be the name of a skill"):
        store.set("TOKEN", _VALUE, skill)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "the value is empty"),
        ("x" * (MAX_VALUE_BYTES + 1), "the value has 65537 bytes"),
        ("é" * (MAX_VALUE_BYTES // 2 + 1), "the value has 65538 bytes"),
        (f"{_VALUE}\0", "the value is not plain text"),
        (f"{_VALUE}\udcff", "the value is not plain text"),
    ],
)
def test_wrong_value_is_refused_and_not_repeated(store: SecretStore, value: str, message: str) -> None:
    with pytest.raises(Refused) as caught:
        store.set("TOKEN", value)
    assert (caught.value.code, caught.value.message) == ("bad-secret-value", message)
    assert _VALUE not in "".join(traceback.format_exception(caught.value))
    assert store.names() == ()


def test_number_of_secrets_is_bounded(store: SecretStore, ring: _DictKeyring, tmp_path: Path) -> None:
    names = [[f"N{place}", ""] for place in range(MAX_SECRETS)]
    if isinstance(store, FileSecretStore):
        store.set("N0", "v")
        rows = [{"name": name, "skill": skill, "value": "v"} for name, skill in names]
        Path(store.path).write_text(json.dumps({"format": "prowess-secrets-1", "secrets": rows}))
    else:
        ring.entries["prowess", "-names"] = json.dumps(names)
    store.set("N7", "other")
    with pytest.raises(Refused) as caught:
        store.set("ONE_MORE", "v")
    assert (caught.value.code, len(store.names())) == ("too-many-secrets", MAX_SECRETS)


@pytest.mark.requirement("K8")
def test_store_shows_no_value(store: SecretStore) -> None:
    store.set("TOKEN", _VALUE)
    assert not any(_VALUE in form(store) for form in (repr, str, "{}".format))
    assert _VALUE not in repr(vars(store))


# The file


@pytest.mark.requirement("K8")
def test_file_and_folder_are_for_the_owner_alone_whatever_the_mask(file_store: FileSecretStore) -> None:
    before = os.umask(0)
    try:
        file_store.set("TOKEN", _VALUE)
    finally:
        os.umask(before)
    folder = Path(file_store.path).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes == {"secrets.json": 0o600, "secrets.json.lock": 0o600}


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o777])
def test_file_that_others_may_use_is_refused(file_store: FileSecretStore, mode: int) -> None:
    file_store.set("TOKEN", _VALUE)
    assert file_store.names() == (SecretName("TOKEN"),)
    os.chmod(file_store.path, mode)
    for act in (file_store.names, lambda: file_store.get("TOKEN"), lambda: file_store.set("A", "b")):
        with pytest.raises(WorldError) as caught:
            act()
        assert caught.value.code == "secrets-unsafe"
        assert f"chmod 600 {file_store.path}" in caught.value.hint
    os.chmod(file_store.path, 0o600)
    assert file_store.get("TOKEN") == _VALUE


@pytest.mark.requirement("K8")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"format": "prowess-secrets-2", "secrets": []}',
        b'{"format": "prowess-secrets-1", "secrets": {}}',
        b'{"format": "prowess-secrets-1", "secrets": [{"name": "A", "skill": "", "value": 7}]}',
        b'{"format": "prowess-secrets-1", "secrets": [{"name": "A-B", "skill": "", "value": "hunter2-correct-horse"}]}',
        b'{"format": "prowess-secrets-1", "secrets": [{"name": "A", "skill": "", "value": "hunter2-correct-horse"}',
        b"hunter2-correct-horse \xff",
        b"[" * 100_000,
    ],
)
def test_damaged_file_is_told_and_left_alone(file_store: FileSecretStore, content: bytes) -> None:
    file_store.set("TOKEN", _VALUE)
    Path(file_store.path).write_bytes(content)
    for act in (file_store.names, lambda: file_store.set("A", _VALUE), lambda: file_store.unset("A")):
        with pytest.raises(WorldError) as caught:
            act()
        assert caught.value.code == "secrets-damaged"
        assert file_store.path in caught.value.message
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert Path(file_store.path).read_bytes() == content


@pytest.mark.requirement("K8")
def test_links_are_not_followed(file_store: FileSecretStore, tmp_path: Path) -> None:
    other = FileSecretStore(str(tmp_path / "other" / "secrets.json"))
    other.set("TOKEN", _VALUE)
    before = Path(other.path).read_bytes()
    Path(file_store.path).parent.mkdir()
    Path(file_store.path).symlink_to(other.path)
    for act in (file_store.names, lambda: file_store.set("A", "b"), lambda: file_store.unset("TOKEN")):
        with pytest.raises(WorldError, match="is a link") as caught:
            act()
        assert caught.value.code == "secrets-unsafe"
    assert Path(other.path).read_bytes() == before


def test_link_in_the_place_of_the_new_file_is_not_written_through(file_store: FileSecretStore, tmp_path: Path) -> None:
    Path(file_store.path).parent.mkdir()
    (tmp_path / "target").write_text("mine")
    Path(f"{file_store.path}.new").symlink_to(tmp_path / "target")
    file_store.set("TOKEN", _VALUE)
    assert (tmp_path / "target").read_text() == "mine"
    assert file_store.get("TOKEN") == _VALUE


def test_folder_or_pipe_in_the_place_of_the_file_is_told(file_store: FileSecretStore) -> None:
    Path(file_store.path).mkdir(parents=True)
    with pytest.raises(WorldError):
        file_store.names()
    Path(file_store.path).rmdir()
    os.mkfifo(file_store.path, 0o600)
    with pytest.raises(WorldError, match="is no file"):
        file_store.names()


def test_what_a_killed_process_left_is_cleared_away(file_store: FileSecretStore) -> None:
    file_store.set("TOKEN", "old")
    Path(f"{file_store.path}.new").write_text("half of it")
    file_store.set("TOKEN", _VALUE)
    assert file_store.get("TOKEN") == _VALUE
    assert sorted(file.name for file in Path(file_store.path).parent.iterdir()) == ["secrets.json", "secrets.json.lock"]


def test_disk_that_refuses_is_told_without_the_value(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorldError) as caught:
        FileSecretStore(str(tmp_path / "file" / "secrets.json")).set("TOKEN", _VALUE)
    assert caught.value.code == "secrets-unusable"
    assert _VALUE not in "".join(traceback.format_exception(caught.value))


_SETTER = """
import sys
from prowess.execution.secrecy.secret_stores import FileSecretStore
store = FileSecretStore(sys.argv[1])
for number in range(25):
    store.set(f"{sys.argv[2]}_{number}", "value", "pdf" if number % 2 else "")
    if number >= 5:
        store.unset(f"{sys.argv[2]}_{number - 5}", "" if number % 2 else "pdf")
"""


@pytest.mark.slow
@pytest.mark.requirement("K8")
def test_processes_at_once_lose_nothing(file_store: FileSecretStore) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _SETTER, file_store.path, f"P{who}"]) for who in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    kept = [SecretName(f"P{who}_{number}", "pdf" if number % 2 else "") for who in range(4) for number in range(20, 25)]
    assert file_store.names() == tuple(sorted(kept))


# The keyring


def test_keyring_has_one_entry_for_each_and_one_with_the_names(ring: _DictKeyring) -> None:
    store = KeyringSecretStore()
    store.set("TOKEN", _VALUE)
    store.set("TOKEN", "other", "user:pdf")
    assert ring.entries == {
        ("prowess", "-names"): '[["TOKEN", ""], ["TOKEN", "user:pdf"]]',
        ("prowess", "TOKEN"): _VALUE,
        ("prowess", "TOKEN@user:pdf"): "other",
    }
    assert store.unset("TOKEN")
    assert sorted(ring.entries) == [("prowess", "-names"), ("prowess", "TOKEN@user:pdf")]


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("kind", [fail.Keyring, null.Keyring])
def test_system_without_a_keyring_is_told_what_to_install(ring: _DictKeyring, kind: type[KeyringBackend]) -> None:
    keyring.set_keyring(kind())
    with pytest.raises(WorldError) as caught:
        KeyringSecretStore().set("TOKEN", _VALUE)
    assert caught.value.code == "no-keyring"
    assert "pip install 'prowess[keyring]'" in caught.value.hint


@pytest.mark.slow
def test_missing_package_is_told() -> None:
    script = (
        "import sys; sys.modules['keyring'] = None\n"
        "from prowess.execution.secrecy.secret_stores import KeyringSecretStore\n"
        "try:\n    KeyringSecretStore().names()\n"
        "except Exception as error:\n    print(error.code, error.message, error.hint, sep='|')\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    code, message, hint = said.split("|")
    assert (code, message) == ("no-keyring", "the package keyring is not installed")
    assert "pip install 'prowess[keyring]'" in hint


@pytest.mark.requirement("K8")
def test_keyring_that_fails_is_told_without_the_value(ring: _DictKeyring) -> None:
    keyring.set_keyring(_LockedKeyring())
    with pytest.raises(ProwessError) as caught:
        KeyringSecretStore().set("TOKEN", _VALUE)
    assert (caught.value.code, caught.value.message) == ("keyring-failed", "the keyring failed: KeyringLocked")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("index", ["{", "{}", "7", '[["A"]]', '[["A-B", ""]]', '["AB"]'])
def test_damaged_list_of_names_is_told(ring: _DictKeyring, index: str) -> None:
    ring.entries["prowess", "-names"] = index
    with pytest.raises(WorldError) as caught:
        KeyringSecretStore().names()
    assert caught.value.code == "secrets-damaged"
