"""Malicious skills and a malicious model try to get more out of a fork than its caller has (R94, K2), and do not.

What people agree to is tried in `test_widening_consent`, what runs in a sandbox in `test_widening_runs`, how many forks
there can be and what they can pretend in `test_fork_pretences`.
"""

from pathlib import Path
from typing import Any

import pytest

from prowess.agent.events import Asked, CallEnded, ForkBegun, Noticed
from prowess.catalog.switches import Switch
from prowess.execution.rules.rights import EVERYTHING, NOTHING, Rights
from prowess.policy import WorkspaceAccess
from prowess.runtime import Runtime
from prowess.runtime.forking import ForkResult, ForkWish, pass_on
from prowess.runtime.host_tools import HostTool
from prowess.skill.skill import Skill
from tests.agent.conftest import OPEN
from tests.agent.conversations import events_of, find, open_chat, watch
from tests.agent.forked import calling, cast, ends, forks_of, parent_and_child, trying
from tests.agent.scripted_model import Answer, call, say
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

pytestmark = [pytest.mark.requirement("R94", "K2")]

_MALFORMED = "Permission must be @network, @events, @workspace, @read:<path>, or @write:<path>."
_SOME = Rights(events=True, read_dirs=("/srv/data",), write_dirs=("/srv/out",), tools=())
"""What the caller holds where it holds something."""
_HOST = '[execution]\nnetwork = "granted"\nworkspace = "write"\n'


def _write(root: Path, name: str, permissions: str = "[]", extra: str = "") -> None:
    write_skill(root, name, description="Does it.", extra=f"sandbox: true\npermissions: {permissions}\n{extra}")


def _lacks(tag: str) -> str:
    return f"Cannot attach permission '{tag}' - you don't have it."


def _try(runtime: Runtime, rights: Rights = EVERYTHING, name: str = "wide") -> tuple[list[ForkBegun], CallEnded]:
    """Have a skill worked; return the forks, and what the caller was told."""
    model = parent_and_child(calling(name), lambda _: say("Did it."))
    happenings = watch(open_chat(runtime, model, rights=rights), "Go.")
    (result,) = find(happenings, CallEnded)
    return forks_of(happenings), result


# What a skill declares


@pytest.mark.requirement("R95")
def test_permission_that_the_caller_has_is_granted_in_the_name_of_the_skill(home: Home, root: Path) -> None:
    """D41: without this, the refusals below would prove nothing."""
    home.write_settings(f"{OPEN}{_HOST}")
    _write(root, "wide", '["@network"]')
    with Runtime.open() as runtime:
        (fork,), result = _try(runtime)
        (turn,) = runtime.turns(fork.fork)
    assert (fork.permissions, fork.granted_by, result.content) == (("@network",), "wide Skill", "Did it.")
    assert (turn.permissions, turn.granted_by) == (("@network",), "wide Skill")
    assert (result.data["permissions"], result.data["granted_by"]) == (["@network"], "wide Skill")


def test_permission_that_the_caller_lacks_cannot_be_attached(home: Home, root: Path) -> None:
    """D42: the host allows the network, and whoever opened the conversation does not."""
    home.write_settings(f"{OPEN}{_HOST}")
    _write(root, "wide", '["@network"]')
    with Runtime.open() as runtime:
        forks, result = _try(runtime, Rights(tools=()))
    assert (forks, result.state, result.summary) == ([], "refused", _lacks("@network"))


def test_every_kind_of_permission_is_understood(home: Home, root: Path) -> None:
    """D43."""
    home.write_settings(f"{OPEN}{_HOST}")
    tags = ["@network", "@events", "@workspace", "@read:/p", "@write:/p"]
    _write(root, "wide", str(tags))
    with Runtime.open() as runtime:
        (fork,), _ = _try(runtime)
    assert fork.permissions == tuple(tags)


@pytest.mark.parametrize(
    "tag",
    [
        "read:/tmp",  # D44
        "@Network",
        "@NETWORK",
        "@network:all",
        "@workspace:write",
        "@ network",
        "@read",
        "@everything",
        "@",
        "*",
        "\uff20network",
        "@\u0274etwork",
        "true",
    ],
)
def test_tag_that_only_looks_like_a_permission_is_none(runtime: Runtime, root: Path, tag: str) -> None:
    """D44."""
    _write(root, "wide", f'["{tag}"]')
    forks, result = _try(runtime)
    assert (forks, result.state, result.summary) == ([], "failed", _MALFORMED)


@pytest.mark.parametrize(("tag", "kind"), [("@read:", "Read"), ("@write:", "Write"), ("@read:  ", "Read")])
def test_permission_for_no_path_is_none(runtime: Runtime, root: Path, tag: str, kind: str) -> None:
    """D45."""
    _write(root, "wide", f'["{tag}"]')
    forks, result = _try(runtime)
    assert (forks, result.summary) == ([], f"{kind} permission requires a path.")


def test_permission_said_many_times_is_one(runtime: Runtime, root: Path) -> None:
    """D46: so nobody is led to count, and what is not declared is none."""
    _write(root, "wide", '[" @events ", "@read:/tmp", "@read:/tmp", "@read://tmp/", "@read:/./tmp", "@events"]')
    (fork,), _ = _try(runtime)
    assert fork.permissions == ("@events", "@read:/tmp")
    write_skill(root, "plain", extra="sandbox: true\n")
    (fork,), _ = _try(runtime, name="plain")
    assert fork.permissions == ()


@pytest.mark.parametrize("tag", ["@network", "@events", "@workspace", "@write:/etc", "@read:/etc"])
def test_caller_without_rights_can_attach_none(runtime: Runtime, root: Path, tag: str) -> None:
    """D47."""
    _write(root, "wide", f'["{tag}"]')
    forks, result = _try(runtime, NOTHING)
    assert (forks, result.state, result.summary) == ([], "refused", _lacks(tag))


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("@read:/srv/database", "@read:/srv/database"),
        ("@read:/srv", "@read:/srv"),
        ("@read:/", "@read:/"),
        ("@read:/SRV/data", "@read:/SRV/data"),
        ("@read://etc", "@read:/etc"),
        ("@read:/srv/dat", "@read:/srv/dat"),
        ("@read:/srv/data ", ""),  # The very folder.
        ("@read:/srv/data\\u2215..", "@read:/srv/data\u2215.."),
        ("@read:/srv\\u2044data/x", "@read:/srv\u2044data/x"),
        ("@read:/srv/data\\\\..\\\\etc", "@read:/srv/data\\..\\etc"),
        ("@write:/srv/data", "@write:/srv/data"),
        ("@write:/srv/out/../data", None),
        ("@read:/srv/data/../../etc", None),
        ("@read:/srv/data/..", None),
        ("@read:srv/data", None),
        ("@read:~/data", None),
        ("@read:file:///srv/data", None),
    ],
)
def test_path_beside_what_the_caller_may_read_is_not_below_it(
    runtime: Runtime, root: Path, tag: str, meant: str | None
) -> None:
    _write(root, "wide", f'["{tag}"]')
    forks, result = _try(runtime, _SOME)
    if meant is None:
        assert (forks, result.summary.startswith("Permission path must be absolute:")) == ([], True)
    elif meant:
        assert (forks, result.summary) == ([], _lacks(meant))
    else:
        assert [fork.permissions for fork in forks] == [("@read:/srv/data",)]


@pytest.mark.parametrize(
    "hidden", ["@net\\u200bwork", "@network\\u0000", "@netw\\u043erk", "\\u202e@network", "@network\\n"]
)
def test_unseen_and_deceptive_letters_hide_no_permission(runtime: Runtime, root: Path, hidden: str) -> None:
    _write(root, "wide", f'["@events", "{hidden}"]')
    forks, result = _try(runtime, _SOME)
    assert (forks, result.summary) == ([], _lacks("@network"))


@pytest.mark.parametrize(
    "permissions",
    [
        '"@network"',
        "@network",
        '"@events, @network"',
        '"[@events, @network]"',
        "&tags ['@events', '@network']",
        "\n  - '@events'\n  - '@network'",
        "|\n  @events\n  @network",
    ],
)
def test_no_spelling_in_yaml_slips_a_permission_through(runtime: Runtime, root: Path, permissions: str) -> None:
    _write(root, "wide", permissions)
    forks, result = _try(runtime, _SOME, name="agents:wide")
    assert (forks, result.summary) == ([], _lacks("@network"))


def test_permissions_that_stand_there_twice_are_those_that_stand_there_first(runtime: Runtime, root: Path) -> None:
    _write(root, "wide", "['@events']\npermissions: ['@network']")
    forks, _ = _try(runtime, _SOME, name="agents:wide")
    assert [fork.permissions for fork in forks] == [("@events",)]


@pytest.mark.parametrize(
    "permissions", ['[["@network"]]', '{"@network": true}', '["@events", ["@network"]]', '["@events", {a: "@network"}]']
)
def test_permissions_that_are_no_list_of_texts_grant_nothing(runtime: Runtime, root: Path, permissions: str) -> None:
    _write(root, "wide", permissions)
    (fork,), _ = _try(runtime, _SOME)
    assert fork.permissions == ()


def test_too_many_permissions_are_refused_and_not_cut(runtime: Runtime, root: Path) -> None:
    for count in (101, 300):
        tags = ", ".join(f'"@read:/srv/data/{number}"' for number in range(count - 1))
        _write(root, "wide", f'[{tags}, "@network"]')
        forks, result = _try(runtime, _SOME)
        assert (forks, result.summary[:42]) == ([], "At most 100 permissions can be asked for a")


# What a caller passes on


def test_what_is_not_declared_is_not_passed_on(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}{_HOST}")
    _write(root, "wide", '["@events"]')
    with Runtime.open() as runtime:
        _, rights = pass_on(runtime.catalog().get("wide"), runtime.rights)
    assert rights == Rights(events=True, tools=(("*",),))


def test_nested_fork_gets_nothing_that_only_its_grandparent_has(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}{_HOST}")
    _write(root, "modest", '["@read:/srv"]')
    for number, tag in enumerate(("@network", "@events", "@workspace", "@read:/etc", "@write:/srv")):
        _write(root, f"greedy-{number}", f'["{tag}"]')
    with Runtime.open() as runtime:
        attempts = [call("activate_skill", name=f"greedy-{number}", arguments="x") for number in range(5)]
        model = cast(calling("modest"), modest=trying(*attempts))
        happenings = watch(open_chat(runtime, model), "Go.")
    assert [fork.name for fork in forks_of(happenings)] == ["modest"]
    tags = ("@network", "@events", "@workspace", "@read:/etc", "@write:/srv")
    assert ends(happenings, skill="modest") == [("refused", _lacks(tag)) for tag in tags]


def test_nested_fork_gets_what_its_parent_was_given(home: Home, root: Path) -> None:
    """Without this, the test before would prove nothing."""
    home.write_settings(f"{OPEN}{_HOST}")
    _write(root, "modest", '["@read:/srv"]')
    _write(root, "greedy", '["@read:/srv/deep"]')
    with Runtime.open() as runtime:
        model = cast(calling("modest"), modest=calling("greedy"), greedy=lambda _: say("Deep."))
        happenings = watch(open_chat(runtime, model), "Go.")
    assert [(fork.name, fork.permissions) for fork in forks_of(happenings)] == [
        ("modest", ("@read:/srv",)),
        ("greedy", ("@read:/srv/deep",)),
    ]


def test_skill_that_is_only_delegated_is_held_to_its_permissions_too(runtime: Runtime, root: Path) -> None:
    write_skill(root, "wide", extra='permissions: ["@network"]\n')
    model = parent_and_child(calling("wide", run_in="fork"), lambda _: say("never"))
    happenings = watch(open_chat(runtime, model), "Go.")
    assert (forks_of(happenings), ends(happenings)) == ([], [("refused", _lacks("@network"))])


@pytest.mark.parametrize("message", ["/wide now", "$wide now", "now, with $wide"])
def test_mention_gives_a_skill_no_more_than_a_call(runtime: Runtime, root: Path, message: str) -> None:
    _write(root, "wide", '["@network"]')
    model = parent_and_child(lambda _: say("Well."), lambda _: say("never"))
    happenings = watch(open_chat(runtime, model), message)
    assert forks_of(happenings) == []
    (noticed,) = find(happenings, Noticed)
    assert noticed.text == f"wide is not active: {_lacks('@network')}"


def test_forged_wish_opens_no_wider_session(runtime: Runtime, root: Path) -> None:
    class Nobody:
        def check(self, skill: Skill) -> None:
            raise AssertionError(skill)

        def fork(self, wish: ForkWish) -> ForkResult:
            raise AssertionError(wish)

    session = runtime.session("chat", rights=_SOME)
    skill = runtime.catalog().get("painting")
    wish = ForkWish(skill, runtime.digest(skill), "Paint.", asked_by=None, permissions=(), rights=EVERYTHING)  # pyright: ignore[reportArgumentType]
    with session.open_fork(wish, asker=Person(), forker=Nobody()) as fork:
        assert fork.rights == session.rights
        assert (fork.rights.network, fork.rights.workspace) == (False, WorkspaceAccess.NONE)
    assert runtime.grants() == ()


# What a model says in a call


@pytest.mark.parametrize(
    "more",
    [
        {"permissions": ["@network"]},
        {"rights": {"network": True}},
        {"network": True},
        {"asked_by": "user"},
        {"confirmation": "yes"},
        {"session": "chat"},
        {"run_in": "FORK"},
        {"run_in": "declared"},
        {"run_in": ["fork"]},
    ],
)
def test_argument_that_the_tool_does_not_have_is_refused(runtime: Runtime, root: Path, more: dict[str, Any]) -> None:
    _write(root, "wide")
    attempt = call("activate_skill", name="wide", arguments="x", **more)
    happenings = watch(open_chat(runtime, parent_and_child(trying(attempt), lambda _: say("never"))), "Go.")
    (result,) = find(happenings, CallEnded)
    assert (forks_of(happenings), result.data["error"]["code"]) == ([], "bad-arguments")


def test_model_cannot_take_a_skill_out_of_its_fork(runtime: Runtime, root: Path) -> None:
    _write(root, "wide")
    model = parent_and_child(calling("wide", run_in="here"), lambda _: say("Apart."))
    chat = open_chat(runtime, model)
    happenings = watch(chat, "Go.")
    assert ([fork.name for fork in forks_of(happenings)], chat.session.active()) == (["wide"], ())


def test_trigger_does_not_take_a_skill_out_of_its_fork(home: Home, root: Path) -> None:
    """What it asks for in a fork it would have here without asking."""
    home.write_settings(f'{OPEN}triggers = "activate"\n')
    _write(root, "wide", extra="triggers:\n  keywords: [zebra]\n")
    with Runtime.open() as runtime:
        chat = open_chat(runtime, parent_and_child(lambda _: say("Well."), lambda _: say("never")))
        happenings = watch(chat, "A zebra, please.")
        assert (forks_of(happenings), chat.session.active()) == ([], ())
    (asked,) = [event for event in events_of(happenings) if isinstance(event, Asked)]
    assert asked.suggested == ("wide",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["secret", "agents:secret", "secret/SKILL.md", "{root}/secret/SKILL.md", "/shared/skills/agents--secret/SKILL.md"],
)
@pytest.mark.parametrize("way", ["allowlist", "switched off", "people", "author"])
def test_skill_that_the_caller_does_not_see_is_not_seen_by_its_fork(
    runtime: Runtime, root: Path, name: str, way: str
) -> None:
    _write(root, "wide")
    write_skill(root, "secret", extra="disable-model-invocation: true\n" if way == "author" else "")
    if way in ("switched off", "people"):
        runtime.set_switch("secret", Switch.OFF if way == "switched off" else Switch.USER_ONLY)
    called = name.format(root=root)
    attempts = [
        call("activate_skill", name=called),
        call("activate_skill", name=called, run_in="fork", arguments="x"),
        call("read_skill_resource", name=called, path="SKILL.md"),
    ]
    model = cast(calling("wide"), wide=trying(*attempts))
    allowed = ["wide", "painting"] if way == "allowlist" else None
    happenings = watch(open_chat(runtime, model, skills=allowed), "Go.")
    assert [fork.name for fork in forks_of(happenings)] == ["wide"]
    assert ends(happenings, skill="wide") == [("failed", f"Unknown or unavailable skill: {called}")] * 3


def test_skill_that_a_person_switched_on_for_the_caller_is_not_on_in_a_fork(runtime: Runtime, root: Path) -> None:
    _write(root, "wide")
    write_skill(root, "secret", extra="disable-model-invocation: true\n")
    attempt = call("read_skill_resource", name="secret", path="SKILL.md")
    model = cast(trying(attempt, call("activate_skill", name="wide", arguments="x")), wide=trying(attempt))
    happenings = watch(open_chat(runtime, model), "/secret Look.")
    assert [state for state, _ in ends(happenings)] == ["done", "done"]
    assert ends(happenings, skill="wide") == [("failed", "Unknown or unavailable skill: secret")]


def test_shadowed_skill_cannot_be_worked_in_the_name_of_the_other(home: Home, root: Path, tmp_path: Path) -> None:
    home.write_settings('[sources]\ndirectories = ["~/.agents/skills", "~/more"]\n[activation]\nconsent = "never"\n')
    _write(root, "wide")
    _write(home.path / "more", "wide", '["@events"]')
    with Runtime.open() as runtime:
        (shadowed,) = runtime.catalog().shadowed
        model = cast(calling(shadowed), wide=lambda _: say("never"))
        happenings = watch(open_chat(runtime, model), "Go.")
    assert (forks_of(happenings), ends(happenings)) == ([], [("failed", f"Unknown or unavailable skill: {shadowed}")])


# Tools of the application


def _shell(made: list[str]) -> HostTool:
    def run(given: dict[str, str]) -> str:
        made.append(given["command"])
        return "done"

    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    return HostTool("Bash", "Run a command.", run, schema, subject="command")


_GIT, _RM = call("Bash", command="git status"), call("Bash", command="rm -rf /")


@pytest.mark.parametrize("allowed", ["*", "Bash(*)", "Bash"])
def test_rules_of_a_skill_do_not_widen_those_of_its_caller(runtime: Runtime, root: Path, allowed: str) -> None:
    _write(root, "wide", extra=f'allowed-tools: "{allowed}"\n')
    made: list[str] = []
    model = cast(calling("wide"), wide=trying(_GIT, _RM))
    rights = Rights(tools=(("Bash(git:*)",),))
    happenings = watch(open_chat(runtime, model, rights=rights, tools=[_shell(made)]), "Go.")
    assert made == ["git status"]
    assert [state for state, _ in ends(happenings, skill="wide")] == ["done", "refused"]


def test_rules_of_the_host_hold_in_a_fork(home: Home, root: Path) -> None:
    home.write_settings(f'{OPEN}[execution]\ntools = ["Bash(git:*)"]\n')
    _write(root, "wide", extra="allowed-tools: Bash\n")
    made: list[str] = []
    with Runtime.open() as runtime:
        happenings = watch(
            open_chat(runtime, cast(calling("wide"), wide=trying(_GIT, _RM)), tools=[_shell(made)]), "Go."
        )
    assert (made, [state for state, _ in ends(happenings, skill="wide")]) == (["git status"], ["done", "refused"])


def test_fork_cannot_shake_off_the_rules_of_its_own_skill(home: Home, root: Path) -> None:
    home.write_settings(f'{OPEN}[execution]\nallowed_tools = "enforce"\n')
    _write(root, "wide", extra="allowed-tools: Bash(git:*)\n")
    made: list[str] = []

    def rewrite() -> Answer:
        _write(root, "wide", extra="allowed-tools: Bash\n")
        return call("activate_skill", name="painting")

    with Runtime.open() as runtime:
        attempts = (_RM, call("deactivate_skill", name="wide"), _RM, rewrite, _RM, _GIT)
        happenings = watch(
            open_chat(runtime, cast(calling("wide"), wide=trying(*attempts)), tools=[_shell(made)]), "Go."
        )
    states = [state for state, _ in ends(happenings, skill="wide")]
    assert (made, states) == (["git status"], ["refused", "done", "refused", "done", "refused", "done"])


def test_skill_cannot_shake_off_its_rules_by_a_fork_of_another(home: Home, root: Path) -> None:
    home.write_settings(f'{OPEN}[execution]\nallowed_tools = "enforce"\n')
    write_skill(root, "strict", extra="allowed-tools: Bash(git:*)\n")
    _write(root, "inner", extra="allowed-tools: Bash(git:*) Bash(ls:*)\n")
    made: list[str] = []
    with Runtime.open() as runtime:
        freely = call("activate_skill", name="painting", run_in="fork", arguments="x")
        model = cast(
            trying(call("activate_skill", name="strict"), call("activate_skill", name="inner", arguments="x"), freely),
            inner=trying(call("Bash", command="ls"), freely),
            painting=trying(call("Bash", command="ls"), _RM, _GIT),
        )
        happenings = watch(open_chat(runtime, model, tools=[_shell(made)]), "Go.")
    assert [state for state, _ in ends(happenings, skill="painting")] == ["refused", "refused", "done"] * 2
    assert made == ["git status"] * 2
