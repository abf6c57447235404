"""Which secrets a skill declares, and which of them a run is given."""

import copy
import dataclasses
import json
import logging
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from prowess.execution.jobs import Job
from prowess.execution.secrecy.given_secrets import Gathered, SecretValues, gather_secrets, missing_secrets_error
from prowess.execution.secrecy.secret_stores import FileSecretStore
from prowess.skill.declared_secrets import declared_secrets, find_name_fault, judge_secrets
from prowess.skill.manifest import Behaviour, Requirements, Secret

_VALUE = "hunter2-correct-horse"


@pytest.fixture
def store(tmp_path: Path) -> FileSecretStore:
    return FileSecretStore(str(tmp_path / "secrets.json"))


def _gather(
    store: FileSecretStore,
    *declared: Secret,
    environ: Mapping[str, str] | None = None,
    host_variables: tuple[str, ...] = (),
) -> tuple[dict[str, str], tuple[str, ...]]:
    gathered = gather_secrets(
        declared,
        store=store,
        host_variables=host_variables,
        environ=environ or {},
        skill_id="user:pdf",
        skill_name="pdf",
    )
    return dict(gathered.values), gathered.missing


@pytest.mark.requirement("K8")
def test_secrets_and_required_variables_are_declared_each_once() -> None:
    behaviour = Behaviour(
        secrets=(Secret("API_KEY", "Your key", optional=True), Secret("TOKEN"), Secret("API_KEY", "again")),
        requires=Requirements(environment=("TOKEN", "REGION", "API_KEY")),
    )
    assert declared_secrets(behaviour) == (Secret("API_KEY", "Your key", True), Secret("TOKEN"), Secret("REGION"))
    assert list(judge_secrets(behaviour)) == []
    assert declared_secrets(Behaviour()) == ()


@pytest.mark.requirement("K8")
@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "LD_PRELOAD", "LD_ANYTHING", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP"),
        *("NODE_OPTIONS", "PROWESS_OUTPUT", "BASH_ENV", "ENV", "IFS", "TMPDIR", "PWD", "PERL5OPT", "RUBYOPT"),
        *("GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "BASH_FUNC_ls", "GLIBC_TUNABLES", "path", "Ld_Preload", "_"),
    ],
)
def test_variable_that_steers_a_run_is_never_a_secret(name: str) -> None:
    behaviour = Behaviour(secrets=(Secret(name),), requires=Requirements(environment=("TOKEN", name)))
    assert declared_secrets(behaviour) == (Secret("TOKEN"),)
    problems = list(judge_secrets(behaviour))
    assert [(problem.code, problem.message) for problem in problems] == [
        (
            "secret-name-refused",
            f"the variable '{name}' steers the system or the interpreter, and is not given to scripts as a secret",
        )
    ]


@pytest.mark.parametrize("name", ["A-B", "1A", "x" * 129, "A=B", "a b"])
def test_what_cannot_name_a_variable_is_a_problem(name: str) -> None:
    behaviour = Behaviour(requires=Requirements(environment=(name,)))
    assert declared_secrets(behaviour) == ()
    assert [problem.message for problem in judge_secrets(behaviour)] == [
        f"the variable '{name[:60]}' cannot be the name of a secret"
    ]


@pytest.mark.parametrize(
    "name", ["API_KEY", "GITHUB_TOKEN", "GIT_TOKEN", "NODE_AUTH_TOKEN", "pathology", "HOMEPAGE", "_x"]
)
def test_ordinary_names_may_be_secrets(name: str) -> None:
    assert find_name_fault(name) == ""


@pytest.mark.requirement("K8")
def test_value_for_the_id_comes_before_the_name_before_all_before_the_environment(store: FileSecretStore) -> None:
    environ, host = {"TOKEN": "from the host"}, ("TOKEN",)
    wanted = Secret("TOKEN")
    assert _gather(store, wanted, environ=environ, host_variables=host) == ({"TOKEN": "from the host"}, ())
    store.set("TOKEN", "for all")
    assert _gather(store, wanted, environ=environ, host_variables=host) == ({"TOKEN": "for all"}, ())
    store.set("TOKEN", "for the name", "pdf")
    assert _gather(store, wanted, environ=environ, host_variables=host) == ({"TOKEN": "for the name"}, ())
    store.set("TOKEN", "for the id", "user:pdf")
    store.set("TOKEN", "for another", "user:docx")
    assert _gather(store, wanted, environ=environ, host_variables=host) == ({"TOKEN": "for the id"}, ())


@pytest.mark.requirement("K8")
def test_environment_is_closed_but_for_what_the_settings_name(store: FileSecretStore) -> None:
    environ = {"TOKEN": "a", "OTHER": "b", "EMPTY": "", "UNASKED": "c"}
    declared = (Secret("TOKEN"), Secret("OTHER"), Secret("EMPTY"))
    found = _gather(store, *declared, environ=environ, host_variables=("TOKEN", "EMPTY", "UNASKED"))
    assert found == ({"TOKEN": "a"}, ("OTHER", "EMPTY"))


@pytest.mark.requirement("K8")
def test_run_is_given_nothing_that_the_skill_did_not_declare(store: FileSecretStore) -> None:
    store.set("TOKEN", "a")
    store.set("OTHER", "b")
    assert _gather(store, Secret("TOKEN")) == ({"TOKEN": "a"}, ())
    assert _gather(store) == ({}, ())


def test_optional_secret_that_is_nowhere_is_not_missing(store: FileSecretStore) -> None:
    assert _gather(store, Secret("A", optional=True), Secret("B")) == ({}, ("B",))


@pytest.mark.parametrize(
    ("missing", "message", "hint"),
    [
        (("A",), "skill 'pdf' needs the secret A", "`prowess secrets set A`"),
        (("A", "B"), "skill 'pdf' needs the secrets A, B", "`prowess secrets set A`, `prowess secrets set B`"),
    ],
)
def test_refusal_says_what_is_missing_and_how_to_set_it(missing: tuple[str, ...], message: str, hint: str) -> None:
    error = missing_secrets_error("pdf", missing)
    assert (error.code, error.message, error.hint) == ("secret-missing", message, hint)


@pytest.mark.requirement("K8")
def test_nothing_shows_the_value_of_a_secret(store: FileSecretStore) -> None:
    store.set("TOKEN", _VALUE)
    gathered = gather_secrets(
        [Secret("TOKEN", "Your token")],
        store=store,
        host_variables=(),
        environ={},
        skill_id="user:pdf",
        skill_name="pdf",
    )
    assert gathered == Gathered(SecretValues({"TOKEN": _VALUE}))
    job = Job(("true",), secrets=gathered.values)
    things = [
        gathered,
        gathered.values,
        job,
        store,
        Secret("TOKEN"),
        copy.deepcopy(gathered),
        dataclasses.replace(job),
    ]
    shown = [text for thing in things for text in (repr(thing), str(thing), f"{thing}", f"{thing!r:>5}", f"{[thing]}")]
    shown += [str(dataclasses.asdict(gathered)), logging.makeLogRecord({"msg": gathered}).getMessage()]
    assert not any(_VALUE in text for text in shown)
    assert repr(gathered.values) == "SecretValues(TOKEN)"


@pytest.mark.requirement("K8")
def test_no_traceback_shows_the_value_of_a_secret() -> None:
    values = SecretValues({"TOKEN": _VALUE})
    acts = [
        lambda: values["OTHER"],
        lambda: json.dumps(values),
        lambda: hash(values),
        lambda: values + 1,  # type: ignore[operator]
        lambda: int(values),  # type: ignore[call-overload]
        lambda: dataclasses.replace(Gathered(values), other=values),  # type: ignore[call-arg]
    ]
    for act in acts:
        with pytest.raises((KeyError, TypeError)) as caught:
            act()
        assert _VALUE not in "".join(traceback.format_exception(caught.value))
