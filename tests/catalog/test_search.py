"""Skills are found by what somebody asks for: among those that may be seen, the best first, whatever is typed."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.catalog.search import Hit, SkillSearch
from prowess.errors import SettingsError
from prowess.policy import Ranking, SourceKind
from prowess.skill.manifest import Behaviour, Manifest, Triggers
from prowess.skill.skill import Skill
from tests.skills_on_disk import write_skill

_RANKINGS = pytest.mark.parametrize("ranking", list(Ranking))
_SETTLING_SECONDS = 0.13
"""After so long, the stamps of files are relied on."""


def _skill(
    name: str,
    description: str = "",
    *,
    relative: str = "",
    root: str = "/nowhere",
    behaviour: Behaviour | None = None,
    text: str = "",
) -> Skill:
    path = relative or name
    manifest = Manifest(name, description, additions=behaviour, text=text)
    return Skill(f"user:{path}", SourceKind.USER, root, path, f"{root}/{path}", manifest)


_SKILLS = (
    _skill("pdf-forms", "Fill in the fields of a document."),
    _skill("scheduling", "Schedules meetings with several people."),
    _skill("sales-report", "Numbers of the last quarter as a chart."),
    _skill("form", "Something else altogether."),
    _skill("spreadsheets", "Read and write tables, also a form of report."),
    _skill("cafe-guide", "Où trouver un bon café."),
    _skill("表作成", "表格処理とグラフを作る。"),
)


def _names(hits: Sequence[Hit]) -> list[str]:
    return [hit.skill_id.removeprefix("user:") for hit in hits]


def _find(query: str, skills: Sequence[Skill] = _SKILLS, *, limit: int = 10) -> list[str]:
    return _names(SkillSearch().find(query, skills=skills, limit=limit))


# What is found


@pytest.mark.parametrize(
    ("query", "first"),
    [
        pytest.param("meetings", "scheduling", id="a word"),
        pytest.param("MEETINGS?", "scheduling", id="capitals and punctuation"),
        pytest.param("how do I meet someone", "scheduling", id="another form of a word"),
        pytest.param("fills documents", "pdf-forms", id="other forms of two words"),
        pytest.param("sales", "sales-report", id="a part of a name"),
        pytest.param("pdf fo", "pdf-forms", id="a word that is being typed"),
        pytest.param("sprea", "spreadsheets", id="the beginning of one word"),
        pytest.param("shedule meetng", "scheduling", id="typing errors"),
        pytest.param("pfd", "pdf-forms", id="swapped letters"),
        pytest.param("spredsheats", "spreadsheets", id="two errors in a long word"),
        pytest.param("ou trouver", "cafe-guide", id="accents left out"),
        pytest.param("CAFÉ", "cafe-guide", id="accents given"),
        pytest.param("グラフ", "表作成", id="no blanks between words"),
        pytest.param("処理 ", "表作成", id="in the midst of a run"),
        pytest.param("処", "表作成", id="one letter of a run"),
        pytest.param("する 表格", "表作成", id="a run with others"),
    ],
)
def test_skill_is_found(query: str, first: str) -> None:
    assert _find(query)[0] == first


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *(("form", "form"), ("Form", "form"), (" form ", "form"), ("表作成", "表作成"), ("café-guide", "cafe-guide")),
        *((query, "sales-report") for query in ("sales report", "sales-report", "SALES_REPORT")),
    ],
)
@_RANKINGS
def test_skill_of_just_this_name_is_first(query: str, name: str, ranking: Ranking) -> None:
    best = SkillSearch(ranking=ranking).find(query, skills=_SKILLS)[0]
    assert (best.skill_id, best.score) == (f"user:{name}", 1)


def test_skills_of_one_name_all_come_first_in_their_order() -> None:
    twins = (_skill("form", relative="b/form"), *_SKILLS, _skill("form", relative="a/form"))
    assert _find("form", twins)[:3] == ["b/form", "form", "a/form"]


@pytest.mark.parametrize(
    ("query", "behaviour", "text", "relative"),
    [
        pytest.param("quarterly", Behaviour(when_to_use="For quarterly figures."), "", "", id="when to use"),
        pytest.param("invoice", Behaviour(triggers=Triggers(keywords=("invoices",))), "", "", id="keywords"),
        pytest.param("bill", Behaviour(triggers=Triggers(verbs=("bill",))), "", "", id="verbs"),
        pytest.param("ledger", None, "tags: [ledgers, books]\n", "", id="tags"),
        pytest.param("accounting", None, "", "accounting/plain", id="category"),
    ],
)
def test_every_field_is_searched(query: str, behaviour: Behaviour | None, text: str, relative: str) -> None:
    plain = _skill("plain", "Nothing.", behaviour=behaviour, text=text, relative=relative)
    assert _find(query, (*_SKILLS, plain)) == [relative or "plain"]


def test_headings_of_the_instructions_are_searched_and_their_code_is_not(tmp_path: Path) -> None:
    body = "# Amortisation\n\nProse about zebras.\n\n```sh\n# giraffes\n```\n"
    write_skill(tmp_path, "loans", body=body)
    skills = (*_SKILLS, _skill("loans", "Lends.", root=str(tmp_path)))
    assert _find("amortisation", skills) == ["loans"]
    assert _find("zebras giraffes ", skills) == []


def test_instructions_are_never_read_through_a_link_that_leads_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Password\n")
    (tmp_path / "skills" / "sly").mkdir(parents=True)
    (tmp_path / "skills" / "sly" / "SKILL.md").symlink_to(secret)
    os.mkfifo(tmp_path / "skills" / "pipe")
    skills = (_skill("sly", root=str(tmp_path / "skills")), _skill("pipe", root=str(tmp_path / "skills")))
    assert _find("password", skills) == []


def test_name_counts_more_than_the_description() -> None:
    skills = (_skill("one", "Makes a chart."), _skill("chart-maker", "Makes one."))
    assert _find("chart", skills) == ["chart-maker", "one"]


def test_words_that_say_little_do_not_outweigh_the_one_that_matters() -> None:
    skills = (_skill("letters", "What you want to do with it when you have none."), _skill("flights", "Books flights."))
    assert _find("what do I have to do when I want flights", skills)[0] == "flights"


def test_equals_come_in_the_given_order() -> None:
    skills = tuple(_skill("same", "The same text.", relative=f"{number}") for number in (3, 1, 2))
    assert _find("text", skills) == ["3", "1", "2"]
    assert _find("text", skills[::-1]) == ["2", "1", "3"]


@pytest.mark.parametrize("query", ["", " ", "\0", "\ud800", "…", "qqqqqqqq", '"*^():-'])
def test_query_that_says_nothing_finds_nothing(query: str) -> None:
    assert _find(query) == []


@_RANKINGS
def test_nothing_is_found_among_nothing_and_within_no_limit(ranking: Ranking) -> None:
    search = SkillSearch(ranking=ranking)
    assert search.find("form", skills=()) == ()
    assert search.find("form", skills=_SKILLS, limit=0) == search.find("form", skills=_SKILLS, limit=-1) == ()


@pytest.mark.parametrize(
    "query",
    [
        '"meetings',
        "meetings*",
        "name:meetings",
        "NEAR(meetings people)",
        "^meetings",
        "meetings AND NOT (",
        "{a b}: meetings",
    ],
)
def test_signs_of_a_query_language_mean_nothing(query: str) -> None:
    assert _find(query)[0] == "scheduling"


# Bounds


@pytest.mark.slow
@_RANKINGS
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("meetings " * 120_000, id="one word"),
        pytest.param("x" * 1_000_000, id="no blank"),
        pytest.param(" ".join(f"meetng{number:x}" for number in range(100_000)), id="unknown words"),
        pytest.param("会議" * 500_000, id="no blanks"),
        pytest.param("e\u0301" * 500_000, id="accents"),
        pytest.param("- " * 500_000 + "meetings", id="signs"),
    ],
)
def test_megabyte_of_text_is_answered_at_once(query: str, ranking: Ranking) -> None:
    search = SkillSearch(ranking=ranking)
    search.find("meetings", skills=_SKILLS)
    begun = time.process_time()
    search.find(query, skills=_SKILLS)
    assert time.process_time() - begun < 1


@pytest.mark.slow
def test_rare_words_choose_and_common_words_put_in_order() -> None:
    """Each common word alone is in more skills than a query visits."""
    kinds = ("alpha", "beta", "gamma")
    skills = tuple(
        _skill(
            f"skill-{number}",
            " ".join(kind if number >> place & 1 else f"other{place}" for place, kind in enumerate(kinds))
            + (" zebra" if number % 1_001 == 0 else " horse"),
        )
        for number in range(70_000)
    )
    search = SkillSearch()
    best = [int(name.split("-")[1]) for name in _names(search.find("alpha beta gamma zebra.", skills=skills, limit=8))]
    assert [(number & 7, number % 1_001) for number in best] == [(7, 0)] * 8
    assert best == sorted(best)
    assert len(search.find("alpha", skills=skills, limit=3)) == 3


# Only what may be seen


def test_skills_outside_of_the_view_change_neither_hits_nor_scores() -> None:
    search, alone = SkillSearch(), SkillSearch()
    few = _SKILLS[:3]
    search.find("form", skills=_SKILLS)
    for query in ("form", "shedule", "sprea", "report chart", "spreadsheets tables"):
        assert search.find(query, skills=few) == alone.find(query, skills=few)
        assert {hit.skill_id for hit in search.find(query, skills=few)} <= {skill.id for skill in few}


def test_list_that_changes_is_read_anew() -> None:
    search, skills = SkillSearch(), [_SKILLS[0]]
    assert search.find("meetings", skills=skills) == ()
    skills.append(_SKILLS[1])
    assert _names(search.find("meetings", skills=skills)) == ["scheduling"]


# Laws

_WORDS = st.sampled_from(
    (
        "form",
        "forms",
        "pdf",
        "report",
        "reports",
        "meet",
        "meeting",
        "schedule",
        "表格",
        "café",
        "data",
        "tables",
        "the",
    )
)
_TEXTS = st.lists(_WORDS, max_size=6).map(" ".join)


@st.composite
def _skill_sets(draw: st.DrawFn) -> tuple[Skill, ...]:
    found = draw(st.lists(st.tuples(st.integers(0, 9), _TEXTS, _TEXTS), max_size=8, unique_by=lambda made: made[0]))
    return tuple(_skill(name.replace(" ", "-") or "x", text, relative=f"dir/{number}") for number, name, text in found)


@given(st.text(), st.lists(st.text(), max_size=4), st.integers(-1, 5))
@_RANKINGS
def test_any_query_is_answered_within_the_limit_from_the_given_skills(
    ranking: Ranking, query: str, texts: list[str], limit: int
) -> None:
    skills = (*_SKILLS, *(_skill(text, text, relative=f"any/{at}") for at, text in enumerate(texts)))
    first = SkillSearch(ranking=ranking).find(query, skills=skills, limit=limit)
    assert len(first) <= max(0, limit)
    assert len({hit.skill_id for hit in first}) == len(first)
    assert {hit.skill_id for hit in first} <= {skill.id for skill in skills}
    assert all(0 < hit.score <= 1 for hit in first)
    assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)
    assert SkillSearch(ranking=ranking).find(query, skills=skills, limit=limit) == first


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(_skill_sets(), min_size=1, max_size=6), _TEXTS | st.text(), st.booleans())
@_RANKINGS
def test_answers_after_changes_are_those_of_a_fresh_search(
    ranking: Ranking, history: list[tuple[Skill, ...]], query: str, large: bool
) -> None:
    others = tuple(_skill(f"other-{at}", "A report of data.", relative=f"o/{at}") for at in range(40)) if large else ()
    search = SkillSearch(ranking=ranking)
    for skills in history:
        seen = (*skills, *others)
        assert search.find(query, skills=seen) == SkillSearch(ranking=ranking).find(query, skills=seen)


# Changes


def test_changed_heading_is_found_once_the_catalog_has_a_new_skill_for_it(tmp_path: Path) -> None:
    write_skill(tmp_path, "loans", body="# Amortisation\n")
    search = SkillSearch()
    assert _names(search.find("amortisation", skills=(_skill("loans", root=str(tmp_path)),))) == ["loans"]
    write_skill(tmp_path, "loans", body="# Depreciation\n")
    skills = (_skill("loans", root=str(tmp_path)),)
    assert _names(search.find("depreciation", skills=skills)) == ["loans"]
    assert search.find("amortisation", skills=skills) == ()


# The cache


def _write_settled(root: Path) -> tuple[Skill, ...]:
    for name in ("loans", "taxes"):
        write_skill(root, name, body=f"# Heading of {name}\n")
    time.sleep(_SETTLING_SECONDS)
    return tuple(_skill(name, f"About {name}.", root=str(root)) for name in ("loans", "taxes"))


@_RANKINGS
def test_later_search_finds_the_same_with_what_an_earlier_one_kept(tmp_path: Path, ranking: Ranking) -> None:
    cache, skills = tmp_path / "cache", _write_settled(tmp_path / "skills")
    search = SkillSearch(str(cache), ranking=ranking)
    found = search.find("heading", skills=skills)
    search.close()
    (kept,) = cache.iterdir()
    written = kept.stat().st_mtime_ns
    later = SkillSearch(str(cache), ranking=ranking)
    assert later.find("heading", skills=skills) == found != ()
    later.close()
    assert kept.stat().st_mtime_ns == written  # It had learned nothing new.


def test_cache_can_be_entered_by_its_owner_only(tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "cache"
    search = SkillSearch(str(cache))
    search.find("heading", skills=_write_settled(tmp_path / "skills"))
    search.close()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in cache.iterdir()} == {0o600}


def test_skill_that_changed_since_is_read_again_from_the_others_cache(tmp_path: Path) -> None:
    cache, skills = str(tmp_path / "cache"), _write_settled(tmp_path / "skills")
    search = SkillSearch(cache)
    search.find("heading", skills=skills)
    search.close()
    write_skill(tmp_path / "skills", "taxes", body="# Deduction\n")
    changed = (skills[0]._replace(manifest=Manifest("loans", "About mortgages.")), skills[1])
    later, fresh = SkillSearch(cache), SkillSearch()
    for query in ("heading", "deduction", "mortgages", "loans", "taxes"):
        assert later.find(query, skills=changed) == fresh.find(query, skills=changed)
    assert _names(later.find("deduction", skills=changed)) == ["taxes"]


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"cut", b"flipped"])
def test_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    cache, skills = tmp_path / "cache", _write_settled(tmp_path / "skills")
    search = SkillSearch(str(cache))
    found = search.find("heading", skills=skills)
    search.close()
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    broken = {b"cut": whole[:-9], b"flipped": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]}.get(damage, damage)
    kept.write_bytes(broken)
    later = SkillSearch(str(cache))
    assert later.find("heading", skills=skills) == found
    later.close()
    assert kept.read_bytes() != broken


def test_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    skills = _write_settled(tmp_path / "skills")
    search = SkillSearch(str(tmp_path / "file" / "cache"))
    assert _names(search.find("heading", skills=skills)) == ["loans", "taxes"]
    search.close()


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
def test_odd_paths_and_texts_are_no_obstacle(tmp_path: Path, odd: str) -> None:
    search = SkillSearch(str(tmp_path / "cache"))
    skills = (_skill(f"form{odd}", f"Fill in {odd} forms", relative=f"a{odd}b", root=f"/no{odd}where"), *_SKILLS)
    assert _names(search.find("form", skills=skills)) == [f"a{odd}b", "form", "pdf-forms", "spreadsheets"]
    search.close()


def test_search_goes_on_after_it_was_closed(tmp_path: Path) -> None:
    search = SkillSearch(str(tmp_path / "cache"))
    found = search.find("form", skills=_SKILLS)
    search.close()
    search.close()
    assert search.find("form", skills=_SKILLS) == found


def test_skills_that_are_gone_do_not_stay_in_the_cache_forever(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    search = SkillSearch(str(cache))
    for round_ in range(40):
        search.find("x", skills=tuple(_skill(f"skill-{round_}-{number}") for number in range(100)))
    search.close()
    (kept,) = cache.iterdir()
    assert kept.read_bytes().count(b"user:skill-") <= 1_200


def test_words_that_no_skill_has_any_more_are_forgotten_and_the_others_still_found() -> None:
    search, skills = SkillSearch(), _SKILLS
    for round_ in range(200):
        words = " ".join(f"word{round_}x{letter}" for letter in "abcdefgh")
        skills = (_skill("steady", f"Certain documents. {words}"), *_SKILLS)
        hits = search.find(f"word{round_}x", skills=skills)
        assert _names(hits) == ["steady"]
    assert search.find("documnts", skills=skills) == SkillSearch().find("documnts", skills=skills) != ()
    assert search._vocabulary.size < 200  # pyright: ignore[reportPrivateUsage]


# Many at once


@pytest.mark.slow
def test_many_threads_with_different_views_get_the_answers_of_one() -> None:
    views = [tuple(_SKILLS[at:] + _SKILLS[:at])[: 3 + at % 4] for at in range(7)]
    queries = ["form", "shedule meetng", "repo", "グラフ", "cafe"]
    expected = {
        (at, query): SkillSearch().find(query, skills=view) for at, view in enumerate(views) for query in queries
    }
    search, wrong = SkillSearch(), list[object]()

    def ask(shift: int) -> None:
        for number in range(300):
            at, query = (number + shift) % len(views), queries[number % len(queries)]
            found = search.find(query, skills=views[at])
            if found != expected[at, query]:
                wrong.append((at, query, found))

    threads = [threading.Thread(target=ask, args=(shift,)) for shift in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


_CHILD = """
import json, sys
from prowess.catalog.search import SkillSearch
from prowess.policy import SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill

cache, shift = sys.argv[1], int(sys.argv[2])
for turn in range(40):
    names = [f"skill-{(shift * 7 + turn + at) % 90}" for at in range(60)]
    skills = tuple(
        Skill(f"user:{name}", SourceKind.USER, "/none", name, f"/none/{name}", Manifest(name, f"Number {name[6:]}."))
        for name in names
    )
    search = SkillSearch(cache)
    found = search.find(names[turn], skills=skills)
    search.close()
    assert found[0].skill_id == f"user:{names[turn]}", found
print(json.dumps(len(found)))
"""


@pytest.mark.slow
def test_processes_that_share_a_cache_do_no_harm_to_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _CHILD, str(tmp_path / "cache")]
    children = [
        subprocess.Popen([*command, str(shift)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for shift in range(4)
    ]
    ends = [(*child.communicate(timeout=120), child.returncode) for child in children]
    assert [end[1:] for end in ends] == [("", 0)] * 4
    assert all(json.loads(end[0]) >= 1 for end in ends)
    assert len(list((tmp_path / "cache").iterdir())) == 1


# Meaning


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("appointment with colleagues", "scheduling"),
        ("financial results of the company", "sales-report"),
        ("excel", "spreadsheets"),
        ("where to drink an espresso", "cafe-guide"),
    ],
)
def test_fused_ranking_finds_what_is_meant_in_other_words(query: str, first: str) -> None:
    search = SkillSearch(ranking=Ranking.FUSED)
    assert _names(search.find(query, skills=_SKILLS, limit=1)) == [first]


def test_fused_ranking_without_its_libraries_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    for name in ("numpy", "safetensors", "tokenizers", "wordllama"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SettingsError) as caught:
        SkillSearch(ranking=Ranking.FUSED)
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "semantic-missing",
        "search by meaning is not possible: numpy, safetensors, tokenizers, wordllama not found",
        "pip install 'prowess[semantic]', or search by words",
    )


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    heavy = ("json", "msgspec", "numpy", "safetensors", "sqlite3", "tokenizers", "wordllama")
    code = f"import sys\nfrom prowess.catalog.search import *\nSkillSearch()\nprint(*sys.modules.keys() & {{*{heavy}}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
