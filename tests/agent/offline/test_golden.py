"""Typical answers, letter by letter.

When they are meant to change, write them anew by
`PROWESS_REWRITE_GOLDEN=1 python -m pytest tests/agent/offline/test_golden.py`, and read the difference before you keep
it.
"""

import os
from pathlib import Path

import pytest

from tests.agent.offline.playing import SessionPlayer, open_profile
from tests.skills_on_disk import Home

_GOLDEN = Path(__file__).parent / "golden"
_REWRITE = os.environ.get("PROWESS_REWRITE_GOLDEN") == "1"


@pytest.mark.requirement("R109", "R64")
@pytest.mark.parametrize(
    ("file", "profile", "message"),
    [
        ("question.txt", "standard", "How do I build and test this project?"),
        ("conformance.txt", "standard", "/skills-system-validation only steps 1 to 4"),
        ("beyond-a-script.txt", "remcochat", "The export crashes with a traceback. Please fix it!"),
        ("only-activation.txt", "workspace", "Remind me every second Tuesday at nine"),
        ("nothing-fits.txt", "daycare", "Tell me a joke about cats and reports"),
        ("small-talk.txt", "agent-base", "Good morning!"),
    ],
)
def test_answer_is_as_in_its_golden_file(home: Home, file: str, profile: str, message: str) -> None:
    with open_profile(profile) as runtime:
        text = SessionPlayer(runtime.session("chat")).say(message).text + "\n"
    if _REWRITE:
        (_GOLDEN / file).write_text(text, "utf-8")
    assert text == (_GOLDEN / file).read_text("utf-8")
