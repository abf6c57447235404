"""Copies work for a user without rights, and a disk that fails takes none of them away."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.copies.parts import contents, names, public_folder
from tests.skills_on_disk import Home, write_skill
from tests.sources.building import ask_child, without_rights
from tests.surfaces.command import PROWESS, run

pytestmark = pytest.mark.slow  # Every test starts processes.

_LIFE = without_rights("""
import json, shutil, sys
from pathlib import Path
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.copies.parts import contents, names
from tests.skills_on_disk import write_skill


def live(top):
    skills, home = top / "skills", top / "home"
    os.environ["PROWESS_HOME"] = str(home)
    settings = load_settings()
    for name in ("a", "b"):
        write_skill(skills, name, files={"scripts/run.sh": "#!/bin/sh\\n", "deep/er/file": name})

    def sync(user="local", **options):
        with Runtime(settings.for_user(user), skills=[skills]) as runtime:
            report = runtime.sync(**options)
        active = Path(report.active_root)
        whole = all(contents(active / f"project--{name}") == contents(skills / name) for name in names(skills))
        return [list(report.copied), report.unchanged, list(report.removed), len(report.skipped), whole]

    seen = {"first": sync(), "second": sync(), "other user": sync("bob")}
    (skills / "a" / "scripts" / "run.sh").write_text("#!/bin/sh\\nexit 1\\n")
    seen["changed"] = sync()
    shutil.rmtree(skills / "b")
    seen["removed"] = sync()
    active = home / "users/local/skills/active"
    script = active / "project--a/scripts/run.sh"
    seen["read-only"] = [
        is_refused(lambda: (active / "project--a/new").touch()),
        is_refused(lambda: (active / "project--a/scripts/new").touch()),
        is_refused(lambda: script.write_text("x")),
        is_refused(script.unlink),
    ]
    if script.exists():
        script.chmod(0o755)
        script.write_text("x")
    seen["verified"] = sync(verify=True)
    (active / "odd" / "inner").mkdir(parents=True)
    (active / "odd").chmod(0)
    seen["cleaned"] = sync()
    return seen


def is_refused(deed):
    try:
        deed()
    except PermissionError:
        return True
    return False


os.umask(int(sys.argv[2], 8))
live(Path(sys.argv[1], "before"))  # What is imported on the way may lie where others cannot read.
become_nobody()
print(json.dumps(live(Path(sys.argv[1]))))
""")


@pytest.mark.requirement("R72", "R73", "R77", "R79", "K5")
@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_user_without_rights_has_copies_that_cannot_be_written(home: Home, umask: str) -> None:
    both = ["project:a", "project:b"]
    with public_folder() as top:
        top.chmod(0o777)
        environ = {"PYTHONPATH": _REPOSITORY}
        assert ask_child(_LIFE, top, umask, environ=environ) == {
            "first": [both, 0, [], 0, True],
            "second": [[], 2, [], 0, True],
            "other user": [both, 0, [], 0, True],
            "changed": [["project:a"], 1, [], 0, True],
            "removed": [[], 1, ["project:b"], 0, True],
            "read-only": [True] * 4,
            "verified": [["project:a"], 0, [], 0, True],
            "cleaned": [[], 1, ["odd"], 0, True],
        }


_REPOSITORY = str(Path(__file__).parents[2])

_READ_ONLY_HOME = without_rights("""
import json, sys
from prowess.errors import ProwessError
from prowess.runtime import Runtime
from prowess.settings import load_settings


def work(home):
    os.environ["PROWESS_HOME"] = home
    said = ""
    with Runtime(load_settings(), skills=[sys.argv[1] + "/skills"]) as runtime:
        session = runtime.session("chat")
        try:
            session.sync()
        except ProwessError as error:
            said = error.code
        activation = session.activate("a")
        return [said, activation.base_directory, activation.instructions.body.strip()]


work(sys.argv[1] + "/before")  # What is imported on the way may lie where others cannot read.
become_nobody()
print(json.dumps(work(sys.argv[1] + "/home")))
""")


@pytest.mark.requirement("R84")
def test_home_that_cannot_be_written_keeps_no_instructions_from_the_model(home: Home) -> None:
    with public_folder() as top:
        write_skill(top / "skills", "a", body="Do it.\n")
        for place in ("before", "home"):
            (top / place).mkdir(mode=0o755)
            (top / place / "prowess.toml").write_text('database = "memory"\n')
        assert ask_child(_READ_ONLY_HOME, top) == ["disk-failed", "", "Do it."]
        assert names(top / "home") == {"prowess.toml"}


@pytest.mark.requirement("R81", "K5")
@pytest.mark.parametrize("call", ["read", "openat"])
def test_copy_stays_while_the_disk_fails_on_its_source(home: Home, call: str) -> None:
    """strace (apt-get install strace) makes the kernel fail on one folder."""
    skills = home.project / "skills"
    write_skill(skills, "a", files={"data/file": "old"})
    write_skill(skills, "b")
    assert run("--skills", str(skills), "sync").status == 0
    active = home.prowess / "users" / "local" / "skills" / "active"
    before = contents(active / "project--a")
    (skills / "a" / "data" / "file").write_text("new")
    (skills / "b" / "more").touch()
    failing = skills / "a" / "data" / ("file" if call == "read" else "")
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(failing), "-e", f"inject={call}:error=EIO"]
    done = subprocess.run(
        [*command, sys.executable, PROWESS, "--skills", str(skills), "sync", "--json"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    assert [(one["id"], one["problem"]["code"]) for one in report["skipped"]] == [("project:a", "disk-error")]
    assert (report["copied"], report["removed"]) == (["project:b"], [])
    assert contents(active / "project--a") == before
    assert run("--skills", str(skills), "sync", "--json").json["copied"] == ["project:a"]
    assert contents(active / "project--a") == contents(skills / "a")
