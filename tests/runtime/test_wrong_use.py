"""What a caller of the library does wrong is said in an error of ours; what a model does wrong, in a result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import ProwessError, SettingsError
from prowess.runtime import Runtime, Session
from tests.skills_on_disk import Home, write_skill


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    write_skill(folder, "alpha", files={"scripts/a.py": "print(1)\n"})
    return folder


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("arguments", [None, 5, [1], "null", "[]"])
def test_arguments_that_are_no_object_are_an_error_result(root: Path, arguments: Any) -> None:
    with Runtime.open(skills=[root]) as runtime, runtime.session() as session:
        result = session.call("activate_skill", arguments)
        assert result.is_error
        assert "the arguments are not a JSON object" in result.content
        assert session.question("activate_skill", arguments) is None


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("tool", [None, 5, ["activate_skill"]])
def test_tool_whose_name_is_no_text_is_an_unknown_one(root: Path, tool: Any) -> None:
    with Runtime.open(skills=[root]) as runtime, runtime.session() as session:
        result = session.call(tool, {})
        assert (result.is_error, result.tool) == (True, str(tool))
        assert result.content.startswith(f"Unknown tool: {tool}")


_WRONG: dict[str, Callable[[Runtime, Session], object]] = {
    "form": lambda runtime, _: runtime.catalog_text("bogus"),  # type: ignore[arg-type]
    "budget": lambda runtime, _: runtime.plan(budget=-5),
    "budget-text": lambda runtime, _: runtime.plan(budget="5"),  # type: ignore[arg-type]
    "switch": lambda runtime, _: runtime.set_switch("alpha", "half"),  # type: ignore[arg-type]
    "decision": lambda runtime, _: runtime.decide("alpha", "x"),  # type: ignore[arg-type]
    "name-decided": lambda runtime, _: runtime.decide(None, "allow"),  # type: ignore[arg-type]
    "name-revoked": lambda runtime, _: runtime.revoke(5),  # type: ignore[arg-type]
    "name-asked": lambda runtime, _: runtime.why(None),  # type: ignore[arg-type]
    "query": lambda runtime, _: runtime.search(None),  # type: ignore[arg-type]
    "session": lambda runtime, _: runtime.session(5),  # type: ignore[arg-type]
    "project": lambda runtime, _: runtime.trust(5),  # type: ignore[arg-type]
    "plugin": lambda runtime, _: runtime.register_skill("a\0b"),
    "name": lambda _, session: session.activate(None),  # type: ignore[arg-type]
    "path": lambda _, session: session.read("alpha", None),  # type: ignore[arg-type]
    "script": lambda _, session: session.run("alpha", 5),  # type: ignore[arg-type]
    "message": lambda _, session: session.receive(None),  # type: ignore[arg-type]
    "folder": lambda _r, _s: Runtime.open(skills=[5]),  # type: ignore[list-item]
    "folders": lambda _r, _s: Runtime.open(skills=5),  # type: ignore[arg-type]
    "nul": lambda _r, _s: Runtime.open(skills=["a\0b"]),
}


@pytest.mark.parametrize("wrong", _WRONG.values(), ids=_WRONG)
def test_value_that_cannot_be_is_named_in_an_error_of_ours(
    root: Path, wrong: Callable[[Runtime, Session], object]
) -> None:
    with Runtime.open(skills=[root]) as runtime, runtime.session() as session:
        with pytest.raises(SettingsError) as caught:
            wrong(runtime, session)
        assert caught.value.code == "bad-argument"
        assert caught.value.hint.startswith("give ")


@pytest.mark.requirement("R37")
def test_choice_may_be_given_by_its_text(root: Path) -> None:
    with Runtime.open(skills=[root]) as runtime:
        runtime.set_switch("alpha", "off")  # type: ignore[arg-type]
        assert runtime.view().names() == ()
        assert runtime.decide("alpha", "allow").decision == "allow"  # type: ignore[arg-type]
        assert runtime.catalog_text("json") == runtime.plan(form="json").text  # type: ignore[arg-type]


_USES: dict[str, Callable[[Runtime, Session], object]] = {
    "catalog": lambda runtime, _: runtime.catalog(),
    "rescan": lambda runtime, _: runtime.rescan(),
    "view": lambda runtime, _: runtime.view(),
    "plan": lambda runtime, _: runtime.plan(),
    "why": lambda runtime, _: runtime.why("alpha"),
    "session": lambda runtime, _: runtime.session(),
    "sessions": lambda runtime, _: runtime.sessions(),
    "end_session": lambda runtime, _: runtime.end_session("x"),
    "usage": lambda runtime, _: runtime.usage(),
    "grants": lambda runtime, _: runtime.grants(),
    "trust": lambda runtime, _: runtime.trust(),
    "sync": lambda runtime, _: runtime.sync(),
    "set_switch": lambda runtime, _: runtime.set_switch("alpha", "off"),  # type: ignore[arg-type]
    "call": lambda _, session: session.call("activate_skill", {"name": "alpha"}),
    "activate": lambda _, session: session.activate("alpha"),
    "deactivate": lambda _, session: session.deactivate("alpha"),
    "active": lambda _, session: session.active(),
    "prompt": lambda _, session: session.prompt(),
    "tools": lambda _, session: session.tools(),
    "receive": lambda _, session: session.receive("hello"),
    "forget_context": lambda _, session: session.forget_context(),
    "reattach": lambda _, session: session.reattach(),
    "mounts": lambda _, session: session.mounts(),
    "end": lambda _, session: session.end(),
}


@pytest.mark.parametrize("use", _USES.values(), ids=_USES)
def test_runtime_that_is_closed_says_so_and_writes_nothing(
    home: Home, root: Path, use: Callable[[Runtime, Session], object]
) -> None:
    runtime = Runtime.open(skills=[root])
    session = runtime.session()
    session.activate("alpha")
    runtime.close()
    before = {path: path.stat().st_mtime_ns for path in home.prowess.rglob("*")}
    with pytest.raises(ProwessError) as caught:
        use(runtime, session)
    assert caught.value.code == "runtime-closed"
    assert {path: path.stat().st_mtime_ns for path in home.prowess.rglob("*")} == before


def test_session_and_runtime_may_be_closed_in_any_order_and_twice(root: Path) -> None:
    runtime = Runtime.open(skills=[root])
    session = runtime.session()
    runtime.close()
    session.close()
    runtime.close()
