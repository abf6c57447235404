"""All skills as rows: found, filtered, sorted, cut into pages, and made again only if something has changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.grants import Decision
from prowess.catalog.switches import Switch
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.surfaces.web.pages.charts import draw_bars, draw_segments
from prowess.surfaces.web.skill_table import SORTS, SkillTable, Wanted
from tests.skills_on_disk import Home, write_skill


class _Clock:
    """Says what it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def agents(home: Home) -> Path:
    return home.path / ".agents" / "skills"


@pytest.fixture
def runtime(agents: Path) -> Iterator[Runtime]:
    for name in ("alpha", "beta", "gamma"):
        write_skill(agents, name, description=f"Does {name}. " * len(name))
    with Runtime(load_settings(), skills=[str(agents)]) as runtime:
        yield runtime


def _names(table: SkillTable, *, sort: str) -> list[str]:
    return [row.skill.name for row in table.current().choose(Wanted(sort=sort)).rows]


def test_rows_are_made_anew_only_if_something_has_changed(runtime: Runtime, agents: Path) -> None:
    table = SkillTable(runtime)
    first = table.current()
    assert table.current() is first
    write_skill(agents, "delta")
    second = table.current()
    assert second is not first
    assert [row.skill.name for row in second.rows] == ["alpha", "beta", "delta", "gamma"]


def test_snapshot_says_what_was_so_when_it_was_made(runtime: Runtime, agents: Path) -> None:
    table = SkillTable(runtime)
    before = table.current()
    write_skill(agents, "delta")
    assert table.get("delta").skill.name == "delta"
    with pytest.raises(NotFound):
        before.get("delta")
    assert before.get("alpha") is before.rows[0]


def test_switch_shows_at_once(runtime: Runtime) -> None:
    table = SkillTable(runtime)
    assert table.get("beta").is_visible
    runtime.set_switch("beta", Switch.OFF)
    assert (table.get("beta").state, table.get("beta").switch) == ("disabled", Switch.OFF)
    runtime.set_switch("beta", Switch.NAME_ONLY)
    assert table.current().tokens(table.get("beta")) < table.current().tokens(table.get("alpha"))


def test_use_is_counted_again_after_a_while(runtime: Runtime) -> None:
    clock = _Clock()
    table = SkillTable(runtime, clock=clock)
    row = table.get("beta")
    runtime.decide("beta", Decision.ALLOW)
    table.current()
    with runtime.session("s") as session:
        session.activate("beta")
    assert table.current().uses(row) == 0
    clock.now = 6.0
    assert table.current().uses(row) == 1
    assert _names(table, sort="-uses")[0] == "beta"
    assert _names(table, sort="-used")[0] == "beta"


def test_every_column_sorts_both_ways(runtime: Runtime) -> None:
    table = SkillTable(runtime)
    assert _names(table, sort="-name") == ["gamma", "beta", "alpha"]
    assert _names(table, sort="tokens")[0] == "beta"
    for name in SORTS:
        assert sorted(_names(table, sort=name)) == sorted(_names(table, sort=f"-{name}")) == ["alpha", "beta", "gamma"]


def test_key_goes_before_name_and_id(home: Home) -> None:
    first, second = home.path / "first", home.path / "second"
    write_skill(first, "one", text="---\nname: project--two\ndescription: Is called like another's key.\n---\nDo it.\n")
    write_skill(second, "two")
    with Runtime(load_settings(), skills=[str(first), str(second)]) as runtime:
        table = SkillTable(runtime)
        assert table.get("project--two").skill.id == "project:two"
        assert table.get("project:one").key == "project--one"
        assert table.get("two").skill.id == "project:two"


def test_unknown_name_is_not_found(runtime: Runtime) -> None:
    table = SkillTable(runtime)
    with pytest.raises(NotFound, match="no skill 'gama'") as caught:
        table.get("gama")
    assert "gamma" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        table.get("x" * 10_000)
    assert len(caught.value.message) < 300


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=40))
def test_bars_stay_within_their_drawing(counts: list[tuple[int, int]]) -> None:
    chart = draw_bars([(str(number), *count) for number, count in enumerate(counts)], width=100, height=50)
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 100.01
        assert -0.02 <= bar.upper_y <= bar.lower_y <= 50
        assert bar.lower_y + bar.lower_height == pytest.approx(50, abs=0.02)
    assert 2 <= len(chart.lines) <= 6
    assert chart.total == sum(map(sum, counts))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
def test_segments_fill_the_bar_without_gaps(amounts: list[int]) -> None:
    segments = draw_segments([("a", amount) for amount in amounts], total=sum(amounts))
    x = 0.0
    for one in segments:
        assert one.x == pytest.approx(x, abs=0.05)
        x = one.x + one.width
    assert x == pytest.approx(1_000 if sum(amounts) else 0, abs=0.1)
