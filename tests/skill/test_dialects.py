"""Every field of every dialect comes to rest in the one model."""

import os
import subprocess
import sys

import pytest

from prowess.policy import PROFILES
from prowess.skill.dialects import FIELDS, KNOWN_KEYS, OWN_KEYS, SIDECAR_PATH, Additions, Fault, read_behaviour
from prowess.skill.manifest import (
    Argument,
    Behaviour,
    Command,
    Interface,
    Requirements,
    Secret,
    ToolDependency,
    Triggers,
)
from prowess.skill.problems import Severity
from prowess.skill.reading import Judgement, parse_skill
from tests.skill.writing import STANDARD, judge, places, skill_md

_REQUIRED = "name: pdf\ndescription: d\n"
_SECRETS = (Secret("API_KEY"), Secret("TOKEN"))


def _requires(requirements: Requirements) -> Behaviour:
    return Behaviour(requires=requirements)


def _judge_with_sidecar(sidecar: bytes, frontmatter: str = "") -> Judgement:
    return parse_skill(skill_md(_REQUIRED + frontmatter), folder="pdf", reading=STANDARD, sidecar=sidecar)


@pytest.mark.requirement("R11", "K10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Our own documents
        ("sandbox: true", Behaviour(forks=True)),
        ("permissions:\n  - '@network'\n  - '@read:/tmp'", Behaviour(permissions=("@network", "@read:/tmp"))),
        ("tools: [voice_agent_create, x]", Behaviour(tools=("voice_agent_create", "x"))),
        ("toolsets: ['toolsets/index:MyToolset']", Behaviour(toolsets=("toolsets/index:MyToolset",))),
        ("triggers: [Word, docx file, 文档]", Behaviour(triggers=Triggers(keywords=("Word", "docx file", "文档")))),
        ("triggers: fill a form, sign it", Behaviour(triggers=Triggers(keywords=("fill a form", "sign it")))),
        (
            "triggers:\n  keywords: [pdf]\n  verbs: fill, sign\n  patterns: ['\\.pdf$']",
            Behaviour(triggers=Triggers(("pdf",), ("fill", "sign"), ("\\.pdf$",))),
        ),
        ("requires: git uv", _requires(Requirements(binaries=("git", "uv")))),
        (
            "requires: {bins: [git], anyBins: 'rg, grep', env: [HOME], os: 'darwin,linux', python: '>=3', config: c.d}",
            _requires(
                Requirements(
                    binaries=("git",),
                    any_binaries=("rg", "grep"),
                    environment=("HOME",),
                    systems=("macos", "linux"),
                    python=">=3",
                    configuration=("c.d",),
                )
            ),
        ),
        (
            "requires:\n  tools: [Bash]\n  platforms: Windows",
            _requires(Requirements(tools=("Bash",), systems=("windows",))),
        ),
        ("metadata:\n  requires: git uv", _requires(Requirements(binaries=("git", "uv")))),
        ("metadata:\n  requires:\n    bins: [lark-cli]", _requires(Requirements(binaries=("lark-cli",)))),
        ("secrets: [API_KEY, TOKEN]", Behaviour(secrets=_SECRETS)),
        ("secrets: {API_KEY: the key}", Behaviour(secrets=(Secret("API_KEY", "the key"),))),
        # Claude Code
        ("disable-model-invocation: true", Behaviour(model_invocable=False)),
        ("disable-model-invocation: false", Behaviour()),
        ("user-invocable: no", Behaviour(user_invocable=False)),
        ("user_invocable: off", Behaviour(user_invocable=False)),
        ("when_to_use: When asked\n  to fill", Behaviour(when_to_use="When asked to fill")),
        ("argument-hint: <path> [mode]", Behaviour(argument_hint="<path> [mode]")),
        ("argument-hint: [issue-number]", Behaviour(argument_hint="[issue-number]")),
        ("arguments: file mode", Behaviour(arguments=(Argument("file"), Argument("mode")))),
        ("arguments: [file, mode]", Behaviour(arguments=(Argument("file"), Argument("mode")))),
        (
            "arguments:\n  - name: idea\n    description: One line\n    required: true",
            Behaviour(arguments=(Argument("idea", "One line", required=True),)),
        ),
        ("disallowed-tools: Bash(rm *), Write", Behaviour(disallowed_tools=("Bash(rm *)", "Write"))),
        ("disallowed-tools: Write Bash(rm *", Behaviour(disallowed_tools=("Write", "Bash"))),
        ("context: fork", Behaviour(forks=True)),
        ("background: false", Behaviour(background=False)),
        ("model: opus", Behaviour(model="opus")),
        ("effort: high", Behaviour(effort="high")),
        ("agent: Explore", Behaviour(agent="Explore")),
        ("shell: powershell", Behaviour(shell="powershell")),
        ("paths: '**/*.py, docs/**'", Behaviour(paths=("**/*.py", "docs/**"))),
        ("hooks:\n  PreToolUse:\n    - matcher: Bash\n  Stop: []", Behaviour(hooks=("PreToolUse", "Stop"))),
        # Codex
        ("metadata:\n  short-description: Forms", Behaviour(interface=Interface(short_description="Forms"))),
        # OpenClaw
        ("homepage: https://x.y", Behaviour(interface=Interface(homepage="https://x.y"))),
        (
            "command-dispatch: tool\ncommand-tool: pdf_fill\ncommand-arg-mode: raw",
            Behaviour(command=Command("pdf_fill")),
        ),
        (
            "metadata: {openclaw: {always: true, os: [win32], primaryEnv: API_KEY, emoji: X, homepage: h}}",
            Behaviour(
                requires=Requirements(systems=("windows",), always=True),
                secrets=(Secret("API_KEY"),),
                interface=Interface(emoji="X", homepage="h"),
            ),
        ),
        (
            "metadata: {openclaw: {requires: {bins: [uv], anyBins: [a, b], env: [E], config: [c.d]}, os: linux}}",
            Behaviour(
                requires=Requirements(
                    binaries=("uv",),
                    any_binaries=("a", "b"),
                    environment=("E",),
                    systems=("linux",),
                    configuration=("c.d",),
                ),
            ),
        ),
        (
            "metadata:\n  clawdbot:\n    emoji: X\n    os: darwin, linux",
            Behaviour(requires=Requirements(systems=("macos", "linux")), interface=Interface(emoji="X")),
        ),
        (
            'metadata: \'{"openclaw": {"requires": {"bins": ["uv"]}, "always": true}}\'',
            _requires(Requirements(binaries=("uv",), always=True)),
        ),
        ("metadata: {openclaw: {requires: {bins: [uv]}}}", _requires(Requirements(binaries=("uv",)))),
        # Hermes
        ("platforms: [macos, windows]", _requires(Requirements(systems=("macos", "windows")))),
        ("platforms: plan9", _requires(Requirements(systems=("plan9",)))),
        ("required_environment_variables: [API_KEY, TOKEN]", Behaviour(secrets=_SECRETS)),
        (
            "required_environment_variables: [{name: API_KEY, prompt: Your key}, {env_var: TOKEN, optional: true}]",
            Behaviour(secrets=(Secret("API_KEY", "Your key"), Secret("TOKEN", optional=True))),
        ),
        (
            "setup:\n  collect_secrets:\n    - env_var: API_KEY\n      prompt: Key",
            Behaviour(secrets=(Secret("API_KEY", "Key"),)),
        ),
        (
            "prerequisites:\n  env_vars: API_KEY\n  commands: [git]",
            Behaviour(secrets=(Secret("API_KEY"),), requires=Requirements(binaries=("git",))),
        ),
        (
            "metadata:\n  hermes:\n    requires_tools: [web]\n    tags: [a, b]",
            Behaviour(requires=Requirements(tools=("web",))),
        ),
        # Roo
        ("modeSlugs: [code, ask]", Behaviour(modes=("code", "ask"))),
        ("mode: architect", Behaviour(modes=("architect",))),
    ],
)
def test_field_of_a_dialect_is_read_into_the_model(text: str, expected: Behaviour) -> None:
    found = judge(f"{_REQUIRED}{text}\n")
    assert found.manifest is not None
    assert found.manifest.behaviour == expected
    assert [problem for problem in found.problems if problem.severity is not Severity.INFO] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('argument-hint: ["a\u202eb", c\u200bd]', Behaviour(argument_hint="[ab, cd]")),
        ("arguments: fi\u200ble \u202emode \u200b", Behaviour(arguments=(Argument("file"), Argument("mode")))),
        ('arguments: ["fi\u200ble", "\u200b"]', Behaviour(arguments=(Argument("file"),))),
    ],
)
def test_what_nobody_sees_is_taken_out_of_what_people_are_shown(text: str, expected: Behaviour) -> None:
    found = judge(f"{_REQUIRED}{text}\n")
    assert found.manifest is not None
    assert found.manifest.behaviour == expected
    assert [problem.code for problem in found.problems] == ["invisible-characters"]


@pytest.mark.requirement("R8", "K10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("allowedTools: [read_file, run_shell_command]\n", ("read_file", "run_shell_command")),
        ("allowed-tools: Read\nallowedTools: [read_file]\n", ("Read",)),
        ("allowed-tools: ''\nallowedTools: [read_file]\n", ()),
    ],
)
def test_another_agents_allowed_tools_count_where_the_standards_key_is_absent(
    text: str, expected: tuple[str, ...] | None
) -> None:
    manifest = judge(_REQUIRED + text).manifest
    assert manifest is not None
    assert manifest.allowed_tools == expected
    assert manifest.additions is None


@pytest.mark.requirement("K10")
def test_codex_sidecar_is_read() -> None:
    found = _judge_with_sidecar(
        b"interface:\n  display_name: PDF\n  short_description: Forms\n  default_prompt: Fill it\n"
        b"  icon_small: assets/i.png\n  brand_color: '#112233'\n"
        b"policy:\n  allow_implicit_invocation: false\n"
        b"dependencies:\n  tools:\n    - type: mcp\n      value: docs\n      description: D\n"
        b"      transport: streamable_http\n      url: https://x.y\n    - type: mcp\n"
    )
    assert found.problems == ()
    assert found.manifest is not None
    assert found.manifest.behaviour == Behaviour(
        model_invocable=False,
        dependencies=(ToolDependency("mcp", "docs", "D", "streamable_http", "", "https://x.y"),),
        interface=Interface("PDF", "Forms", "Fill it", "assets/i.png", "#112233"),
    )


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("sidecar", "line", "column"),
    [
        pytest.param(b"interface: [\n", 2, 1, id="no YAML"),
        pytest.param(b"- a\n", 1, 1, id="no map"),
        pytest.param(b"\xff\xfe", 1, 1, id="not UTF-8"),
        pytest.param(b"a: " + b"x" * 65_536, 1, 1, id="too large"),
        pytest.param(b"a: &a [*a]\n", 1, 8, id="a cycle"),
    ],
)
def test_broken_sidecar_is_left_out_with_a_warning(sidecar: bytes, line: int, column: int) -> None:
    found = _judge_with_sidecar(sidecar)
    assert found.manifest is not None
    assert found.manifest.additions is None
    assert places(found.problems) == [("sidecar-invalid", Severity.WARNING, line, column)]
    assert found.problems[0].path == SIDECAR_PATH


@pytest.mark.parametrize("sidecar", [b"", b"# nothing\n", b"\xef\xbb\xbfinterface: {}\r\n", b"unknown: key\n"])
def test_sidecar_that_asks_for_nothing_changes_nothing(sidecar: bytes) -> None:
    found = _judge_with_sidecar(sidecar)
    assert found.manifest is not None
    assert (found.manifest.additions, found.problems) == (None, ())


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("frontmatter", "sidecar"),
    [
        ("disable-model-invocation: true\n", b"policy: {allow_implicit_invocation: true}\n"),
        ("disable-model-invocation: false\n", b"policy: {allow_implicit_invocation: false}\n"),
    ],
)
def test_of_two_permissions_the_narrower_holds(frontmatter: str, sidecar: bytes) -> None:
    manifest = _judge_with_sidecar(sidecar, frontmatter).manifest
    assert manifest is not None
    assert manifest.behaviour == Behaviour(model_invocable=False)


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags: a, b c", ("a", "b c")),
        ("tags: '[a, \"b\"]'", ("a", "b")),
        ("keywords: [a]", ("a",)),
        ("metadata:\n  tags: [a]\n  keywords: [b, a]", ("a", "b")),
        ("tags: [a, b]\nmetadata:\n  tags: [b, c]\n  hermes:\n    tags: [d]", ("a", "b", "c", "d")),
    ],
)
def test_tags_are_gathered_from_all_their_places(text: str, expected: tuple[str, ...]) -> None:
    manifest = judge(f"{_REQUIRED}{text}\n").manifest
    assert manifest is not None
    assert manifest.tags == expected


@pytest.mark.requirement("K10")
def test_lists_in_two_spellings_are_joined() -> None:
    manifest = judge(f"{_REQUIRED}modeSlugs: [a, b]\nmode: c\n").manifest
    assert manifest is not None
    assert manifest.behaviour == Behaviour(modes=("a", "b", "c"))


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("sandbox: perhaps", "sandbox should be true or false; it is left out", 4, 1),
        ("context: inline", "context should be fork; it is left out", 4, 1),
        ("permissions: {a: b}", "permissions should be a list of texts; it is left out", 4, 1),
        ("permissions: [[a]]", "permissions should be a list of texts; it is left out", 4, 1),
        ("model: [a]", "model should be a text; it is left out", 4, 1),
        ("hooks: [a]", "hooks should be a map; it is left out", 4, 1),
        ("disallowed-tools: {a: b}", "disallowed-tools should be tool patterns; it is left out", 4, 1),
        ("secrets: ['not a name']", "secrets should be names of variables; it is left out", 4, 1),
        ("arguments: {a: b}", "arguments should be names, or maps with a name; it is left out", 4, 1),
        ("triggers: {keywords: {a: b}}", "triggers should be keywords, verbs and patterns; it is left out", 4, 1),
        ("setup:\n  collect_secrets: [1x]", "setup.collect_secrets should be names of variables; it is left out", 5, 3),
        (
            "metadata:\n  openclaw:\n    always: perhaps",
            "metadata.openclaw.always should be true or false; it is left out",
            6,
            5,
        ),
    ],
)
def test_value_that_cannot_be_used_is_left_out_with_its_place(text: str, message: str, line: int, column: int) -> None:
    found = judge(f"{_REQUIRED}{text}\n")
    assert found.manifest is not None
    assert found.manifest.additions is None
    faults = [problem for problem in found.problems if problem.code == "field-invalid"]
    assert places(faults) == [("field-invalid", Severity.WARNING, line, column)]
    assert faults[0].message == message


def test_fault_names_the_path_and_what_was_wanted() -> None:
    assert read_behaviour({"sandbox": ["x"]}, None, keys=["sandbox"]) == Additions(
        faults=(Fault(("sandbox",), "true or false"),)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("secrets: [API_KEY, 'not a name', TOKEN]", Behaviour(secrets=_SECRETS)),
        ("arguments: [{name: a}, {description: no name}]", Behaviour(arguments=(Argument("a"),))),
    ],
)
def test_items_that_cannot_be_used_are_left_out_of_a_list(text: str, expected: Behaviour) -> None:
    manifest = judge(f"{_REQUIRED}{text}\n").manifest
    assert manifest is not None
    assert manifest.behaviour == expected


@pytest.mark.parametrize(
    "text", ["model:", "tags: []", "metadata: {}", "version: 1", "category: x", "environments: docker"]
)
def test_empty_and_merely_informative_keys_ask_for_nothing(text: str) -> None:
    found = judge(f"{_REQUIRED}{text}\n")
    assert found.manifest is not None
    assert found.manifest.behaviour == Behaviour()
    assert found.problems == ()


def test_long_list_is_cut_at_its_cap() -> None:
    manifest = judge(f"{_REQUIRED}tools: [{', '.join(f't{index}' for index in range(300))}]\n").manifest
    assert manifest is not None
    assert manifest.behaviour.tools == tuple(f"t{index}" for index in range(256))


@pytest.mark.requirement("R11")
def test_policy_that_ignores_keys_still_reads_our_own() -> None:
    """D23: lists in order. Keys of other agents have no effect."""
    text = f"{_REQUIRED}tools: [b, a]\nsandbox: true\npermissions: ['@network', '@events']\nmodel: opus\n"
    found = judge(text, reading=PROFILES["daycare"].reading)
    assert found.manifest is not None
    assert found.manifest.additions == Behaviour(forks=True, permissions=("@network", "@events"), tools=("b", "a"))
    assert found.problems == ()


@pytest.mark.requirement("R11")
def test_absent_additions_are_absent() -> None:
    """D25."""
    manifest = judge(_REQUIRED, reading=PROFILES["daycare"].reading).manifest
    assert manifest is not None
    assert manifest.additions is None


def test_every_field_is_read_by_prowess_and_its_key_is_known() -> None:
    assert {row.path for row in FIELDS if "prowess" not in row.readers} == set()
    assert {row.path[0] for row in FIELDS} - {"sidecar", "metadata"} <= KNOWN_KEYS
    assert OWN_KEYS <= KNOWN_KEYS


@pytest.mark.slow
@pytest.mark.requirement("K10")
def test_reading_does_not_depend_on_the_seed_of_hashes() -> None:
    code = (
        "from prowess.policy import PROFILES\nfrom prowess.skill.reading import parse_skill\n"
        "head = b'---\\nname: p\\ndescription: d\\nsandbox: false\\ncontext: fork\\n'\n"
        "head += b'modeSlugs: [a]\\nmode: b\\n---\\n'\n"
        "print(parse_skill(head, folder='p', reading=PROFILES['standard'].reading).manifest.behaviour)"
    )
    run = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(n)}, capture_output=True, check=True
        )
        for n in range(6)
    ]
    assert len({result.stdout for result in run}) == 1


@pytest.mark.requirement("K3", "K10")
def test_requirements_in_two_spellings_are_joined() -> None:
    found = judge(f"{_REQUIRED}requires: [git]\nmetadata:\n  openclaw:\n    requires:\n      bins: [uv]\n")
    assert found.manifest is not None
    assert found.manifest.behaviour == _requires(Requirements(binaries=("git", "uv")))
