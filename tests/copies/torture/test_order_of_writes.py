"""What is on disk before it gets a name: the order of calls, since no test can take the power away."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.copies.torture.scenes import Place
from tests.copies.torture.warm_syncs import WarmSyncs
from tests.skills_on_disk import write_skill

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K5")]

_CALLS = "-etrace=?write,?fsync,?syncfs,?rename,?renameat,?renameat2,?openat,?mkdir,?link,?linkat,?symlink"
_LINE = re.compile(r"\d+ +(?P<call>\w+)\((?P<rest>.*)\) += (?P<result>-?\d+).*")
_HANDLE = re.compile(r"\d+<(.*?)>")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    paths: tuple[str, ...]
    """Of the handle, or as written."""


@pytest.mark.parametrize("count", [1, 20])
def test_files_are_on_disk_before_a_version_is_named_and_copies_before_the_record_tells_of_them(
    syncs: WarmSyncs, tmp_path: Path, count: int
) -> None:
    place = Place(tmp_path)
    for number in range(count):
        write_skill(place.skills, f"skill-{number}", files={"data/inner.txt": f"{number}", "run": "#!/bin/sh\n"})
    place.sync()
    for number in range(count):
        (place.skills / f"skill-{number}" / "data" / "inner.txt").write_text(f"changed {number}")
    outcome = syncs.run(place, options=["-y", "-s", "8", _CALLS])
    assert outcome.status == 0
    calls = _parse(outcome.calls)
    namings = [index for index, call in enumerate(calls) if _names_version(call, place)]
    swaps = [index for index, call in enumerate(calls) if _puts_copy(call, place)]
    assert (len(namings), len(swaps)) == (count, count)
    for index in namings:
        _expect_on_disk(calls, index, drafts=calls[index].paths[0])
    _expect_between(calls, "fsync", str(place.versions), after=max(namings), before=min(swaps))
    record = str(place.workshop / "users" / "local" / "active" / "record")
    _expect_between(calls, "fsync", record, after=max(namings), before=min(swaps))  # They are in doubt.
    _expect_between(calls, "fsync", record, after=max(swaps), before=len(calls))  # They are as they should be.
    _expect_between(calls, "fsync", str(place.active), after=max(swaps), before=len(calls))


def _parse(text: str) -> list[_Call]:
    found: list[_Call] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match["result"].startswith("-"):
            continue
        if match["call"] in ("write", "fsync", "syncfs"):
            handle = _HANDLE.match(match["rest"])
            found.append(_Call(match["call"], (handle[1] if handle else "",)))
        elif match["call"] != "openat" or "O_CREAT" in match["rest"]:
            found.append(_Call(match["call"], tuple(_TEXT.findall(match["rest"]))))
    return found


def _names_version(call: _Call, place: Place) -> bool:
    return call.name.startswith("rename") and call.paths[-1].startswith(f"{place.versions}/")


def _puts_copy(call: _Call, place: Place) -> bool:
    return call.name.startswith("rename") and call.paths[-1].startswith(f"{place.active}/")


def _expect_on_disk(calls: list[_Call], index: int, *, drafts: str) -> None:
    """Find that all files and folders of a draft were synced after the last write to each, before a moment."""
    made = {path for call in calls[:index] for path in call.paths if path == drafts or path.startswith(f"{drafts}/")}
    assert len(made) >= 5
    for path in made:
        last = max(place for place, call in enumerate(calls[:index]) if path in call.paths and call.name != "fsync")
        assert any(
            call.name == "syncfs" or (call.name == "fsync" and call.paths == (path,)) for call in calls[last:index]
        ), path


def _expect_between(calls: list[_Call], name: str, path: str, *, after: int, before: int) -> None:
    assert _Call(name, (path,)) in calls[after:before]
