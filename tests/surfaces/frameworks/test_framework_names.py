"""What `prowess.frameworks` offers, and what it loads for that."""

import subprocess
import sys

import pytest

import prowess.frameworks

pytestmark = pytest.mark.slow

_FRAMEWORKS = ("openai", "anthropic", "pydantic_ai", "langchain", "langgraph", "agents", "google")


def _loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()} & set(_FRAMEWORKS)


def test_names_are_these() -> None:
    assert dir(prowess.frameworks) == prowess.frameworks.__all__ == sorted(prowess.frameworks.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("name", prowess.frameworks.__all__)
def test_name_can_be_imported(name: str) -> None:
    assert getattr(prowess.frameworks, name).__name__ == name


def test_module_loads_no_framework() -> None:
    assert _loaded_after("import prowess.frameworks") == set()


@pytest.mark.slow
def test_name_loads_its_own_framework_and_no_other() -> None:
    assert _loaded_after("from prowess.frameworks import OpenAISkills") == {"openai"}


def test_missing_library_is_named_with_the_extra_that_brings_it() -> None:
    code = (
        "import sys; sys.modules['anthropic.types'] = sys.modules['anthropic'] = None\n"
        "from prowess.frameworks import AnthropicSkills"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: AnthropicSkills needs the library 'anthropic.types': pip install 'prowess[anthropic]'"
    )


def test_other_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'prowess\.frameworks' has no attribute 'nope'"):
        _ = prowess.frameworks.nope  # type: ignore[attr-defined]
