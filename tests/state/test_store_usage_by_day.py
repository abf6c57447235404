"""What a state store promises of usage over time, wherever it keeps its state."""

import random
from collections import Counter

from prowess.activation.receipts import DayUsage
from prowess.state.store import StateStore
from tests.state.values import end_run, make_receipt, make_run

_DAY = 86_400.0


def test_new_store_has_no_usage_by_day(store: StateStore) -> None:
    assert store.usage_by_day(user="ann", since=0.0) == ()


def test_activations_and_runs_are_counted_by_day_and_skill_oldest_first(store: StateStore) -> None:
    receipts = (("r1", "core:pdf", 20_001.5), ("r2", "core:pdf", 20_000.2), ("r3", "core:zip", 20_000.9))
    for id_, skill, day in receipts:
        store.activate(make_receipt(id_, session=id_, skill=skill, at=day * _DAY))
    for number, (skill, day) in enumerate([("core:pdf", 20_000.1), ("core:pdf", 20_000.8), ("core:tar", 20_003.0)]):
        store.record_run(make_run(f"x{number}", skill=skill, at=day * _DAY))
    store.record_run(end_run(make_run("x0", at=20_000.1 * _DAY)))
    store.record_run(make_run("of-bob", user="bob", at=20_000.0 * _DAY))
    assert store.usage_by_day(user="ann", since=0.0) == (
        DayUsage(20_000, "core:pdf", "pdf", 1, 2),
        DayUsage(20_000, "core:zip", "zip", 1, 0),
        DayUsage(20_001, "core:pdf", "pdf", 1, 0),
        DayUsage(20_003, "core:tar", "tar", 0, 1),
    )
    assert store.usage_by_day(user="bob", since=0.0) == (DayUsage(20_000, "core:pdf", "pdf", 0, 1),)


def test_day_lasts_from_midnight_to_midnight(store: StateStore) -> None:
    moments = [0.0, 0.001, 0.4 * _DAY, 0.5 * _DAY, 0.6 * _DAY, _DAY - 0.001, _DAY, 1.5 * _DAY, 2.5 * _DAY, 3.0 * _DAY]
    for number, at in enumerate(moments):
        store.record_run(make_run(f"x{number}", at=at))
        store.activate(make_receipt(f"r{number}", session=f"s{number}", at=at))
    found = [(one.day, one.activations, one.runs) for one in store.usage_by_day(user="ann", since=0.0)]
    assert found == [(0, 6, 6), (1, 2, 2), (2, 1, 1), (3, 1, 1)]


def test_moments_before_1970_have_days_too(store: StateStore) -> None:
    for number, day in enumerate((-0.25, -0.5, -0.75, -1.0, -1.25)):
        store.record_run(make_run(f"x{number}", at=day * _DAY))
    found = [(one.day, one.runs) for one in store.usage_by_day(user="ann", since=-9 * _DAY)]
    assert found == [(-2, 1), (-1, 4)]


def test_usage_by_day_counts_what_began_since_a_moment(store: StateStore) -> None:
    for number in range(4):
        store.record_run(make_run(f"x{number}", at=number * _DAY))
        store.activate(make_receipt(f"r{number}", session=f"s{number}", at=number * _DAY + 1.0))
    days = [[one.day for one in store.usage_by_day(user="ann", since=since * _DAY)] for since in (0, 2, 3.5)]
    assert days == [[0, 1, 2, 3], [2, 3], []]
    assert store.usage_by_day(user="ann", since=3 * _DAY + 0.5) == (DayUsage(3, "core:pdf", "pdf", 1, 0),)


def test_last_name_of_a_day_counts(store: StateStore) -> None:
    store.activate(make_receipt("r1", session="a", name="young", at=1.0))
    store.record_run(make_run("x1", name="old", at=3.0))
    store.activate(make_receipt("r2", session="b", name="new", at=_DAY))
    store.record_run(make_run("x2", name="a", at=2.0))
    assert store.usage_by_day(user="ann", since=0.0) == (
        DayUsage(0, "core:pdf", "old", 1, 2),
        DayUsage(1, "core:pdf", "new", 1, 0),
    )


def test_days_add_up_to_what_was_recorded(store: StateStore) -> None:
    chance = random.Random(7)
    moments = [20_000 * _DAY + chance.random() * 3 * _DAY for _ in range(100)]
    for number, at in enumerate(moments):
        store.record_run(make_run(f"x{number}", at=at))
    found = {one.day: one.runs for one in store.usage_by_day(user="ann", since=0.0)}
    assert found == Counter(int(at // _DAY) for at in moments)
