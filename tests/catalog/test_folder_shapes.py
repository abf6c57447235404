"""Whatever shape a folder has, the answer is a value: no exception, no wait, and twice the same."""

import os
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prowess.catalog.digests import Digests
from prowess.catalog.reasons import explain
from prowess.catalog.refresh import CatalogKeeper
from prowess.catalog.validation import check_skill, find_skill_folders
from prowess.catalog.views import make_view
from prowess.policy import PROFILES, Limits, Links, Policy, Scan, SourceKind
from prowess.skill.problems import Severity
from prowess.sources.source import Source
from tests.catalog.machine import discover
from tests.catalog.probes import PaperProbe
from tests.sources.building import make_socket, skill_text


@dataclass(frozen=True)
class File:
    content: bytes


@dataclass(frozen=True)
class Link:
    target: bytes


@dataclass(frozen=True)
class Pipe:
    pass


@dataclass(frozen=True)
class Socket:
    pass


@dataclass(frozen=True)
class Folder:
    entries: "Mapping[bytes, Thing]" = field(default_factory=dict[bytes, "Thing"])


Thing = File | Link | Pipe | Socket | Folder

_NAMES = st.sampled_from(
    [
        *(b"a", b"b", b"c", b"SKILL.md", b"SKILL.md", b"SKILL.md", b"skill.md", b"agents", b"openai.yaml", b".git"),
        *(b"node_modules", b"caf\xe9", b"\xff\xfe", "é".encode(), b"line\nbreak", b" ", b"-", b".nfs1", b"x" * 255),
    ]
)
_TARGETS = st.sampled_from(
    [
        *(b".", b"..", b"a", b"b", b"../a", b"../b", b"SKILL.md", b"../SKILL.md", b"missing", b"/", b"/dev/zero"),
        *(b"../..", b"a/../b", b"a/b/c/../d", b"caf\xe9", b"../../../../../../../../etc", b"agents/openai.yaml"),
    ]
)
_CONTENTS = st.sampled_from(
    [
        *(skill_text(name).encode() for name in ("a", "b", "c", "Odd Name", "'\u202e'")),
        *(b"", b"no frontmatter", b"---\nname: a\n", b"---\nname: a\ndescription: [\n---\n", b"\xff\xfe-\0-\0-\0"),
        *(skill_text("a", extra="requires: git\nmodel: x\nx: y\n", body="[a](a) [b](b/c.md)").encode(), b"---\n" * 9),
        b"interface:\n  display_name: D\n",
    ]
)
_THINGS: st.SearchStrategy[Thing] = st.recursive(
    st.one_of(
        st.builds(File, _CONTENTS),
        st.builds(File, _CONTENTS),
        st.builds(Link, _TARGETS),
        st.just(Pipe()),
        st.just(Socket()),
    ),
    lambda inner: st.builds(Folder, st.dictionaries(_NAMES, inner, max_size=5)),
    max_leaves=14,
)


def _add_manifest(entries: Mapping[bytes, Thing], content: bytes) -> Folder:
    return Folder({**entries, b"SKILL.md": File(content)})


_GOOD = st.sampled_from([skill_text(name).encode() for name in ("a", "b", "c", "d")])
_SKILLS = st.builds(_add_manifest, st.dictionaries(_NAMES, _THINGS, max_size=3), _GOOD | _CONTENTS)
"""Folders with a manifest: of names that are drawn one by one, hardly ever a skill comes."""
_TREES = st.builds(Folder, st.dictionaries(_NAMES, _SKILLS | _THINGS, min_size=1, max_size=6))


def _bury(tree: Folder, levels: int) -> Folder:
    for _ in range(levels):
        tree = Folder({b"a": tree, b"SKILL.md": File(b"")} if levels > 20 else {b"a": tree})
    return tree


_BURIED = st.builds(_bury, _TREES, st.sampled_from([0, 0, 0, 1, 5, 7, 40]))


def _make_skill(tree: Folder) -> Folder:
    return Folder({b"a": Folder({**tree.entries, b"SKILL.md": File(skill_text("a").encode())})})


def _make(path: bytes, thing: Thing) -> None:
    match thing:
        case File(content):
            Path(os.fsdecode(path)).write_bytes(content)
        case Link(target):
            os.symlink(target, path)
        case Pipe():
            os.mkfifo(path)
        case Socket():
            make_socket(Path(os.fsdecode(path)))
        case Folder(entries):
            os.mkdir(path)
            for name, inner in entries.items():
                _make(path + b"/" + name, inner)


@contextmanager
def _drawn(tree: Folder) -> Generator[Path]:
    with tempfile.TemporaryDirectory() as top:
        root = Path(top, "root")
        _make(os.fsencode(root), tree)
        yield root


@contextmanager
def _within_seconds(seconds: int) -> Generator[None]:
    """Break off whatever waits: a FIFO that was opened would wait forever."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"nothing happened for {seconds} seconds")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


_SOURCES = st.tuples(
    st.sampled_from([SourceKind.USER, SourceKind.PROJECT, SourceKind.WORKSPACE]),
    st.sampled_from(list(Scan)),
    st.sampled_from(list(Links)),
)
_POLICIES = st.sampled_from(list(PROFILES.values()))
_EFFORT = int(os.environ.get("FUZZ_EFFORT", "1"))  # `make fuzz` tries harder.
_FEW = settings(max_examples=120 * _EFFORT, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@pytest.mark.requirement("R15", "R31", "J5")
@_FEW
@given(tree=_BURIED, how=_SOURCES, policy=_POLICIES)
def test_discovery_of_any_folder_ends_with_the_same_catalog_each_time(
    tree: Folder, how: tuple[SourceKind, Scan, Links], policy: Policy
) -> None:
    kind, mode, links = how
    with _drawn(tree) as root, _within_seconds(10):
        sources = [Source(kind, str(root), scan=mode, links=links, expected=True)]
        first, second = discover(sources, policy), discover(sources, policy)
        assert first == second
        assert len({skill.id for skill in first.skills}) == len(first.skills) == len(first.by_id)
        for skill in first.skills:
            assert all(problem.severity is not Severity.ERROR for problem in skill.problems)
            skill.id.encode()
        for one in first.rejected:
            assert any(problem.severity is Severity.ERROR for problem in one.problems)
            one.path.encode()


@pytest.mark.slow
@pytest.mark.requirement("J5")
@_FEW
@given(tree=_BURIED | _TREES.map(_make_skill))
def test_digest_of_any_folder_is_the_same_each_time_or_none_with_a_problem(tree: Folder) -> None:
    with _drawn(tree) as root, _within_seconds(10):
        for skill in discover([Source(SourceKind.USER, str(root))], PROFILES["daycare"]).skills:
            found, again = Digests().read(skill), Digests().read(skill)
            assert found == again
            assert bool(found.digest) is not bool(found.problems)
            assert Digests().of(skill) == found.digest
            assert not any(file.path.startswith((b"/", b"../")) or b"/../" in file.path for file in found.files)


@pytest.mark.slow
@pytest.mark.requirement("R15", "R107")
@_FEW
@given(tree=_BURIED, policy=_POLICIES)
def test_validation_of_any_folder_gives_a_verdict(tree: Folder, policy: Policy) -> None:
    with _drawn(tree) as root, _within_seconds(10):
        found = find_skill_folders(str(root))
        assert found == find_skill_folders(str(root))
        for folder in found.folders:
            verdict = check_skill(folder, reading=policy.reading, limits=Limits())
            assert verdict == check_skill(folder, reading=policy.reading, limits=Limits())
            assert verdict.valid is not any(problem.severity is Severity.ERROR for problem in verdict.problems)


@pytest.mark.slow
@pytest.mark.requirement("R36", "K7")
@_FEW
@given(tree=_BURIED)
def test_keeper_of_any_folder_gives_what_a_search_gives_and_explains_all_of_it(tree: Folder) -> None:
    with _drawn(tree) as root, _within_seconds(10):
        sources = [Source(SourceKind.USER, str(root))]
        keeper = CatalogKeeper(PROFILES["standard"], lambda: sources)
        try:
            first = keeper.current()
            assert keeper.current() is first
        finally:
            keeper.close()
        view = make_view(first, probe=PaperProbe())
        assert len(view.visible) + len(view.hidden) == len(first.skills)
        for skill in first.skills:
            assert explain(skill.id, first, view).found
        for one in first.rejected:
            assert explain(one.path, first, view).reasons[0].code == "invalid"


@pytest.mark.slow
@pytest.mark.requirement("J5")
@settings(max_examples=60 * _EFFORT, suppress_health_check=[HealthCheck.too_slow])
@given(trees=st.lists(_TREES, min_size=2, max_size=3))
def test_several_roots_that_link_to_each_other_end_too(trees: list[Folder]) -> None:
    with _drawn(Folder(dict(zip((b"a", b"b", b"c"), trees, strict=False)))) as root:
        kinds = (SourceKind.PROJECT, SourceKind.USER, SourceKind.CONFIG)
        sources = [
            Source(kind, str(root / name), project=str(root) if kind is SourceKind.PROJECT else "")
            for kind, name in zip(kinds, ("a", "b", "c"), strict=True)
        ]
        with _within_seconds(10):
            found = discover(sources)
            assert found == discover(sources)
            real = [os.path.realpath(skill.folder) for skill in found.skills]
            assert len(set(real)) == len(real)
