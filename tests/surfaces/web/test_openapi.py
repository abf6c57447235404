"""The OpenAPI document, and requests of all kinds that are made from it: whatever comes, the answer is as it says."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from prowess.surfaces.web.api.openapi import make_document
from prowess.surfaces.web.api.table import OPERATIONS
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.server import RunningServer, ServerStarter


def test_names_of_operations_are_their_own() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len({*names}) == len(names)
    paths = [(operation.method, operation.path) for operation in OPERATIONS]
    assert len({*paths}) == len(paths)


def test_every_operation_is_described() -> None:
    document = make_document(OPERATIONS)
    described = [one for path in document["paths"].values() for one in path.values()]
    assert len(described) == len(OPERATIONS)
    for one in described:
        assert one["summary"].endswith(".")
        assert {"400", "401", "500"} <= one["responses"].keys()
    json.dumps(document)


@pytest.fixture
def server(home: Home, servers: ServerStarter) -> RunningServer:
    root = home.path / ".agents" / "skills"
    write_skill(
        root, "painting", description="Paints walls. Use for walls.", files={"references/a.md": "a", "b.bin": b"\0"}
    )
    write_skill(root, "broken", text="---\nname: [\n---\n")
    return servers.start_with_limits(requests_per_second=100_000, stranger_requests_per_second=100_000)


@pytest.mark.slow
@pytest.mark.requirement("R129")
def test_no_request_made_from_the_document_ends_in_a_failure(server: RunningServer, tmp_path: Path) -> None:
    """Streams are left out: they have no end."""
    with server.client() as client:
        assert client.get("/api/openapi.json").json()["openapi"] == "3.1.0"
    report = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{server.origin}/api/openapi.json",
            f"--header=Authorization: Bearer {server.token}",
            "--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
            "--phases=examples,coverage,fuzzing",
            "--max-examples=12",
            "--seed=1",
            "--exclude-operation-id=follow_conversation",
            "--exclude-operation-id=follow_changes",
            "--request-timeout=30",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert report.returncode == 0, report.stdout[-8_000:] + report.stderr[-2_000:]
    assert f"Tested: {len(OPERATIONS) - 2}" in report.stdout
    with server.client() as client:
        assert client.get("/readyz").status_code == httpx.codes.OK
