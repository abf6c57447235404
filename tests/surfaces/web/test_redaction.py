"""Paths of this machine, as others are shown them."""

import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from prowess.settings import Settings, load_settings
from prowess.surfaces.web.redaction import redact_conversation, redact_paths, redact_record, shorten_paths
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.server import ServerStarter


@pytest.mark.requirement("R124")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file at {home}/notes/a b.md here", "no file at ~/notes/a b.md here"),
        ("{prowess}/state.db: locked", "~/.prowess/state.db: locked"),
        ("'{project}/.agents/skills/pdf' is no folder", "'./.agents/skills/pdf' is no folder"),
        ("{project}", "."),
        ("see {home}.", "see ~."),
        ("/etc/prowess/secret.toml:3: wrong", "…/secret.toml:3: wrong"),
        ("cannot open '/var/lib/a folder/x.db'", "cannot open '…/x.db'"),
        ("(/usr/share/skills/pdf/)", "(…/pdf/)"),
        ("a=/opt/x,b=/opt/y", "a=…/x,b=…/y"),
        ("/tmp", "/tmp"),
        ("C:\\Users\\ann\\skills\\pdf", "…\\pdf"),
        ("/api/openapi.json says what is expected", "/api/openapi.json says what is expected"),
        ("mounted at /shared/skills/core--a and /workspace/x", "mounted at /shared/skills/core--a and /workspace/x"),
        ("type /pdf-fill form.pdf", "type /pdf-fill form.pdf"),
        ("https://example.org/home/ann/x", "https://example.org/home/ann/x"),
        ("a/home/b", "a/home/b"),
        ("nothing to see", "nothing to see"),
        ("", ""),
    ],
)
def test_folders_of_this_machine_are_replaced(tmp_path: Path, text: str, shown: str) -> None:
    home, project = tmp_path / "ann", tmp_path / "work"
    project.mkdir()
    settings = load_settings(environ={"HOME": str(home)}, working_folder=str(project))
    given = text.format(home=home, prowess=home / ".prowess", project=project)
    assert redact_paths(given, settings) == shown


def test_folder_that_only_begins_like_a_known_one_is_another(tmp_path: Path) -> None:
    settings = load_settings(environ={"HOME": str(tmp_path / "ann")}, working_folder=str(tmp_path))
    shown = redact_paths(f"{tmp_path}x/ann-2/a", settings)
    assert str(tmp_path) not in shown


def test_home_at_the_root_of_the_disk_replaces_nothing(tmp_path: Path) -> None:
    settings = load_settings(environ={"HOME": "/", "PROWESS_HOME": "/x"}, working_folder=str(tmp_path))
    settings = replace(settings, place=replace(settings.place, working_folder="/"))
    assert redact_paths("a/b and /pdf-fill", settings) == "a/b and /pdf-fill"


def _load(folder: Path) -> Settings:
    settings = load_settings(environ={"HOME": str(folder / "ann")}, working_folder=str(folder / "work"))
    return replace(settings, extra_directories=("/srv/skills", "~/skills"))


def test_what_others_wrote_keeps_its_paths_but_for_the_folders_that_we_know(tmp_path: Path) -> None:
    text = f"#!/usr/bin/env\n{tmp_path}/ann/.prowess/copies/pdf {tmp_path}/ann/skills/x /srv/skills/pdf/a.md /etc/hosts"
    shown = "#!/usr/bin/env\n~/.prowess/copies/pdf ~/skills/x …/skills/pdf/a.md /etc/hosts"
    assert shorten_paths(text, _load(tmp_path)) == shown


@pytest.mark.requirement("R124")
def test_record_loses_our_folders_and_one_that_tells_of_trouble_all_of_them(tmp_path: Path) -> None:
    settings, home = _load(tmp_path), str(tmp_path / "ann")
    record = {
        "event": "result",
        "state": "done",
        "data": {"base_directory": f"{home}/.prowess/copies/pdf", "lines": [f"{home}/a", "/usr/bin/env", 3, None]},
    }
    assert redact_conversation(record, settings) == {
        "event": "result",
        "state": "done",
        "data": {"base_directory": "~/.prowess/copies/pdf", "lines": ["~/a", "/usr/bin/env", 3, None]},
    }
    told = "the state in /var/lib/prowess/state.db"
    for trouble in (
        {"event": "error", "code": "x", "message": told, "hint": told},
        {"event": "notice", "text": told},
        {"event": "result", "state": "failed", "content": told, "data": {"deep": [told]}},
        {"nested": [{"error": {"code": "x", "message": told}}]},
    ):
        assert "/var" not in str(redact_conversation(trouble, settings))


@pytest.mark.slow
def test_chat_shows_no_path_of_the_host_to_somebody_far_away(home: Home, servers: ServerStarter) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\nbase_directory = "host"\n')
    write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls. Use for walls.")
    near, far = servers.start(), servers.start("--public-url", "https://skills.example.org")
    headers = {"Host": "skills.example.org", "Authorization": f"Bearer {far.token}"}
    with near.client() as client:
        accept = {"Accept": "text/event-stream"}
        client.post("/api/conversations/chat/messages", json={"text": "/painting"}, headers=accept)
        assert str(home.prowess) in client.get("/api/conversations/chat/history").text
    with httpx.Client(base_url=f"http://127.0.0.1:{far.port}", trust_env=False, timeout=60) as client:
        texts = [client.get(path, headers=headers).text for path in ("/api/conversations/chat/history", "/chat/chat")]
        stream = "/api/conversations/chat/events"
        with client.stream("GET", stream, params={"form": "blocks"}, headers=headers) as response:
            texts.append(next(line for line in response.iter_lines() if line.startswith("data: ")))
        with client.stream("GET", stream, headers=headers) as response:
            lines = response.iter_lines()
            texts.append("".join(line for line in iter(lambda: next(lines), "event: done")))
    for text in texts:
        assert "painting" in text
        assert str(home.prowess) not in text


@pytest.mark.slow
@pytest.mark.requirement("R124")
def test_title_made_of_a_message_shows_no_home_to_somebody_far_away(home: Home, servers: ServerStarter) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\n')
    notes, skills = f"{home.path}/notes.txt", home.path / ".agents" / "skills"
    write_skill(skills, "painting", description=f"Paints {notes}.", extra=f"argument-hint: '{notes}'\n")
    far = servers.start("--public-url", "https://skills.example.org")
    headers = {"Host": "skills.example.org", "Authorization": f"Bearer {far.token}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{far.port}", trust_env=False, timeout=60, headers=headers) as client:
        one = "/api/conversations/chat"
        accept = {"Accept": "text/event-stream"}
        client.post(f"{one}/messages", json={"text": f"Read {notes}"}, headers=accept)
        answers = [client.get(path) for path in ("/api/conversations", one, "/", "/chat/chat")]
        with client.stream("GET", f"{one}/events", params={"form": "blocks"}) as response:
            lines = response.iter_lines()
            assert "event: state" in lines
            state = next(lines)
        titles = [answers[0].json()["conversations"][0]["title"], answers[1].json()["title"]]
        completions = client.get(f"{one}/completions", params={"typed": "/pai"})
        models = client.get("/api/models")
        renamed = client.patch(one, json={"title": f"In {notes}"}).json()
    assert all(_is_without_home(title, "Read") for title in titles)
    assert completions.json()["completions"] == [
        {"name": "painting", "mention": "/painting ", "description": "Paints ~/notes.txt.", "hint": "~/notes.txt"}
    ]
    assert _is_without_home(renamed["title"], "In")
    for text in (*(answer.text for answer in answers), state, completions.text, models.text):
        assert str(home.path) not in text


def _is_without_home(title: str, verb: str) -> bool:
    """Whether a title names the notes as it should; a long one is cut, maybe in the home."""
    return re.fullmatch(rf"{verb} (~/notes\.txt|(~(/[a-z.]*)?)?…)", title) is not None


def test_mention_of_a_skill_stays_what_people_type(tmp_path: Path) -> None:
    settings = load_settings(environ={"HOME": "/data"}, working_folder=str(tmp_path))
    row = {"name": "data", "mention": "/data ", "description": "Reads /data and more."}
    assert redact_conversation(row, settings) == {**row, "description": "Reads ~ and more."}


def test_note_on_a_model_names_no_folder(tmp_path: Path) -> None:
    told = "no model in /var/lib/models/big.gguf"
    record = {"models": [{"name": "big", "note": told}], "notes": [told]}
    shown = "no model in …/big.gguf"
    assert redact_record(record, _load(tmp_path)) == {"models": [{"name": "big", "note": shown}], "notes": [shown]}


def test_title_that_is_cut_within_a_path_of_ours_does_not_begin_it(tmp_path: Path) -> None:
    settings, home = _load(tmp_path), str(tmp_path / "ann")
    assert shorten_paths(f"Read {home[:-1]}…", settings) == "Read …"
    assert shorten_paths("Read /srv/other/not…", settings) == "Read /srv/other/not…"
    assert shorten_paths("Type /srv…", settings) == "Type /srv…"
    assert shorten_paths(f'["/srv/x","{home[:-2]}…', settings) == '["/srv/x","…'


def test_no_text_that_was_cut_holds_up_the_server(tmp_path: Path) -> None:
    settings = _load(tmp_path)
    text = ',"/a/b"' * 200_000 + "…"  # What looks at every pair of places in it takes hours.
    assert shorten_paths(text, settings) == text
    assert len(redact_paths(text, settings)) == len(text)
