"""The examples of `docs/deploy.md` fit the code: what they start, the ports, the probes, the names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from prowess.agent.providers.known_providers import find_provider
from prowess.settings import load_settings
from prowess.surfaces.cli.commands.serving import command as serve
from prowess.surfaces.http.options import HttpOptions, check_options
from prowess.surfaces.web.app import make_app
from tests.surfaces.web.asgi import ask
from tests.surfaces.web.conftest import MakeSite

_ROOT = Path(__file__).resolve().parents[3]
_PAGE = (_ROOT / "docs" / "deploy.md").read_text("utf-8")
_DOCKERFILE = (_ROOT / "Dockerfile").read_text("utf-8")
_READS = ("src/prowess/settings/loading.py", "src/prowess/surfaces/cli/commands/serving.py")
"""Where variables of the environment are read."""
_KEY, _FOLDER = "ANTHROPIC_API_KEY", "/etc/prowess"


def _blocks(language: str, heading: str) -> list[str]:
    """Return the examples in a language below a heading."""
    section = _PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


_COMPOSE: dict[str, Any] = yaml.safe_load(_blocks("yaml", "docker-compose")[0])
_OBJECTS: dict[str, dict[str, Any]] = {
    one["kind"]: one for one in yaml.safe_load_all("".join(_blocks("yaml", "Kubernetes")))
}
_POD: dict[str, Any] = _OBJECTS["Deployment"]["spec"]["template"]["spec"]
_CONTAINER: dict[str, Any] = _POD["containers"][0]
_SERVERS: dict[str, dict[str, Any]] = {
    name: service for name, service in _COMPOSE["services"].items() if name.startswith("prowess")
}


def _commands() -> Iterator[list[str]]:
    for service in _SERVERS.values():
        yield service["command"]
    yield _CONTAINER["args"]


def _read(arguments: list[str]) -> dict[str, Any]:
    """Return what `prowess serve` makes of arguments; wrong ones are an error."""
    assert arguments[0] == serve.name
    with serve.make_context("serve", arguments[1:]) as context:
        return context.params


def _usual_port(home: Path) -> int:
    return load_settings(environ={"HOME": str(home)}, working_folder=str(home)).web.port


def test_examples_start_servers_that_may_be_started() -> None:
    assert len(_SERVERS) == 2
    for arguments in _commands():
        read = _read(arguments)
        check_options(HttpOptions(host=read["host"], public_url=read["public_url"], token="a" * 32))
        assert f"https://{_OBJECTS['Ingress']['spec']['rules'][0]['host']}" == read["public_url"]
        assert read["public_url"].removeprefix("https://") in _blocks("text", "docker-compose")[0]


def test_servers_are_reached_at_their_port(tmp_path: Path) -> None:
    port = _usual_port(tmp_path)
    assert {read["port"] for read in map(_read, _commands())} == {None}
    assert [one["containerPort"] for one in _CONTAINER["ports"]] == [port]
    assert [one["targetPort"] for one in _OBJECTS["Service"]["spec"]["ports"]] == [port]
    assert f"EXPOSE {port}\n" in _DOCKERFILE
    named = re.findall(r"(prowess-\d):(\d+)", _PAGE)
    assert {name for name, _ in named} == set(_SERVERS)
    assert {int(number) for _, number in named} == {port}


def test_service_and_ingress_lead_to_the_pods() -> None:
    service, deployment = _OBJECTS["Service"], _OBJECTS["Deployment"]["spec"]
    assert service["spec"]["selector"].items() <= deployment["template"]["metadata"]["labels"].items()
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    ingress = _OBJECTS["Ingress"]["spec"]
    (path,) = ingress["rules"][0]["http"]["paths"]
    backend = path["backend"]["service"]
    assert (path["path"], backend["name"]) == ("/", service["metadata"]["name"])
    assert backend["port"]["number"] in [one["port"] for one in service["spec"]["ports"]]
    assert ingress["tls"][0]["hosts"] == [rule["host"] for rule in ingress["rules"]]


def test_probes_are_answered_by_any_name(make_site: MakeSite, tmp_path: Path) -> None:
    app = make_app(make_site(HttpOptions(token="a" * 32)))
    probes = {name: _CONTAINER[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")}
    assert {probe["port"] for probe in probes.values()} == {_usual_port(tmp_path)}
    statuses = {name: ask(app, probe["path"], headers=[("host", "10.1.2.3")]).status for name, probe in probes.items()}
    assert statuses == {"liveness": 200, "readiness": 503}  # Nobody has opened its conversations.
    (health,) = re.findall(r"health_uri (\S+)", _blocks("text", "docker-compose")[0])
    assert health == probes["readiness"]["path"]
    assert probes["liveness"]["path"] in _DOCKERFILE


def test_variables_are_those_that_are_read() -> None:
    texts = [(_ROOT / path).read_text("utf-8") for path in _READS]
    known = {name for text in texts for name in re.findall(r'environ\.get\("(PROWESS_\w+)"\)', text)}
    given = [set(service["environment"]) for service in _SERVERS.values()]
    given.append({one["name"] for one in _CONTAINER["env"]})
    for names in given:
        assert {"PROWESS_DATABASE", "PROWESS_TOKEN", "PROWESS_CONFIG"} <= names <= known | {_KEY}


def test_model_comes_with_the_key_that_its_provider_reads() -> None:
    models = {service["environment"]["PROWESS_MODEL"] for service in _SERVERS.values()}
    models |= {one["value"] for one in _CONTAINER["env"] if one["name"] == "PROWESS_MODEL"}
    (model,) = models
    provider = find_provider(model)
    assert provider is not None
    assert _KEY in provider.keys
    (secret,) = [one for one in _CONTAINER["env"] if one["name"] == _KEY]
    assert "valueFrom" in secret


def test_secrets_volumes_and_the_home_are_there() -> None:
    secret, settings = _OBJECTS["Secret"], _OBJECTS["ConfigMap"]
    for named in [one["valueFrom"]["secretKeyRef"] for one in _CONTAINER["env"] if "valueFrom" in one]:
        assert (named["name"], named["key"] in secret["stringData"]) == (secret["metadata"]["name"], True)
    (home,) = re.findall(r"PROWESS_HOME=(\S+)", _DOCKERFILE)
    mounted = {one["name"]: one["mountPath"] for one in _CONTAINER["volumeMounts"]}
    assert mounted == {"data": home, "settings": _FOLDER}
    assert _POD["volumes"] == [
        {"name": "data", "emptyDir": {}},
        {"name": "settings", "configMap": {"name": settings["metadata"]["name"]}},
    ]
    for service in _SERVERS.values():
        kept, *shown = [text.split(":") for text in service["volumes"]]
        assert (kept[0] in _COMPOSE["volumes"], kept[1]) == (True, home)
        assert shown == [["./prowess.toml", f"{_FOLDER}/prowess.toml", "ro"], ["./skills", "/skills", "ro"]]


def test_settings_are_found_and_name_the_skills_of_the_image(tmp_path: Path) -> None:
    (example,) = re.findall(r"```dockerfile\n(.*?)```", _PAGE, re.DOTALL)
    named = {service["environment"]["PROWESS_CONFIG"] for service in _SERVERS.values()}
    named |= {one["value"] for one in _CONTAINER["env"] if one["name"] == "PROWESS_CONFIG"}
    assert named == set(re.findall(r"PROWESS_CONFIG=(\S+)", example)) == {f"{_FOLDER}/prowess.toml"}
    file = tmp_path / "prowess.toml"
    for text in (_OBJECTS["ConfigMap"]["data"]["prowess.toml"], *re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)):
        file.write_text(text, "utf-8")
        settings = load_settings(config=str(file), environ={"HOME": str(tmp_path)}, working_folder=str(tmp_path))
        assert [f"COPY skills {folder}" in example for folder in settings.extra_directories] == [True]


@pytest.mark.parametrize("rights", [_CONTAINER["securityContext"], _POD["securityContext"]], ids=["container", "pod"])
def test_pod_lets_scripts_have_a_sandbox_and_nothing_else(rights: Mapping[str, Any]) -> None:
    wanted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "Unconfined"},
        "appArmorProfile": {"type": "Unconfined"},
        "procMount": "Unmasked",
    }
    user = int(re.findall(r"USER (\d+):", _DOCKERFILE)[0])
    assert rights in (wanted, {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user})
    assert _POD["hostUsers"] is False


def test_servers_of_docker_compose_let_scripts_have_a_sandbox() -> None:
    for service in _SERVERS.values():
        assert {text.partition("=")[0] for text in service["security_opt"]} == {"apparmor", "seccomp", "systempaths"}
        assert service["cap_drop"] == ["ALL"]
