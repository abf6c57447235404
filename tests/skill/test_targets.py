"""What another agent would lose of a skill."""

import pytest

from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.reading import parse_skill
from prowess.skill.targets import TARGETS, Loss, LossKind, find_losses
from prowess.skill.yaml_values import YamlMap
from tests.skill.writing import STANDARD, skill_md

_REQUIRED = "name: pdf\ndescription: d\n"


def _losses(
    target: str, frontmatter: str, *, folder: str = "pdf", sidecar: str = "", body: str = ""
) -> tuple[Loss, ...]:
    raw = sidecar.encode() if sidecar else None
    manifest = parse_skill(skill_md(frontmatter), folder=folder, reading=STANDARD, sidecar=raw).manifest
    assert manifest is not None
    return find_losses(manifest, target=target, folder=folder, original=frontmatter, sidecar=_read(sidecar), body=body)


def _read(sidecar: str) -> YamlMap | None:
    found = parse_yaml(sidecar)
    return found.values if sidecar and isinstance(found, YamlDocument) else None


def _kinds(losses: tuple[Loss, ...]) -> list[tuple[LossKind, str]]:
    return [(loss.kind, loss.field) for loss in losses]


def test_targets_are_the_agents_whose_dialects_are_known() -> None:
    assert list(TARGETS) == ["claude-code", "codex", "openclaw", "hermes", "roo", "copilot"]


@pytest.mark.requirement("K10")
@pytest.mark.parametrize("target", TARGETS)
def test_plain_skill_loses_nothing_anywhere(target: str) -> None:
    assert _losses(target, _REQUIRED, body="Do it.\n") == ()


_REFUSED = LossKind.REFUSED


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("frontmatter", "refusals"),
    [
        pytest.param(
            "name: My_PDF\ndescription: d\n",
            {"roo": ["name", "name"], "copilot": ["name", "name"]},
            id="a name against the rule, and not the folder's",
        ),
        pytest.param(
            "name: other\ndescription: d\n", {"roo": ["name"], "copilot": ["name"]}, id="not the folder's name"
        ),
        pytest.param(
            f"name: {'a' * 65}\ndescription: d\n",
            {"codex": ["name"], "roo": ["name", "name"], "copilot": ["name", "name"]},
            id="a long name",
        ),
        pytest.param(
            f"name: pdf\ndescription: {'x' * 1025}\n",
            {"codex": ["description"], "roo": ["description"], "copilot": ["description"]},
            id="a long description",
        ),
        pytest.param(
            "name: pdf\ndescription: a: b\n",
            {"codex": ["frontmatter"], "roo": ["frontmatter"]},
            id="YAML that was mended",
        ),
    ],
)
def test_targets_refuse_what_their_loaders_refuse(frontmatter: str, refusals: dict[str, list[str]]) -> None:
    found = {
        target: [loss.field for loss in _losses(target, frontmatter) if loss.kind is _REFUSED] for target in TARGETS
    }
    assert {target: fields for target, fields in found.items() if fields} == refusals


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("length", "shortened"), [(60, []), (61, ["hermes"]), (1536, ["hermes"]), (1537, ["claude-code", "hermes"])]
)
def test_targets_shorten_long_descriptions(length: int, shortened: list[str]) -> None:
    text = f"name: pdf\ndescription: {'x' * length}\n"
    found = [target for target in TARGETS if (LossKind.SHORTENED, "description") in _kinds(_losses(target, text))]
    assert found == shortened


def test_message_says_how_much_is_shown() -> None:
    assert _losses("hermes", f"name: pdf\ndescription: {'x' * 100}\n") == (
        Loss(LossKind.SHORTENED, "description", "Hermes shows the first 60 of 100 characters"),
    )


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("target", "ignored"),
    [
        ("claude-code", []),
        ("codex", ["allowed-tools", "compatibility", "license", "metadata"]),
        ("openclaw", ["allowed-tools", "compatibility", "license"]),
        ("hermes", ["allowed-tools", "license"]),
        ("roo", ["allowed-tools", "compatibility", "license", "metadata"]),
        ("copilot", ["allowed-tools", "compatibility", "metadata"]),
    ],
)
def test_standard_fields_that_a_target_ignores_are_named(target: str, ignored: list[str]) -> None:
    text = f"{_REQUIRED}license: MIT\ncompatibility: any\nmetadata: {{a: b}}\nallowed-tools: Read\n"
    assert [loss.field for loss in _losses(target, text)] == ignored


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("line", "kind", "readers"),
    [
        ("disable-model-invocation: true", LossKind.SAFETY, {"claude-code", "openclaw", "copilot"}),
        ("disallowed-tools: Bash", LossKind.SAFETY, {"claude-code"}),
        ("permissions: ['@network']", LossKind.SAFETY, set[str]()),
        ("hooks: {Stop: []}", LossKind.SAFETY, {"claude-code"}),
        ("requires: git", LossKind.GATING, set[str]()),
        ("platforms: linux", LossKind.GATING, {"hermes"}),
        ("paths: '*.py'", LossKind.GATING, {"claude-code"}),
        ("mode: code", LossKind.GATING, {"roo"}),
        ("required_environment_variables: [A]", LossKind.GATING, {"hermes"}),
        ("user-invocable: false", LossKind.BEHAVIOUR, {"claude-code", "openclaw", "copilot"}),
        ("context: fork", LossKind.BEHAVIOUR, {"claude-code"}),
        ("sandbox: true", LossKind.BEHAVIOUR, set[str]()),
        ("background: false", LossKind.BEHAVIOUR, {"claude-code"}),
        ("model: opus", LossKind.BEHAVIOUR, {"claude-code"}),
        ("when_to_use: always", LossKind.BEHAVIOUR, {"claude-code"}),
        ("command-tool: x", LossKind.BEHAVIOUR, {"openclaw"}),
        ("argument-hint: '[x]'", LossKind.DISPLAY, {"claude-code", "copilot"}),
        ("homepage: x", LossKind.DISPLAY, {"openclaw"}),
    ],
)
def test_additions_that_a_target_does_not_read_are_named_by_weight(
    line: str, kind: LossKind, readers: set[str]
) -> None:
    field = line.partition(":")[0]
    for target in TARGETS:
        expected = [] if target in readers else [(kind, field)]
        assert _kinds(_losses(target, f"{_REQUIRED}{line}\n")) == expected, target


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    "line",
    [
        *("disable-model-invocation: false", "user-invocable: true", "background: true", "sandbox: false"),
        *("model: ''", "sandbox: perhaps", "version: 1"),
    ],
)
def test_what_every_agent_does_anyway_is_no_loss(line: str) -> None:
    assert [_losses(target, f"{_REQUIRED}{line}\n") for target in TARGETS] == [()] * len(TARGETS)


@pytest.mark.requirement("K10")
def test_same_meaning_in_a_spelling_that_the_target_reads_is_no_loss() -> None:
    sidecar = "policy: {allow_implicit_invocation: false}\n"
    text = f"{_REQUIRED}disable-model-invocation: true\n"
    assert _losses("codex", text, sidecar=sidecar) == ()
    assert _losses("claude-code", text, sidecar=sidecar) == ()
    effect = "the model may choose the skill by itself, which the skill forbids"
    assert _losses("roo", text, sidecar=sidecar) == tuple(
        Loss(LossKind.SAFETY, field, f"Roo Code does not read {field}: {effect}")
        for field in ("disable-model-invocation", "sidecar.policy.allow_implicit_invocation")
    )


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("body", "variable", "readers"),
    [
        ("Use $ARGUMENTS here", "$ARGUMENTS", {"claude-code"}),
        ("State: !`git status`", "!`command`", {"claude-code"}),
        ("Run ${CLAUDE_SKILL_DIR}/x", "${CLAUDE_*}", {"claude-code"}),
        ("Run {baseDir}/x", "{baseDir}", {"openclaw"}),
    ],
)
def test_variables_in_the_body_that_a_target_does_not_replace_are_named(
    body: str, variable: str, readers: set[str]
) -> None:
    for target, rules in TARGETS.items():
        loss = Loss(LossKind.BEHAVIOUR, variable, f"{rules.title} does not replace {variable} in the instructions")
        assert _losses(target, _REQUIRED, body=body) == (() if target in readers else (loss,))


def test_words_that_only_resemble_variables_are_no_loss() -> None:
    assert _losses("roo", _REQUIRED, body="$ARGUMENTSX `!x` a!`b` ${HOME} {base}") == ()


@pytest.mark.requirement("K10")
def test_worst_losses_come_first() -> None:
    text = (
        f"name: Other\ndescription: {'x' * 70}\ntags: [a]\nmodel: m\nrequires: git\npermissions: [p]\nlicense: MIT\n"
        "allowed-tools: Read\n"
    )
    kinds = [loss.kind for loss in _losses("roo", text)]
    assert kinds == sorted(kinds, key=list(LossKind).index)
    assert set(kinds) == set(LossKind) - {LossKind.SHORTENED}


@pytest.mark.requirement("K10")
def test_losses_are_seen_in_metadata_that_is_json_text() -> None:
    losses = _losses("hermes", _REQUIRED + """metadata: '{"openclaw": {"requires": {"bins": ["uv"]}}}'\n""")
    assert [loss.field for loss in losses] == ["metadata.openclaw.requires"]


@pytest.mark.requirement("K10")
def test_target_that_requires_a_name_refuses_a_skill_without_one() -> None:
    assert [loss.kind for loss in _losses("roo", "description: d\n")] == [LossKind.REFUSED]
