"""What people install: a wheel that holds everything, extras that bring what they promise, and a source archive."""

import email
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.skills_on_disk import Home

_PROJECT = Path(__file__).parents[1]
_UV = str(Path(sys.executable).with_name("uv"))
_PROMISES = {
    "adk": "from prowess.frameworks import AdkPlugin, AdkToolset",
    "agent": "import prowess.agent.providers.answering, pydantic_ai.models.anthropic, pydantic_ai.models.google, "
    "pydantic_ai.models.openai",
    "agents": "from prowess.frameworks import OpenAIAgent",
    "anthropic": "from prowess.frameworks import AnthropicSkills",
    "bedrock": "import prowess.agent.providers.answering, pydantic_ai.models.bedrock",
    "chat": "import prowess.surfaces.cli.chat.prompt_input",
    "docker": "import prowess.containers.docker_engine, docker",
    "groq": "import prowess.agent.providers.answering, pydantic_ai.models.groq",
    "keyring": "import prowess.execution.secrecy.secret_stores, keyring",
    "langchain": "from prowess.frameworks import LangChainSkills, make_langchain_tools; import langgraph.graph",
    "mcp": "import prowess.surfaces.mcp.http_app, prowess.surfaces.mcp.serving, prowess.sources.mcp.worker",
    "mistral": "import prowess.agent.providers.answering, pydantic_ai.models.mistral",
    "openai": "from prowess.frameworks import OpenAISkills",
    "postgres": "import prowess.state.postgres_database",
    "pydantic-ai": "from prowess.frameworks import PydanticAISkills, PydanticAIToolset",
    "python": "from prowess.execution.inline.python_workers import require_interpreter; require_interpreter(); "
    "import pydantic_monty",
    "scripts": "from uv import find_uv_bin; find_uv_bin()",
    "semantic": "from prowess.catalog.search.vectors import load_space; load_space()",
    "telemetry": "import opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "tokens": "from prowess.disclosure.tokens import TiktokenTokens; assert TiktokenTokens().count('one two') == 2",
    "web": "import prowess.surfaces.web.serving",
}
"""From an extra to what works with it and nothing else."""
_RIGHT = """\
from prowess import Runtime
with Runtime.open() as runtime:
    names: tuple[str, ...] = runtime.view().names()
"""
_WRONG = _RIGHT.replace("tuple[str, ...]", "int")


@dataclass(frozen=True, slots=True)
class Built:
    """What `hatchling build` makes of this tree."""

    wheel: Path
    source: Path


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that has nothing but what was installed last."""

    folder: Path
    wheel: Path
    constraints: Path
    variables: dict[str, str]
    """Those of whoever runs the tests, whose cache is used."""

    def install(self, *extras: str) -> None:
        """Install the wheel with these extras, in the versions that we pin, and remove everything else."""
        wanted = f"prowess[{','.join(extras)}] @ {self.wheel.as_uri()}"
        self.uv("install", "--exact", "--constraint", str(self.constraints), wanted)

    def uv(self, command: str, *arguments: str) -> None:
        line = [_UV, "pip", command, "--quiet", "--python", str(self.folder), *arguments]
        done = subprocess.run(line, env=self.variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def start(self, name: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start a program that was installed there."""
        # Bytecode lies apart, where an extra finds what the one before it has left.
        variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        pipe = subprocess.PIPE
        return subprocess.Popen([self.program(name), *arguments], env=variables, stdout=pipe, stderr=pipe, text=True)

    def run(self, name: str, *arguments: str) -> tuple[int, str, str]:
        """Run it, and return its exit status, its output and its errors."""
        process = self.start(name, *arguments)
        stdout, stderr = process.communicate()
        return process.returncode, stdout, stderr


def _build(project: Path, into: Path, *options: str) -> None:
    line = [sys.executable, "-m", "hatchling", "build", "--directory", str(into), *options]
    subprocess.run(line, cwd=project, capture_output=True, check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The wheel and the source archive of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    _build(_PROJECT, folder)
    return Built(next(folder.glob("*.whl")), next(folder.glob("*.tar.gz")))


@pytest.fixture(scope="module")
def environment(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """An environment that sees no package but those that are installed into it."""
    folder = tmp_path_factory.mktemp("environment")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    pins = re.findall(r"(?m)^[\w.-]+(?:\[.*?\])?==[^\s\\]+", (_PROJECT / "requirements" / "dev.txt").read_text("utf-8"))
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins), "utf-8")
    place = folder / "venv"
    subprocess.run([_UV, "venv", "--quiet", "--python", sys.executable, str(place)], env=variables, check=True)
    yield Environment(place, built.wheel, constraints, variables)
    # Else the cache would grow by a wheel that nobody can install again.
    subprocess.run([_UV, "cache", "clean", "--quiet", "prowess"], env=variables, capture_output=True, check=False)


def _read_wheel(wheel: Path) -> dict[str, tuple[bool, bytes]]:
    """Return whether each file of the package is executable, and what is in it."""
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.infolist() if ".dist-info/" not in member.filename]
        return {member.filename: (bool(member.external_attr >> 16 & 0o100), archive.read(member)) for member in members}


def _read_metadata(wheel: Path, file: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(f".dist-info/{file}"))
        return archive.read(name).decode()


def _read_project() -> dict[str, Any]:
    return tomllib.loads((_PROJECT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.slow
def test_wheel_holds_the_whole_package_with_its_executable_bits_and_nothing_else(built: Built) -> None:
    source = _PROJECT / "src"
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    expected = {path.relative_to(source).as_posix(): os.access(path, os.X_OK) for path in files}
    found = {name: is_executable for name, (is_executable, _) in _read_wheel(built.wheel).items()}
    assert found == expected
    assert {"prowess/py.typed", "prowess/surfaces/web/templates/base.html"} <= found.keys()
    assert found["prowess/bundled/skills-system-validation/scripts/echo.sh"]


@pytest.mark.slow
def test_metadata_names_extras_types_and_the_command(built: Built) -> None:
    metadata, project = email.message_from_string(_read_metadata(built.wheel, "METADATA")), _read_project()
    assert sorted(metadata.get_all("Provides-Extra", [])) == sorted(project["optional-dependencies"])
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert metadata["Requires-Python"] == project["requires-python"]
    assert "prowess = prowess.surfaces.cli.main:main" in _read_metadata(built.wheel, "entry_points.txt")
    assert "Apache License" in _read_metadata(built.wheel, "licenses/LICENSE")


@pytest.mark.slow
def test_source_archive_makes_the_same_wheel_and_runs_tests(built: Built, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xzf", str(built.source)], cwd=tmp_path, check=True)
    (unpacked,) = tmp_path.iterdir()
    _build(unpacked, tmp_path / "dist", "--target", "wheel")
    assert _read_wheel(next((tmp_path / "dist").glob("*.whl"))) == _read_wheel(built.wheel)
    line = [sys.executable, "-m", "pytest", "-q", "tests/test_public_names.py", "tests/test_generated_pages.py"]
    # Options that are meant for this very run could make the other one run this test again.
    variables = {**os.environ, "PYTHONPATH": str(unpacked / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(line, cwd=unpacked, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert all((unpacked / name).exists() for name in ("Makefile", "requirements/dev.txt", "tools/setup.sh"))


@pytest.mark.slow
def test_without_extras_library_and_commands_work(environment: Environment, home: Home) -> None:
    environment.install()
    for code in re.findall(r"(?ms)^```python\n(.*?)^```$", (_PROJECT / "README.md").read_text("utf-8")):
        status, _, errors = environment.run("python", "-W", "error", "-c", code)
        assert (status, errors) == (0, ""), code
    assert environment.run("prowess", "--version")[0] == 0
    listed = json.loads(environment.run("prowess", "list", "--json")[1])
    assert "core:scheduling" in [skill["id"] for skill in listed["skills"]]
    assert listed["rejected"] == listed["problems"] == []


@pytest.mark.slow
def test_without_extras_the_web_app_says_what_to_install(environment: Environment, home: Home) -> None:
    environment.install()
    status, stdout, errors = environment.run("prowess", "serve", "--port", "0")
    assert (status, stdout) == (2, "")
    assert "pip install 'prowess[web]'" in errors


@pytest.mark.slow
def test_installed_web_app_answers(environment: Environment, home: Home) -> None:
    environment.install("web")
    with environment.start("prowess", "serve", "--port", "0", "--json") as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            with httpx.Client(base_url=f"http://127.0.0.1:{told['port']}", trust_env=False) as client:
                assert client.get("/healthz").status_code == 200
                client.get(told["url"])
                page = client.get("/", follow_redirects=True)
                assert page.status_code == 200
                (style,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page.text)[:1]
                assert client.get(style).status_code == 200
        finally:
            server.terminate()


@pytest.mark.slow
def test_type_checker_sees_the_types_of_the_installed_wheel(environment: Environment, tmp_path: Path) -> None:
    environment.install()
    (tmp_path / "right.py").write_text(_RIGHT, "utf-8")
    (tmp_path / "wrong.py").write_text(_WRONG, "utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    checker = str(Path(sys.executable).with_name("basedpyright"))
    line = [checker, "--outputjson", "--pythonpath", environment.program("python")]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = [(Path(row["file"]).name, row["rule"]) for row in json.loads(done.stdout)["generalDiagnostics"]]
    assert found == [("wrong.py", "reportAssignmentType")]


def test_promises_are_made_for_every_extra() -> None:
    assert _PROMISES.keys() == _read_project()["optional-dependencies"].keys()


@pytest.mark.slow
@pytest.mark.parametrize("extra", _PROMISES)
def test_extra_alone_brings_what_it_promises(environment: Environment, home: Home, extra: str) -> None:
    environment.install(extra)
    status, _, errors = environment.run("python", "-W", "error", "-c", _PROMISES[extra])
    assert (status, errors) == (0, "")


@pytest.mark.slow
def test_all_extras_go_together(environment: Environment, home: Home) -> None:
    environment.install(*_PROMISES)
    environment.uv("check")
    findings = json.loads(environment.run("prowess", "doctor", "--json")[1])["checks"]
    extras = {finding["check"]: finding["works"] for finding in findings if finding["check"].startswith("extra ")}
    assert extras == dict.fromkeys(extras, True) != {}


def test_image_is_made_of_files_that_are_there_and_runs_as_nobody_special() -> None:
    lines = (_PROJECT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    allowed = {line[1:] for line in (_PROJECT / ".dockerignore").read_text("utf-8").splitlines() if line[0] == "!"}
    assert set(copied) == allowed
    assert all((_PROJECT / name).exists() for name in copied)
    assert [line for line in lines if line.startswith("USER ")] == ["USER 1000:1000"]
