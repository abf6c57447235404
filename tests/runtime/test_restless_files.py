"""Sessions whose skills are exchanged, moved or very large while they are used."""

import json
import shutil
import threading

import pytest

from prowess.activation.consent import Answer, CallbackAsker
from prowess.errors import ProwessError
from prowess.runtime import Runtime
from prowess.sources.skill_files import MAX_TOTAL_BYTES
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.sources.swapping import swapping


@pytest.mark.requirement("R99", "J5")
def test_folder_that_has_become_a_link_since_the_search_is_not_read(home: Home) -> None:
    home.write_settings('profile = "remcochat"\nenabled = true\n[sources]\ndirectories = ["~/skills"]\n')
    folder = write_skill(home.path / "skills", "pdf", files={"references/a.md": "good"})
    private = write_skill(home.path, "private", files={"key": "canary"})
    with Runtime.open() as runtime:
        chat = runtime.session("chat")
        read = chat.call("skills.readResource", {"name": "pdf", "path": "references/a.md"})
        assert json.loads(read.content)["content"] == "good"
        shutil.rmtree(folder)
        folder.symlink_to(private)
        refused = chat.call("skills.readResource", {"name": "pdf", "path": "key"})
        assert (refused.is_error, json.loads(refused.content)["error"]) == (True, "Access denied")
        assert "canary" not in chat.call("skills.activate", {"name": "pdf"}).content
        assert "key" not in chat.call("skills.readResource", {"name": "pdf", "path": "missing"}).content


@pytest.mark.requirement("J5")
@pytest.mark.parametrize("linked", ["skill", "root"])
def test_skill_that_was_found_behind_a_link_is_read_where_it_is(linked: str, home: Home) -> None:
    home.write_settings(ONLY_MINE)
    real = write_skill(home.path / "dotfiles", "pdf", body="Do it well.\n", files={"a.md": "good"})
    root = home.path / ".agents" / "skills"
    root.parent.mkdir()
    if linked == "root":
        root.symlink_to(home.path / "dotfiles")
    else:
        root.mkdir()
        (root / "pdf").symlink_to(real)
    with Runtime.open(asker=CallbackAsker(lambda _: Answer.ALLOW_ALWAYS)) as runtime:
        session = runtime.session("s")
        assert "Do it well." in session.call("activate_skill", {"name": "pdf"}).content
        assert session.call("read_skill_resource", {"name": "pdf", "path": "a.md"}).content == "good"
        assert "you mean a.md?" in session.call("read_skill_resource", {"name": "pdf", "path": "A.md"}).content


@pytest.mark.slow
@pytest.mark.requirement("R99", "J5")
def test_project_whose_skill_is_swapped_with_a_link_leaks_nothing_and_breaks_nothing(home: Home) -> None:
    home.write_settings('[catalog]\nrefresh = "each-turn"\n')
    folder = write_skill(home.project / "skills", "pdf", files={"a.md": "good"})
    private = write_skill(home.path / "private", "pdf", body="canary\n", files={"a.md": "canary"})
    seen: set[str] = set()
    with Runtime.open(skills=[home.project / "skills"]) as runtime, swapping({folder: private}) as swaps:
        session = runtime.session("s")
        for _ in range(1_000):
            try:
                seen.add(session.call("read_skill_resource", {"name": "pdf", "path": "a.md"}).content)
                seen.add(session.call("activate_skill", {"name": "pdf"}).content)
            except ProwessError as error:
                seen.add(f"{error.message} {error.hint}")
    assert swaps[0] > 1_000
    assert "good" in seen
    assert not [one for one in seen if "canary" in one]


@pytest.mark.slow
def test_nobody_waits_for_the_digest_of_a_large_skill(home: Home) -> None:
    root = home.path / ".agents" / "skills"
    write_skill(root, "small")
    with (write_skill(root, "large") / "hole").open("wb") as file:
        file.truncate(MAX_TOTAL_BYTES - 1_000)
    home.write_settings(ONLY_MINE)
    with Runtime.open() as runtime:
        session = runtime.session("s")
        session.prompt()
        reader = threading.Thread(target=runtime.files, args=(runtime.catalog().get("large"),))
        reader.start()
        prompt = session.prompt()
        is_reading = reader.is_alive()
        reader.join()
    assert ("small" in str(prompt), is_reading) == (True, True)
