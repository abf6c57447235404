"""Work that many do at once on one store, and what must be there afterwards."""

from collections.abc import Sequence

from prowess.activation.grants import Act
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.store import StateStore
from tests.state.values import end_run, make_grant, make_receipt, make_run

__all__ = ["expect_everything", "work"]

_ROUNDS = range(10)


def work(store: StateStore, who: str) -> set[str]:
    """Activate, run, grant, switch and trust, partly what all others do too; return by which receipts `same` is on."""
    same: set[str] = set()
    for n in _ROUNDS:
        same.add(store.activate(make_receipt(f"same-{who}-{n}", skill="core:same")).id)
        store.activate(make_receipt(f"own-{who}-{n}", skill=f"core:{who}-{n}"))
        store.activate(make_receipt(f"changing-{who}-{n}", skill="core:changing", digest=f"{who}-{n}"))
        store.set_grant(make_grant(f"{who}-{n}"))
        store.set_grant(make_grant("same", session=f"s{n}"))
        store.set_grant(make_grant("same", act=Act.RUN, powers=(f"secret:{who}-{n}",)))
        for run in (make_run(f"x-{who}-{n}"), make_run("same", skill="core:same")):
            store.record_run(run)
            store.record_run(end_run(run))
        store.set_switch(who, SwitchKey(f"core:{n}"), Switch.OFF)
        store.trust(f"/{n}", user="ann")
    return same


def expect_everything(store: StateStore, workers: Sequence[str], *, same: set[str]) -> None:
    """All that the workers did is there, and there once."""
    everyone = [(who, n) for who in workers for n in _ROUNDS]
    open_ids = {receipt.skill: receipt.id for receipt in store.active(user="ann", session="chat")}
    assert same == {open_ids.pop("core:same")}
    last = open_ids.pop("core:changing")
    assert open_ids == {f"core:{who}-{n}": f"own-{who}-{n}" for who, n in everyone}
    receipts = store.receipts(user="ann", limit=100_000)
    changing = {receipt.id: receipt.is_open for receipt in receipts if receipt.skill == "core:changing"}
    assert changing == {f"changing-{who}-{n}": f"changing-{who}-{n}" == last for who, n in everyone}
    assert len(receipts) == 1 + 2 * len(everyone)
    grants = {(grant.digest, grant.session, grant.act) for grant in store.grants(user="ann")}
    assert grants == {
        *((f"{who}-{n}", "", Act.USE) for who, n in everyone),
        *(("same", f"s{n}", Act.USE) for n in _ROUNDS),
        ("same", "", Act.RUN),
    }
    powers = tuple(sorted(f"secret:{who}-{n}" for who, n in everyone))
    running = make_grant("same", act=Act.RUN, powers=powers)
    assert store.find_grant(user="ann", digest="same", act=Act.RUN) == running
    runs = [make_run("same", skill="core:same"), *(make_run(f"x-{who}-{n}") for who, n in everyone)]
    assert set(store.runs(user="ann", limit=100_000)) == set(map(end_run, runs))
    assert store.switches() == {(who, SwitchKey(f"core:{n}")): Switch.OFF for who, n in everyone}
    assert store.trusted_projects(user="ann") == {f"/{n}" for n in _ROUNDS}
    assert store.version() == 1 + 4 * len(everyone) + len(_ROUNDS)  # Three grants, a switch each; trust counts once.
