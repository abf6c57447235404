"""Skills over HTTP: what every operation promises, and what it withstands."""

import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.grants import Act, Decision
from prowess.catalog.validation import check_skill
from prowess.policy import PROFILES, STRICT_READING
from prowess.surfaces.records import validation_record
from prowess.surfaces.web.api.openapi import make_document
from tests.skills_on_disk import Home, write_skill
from tests.sources.mcp.scripts import Acted
from tests.surfaces.web.skill_site import OPERATIONS, Browser, check_answer, open_browser

pytestmark = pytest.mark.slow

_PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
_SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def agents(home: Home) -> Path:
    """A folder in which skills are looked for, that all are trusted in."""
    return home.path / ".agents" / "skills"


@pytest.fixture
def browser(home: Home, agents: Path) -> Iterator[Browser]:
    """A browser on this machine, with the skills that come with Prowess and those on disk."""
    with open_browser() as browser:
        yield browser


def _write_sample(root: Path) -> Path:
    files = {
        "references/guide.md": "# Guide\n",
        "scripts/fill.py": "#!/usr/bin/env python3\n",
        "assets/picture.png": _PNG,
    }
    return write_skill(root, "pdf-fill", extra="license: MIT\n", body="# Fill\n\nFill it.\n", files=files)


# The list


@pytest.mark.requirement("R124", "R129")
def test_list_shows_every_skill_with_its_standing_and_use(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    with browser.runtime.session("s") as session:
        browser.runtime.decide("pdf-fill", Decision.ALLOW)
        session.activate("pdf-fill")
    answer = check_answer("list_skills", browser.get("/api/skills?limit=500"))
    rows = {row["id"]: row for row in answer["skills"]}
    assert answer["total"] == len(rows) == len(browser.runtime.catalog().skills)
    assert rows["core:scheduling"]["state"] == "visible"
    ours = rows["agents:pdf-fill"]
    assert (ours["key"], ours["activations"], ours["visible"]) == ("agents--pdf-fill", 1, True)
    assert ours["last_used_at"]
    assert ours["tokens"] > 0
    assert ours["digest"] == browser.runtime.digest(browser.runtime.catalog().get("pdf-fill"))


def test_pages_of_the_list_hold_each_skill_once(browser: Browser, agents: Path) -> None:
    for number in range(25):
        write_skill(agents, f"one-{number:02}")
    pages = [browser.get(f"/api/skills?source=agents&limit=10&page={page}") for page in (1, 2, 3)]
    names = [row["name"] for page in pages for row in page["skills"]]
    assert names == [f"one-{number:02}" for number in range(25)]
    assert {(page["total"], page["pages"]) for page in pages} == {(25, 3)}
    assert browser.get("/api/skills?source=agents&limit=10&page=99")["page"] == 3


@pytest.mark.requirement("K7")
def test_filters_tell_hidden_disabled_shadowed_untrusted_and_faulty_apart(
    browser: Browser, home: Home, agents: Path
) -> None:
    write_skill(agents, "off-now")
    write_skill(agents, "scheduling")
    write_skill(agents, "needs-it", extra="metadata: {openclaw: {requires: {bins: [no-such-command]}}}\n")
    write_skill(agents, "Odd Name")
    write_skill(agents, "nothing", text="no frontmatter")
    write_skill(home.project / ".agents" / "skills", "of-project")
    browser.send("PUT", "/api/skills/off-now/switch", {"position": "off"})

    def ids(state: str) -> set[str]:
        return {row["id"] for row in browser.get(f"/api/skills?state={state}&limit=500")["skills"]}

    assert ids("disabled") == {"agents:off-now"}
    assert ids("shadowed") == {"core:scheduling"}
    assert ids("untrusted") == {"project:of-project"}
    assert ids("ineligible") == {"agents:needs-it"}
    assert ids("problems") == {"agents:Odd Name", "core:scheduling"}
    assert ids("hidden") == {"agents:off-now", "core:scheduling", "project:of-project", "agents:needs-it"}
    assert ids("rejected") == set()
    answer = check_answer("list_skills", browser.get("/api/skills"))
    assert [Path(one["path"]).name for one in answer["rejected"]] == ["nothing"]


def test_search_wants_all_words_and_puts_names_first(browser: Browser, agents: Path) -> None:
    write_skill(agents, "tables", description="Works with pdf and more.")
    write_skill(agents, "pdf", description="Another thing.")
    found = browser.get("/api/skills?query=PDF")
    assert [row["name"] for row in found["skills"]][:2] == ["pdf", "tables"]
    assert [row["name"] for row in browser.get("/api/skills?query=pdf+works")["skills"]] == ["tables"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "page=0", "state=odd", "sort=odd", "limit=x", "odd=1", "page=1&page=2"]
)
def test_wrong_parameter_is_said_to_be_wrong(browser: Browser, query: str) -> None:
    assert browser.get(f"/api/skills?{query}", status=400)["error"]["code"] == "bad-request"


# One skill


@pytest.mark.requirement("R129")
@pytest.mark.parametrize("name", ["agents--pdf-fill", "pdf-fill", "agents:pdf-fill"])
def test_skill_is_found_by_key_name_and_id(browser: Browser, agents: Path, name: str) -> None:
    _write_sample(agents)
    answer = check_answer("show_skill", browser.get(f"/api/skills/{name}"))
    assert answer["id"] == "agents:pdf-fill"
    assert [file["path"] for file in answer["files"]] == [
        "SKILL.md",
        "assets/picture.png",
        "references/guide.md",
        "scripts/fill.py",
    ]
    assert answer["manifest"]["license"] == "MIT"


def test_skill_in_a_folder_of_skills_is_found_by_its_id(browser: Browser, agents: Path) -> None:
    write_skill(agents / "office", "pdf-fill")
    for part in ("", "/content", "/files"):
        assert browser.get(f"/api/skills/agents%3Aoffice%2Fpdf-fill{part}")["name"] == "pdf-fill"
    assert browser.ask("/api/skills/agents%3Aoffice%2Fpdf-fill/files/SKILL.md").status_code == 200


def test_bundled_skills_all_have_what_the_document_promises(browser: Browser) -> None:
    for row in browser.get("/api/skills")["skills"]:
        for name, part in (
            ("show_skill", ""),
            ("read_instructions", "/content"),
            ("list_files", "/files"),
            ("list_problems", "/problems"),
            ("explain_skill", "/why"),
            ("list_versions", "/versions"),
        ):
            check_answer(name, browser.get(f"/api/skills/{row['key']}{part}"))


def test_unknown_skill_is_not_found_and_the_hint_names_what_is_near(browser: Browser) -> None:
    error = browser.get("/api/skills/sheduling", status=404)["error"]
    assert error["code"] == "unknown-skill"
    assert "scheduling" in error["hint"]


@pytest.mark.requirement("R129")
def test_content_is_the_instructions_without_their_frontmatter(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    answer = check_answer("read_instructions", browser.get("/api/skills/pdf-fill/content"))
    assert answer["instructions"] == "# Fill\n\nFill it."
    assert "license: MIT" in answer["frontmatter"]
    assert not answer["truncated"]


@pytest.mark.requirement("K7", "R127")
def test_hidden_skill_is_explained_with_what_to_do(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    changed = check_answer(
        "switch_skill", browser.send("PUT", "/api/skills/pdf-fill/switch", {"position": "user-only"})
    )
    assert (changed["switch"], changed["visible"]) == ("user-only", False)
    answer = check_answer("explain_skill", browser.get("/api/skills/agents--pdf-fill/why"))
    assert not answer["visible"]
    assert [(reason["code"], bool(reason["remedy"])) for reason in answer["reasons"]] == [("hidden", True)]
    browser.send("PUT", "/api/skills/pdf-fill/switch", {"position": "on"})
    assert browser.get("/api/skills/pdf-fill/why")["visible"]


@pytest.mark.requirement("K7")
def test_rejected_folder_and_unknown_name_are_explained_too(browser: Browser, agents: Path) -> None:
    write_skill(agents, "faulty", text="---\nname: faulty\n---\n")
    assert browser.get("/api/skills/faulty/why")["reasons"][0]["code"] == "invalid"
    assert browser.get("/api/skills/nowhere/why")["reasons"][0]["code"] == "not-found"


def test_problems_of_instructions_and_scripts_are_listed_with_remedies(browser: Browser, agents: Path) -> None:
    write_skill(agents, "linked", body="See [this](references/gone.md).\n")
    answer = check_answer("list_problems", browser.get("/api/skills/linked/problems"))
    assert [problem["code"] for problem in answer["problems"]] == ["broken-reference"]
    assert answer["problems"][0]["remedy"]


# Files


@pytest.mark.requirement("R129")
def test_download_is_an_attachment_that_no_browser_runs(browser: Browser, agents: Path) -> None:
    write_skill(agents, "drawn", files={"a.svg": f"<svg onload='alert(1)'>{_SCRIPT}</svg>", "a.html": _SCRIPT})
    for name in ("a.svg", "a.html"):
        answer = browser.ask(f"/api/skills/drawn/files/{name}")
        assert answer.status_code == 200
        wanted = {
            "content-type": "application/octet-stream",
            "content-disposition": f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}",
            "content-security-policy": "default-src 'none'; sandbox",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "private, no-cache",
        }
        assert {key: answer.headers[key] for key in wanted} == wanted
        error = browser.get(f"/api/skills/drawn/files/{name}?as=image", status=403)["error"]
        assert error["code"] == "not-a-picture"


def test_picture_is_shown_by_its_bytes_and_not_by_its_name(browser: Browser, agents: Path) -> None:
    write_skill(agents, "drawn", files={"is.txt": _PNG, "not.png": "<svg/>"})
    answer = browser.ask("/api/skills/drawn/files/is.txt?as=image")
    assert (answer.headers["content-type"], answer.headers["content-disposition"]) == ("image/png", "inline")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.content == _PNG
    assert browser.ask("/api/skills/drawn/files/not.png?as=image").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "%2e%2e%2fsecret.txt",
        "references/..%2f..%2fsecret.txt",
        "%2Fetc%2Fpasswd",
        "..%5csecret.txt",
        "out.txt",
        "out/secret.txt",
        "%2e",
        "",
        "references",
        "a%00b",
    ],
)
def test_no_path_leads_out_of_a_skill(browser: Browser, agents: Path, path: str) -> None:
    folder = _write_sample(agents)
    (agents / "secret.txt").write_text("secret")
    (folder / "out.txt").symlink_to(agents / "secret.txt")
    (folder / "out").symlink_to(agents)
    answer = browser.ask(f"/api/skills/pdf-fill/files/{path}")
    assert answer.status_code in {400, 404}
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert browser.ask("/api/skills/pdf-fill/files/references/guide.md").content == b"# Guide\n"


def test_link_inside_the_skill_is_followed(browser: Browser, agents: Path) -> None:
    folder = _write_sample(agents)
    (folder / "short.md").symlink_to("references/guide.md")
    assert browser.ask("/api/skills/pdf-fill/files/short.md").content == b"# Guide\n"


def test_fifo_in_a_skill_makes_nobody_wait(browser: Browser, agents: Path) -> None:
    os.mkfifo(_write_sample(agents) / "pipe")
    answer = check_answer("list_files", browser.get("/api/skills/pdf-fill/files"))
    assert answer["digest"] is None
    assert [problem["code"] for problem in answer["problems"]] == ["not-a-file"]
    assert browser.ask("/api/skills/pdf-fill/files/pipe").status_code == 404
    assert browser.ask("/api/skills/pdf-fill/files/SKILL.md").status_code == 200
    assert check_answer("show_skill", browser.get("/api/skills/pdf-fill"))["digest"] is None


def test_huge_file_is_refused(browser: Browser, agents: Path) -> None:
    folder = _write_sample(agents)
    with open(folder / "large.bin", "wb") as file:
        file.truncate((16 << 20) + 1)
    error = browser.get("/api/skills/pdf-fill/files/large.bin", status=403)["error"]
    assert error["code"] == "resource-too-large"


def test_names_of_files_cannot_forge_headers(browser: Browser, agents: Path) -> None:
    name = 'a";\r\nX-Evil: 1\r\n <b>ü.txt'
    write_skill(agents, "named", files={name: "hello"})
    path = next(file["path"] for file in browser.get("/api/skills/named/files")["files"] if file["path"] != "SKILL.md")
    assert "\n" not in path
    answer = browser.ask(f"/api/skills/named/files/{path.replace('%', '%25').replace('<', '%3C')}")
    assert answer.content == b"hello"
    assert "x-evil" not in answer.headers
    assert "%C3%BC" in answer.headers["content-disposition"]


@pytest.mark.requirement("R129")
def test_files_of_a_former_digest_are_served_as_long_as_they_are_kept(browser: Browser, agents: Path) -> None:
    folder = _write_sample(agents)
    browser.runtime.sync()
    former = browser.get("/api/skills/pdf-fill")["digest"]
    browser.runtime.decide("pdf-fill", Decision.ALLOW)
    with browser.runtime.session("s") as session:
        session.activate("pdf-fill")
    (folder / "references" / "guide.md").write_text("# Another\n")
    path = "/api/skills/pdf-fill/files/references/guide.md"
    assert browser.ask(path).content == b"# Another\n"
    assert browser.ask(f"{path}?digest={former}").content == b"# Guide\n"
    assert browser.get(f"{path}?digest={'0' * 64}", status=410)["error"]["code"] == "not-kept"
    assert browser.ask(f"{path}?digest=../../x").status_code == 400


@pytest.mark.requirement("R129")
def test_archive_holds_all_files_and_no_links(browser: Browser, agents: Path) -> None:
    folder = _write_sample(agents)
    (folder / "link.md").symlink_to("references/guide.md")
    (folder / "..\\evil.txt").write_text("x")
    answer = browser.ask("/api/skills/pdf-fill/archive")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == [
            "pdf-fill/SKILL.md",
            "pdf-fill/assets/picture.png",
            "pdf-fill/references/guide.md",
            "pdf-fill/scripts/fill.py",
        ]
        assert archive.read("pdf-fill/assets/picture.png") == _PNG
        assert archive.comment == b"Left out: ..\\evil.txt, link.md"
    assert browser.ask("/api/skills/pdf-fill/archive").content == answer.content


# The user's own


@pytest.mark.requirement("R129")
def test_ejected_skill_is_ones_own_and_has_versions_that_can_be_restored(browser: Browser, home: Home) -> None:
    ejected = check_answer("eject_skill", browser.send("POST", "/api/skills/core--scheduling/eject", {}))
    assert (ejected["name"], ejected["status"], ejected["version"]) == ("scheduling", "added", 1)
    assert browser.get("/api/skills/scheduling")["source"] == "user"
    refused = browser.send("POST", "/api/skills/core--scheduling/eject", {}, status=409)
    assert refused["error"]["code"] == "exists"
    own = Path(ejected["path"])
    assert own == home.prowess / "users" / "local" / "skills" / "personal" / "scheduling"
    (own / "new.txt").write_text("mine")
    removed = check_answer("remove_skill", browser.send("DELETE", "/api/skills/user--scheduling/own"))
    assert removed["status"] == "removed"
    assert browser.get("/api/skills/scheduling")["source"] == "core"


def test_removed_skill_comes_back_by_its_name(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    browser.send("POST", "/api/skills/pdf-fill/eject", {})
    (agents / "pdf-fill" / "SKILL.md").unlink()
    browser.send("POST", "/api/rescan")
    browser.send("DELETE", "/api/skills/user--pdf-fill/own")
    versions = check_answer("list_versions", browser.get("/api/skills/pdf-fill/versions"))
    assert (versions["current"], versions["previous"], versions["own"]) == (None, [1], True)
    back = check_answer("restore_skill", browser.send("POST", "/api/skills/pdf-fill/restore", {}))
    assert (back["status"], back["version"]) == ("restored", 1)
    assert browser.get("/api/skills/pdf-fill")["id"] == "user:pdf-fill"


def test_removed_skill_comes_back_although_another_has_its_name(browser: Browser) -> None:
    own = Path(browser.send("POST", "/api/skills/core--scheduling/eject", {})["path"])
    for name in ("user--scheduling", "user:scheduling"):
        browser.send("DELETE", "/api/skills/user--scheduling/own")
        versions = check_answer("list_versions", browser.get(f"/api/skills/{name}/versions"))
        assert (versions["current"], versions["previous"], versions["own"]) == (None, [1], True)
        assert browser.ask(f"/api/skills/{name}/versions/1/files/SKILL.md").status_code == 200
        others = browser.send("POST", "/api/skills/scheduling/restore", {}, status=403)["error"]
        assert (others["code"], "'user:scheduling'" in others["hint"]) == ("not-yours", True)
        assert browser.get("/api/skills/scheduling/versions")["own"] is False
        back = check_answer("restore_skill", browser.send("POST", f"/api/skills/{name}/restore", {}))
        assert (back["status"], back["version"], own.is_dir()) == ("restored", 1, True)


@pytest.mark.requirement("R129")
def test_files_of_former_versions_are_served_by_number(browser: Browser) -> None:
    own = Path(browser.send("POST", "/api/skills/scheduling/eject", {})["path"])
    (own / "notes.txt").write_text("first")
    browser.send("DELETE", "/api/skills/user--scheduling/own")
    browser.send("POST", "/api/skills/core--scheduling/eject", {})
    path = "/api/skills/user--scheduling/versions"
    versions = check_answer("list_versions", browser.get(path))
    assert (versions["current"], versions["previous"]) == (2, [1])
    assert browser.ask(f"{path}/1/files/notes.txt").content == b"first"
    assert browser.ask(f"{path}/2/files/notes.txt").status_code == 404
    assert browser.ask(f"{path}/3/files/SKILL.md").status_code == 404
    assert browser.ask(f"{path}/..%2f1/files/SKILL.md").status_code == 404
    back = browser.send("POST", "/api/skills/user--scheduling/restore", {"version": 1})
    assert (back["version"], back["kept"]) == (3, 2)
    assert (own / "notes.txt").read_text() == "first"


def test_skill_of_others_has_one_version_and_is_not_restored(browser: Browser) -> None:
    versions = check_answer("list_versions", browser.get("/api/skills/safe-edit/versions"))
    assert [(one["version"], len(one["digest"])) for one in versions["versions"]] == [(None, 64)]
    refusals = [
        browser.send("POST", "/api/skills/safe-edit/restore", {}, status=403),
        browser.send("DELETE", "/api/skills/safe-edit/own", status=403),
    ]
    assert [one["error"]["code"] for one in refusals] == ["not-yours", "not-yours"]


@pytest.fixture
def hosted(home: Home, tmp_path: Path) -> Acted:
    """A server with one skill, which nobody has agreed to."""
    hosted = Acted(tmp_path / "acme")
    hosted.add("skill://billing/refunds", {"references/rules.md": "Be kind.\n"})
    command = ", ".join(f'"{part}"' for part in hosted.command)
    home.write_settings(f"[mcp.servers.acme]\ncommand = [{command}]\n")
    return hosted


@pytest.mark.requirement("J11", "K1")
@pytest.mark.parametrize(("before", "code"), [("", "consent-needed"), ("refused", "refused"), ("changed", "no-digest")])
def test_skill_of_a_server_is_not_ejected_unless_somebody_agreed(hosted: Acted, before: str, code: str) -> None:
    with open_browser() as browser:
        if before == "changed":
            browser.runtime.catalog()
            hosted.serve("skill://billing/refunds/references/rules.md", "Be cruel.\n")
        elif before == "refused":
            browser.runtime.decide("refunds", Decision.REFUSE)
        error = browser.send("POST", "/api/skills/refunds/eject", {}, status=403)["error"]
        assert error["code"] == code
        assert browser.runtime.personal().names() == ()
        assert browser.get("/api/skills/refunds")["source"] == "mcp"


@pytest.mark.requirement("J11", "K1")
def test_skill_of_a_server_that_was_agreed_to_is_ejected_whole(home: Home, hosted: Acted) -> None:
    with open_browser() as browser:
        browser.runtime.decide("refunds", Decision.ALLOW)
    shutil.rmtree(home.prowess / "cache")  # So that it is a placeholder again.
    with open_browser() as browser:
        ejected = check_answer("eject_skill", browser.send("POST", "/api/skills/refunds/eject", {}))
        assert browser.get("/api/skills/refunds")["source"] == "user"
    own = Path(ejected["path"])
    assert (own / "references/rules.md").read_text() == "Be kind.\n"
    assert "Do it." in (own / "SKILL.md").read_text()


def test_without_a_folder_for_own_skills_nothing_is_ejected(home: Home, agents: Path) -> None:
    _write_sample(agents)
    with open_browser([str(agents)]) as browser:
        error = browser.send("POST", "/api/skills/pdf-fill/eject", {}, status=422)["error"]
        assert error["code"] == "not-configured"
        assert check_answer("list_versions", browser.get("/api/skills/pdf-fill/versions"))["own"] is False


@pytest.mark.parametrize("name", ["x" * 1_000, "ì" * 300, "%2e%2e", "a%0ab", "%F3%96%8A%A4"])
def test_name_that_no_folder_can_have_is_not_found(browser: Browser, name: str) -> None:
    assert browser.get(f"/api/skills/{name}/versions", status=404)["error"]["code"] == "unknown-skill"
    assert browser.send("DELETE", f"/api/skills/{name}/own", status=404)["error"]["code"] == "unknown-skill"
    assert browser.send("POST", f"/api/skills/{name}/restore", {}, status=404)["error"]["code"] == "unknown-skill"


# Validation


def test_text_is_judged_as_the_command_judges_a_folder(browser: Browser) -> None:
    good = browser.send(
        "POST", "/api/validate", {"skill_md": "---\nname: a-b\ndescription: Does it.\n---\nDo [it](x.md).\n"}
    )
    assert check_answer("validate_skill", good) == {
        "valid": True,
        "skills": [{"path": "a-b", "name": "a-b", "valid": True, "problems": []}],
    }
    bad = check_answer("validate_skill", browser.send("POST", "/api/validate", {"skill_md": "---\nname: a-b\n---\n"}))
    assert not bad["valid"]
    assert {problem["code"] for problem in bad["skills"][0]["problems"]} >= {"description-missing", "body-empty"}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a-b\ndescription: Does it.\n---\nDo it.\n",
        "---\nname: other\ndescription: Does: it\nsecrets: 3\n---\n",
        "---\nname: [\n---\n",
        "---\ndescription: Does it.\n---\n" + "word " * 9_000,
        "nothing",
        "",
    ],
)
def test_verdict_on_a_text_is_that_on_its_folder(browser: Browser, home: Home, text: str, strict: bool) -> None:
    folder = write_skill(home.path, "a-b", text=text)
    reading = STRICT_READING if strict else PROFILES["standard"].reading
    on_disk = validation_record([check_skill(str(folder), reading=reading, limits=browser.runtime.policy.limits)])
    asked = browser.send("POST", "/api/validate", {"skill_md": text, "name": "a-b", "strict": strict})
    on_disk["skills"][0]["path"] = "a-b"
    assert asked == on_disk


def test_folder_name_and_strictness_count(browser: Browser) -> None:
    text = "---\nname: a-b\ndescription: Does it.\ncolour: red\n---\nDo it.\n"
    lenient = browser.send("POST", "/api/validate", {"skill_md": text, "name": "other"})
    assert lenient["valid"]
    assert "name-differs-from-folder" in {one["code"] for one in lenient["skills"][0]["problems"]}
    strict = browser.send("POST", "/api/validate", {"skill_md": text, "name": "other", "strict": True})
    assert not strict["valid"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff---\n",
        "---\n" * 500,
        "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        "&a [*a, *a]" * 99,
    ],
)
def test_any_text_gets_a_verdict(browser: Browser, text: str) -> None:
    check_answer("validate_skill", browser.send("POST", "/api/validate", {"skill_md": text}))


# Decisions


@pytest.mark.requirement("R124")
def test_rescan_counts_what_it_has_found(browser: Browser, agents: Path) -> None:
    before = check_answer("rescan", browser.send("POST", "/api/rescan"))
    _write_sample(agents)
    write_skill(agents, "faulty", text="x")
    after = browser.send("POST", "/api/rescan")
    assert (after["skills"] - before["skills"], after["rejected"] - before["rejected"]) == (1, 1)
    assert after["generation"] > before["generation"]


def test_trust_is_shown_given_and_taken_back(browser: Browser, home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "of-project")
    assert check_answer("show_trust", browser.get("/api/trust"))["untrusted"] == ["project:of-project"]
    given = check_answer("set_trust", browser.send("PUT", "/api/trust", {"trusted": True}))
    assert (given["trusted"], given["changed"], given["untrusted"]) == (True, True, [])
    assert browser.get("/api/skills/of-project")["visible"]
    assert browser.send("PUT", "/api/trust", {"trusted": False})["changed"]
    assert not browser.get("/api/skills/of-project")["visible"]


def test_grants_are_listed_and_forgotten(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    browser.runtime.decide("pdf-fill", Decision.ALLOW)
    browser.runtime.decide("pdf-fill", Decision.ALLOW, act=Act.RUN, powers=["network"])
    grants = check_answer("list_grants", browser.get("/api/grants"))["grants"]
    assert {(one["act"], tuple(one["powers"]), one["current"]) for one in grants} == {
        ("use", (), True),
        ("run", ("network",), True),
    }
    assert check_answer("revoke_grants", browser.send("DELETE", "/api/grants/agents--pdf-fill")) == {"revoked": 2}
    assert browser.get("/api/grants") == {"grants": []}
    assert browser.send("DELETE", "/api/grants/nowhere", status=404)["error"]["code"] == "unknown-skill"


@pytest.mark.parametrize("body", [{"position": "odd"}, {}, {"position": "on", "more": 1}, []])
def test_wrong_body_is_said_to_be_wrong(browser: Browser, body: object) -> None:
    assert browser.send("PUT", "/api/skills/scheduling/switch", body, status=400)["error"]["code"] == "bad-request"


# Telling


def test_prompt_says_what_became_of_each_skill(browser: Browser) -> None:
    whole = check_answer("plan_prompt", browser.get("/api/prompt"))
    assert {one["level"] for one in whole["placements"]} == {"full"}
    small = check_answer("plan_prompt", browser.get("/api/prompt?budget=100&query=schedule+it&format=json"))
    assert small["tokens"] <= 100 == small["report"]["budget"]
    names = [one["name"] for one in small["placements"] if one["level"] == "left_out"]
    assert names == small["report"]["left_out"]
    assert len(small["placements"]) == len(whole["placements"])


def test_search_finds_by_what_skills_do(browser: Browser) -> None:
    found = check_answer("search_skills", browser.get("/api/search?query=calendar+meetings&limit=3"))["results"]
    assert found[0]["key"] == "core--scheduling"
    assert browser.get("/api/search", status=400)["error"]["code"] == "bad-request"


@pytest.mark.requirement("R124")
def test_usage_is_told_by_skill_and_by_day(browser: Browser, agents: Path) -> None:
    _write_sample(agents)
    browser.runtime.decide("pdf-fill", Decision.ALLOW)
    with browser.runtime.session("s") as session:
        session.activate("pdf-fill")
    usage = check_answer("count_usage", browser.get("/api/usage?days=7"))
    assert (usage["sessions"], [one["id"] for one in usage["skills"]]) == (1, ["agents:pdf-fill"])
    assert [(one["skill"], one["activations"], len(one["day"])) for one in usage["days"]] == [
        ("agents:pdf-fill", 1, 10)
    ]


@pytest.mark.requirement("R127")
def test_models_say_whether_they_can_use_skills_and_what_they_lack(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    home.write_settings('model = "openai:gpt-5"\n')
    with open_browser() as browser:
        answer = check_answer("list_models", browser.get("/api/models"))
        models = {one["name"]: one for one in answer["models"]}
        assert answer["default"] == "openai:gpt-5"
        assert models["offline"]["calls_tools"] is True
        assert models["openai:gpt-5"]["calls_tools"] is None
        assert "OPENAI_API_KEY" in models["openai:gpt-5"]["note"]


# Who asks


@pytest.mark.requirement("R124")
def test_paths_of_the_host_stay_on_the_host(home: Home, agents: Path) -> None:
    _write_sample(agents)
    write_skill(agents, "faulty", text="x")
    write_skill(home.project / ".agents" / "skills", "of-project")
    place = str(home.path.parent)
    with open_browser(local=False) as browser:
        ejected = browser.ask("/api/skills/core--scheduling/eject", method="POST", body={})
        asked = ["/api/skills", "/api/trust", "/api/prompt?format=markdown", "/api/skills/faulty/why", "/api/grants"]
        asked += [
            f"/api/skills/{name}{part}"
            for name in ("pdf-fill", "user--scheduling", "of-project")
            for part in ("", "/files", "/problems", "/why", "/versions", "/content")
        ]
        answers = {"": ejected, **{path: browser.ask(path) for path in asked}}
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 200)
    assert [path for path, answer in answers.items() if place in answer.text] == []
    with open_browser() as browser:
        told = [path for path in asked if place in browser.ask(path).text]
    assert {"/api/skills", "/api/trust", "/api/skills/faulty/why", "/api/skills/of-project"} <= set(told)


def test_script_in_names_and_texts_travels_as_plain_data(browser: Browser, agents: Path) -> None:
    write_skill(agents, "evil", description=_SCRIPT, body=_SCRIPT, files={f"{_SCRIPT.replace('/', '')}.txt": "x"})
    answer = browser.ask("/api/skills/evil")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["description"] == _SCRIPT


def test_document_describes_every_operation_once() -> None:
    document = make_document(OPERATIONS)
    described = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert sorted(described) == sorted({one.name for one in OPERATIONS})
    names = {one["name"] for one in document["paths"]["/api/skills/{skill}/files/{path}"]["get"]["parameters"]}
    assert names == {"skill", "path", "digest", "as"}
