"""`prowess list` of a catalog that is too large to be read at once: in parts, and in pages."""

import json
import os
import sys
from pathlib import Path

import pytest

from prowess.surfaces.skill_choice import cut_page
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import Outcome, call, run, run_on_terminal


@pytest.fixture
def root(home: Home) -> Path:
    """A folder with 60 good skills, one that needs something, one that is odd, and some that are broken."""
    folder = home.project / "skills"
    for number in range(60):
        write_skill(folder, f"good-{number:02}", description="Files invoices." if number % 20 == 0 else "Does it.")
    write_skill(folder, "needy", extra="requires: [no-such-command-4d1f]\n")
    write_skill(folder, "Odd", description="Odd: quoted, invoices.")
    for number in range(12):
        write_skill(folder, f"broken-{number:02}", text="---\nname: broken\n---\n")
    return folder


def _list(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "--json", "list", *arguments)


def _names(outcome: Outcome) -> list[str]:
    return [row["name"] for row in outcome.json["skills"]]


def test_programs_get_everything_unless_they_ask_for_less(root: Path) -> None:
    everything = _list(root)
    assert (len(_names(everything)), everything.stderr) == (62, "")
    piped = run("--skills", str(root), "list")
    assert len(piped.stdout.splitlines()) == 62
    assert piped.stderr.count("not loaded: ") == 12


def test_pages_put_together_are_the_whole(root: Path) -> None:
    pages = [_list(root, "--limit", "25", "--page", str(number)) for number in (1, 2, 3)]
    assert [name for page in pages for name in _names(page)] == _names(_list(root))
    assert [page.stderr for page in pages] == [
        "25 of 62, page 1 of 3; --page 2 for more\n",
        "25 of 62, page 2 of 3; --page 3 for more\n",
        "12 of 62, page 3 of 3\n",
    ]
    beyond = _list(root, "--limit", "25", "--page", "4")
    assert (_names(beyond), beyond.stderr) == ([], "There are only 3 pages of 62.\n")
    assert len(_names(_list(root, "--page", "1"))) == 50


def test_only_what_is_shown_is_hashed(root: Path) -> None:
    (root / "good-00" / "shown.bin").write_bytes(b"x")
    (root / "good-59" / "beyond.bin").write_bytes(b"x")
    opened: list[str] = []
    is_listening = True

    def listen(event: str, about: tuple[object, ...]) -> None:
        if is_listening and event == "open":
            opened.append(Path(os.fsdecode(about[0])).name if isinstance(about[0], str | bytes) else "")

    sys.addaudithook(listen)  # None can be taken away again.
    assert "good-00" in _names(_list(root, "--query", "good", "--limit", "2"))
    is_listening = False
    assert "shown.bin" in opened
    assert "beyond.bin" not in opened


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--query", "INVOICES files"], ["good-00", "good-20", "good-40"]),
        (["--query", "good-20"], ["good-20"]),
        (["--query", "odd"], ["odd"]),
        (["--state", "ineligible"], ["needy"]),
        (["--state", "hidden"], ["needy"]),
        (["--state", "visible", "--query", "invoices", "--limit", "2"], ["odd", "good-00"]),
        (["--source", "user"], []),
        (["--source", "project", "--query", "needy"], ["needy"]),
        (["--state", "rejected"], []),
    ],
)
def test_part_is_what_was_asked_for(root: Path, arguments: list[str], expected: list[str]) -> None:
    assert [name.lower() for name in _names(_list(root, *arguments))] == expected


def test_skills_with_problems_can_be_asked_for(root: Path) -> None:
    assert "Odd" in _names(_list(root, "--state", "problems"))


def test_rejected_folders_come_in_pages_too(root: Path) -> None:
    found = _list(root, "--state", "rejected", "--limit", "5", "--page", "3")
    assert [len(found.json[key]) for key in ("skills", "rejected")] == [0, 2]
    assert found.stderr == "2 of 12, page 3 of 3\n"


def test_nothing_that_fits_is_said(root: Path) -> None:
    assert _list(root, "--query", "no such words").stderr == "Nothing fits. `prowess list` shows all skills.\n"


@pytest.mark.slow
def test_terminal_shows_a_first_page_and_says_how_to_get_the_next(root: Path) -> None:
    first = run_on_terminal(["--skills", str(root), "list"])
    assert len(first.stdout.splitlines()) == 1 + 50
    assert first.stderr.replace("\r", "").splitlines()[-2:] == [
        "2 more are not loaded; `prowess list --state rejected` shows them",
        "50 of 62, page 1 of 2; --page 2 for more",
    ]
    assert first.stderr.count("not loaded: ") == 10
    second = run_on_terminal(["--skills", str(root), "list", "--page", "2"])
    assert len(second.stdout.splitlines()) == 1 + 12
    assert len(json.loads(run_on_terminal(["--skills", str(root), "list", "--json"]).stdout)["skills"]) == 62


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--limit", "0"], "'--limit': 0 is not in the range x>=1"),
        (["--page", "-1"], "'--page': -1 is not in the range x>=1"),
        (["--limit", "many"], "'--limit': 'many' is not a valid integer"),
        (["--state", "lost"], "'--state': 'lost' is not one of"),
        (["--source", "moon"], "'--source': 'moon' is not one of"),
    ],
)
def test_wrong_numbers_and_words_are_refused(home: Home, arguments: list[str], said: str) -> None:
    outcome = run("list", *arguments)
    assert outcome.status == 2
    assert said in outcome.stderr


def test_no_rows_are_one_page() -> None:
    assert cut_page([], limit=None).pages == cut_page([], limit=5).pages == 1
