"""What the summary, the results and the README say of figures; the measuring itself is no test."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import results
from bench.comparison import BEGIN, END, README, place_comparison, render_comparison_block
from bench.discovery import summarise
from bench.grown_skills import has_room_for
from bench.losses import render_losses
from bench.summary import GOALS, find_run, render_age, render_goals, render_runs
from bench.timing import Comparison, Result

_RUN = "2026-01-02T03:04:05Z"
_STAMP = {
    "run": _RUN,
    "date": "2026-01-02",
    "machine": "a machine",
    "prowess": "1.2.3",
    "versions": {"quick": "4.5", "small": "6.7"},
}
_OLD = {**_STAMP, "run": "2025-01-02T03:04:05Z", "date": "2025-01-02"}
_FIGURES: dict[str, dict[str, Any]] = {
    "compatibility": {
        "about": _STAMP,
        "kinds": 10,
        "readers": {"prowess": {"good": 9}, "quick": {"good": 4}, "small": {"good": 6}},
    },
    "discovery": {
        "about": _STAMP,
        "seconds": {"1000": {"prowess": 0.04, "quick": 0.02, "small": 0.4, "floor: scandir + stat": 0.004}},
        "peak_rss_kb": {"1000": {"prowess": 30_720, "quick": 40_960, "small": 20_480}},
    },
    "use": {
        "about": _OLD,
        "seconds": {
            "prowess": {"first prompt": 0.002, "prompt": 0.00025, "activate": 0.003},
            "small": {"first prompt": 0.5},
        },
    },
    "sections": {"Discovery": _STAMP, "Copies": {**_STAMP, "failed": _RUN}, "Prompt, activation and reading": _OLD},
}


def _result(name: str, seconds: float) -> Result:
    return Result(name, "1", 10, (seconds,), (0.1,), 1_000)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of their own, which is what the module's folder decides."""
    for name, value in (("PLACE", tmp_path), ("RESULTS", tmp_path / "R.md"), ("_FIGURES", tmp_path / "f.json")):
        monkeypatch.setattr(results, name, value)
    return tmp_path


@pytest.mark.parametrize(
    "names",
    [(), ("prowess",), ("floor: scandir + stat",), ("quick",), ("prowess", "quick"), ("prowess", "quick, validating")],
)
def test_whoever_is_gone_takes_no_section_along(names: tuple[str, ...]) -> None:
    summarise(Comparison(tuple(_result(name, 0.1) for name in names)))


def test_discovery_names_the_fastest_and_the_median() -> None:
    told = summarise(Comparison((_result("prowess", 0.1), _result("quick", 0.2), _result("slow", 0.4))))
    assert told.splitlines() == [
        "- Without an index: 2.00 times as fast as the fastest peer (quick).",
        "- Without an index: 3.0 times as fast as the median peer of this table.",
    ]


def test_comparison_has_ours_the_peers_and_the_median() -> None:
    titles = "nasty skills treated well, of 10 | list 1,000 skills cold, ms | peak MB | first catalog text, ms"
    assert render_comparison_block(_FIGURES).splitlines()[:6] == [
        f"|  | {titles} | a later one, ms | activate, ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| **Prowess** 1.2.3 | 9 | 40 (1.0x) | 30 | 2.0 | 0.25 | 3.0 |",
        "| small 6.7 | 6 | 400 (10.0x) | 20 | 500 | - | - |",
        "| quick 4.5 | 4 | 20 (0.5x) | 40 | - | - | - |",
        "| median of 2 peers | 5 | 210 (5.2x) | 30 | 500 | - | - |",
    ]


def test_comparison_leaves_out_no_peer_that_is_as_good_as_one_that_it_shows() -> None:
    good = {"prowess": 9, "a": 8, "b": 7, "c": 7, "d": 6, "e": 6, "f": 6, "g": 5, "h": 5}
    readers = {name: {"good": count} for name, count in good.items()}
    seconds = {"1000": {"prowess": 0.1, "a": 0.2, "b": 0.3, "c": 0.4, "f": 0.5, "g": 0.6}}
    block = render_comparison_block(
        {"compatibility": {"kinds": 10, "readers": readers}, "discovery": {"seconds": seconds}}
    )
    shown = [line.split(" | ")[0].removeprefix("| ") for line in block.splitlines() if line.startswith("| ")]
    assert shown[3:-1] == ["a", "b", "c", "d", "e", "f"]


def test_readme_says_what_the_figures_say() -> None:
    figures = json.loads((README.parent / "bench" / "figures.json").read_text(encoding="utf-8"))
    text = README.read_text(encoding="utf-8")
    assert BEGIN in text
    assert place_comparison(text, render_comparison_block(figures)) == text


def test_half_a_comparison_is_none() -> None:
    assert render_comparison_block({}) == ""
    assert render_comparison_block({"compatibility": _FIGURES["compatibility"]}) == ""


def test_comparison_goes_between_its_marks_and_nowhere_else() -> None:
    text = f"Before\n{BEGIN}\nold\n{END}\nAfter\n"
    placed = place_comparison(text, "new")
    assert placed == f"Before\n{BEGIN}\n\nnew\n\n{END}\nAfter\n"
    assert place_comparison(placed, "new") == placed
    assert place_comparison("No marks\n", "new") == "No marks\n"


def test_losses_name_who_is_faster_and_who_is_smaller() -> None:
    assert render_losses(_FIGURES) == [
        "- Discovery without a cache, 1,000 skills: quick (0.5 of ours) is faster, of 2.",
        "- Peak memory of discovery, 1,000 skills: small (0.67 of ours) is smaller, of 2.",
        "- The first text of the catalog: no peer is faster, of 1.",
    ]


def test_figures_of_another_run_are_stale() -> None:
    assert find_run(_FIGURES) == _RUN
    assert render_age(_STAMP, _RUN) == ""
    assert render_age(_OLD, _RUN) == " (**stale**: of 2025-01-02)"
    assert render_age({}, _RUN) == " (**stale**: of an unknown day)"
    machine, differing = render_runs(_FIGURES)
    assert machine == f"- The run {_RUN}: Prowess 1.2.3; a machine."
    assert "Discovery (" not in differing
    assert "Copies (**failed in this run**)" in differing
    assert "Prompt, activation and reading (**stale**: of 2025-01-02)" in differing


def test_every_goal_names_a_benchmark_whose_figures_it_is_told_from() -> None:
    assert {goal.source for goal in GOALS} <= {*results.SECTIONS, "search"}
    assert "2.00 times as fast as" not in render_goals(_FIGURES)
    assert "0.50 times as fast as quick" in render_goals(_FIGURES)


def test_section_of_a_benchmark_that_failed_says_so_until_it_succeeds(place: Path) -> None:
    results.write_section("Copies", "Old.")
    results.write_figures("sync", {"ms": {}})
    results.mark_failed("sync", reason="status 1")
    results.mark_failed("sync", reason="status 2")
    told = (place / "R.md").read_text(encoding="utf-8")
    assert told.count("**Failed**") == 1
    assert "(status 2)" in told
    assert "Old." in told
    assert results.read_figures()["sync"]["about"]["failed"] == results.RUN
    results.write_section("Copies", "New.", {"cp": "9"})
    told = (place / "R.md").read_text(encoding="utf-8")
    assert "Failed" not in told
    assert results.read_figures()["sections"]["Copies"]["versions"] == {"cp": "9"}


def test_section_that_was_never_written_says_that_there_is_nothing(place: Path) -> None:
    results.mark_failed("web", reason="status 1")
    assert "there are no results" in (place / "R.md").read_text(encoding="utf-8")


def test_no_disk_has_room_for_everything(tmp_path: Path) -> None:
    assert has_room_for(tmp_path, size_bytes=1, inodes=1)
    assert not has_room_for(tmp_path, size_bytes=1 << 60, inodes=1)
