"""`prowess serve` as a process: its first line, its token, its port, its end, and what it tells its operator."""

import json
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from prowess.errors import SettingsError, WorldError
from prowess.surfaces.http.listening import choose_address
from prowess.surfaces.web.token_file import make_token, read_token
from tests.skills_on_disk import Home
from tests.surfaces.command import PROWESS, run
from tests.surfaces.web.server import RunningServer, ServerStarter, read_to_end

pytestmark = pytest.mark.slow


def _log_lines(server: RunningServer) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.read_log().splitlines() if line.startswith("{")]


# The first line


def test_first_line_is_the_address_that_lets_a_browser_in(home: Home) -> None:
    process = subprocess.Popen([PROWESS, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    process.terminate()
    assert process.stdout.read() == b""
    assert process.wait(60) == 0
    process.stdout.close()
    address, _, token = line.strip().partition("/login?token=")
    assert address.startswith("http://127.0.0.1:")
    assert token == read_token(str(home.prowess))


def test_printed_address_leads_to_the_first_page(servers: ServerStarter) -> None:
    server = servers.start()
    with server.client(logged_in=False) as client:
        assert client.get("/").status_code == 401
        assert client.get(server.url).status_code == 200
        assert client.get("/").status_code == 200


def test_browser_stays_logged_in_over_a_restart_until_there_is_a_new_token(servers: ServerStarter) -> None:
    first = servers.start()
    with first.client(logged_in=False) as client:
        client.get(first.url)
        first.stop()
        second = servers.start(port=first.port)
        assert client.get("/api/openapi.json").status_code == 200
        second.stop()
        servers.start("--new-token", port=first.port)
        assert client.get("/api/openapi.json").status_code == 401


def test_token_of_the_environment_is_taken_and_not_kept(servers: ServerStarter, home: Home) -> None:
    server = servers.start(env={"PROWESS_TOKEN": "a" * 32})
    assert server.token == "a" * 32
    assert not (home.prowess / "web-token").exists()


def test_without_a_token_the_address_has_none(servers: ServerStarter) -> None:
    server = servers.start("--no-token")
    assert (server.token, server.url) == ("", f"http://127.0.0.1:{server.port}/")
    with server.client() as client:
        assert client.get("/").status_code == 200


def test_options_come_from_the_settings_where_none_are_given(servers: ServerStarter, home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home.write_settings(f'[web]\nport = {port}\nhost = "localhost"\npublic_url = "https://skills.example.org"\n')
    process = subprocess.Popen([PROWESS, "serve", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    process.terminate()
    process.wait(60)
    process.stdout.close()
    assert (said["host"], said["port"]) == ("localhost", port)
    assert said["url"] == f"https://skills.example.org/login?token={said['token']}"


# What cannot be started


@pytest.mark.parametrize("arguments", [("--host", "0.0.0.0"), ("--allow-host", "skills.internal")], ids=" ".join)
def test_open_server_without_a_token_is_refused(home: Home, arguments: tuple[str, ...]) -> None:
    done = run("serve", "--no-token", "--json", *arguments)
    assert (done.status, done.json["error"]["code"]) == (2, "token-needed")


def test_taken_port_is_told_with_what_to_do(servers: ServerStarter) -> None:
    server = servers.start()
    done = run("serve", "--port", str(server.port), "--json")
    assert (done.status, done.json["error"]["code"]) == (3, "port-taken")
    assert "--port" in done.json["error"]["hint"]


def test_wrong_addresses_are_told_apart() -> None:
    assert choose_address("localhost", 0)[0] in {"127.0.0.1", "::1"}
    for host, code in (("no such machine", "no-such-host"), ("192.0.2.1", "no-port")):
        with pytest.raises(WorldError) as caught:
            choose_address(host, 0)
        assert caught.value.code == code


def test_bad_token_of_the_environment_is_refused(home: Home) -> None:
    done = run("serve", "--json", env={"PROWESS_TOKEN": "short"})
    assert (done.status, done.json["error"]["code"]) == (2, "bad-token")


# The file of the token


def test_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    token = read_token(home)
    assert token == read_token(home)
    assert len(token) == 48
    assert stat.S_IMODE((tmp_path / "home" / "web-token").stat().st_mode) == 0o600
    assert make_token(home) != token
    assert os.listdir(home) == ["web-token"]


def test_token_is_read_through_no_link_and_from_no_open_file(tmp_path: Path) -> None:
    file = tmp_path / "web-token"
    (tmp_path / "elsewhere").write_text("a" * 48)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError) as linked:
        read_token(str(tmp_path))
    make_token(str(tmp_path))
    assert (tmp_path / "elsewhere").read_text() == "a" * 48
    file.chmod(0o644)
    with pytest.raises(SettingsError) as readable:
        read_token(str(tmp_path))
    assert {linked.value.code, readable.value.code} == {"bad-token-file"}


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_ends_in_good_order_while_streams_are_open(servers: ServerStarter, number: int) -> None:
    server = servers.start()
    stream = server.connect()
    head = f"GET /api/changes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    stream.sendall(head.encode())
    assert stream.recv(1000).startswith(b"HTTP/1.1 200")
    server.process.send_signal(number)
    assert read_to_end(stream).endswith(b"0\r\n\r\n"), "the stream was cut off"
    assert server.process.wait(60) == 0
    assert "Traceback" not in server.read_log()


# What the operator sees


def test_probes_and_metrics(servers: ServerStarter) -> None:
    server = servers.start()
    with server.client(logged_in=False) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]) == (200, {"desk": True, "store": True, "catalog": True})
        client.get("/static/none.css")
        text = client.get("/metrics").text
    assert 'prowess_http_requests_total{method="GET",route="/readyz",status="200"} 1.0' in text
    assert 'route="/static/{name:path}",status="404"' in text
    assert "prowess_catalog_skills 6.0" in text
    assert "none.css" not in text


def test_log_has_a_line_of_json_for_each_request_and_no_secret(servers: ServerStarter) -> None:
    server = servers.start()
    with server.client() as client:
        answer = client.get("/api/skills?query=hush", headers={"X-Request-ID": "abc-1"})
        client.get(server.url)
        client.get("/healthz")
    server.stop()
    lines = [line for line in _log_lines(server) if line["event"] == "request"]
    assert answer.headers["x-request-id"] == "abc-1"
    assert [(line["route"], line["status"]) for line in lines] == [("/api/skills", answer.status_code), ("/login", 200)]
    assert lines[0]["request"] == "abc-1"
    assert server.token not in server.read_log()
    assert "hush" not in server.read_log()


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A receiver of traces on this machine: its address, and what it has received."""
    received: list[ExportTraceServiceRequest] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named so by its class
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def _list_spans(received: list[ExportTraceServiceRequest]) -> Iterator[Span]:
    for one in received:
        for resource in one.resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def test_traces_are_sent_where_the_environment_says(
    servers: ServerStarter, receiver: tuple[str, list[ExportTraceServiceRequest]]
) -> None:
    address, received = receiver
    server = servers.start(env={"OTEL_EXPORTER_OTLP_ENDPOINT": address})
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with server.client() as client:
        client.get("/api/openapi.json", headers={"traceparent": parent})
        message = {"text": "Which skills can look at a folder? hush"}
        events = client.post("/api/conversations/c1/messages", json=message, headers={"Accept": "text/event-stream"})
        assert "event: done" in events.text
        metrics = client.get("/metrics").text
    server.stop()
    spans = {span.name: span for span in _list_spans(received)}
    assert spans["GET /api/openapi.json"].trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert "POST /api/conversations/{conversation}/messages" in spans
    turn = {one.key: one.value.string_value for one in spans["turn"].attributes}
    assert (turn["prowess.model"], turn["prowess.outcome"]) == ("offline", "answered")
    assert "hush" not in str(received)
    assert 'prowess_turns_total{outcome="answered"} 1.0' in metrics
