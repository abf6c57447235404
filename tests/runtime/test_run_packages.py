"""Packages of scripts (K9): locked, agreed to by exact version, installed once and outside of any run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.errors import BrokenSkill, Refused
from prowess.execution.packages.script_metadata import READ_BYTES
from prowess.runtime import Runtime
from tests.execution.packages.package_index import PackageIndex, isolate, serving
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.runtime.runs import open_agreed, refusal, said, try_run, write_scripts
from tests.skills_on_disk import Home

pytestmark = [pytest.mark.requirement("K9"), pytest.mark.slow]

_NOWHERE = "http://127.0.0.1:9/simple"
_RUN = "scripts/run.py"
_USE = """
import json, os, first, second
print(json.dumps([first.version, second.version, first.__file__, os.environ["PATH"], os.environ["PYTHONPATH"]]))
"""


def _declare(*dependencies: str, requires: str = "") -> str:
    lines = ["# /// script", f"# dependencies = {list(dependencies)}"]
    lines += [f'# requires-python = "{requires}"'] if requires else []
    return "\n".join([*lines, "# ///", ""])


@pytest.fixture
def index(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """An index with a package that needs another."""
    isolate(monkeypatch, home.path)
    made = PackageIndex()
    made.add_wheel("first", "1.1", requires=["second>=1"])
    for version in ("1.0", "2.0"):
        made.add_wheel("second", version)
    with serving(made):
        monkeypatch.setenv("UV_DEFAULT_INDEX", made.address)
        yield made


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """A skill whose script declares a package."""
    return write_scripts(root, "alpha", {"run.py": _declare("first") + _USE, "plain.py": "print('plain')"})


def test_packages_are_asked_for_by_exact_version_and_installed_once(runtime: Runtime, index: PackageIndex) -> None:
    person = Person(Answer.ALLOW_ALWAYS)
    session = runtime.session("chat", asker=person)
    told: list[str] = []
    result = session.run("alpha", _RUN, progress=told.append)
    (question,) = person.questions
    assert question.packages == ("first==1.1", "second==2.0")
    (power,) = question.powers
    assert power.startswith("packages:")
    assert said(result) == [
        "1.1",
        "2.0",
        "/packages/first.py",
        "/packages/bin:/usr/local/bin:/usr/bin:/bin",
        "/packages",
    ]
    assert result.receipt.powers == (power,)
    assert told
    assert sorted(index.fetched) == ["first-1.1-py3-none-any.whl", "second-2.0-py3-none-any.whl"]
    assert session.run("alpha", _RUN).receipt.consent == "always"
    assert len(index.fetched) == 2


def test_nothing_is_fetched_before_somebody_agrees(runtime: Runtime, index: PackageIndex, home: Home) -> None:
    assert try_run(runtime.session(asker=Person(Answer.REFUSE_ONCE)), "alpha", _RUN) == "refused"
    assert try_run(runtime.session(), "alpha", _RUN) == "consent-needed"
    question = runtime.session("chat").question("run_skill_script", {"name": "alpha", "script": _RUN})
    assert question is not None
    assert question.packages == ("first==1.1", "second==2.0")
    assert index.fetched == []
    assert not (home.prowess / "cache" / "environments-1").exists()


def test_later_runs_need_no_network(runtime: Runtime, index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.session("chat", asker=Person(Answer.ALLOW_ALWAYS)).run("alpha", _RUN)
    monkeypatch.setenv("UV_DEFAULT_INDEX", _NOWHERE)
    with Runtime.open() as later:
        assert said(later.session().run("alpha", _RUN))[:2] == ["1.1", "2.0"]


def test_newer_package_of_the_index_does_not_change_what_was_agreed_to(runtime: Runtime, index: PackageIndex) -> None:
    runtime.session(asker=Person(Answer.ALLOW_ALWAYS)).run("alpha", _RUN)
    index.add_wheel("second", "3.0")
    assert said(runtime.session().run("alpha", _RUN))[1] == "2.0"


def test_packages_that_were_never_fetched_are_refused_offline(
    runtime: Runtime, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", _NOWHERE)
    session = open_agreed(runtime)
    error = refusal(lambda: session.run("alpha", _RUN), Refused)
    assert (error.code, "network" in error.hint) == ("packages-offline", True)
    called = session.call("run_skill_script", {"name": "alpha", "script": _RUN})
    assert (called.is_error, called.data["error"]["code"]) == (True, "packages-offline")
    assert session.run("alpha", "scripts/plain.py").stdout == "plain\n"
    assert [receipt.script for receipt in runtime.runs()] == ["scripts/plain.py"]


def test_grant_without_packages_or_with_others_asks_again(runtime: Runtime, index: PackageIndex, alpha: Path) -> None:
    (alpha / "scripts" / "more.py").write_text(_declare("second==1.0") + "import second; print(second.version)")
    person = Person(Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS)
    session = runtime.session("chat", asker=person)
    for script in ("scripts/plain.py", _RUN, "scripts/more.py", "scripts/plain.py", _RUN, "scripts/more.py"):
        assert session.run("alpha", script).succeeded
    assert [question.packages for question in person.questions] == [(), ("first==1.1", "second==2.0"), ("second==1.0",)]


def test_packages_are_off_where_the_settings_say_so(home: Home, index: PackageIndex) -> None:
    home.write_settings(ONLY_MINE + '[execution]\npackages = "off"\n')
    with Runtime.open() as runtime:
        error = refusal(lambda: open_agreed(runtime).run("alpha", _RUN), Refused)
        assert (error.code, error.hint) == ("packages-off", 'set execution.packages = "ask" in the settings')
        assert try_run(open_agreed(runtime), "alpha", "scripts/plain.py") == "once"


def test_python_that_the_sandbox_has_not_is_a_problem(runtime: Runtime, index: PackageIndex, alpha: Path) -> None:
    (alpha / "scripts" / "new.py").write_text(_declare(requires=">=3.99") + "print('hi')")
    error = refusal(lambda: open_agreed(runtime).run("alpha", "scripts/new.py"), BrokenSkill)
    assert (error.code, "needs Python >=3.99" in error.message) == ("interpreter-missing", True)


@pytest.mark.parametrize(
    "bad", ["first @ http://127.0.0.1/x.whl", "-r /etc/passwd", "../first", "--index-url=http://x"]
)
def test_dependency_that_is_no_name_is_a_problem(runtime: Runtime, index: PackageIndex, alpha: Path, bad: str) -> None:
    (alpha / "scripts" / "bad.py").write_text(_declare(bad) + "print('hi')")
    error = refusal(lambda: open_agreed(runtime).run("alpha", "scripts/bad.py"), BrokenSkill)
    assert isinstance(error, BrokenSkill)
    assert [getattr(problem, "code", "") for problem in error.problems] == ["dependency-refused"]
    assert index.fetched == []


def test_block_that_goes_on_where_no_more_is_read_is_a_problem(runtime: Runtime, alpha: Path) -> None:
    block = _declare("first")
    before = "\n" * (READ_BYTES - block.index("# dependencies"))
    (alpha / "scripts" / "late.py").write_text(f"{before}{block}print('hi')")
    error = refusal(lambda: open_agreed(runtime).run("alpha", "scripts/late.py"), BrokenSkill)
    assert isinstance(error, BrokenSkill)
    assert [getattr(problem, "code", "") for problem in error.problems] == ["script-metadata-bad"]
    assert f"does not end within the first {READ_BYTES:,} bytes" in error.message


def test_keys_that_are_not_obeyed_are_told(runtime: Runtime, alpha: Path) -> None:
    block = '# /// script\n# dependencies = []\n# [tool.uv]\n# index-url = "http://127.0.0.1"\n# ///\n'
    (alpha / "scripts" / "own.py").write_text(f"{block}print('hi')")
    result = open_agreed(runtime).run("alpha", "scripts/own.py")
    assert (result.stdout, result.notices) == ("hi\n", ("the script's block names tool.uv: not obeyed here",))


def test_packages_serve_the_python_that_they_were_locked_for(
    runtime: Runtime, index: PackageIndex, alpha: Path
) -> None:
    facts = runtime.workbench.choose()[1]
    exact = ".".join(map(str, facts.python[:2]))
    script = alpha / "scripts" / "exact.py"
    script.write_text(f"#!/usr/bin/env python{exact}\n" + _declare("second") + "import second; print(second.version)")
    assert open_agreed(runtime).run("alpha", "scripts/exact.py").stdout == "2.0\n"


def test_packages_do_not_come_before_the_system_of_another_script(runtime: Runtime, index: PackageIndex) -> None:
    session = open_agreed(runtime)
    assert session.run("alpha", _RUN).succeeded
    assert session.run("alpha", "scripts/plain.py").receipt.powers == ()
