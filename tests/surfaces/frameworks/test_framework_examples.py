"""The example of each framework's page runs as it stands, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.openai_replies import call, say
from tests.skills_on_disk import Home
from tests.surfaces.frameworks.drivers import DRIVERS, Driver
from tests.surfaces.frameworks.model_servers import ModelServer, serve_model

pytestmark = pytest.mark.slow

_PAGES = Path(__file__).parents[3] / "docs" / "frameworks"
_ARGUMENTS = [
    "2026-01-06T09:00",
    "--zone",
    "Europe/Berlin",
    "--rule",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU",
    "--limit",
    "2",
]
_RUN = call("run_skill_script", {"name": "scheduling", "script": "scripts/next_dates.py", "arguments": _ARGUMENTS})
_MOST_LINES = 36
_ALIKE = 8
"""Lines that all examples have in common, at least."""


def _find_example(page: str) -> str:
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", (_PAGES / f"{page}.md").read_text("utf-8"))
    return code


def _environment(driver: Driver, server: ModelServer) -> dict[str, str]:
    key, address = {
        "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        "google": ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    }[driver.protocol]
    return {**os.environ, key: "none", address: server.url, "OPENAI_AGENTS_DISABLE_TRACING": "1"}


@pytest.mark.slow
def test_example_runs_again_and_again(driver: Driver, home: Home) -> None:
    for _ in range(2):  # What the first run was given is not in the messages of the second.
        _check_example(driver)


def _check_example(driver: Driver) -> None:
    with serve_model(driver.protocol, _RUN, say("On 6 and 20 January.")) as server:
        done = subprocess.run(
            [sys.executable, "-c", _find_example(driver.page)],
            env=_environment(driver, server),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    asked, answer = done.stdout.splitlines()
    assert asked == " ".join(['Run scripts/next_dates.py of skill "scheduling"', *_ARGUMENTS])
    assert answer == "On 6 and 20 January."
    first, second = server.asked
    assert first.messages[0].endswith("When is every second Tuesday at nine?")
    assert "Never compute weekdays" in first.messages[0]
    (result,) = second.results
    assert "2026-01-20T09:00" in result.text


def test_examples_are_short_and_the_same_but_for_the_framework() -> None:
    examples = [_find_example(driver.page).splitlines() for driver in DRIVERS]
    assert max(map(len, examples)) <= _MOST_LINES
    alike = [line for line in examples[0] if line and all(line in lines for lines in examples)]
    assert len(alike) >= _ALIKE


def test_every_page_is_of_a_framework() -> None:
    assert {page.stem for page in _PAGES.glob("*.md")} == {"index", *(driver.page for driver in DRIVERS)}
