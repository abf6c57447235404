"""Attacks on a real server, in a process of its own: each is refused, and the server goes on answering."""

import json
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import run
from tests.surfaces.web.server import RunningServer, ServerStarter, read_to_end

pytestmark = pytest.mark.slow
_STREAMS = 200
_PATIENCE_SECONDS = 60.0


@pytest.fixture
def server(servers: ServerStarter) -> Iterator[RunningServer]:
    """A server that still answers when the attack is over, and has no fault in its log."""
    server = servers.start()
    yield server
    _answers(server)
    assert "Traceback" not in server.read_log()
    assert "internal-error" not in server.read_log()


def _answers(server: RunningServer) -> None:
    with server.client() as client:
        assert client.get("/").status_code == 200


def _head(server: RunningServer, line: str, *headers: str, host: str = "") -> bytes:
    own = (f"Host: {host or f'127.0.0.1:{server.port}'}", f"Authorization: Bearer {server.token}", "Connection: close")
    return "\r\n".join((line, *own, *headers, "", "")).encode("latin-1")


def _status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1."), answer[:200]
    return int(answer[9:12])


# Pages from elsewhere


def test_rebound_name_reaches_nothing(server: RunningServer) -> None:
    for path in ("/", "/api/skills", "/static/prowess.css", "/login", "/metrics"):
        with server.client() as client:
            answer = client.get(path, headers={"Host": f"evil.example:{server.port}"})
        assert answer.status_code == 421


def test_foreign_page_reaches_nothing_even_with_the_cookie(server: RunningServer) -> None:
    with server.client(logged_in=False) as client:
        client.get(server.url)
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": f"http://localhost:{server.port}"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        ):
            assert client.get("/api/skills", headers=headers).status_code == 403
            assert client.post("/api/conversations", json={}, headers=headers).status_code == 403
        assert client.post("/api/conversations", json={}).status_code == 403
        assert client.post("/api/conversations", json={}, headers={"Origin": server.origin}).status_code == 200


def test_no_answer_invites_foreign_pages(server: RunningServer) -> None:
    with server.client() as client:
        asked = client.options(
            "/api/skills", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        )
        plain = client.get("/api/skills")
    assert asked.status_code == 403
    for answer in (asked, plain):
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


# Who is not logged in


def test_nothing_is_told_without_the_token(server: RunningServer) -> None:
    with server.client() as known:
        document = known.get("/api/openapi.json").json()
    assert len(document["paths"]) > 30
    with server.client(logged_in=False) as client:
        for path, methods in document["paths"].items():
            for method in methods:
                answer = client.request(method, path, headers={"Origin": server.origin})
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not-logged-in"), (method, path)
        for page in ("/", "/skills", "/budget", "/usage", "/chat/x"):
            assert client.get(page).status_code == 401


def test_wrong_tokens_are_slowed_down(server: RunningServer) -> None:
    with server.client(logged_in=False) as client:
        statuses = [client.get(f"/login?token=wrong{number}").status_code for number in range(30)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


def test_server_on_all_addresses_needs_a_token(home: Home) -> None:
    done = run("serve", "--host", "0.0.0.0", "--no-token")
    assert done.status == 2
    assert "without a token" in done.stderr


# Bodies and heads


def test_large_body_is_refused_at_once_and_as_it_comes(server: RunningServer) -> None:
    kind = "Content-Type: application/json"
    announced = server.exchange(_head(server, "POST /api/conversations HTTP/1.1", kind, "Content-Length: 99999999"))
    assert _status(announced) == 413
    chunks = (b"10000\r\n" + b"x" * 65_536 + b"\r\n" for _ in range(100))
    head = _head(server, "POST /api/conversations HTTP/1.1", kind, "Transfer-Encoding: chunked")
    assert _status(server.exchange(head, *chunks)) == 413


def test_large_heads_and_long_addresses_are_refused(server: RunningServer) -> None:
    assert _status(server.exchange(_head(server, f"GET /{'a' * 20_000} HTTP/1.1"))) == 414
    assert _status(server.exchange(_head(server, "GET / HTTP/1.1", *(f"X-{n}: 1" for n in range(500))))) in {400, 431}
    assert _status(server.exchange(_head(server, "GET / HTTP/1.1", f"X: {'a' * 1_000_000}"))) in {400, 431}


def test_split_and_doubled_heads_are_refused(server: RunningServer) -> None:
    assert _status(server.exchange(_head(server, "GET / HTTP/1.1", "Host: evil.example"))) == 421
    assert _status(server.exchange(_head(server, "GET / HTTP/1.1", "X: a\rb"))) == 400
    assert _status(server.exchange(_head(server, "GET /login?next=/%0d%0aSet-Cookie:%20a=b HTTP/1.1"))) == 401
    smuggled = _head(server, "POST /api/conversations HTTP/1.1", "Content-Length: 5", "Content-Length: 50")
    assert _status(server.exchange(smuggled, b"{}   ")) == 400


def test_head_that_cannot_be_read_is_refused_in_few_words(server: RunningServer) -> None:
    post = "POST /api/conversations HTTP/1.1"
    for status, head in (
        (431, _head(server, "GET / HTTP/1.1", *(f"X-{number}: 1" for number in range(100)))),
        (431, _head(server, "GET / HTTP/1.1", f"X: {'a' * 1_000_000}")),
        (414, _head(server, f"GET /{'a' * 70_000} HTTP/1.1")),
        (400, _head(server, "GET / HTTP/1.1", "X: a\rb")),
        (400, _head(server, post, "Content-Length: 5", "Content-Length: 50")),
        (400, b"hello\r\n\r\n"),
    ):
        answer = server.exchange(head)
        told, _, body = answer.partition(b"\r\n\r\n")
        names = [line.partition(b":")[0] for line in told.split(b"\r\n")[1:]]
        assert (_status(answer), names, body) == (status, [b"connection", b"content-length", b"date"], b"")
    assert "request" not in [
        json.loads(line).get("event") for line in server.read_log().splitlines() if line[:1] == "{"
    ]


def test_what_a_client_sends_comes_back_in_no_header(server: RunningServer) -> None:
    with server.client(logged_in=False) as client:
        answer = client.get(f"/login?token={server.token}&next=/%0d%0aX-Evil:%201")
        assert "x-evil" not in answer.headers
        answer = client.get("/api/openapi.json", headers={"X-Request-ID": "a, b; c"})
        assert "," not in answer.headers["x-request-id"]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "FOO"])
def test_odd_method_is_refused(server: RunningServer, method: str) -> None:
    assert _status(server.exchange(_head(server, f"{method} / HTTP/1.1"))) == 405


def test_web_socket_is_refused(server: RunningServer) -> None:
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    head = _head(server, "GET / HTTP/1.1", *upgrade).replace(b"Connection: close", b"Connection: Upgrade")
    assert _status(server.exchange(head)) == 400


@pytest.mark.parametrize(
    "path",
    [
        "../site.py",
        "..%2fsite.py",
        "%2e%2e/%2e%2e/site.py",
        "/etc/passwd",
        "..%5csite.py",
        "prowess.css%00.png",
        "..%c0%af",
    ],
)
def test_static_files_lead_nowhere_else(server: RunningServer, path: str) -> None:
    assert _status(server.exchange(_head(server, f"GET /static/{path} HTTP/1.1"))) in {400, 404}


# Slow clients


def test_slow_head_and_slow_body_are_given_up(servers: ServerStarter) -> None:
    server = servers.start_with_limits(header_seconds=1.0, body_seconds=1.0)
    head = server.connect()
    head.sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert read_to_end(head) == b""
    body = server.connect()
    body.sendall(_head(server, "POST /login HTTP/1.1", "Content-Length: 100") + b"token=")
    answer = b""
    while b"\r\n\r\n" not in answer:  # Granian may hang up only when the client does.
        answer += body.recv(1 << 16)
    assert _status(answer) == 408
    assert b"\r\nconnection: close\r\n" in answer
    _answers(server)


def test_silent_connection_is_given_up(servers: ServerStarter) -> None:
    server = servers.start_with_limits(header_seconds=1.0)
    assert read_to_end(server.connect()) == b""


def test_slow_reader_is_let_go(servers: ServerStarter, home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "large", files={"assets/large.bin": b"x" * 1_900_000})
    server = servers.start_with_limits(send_seconds=1.0)
    with server.client() as client:
        skills = client.get("/api/skills?query=large").json()["skills"]
        address = f"/api/skills/{skills[0]['key']}/files/assets/large.bin"
        assert len(client.get(address).content) == 1_900_000
    slow = server.connect(receive_bytes=2_048)
    head = _head(server, f"GET {address} HTTP/1.1").replace(b"Connection: close\r\n", b"")
    slow.sendall(head * 10)  # More than all buffers on the way hold.
    _await(lambda: "a client was let go" in server.read_log())
    assert len(read_to_end(slow)) < 19_000_000
    _answers(server)


def test_two_hundred_streams_leave_room_for_others(server: RunningServer) -> None:
    streams = [server.connect() for _ in range(_STREAMS)]
    for stream in streams:
        stream.sendall(_head(server, "GET /api/changes HTTP/1.1"))
    for stream in streams:
        assert _status(stream.recv(4_096)) == 200
    _answers(server)
    with server.client() as client:
        _await_metric(client, f"prowess_open_streams {_STREAMS:.1f}")
        for stream in streams:
            stream.close()
        _await_metric(client, "prowess_open_streams 0.0")


def test_streams_of_one_client_are_bounded(servers: ServerStarter) -> None:
    server = servers.start_with_limits(streams_per_client=3)
    streams = [server.connect() for _ in range(3)]
    for stream in streams:
        stream.sendall(_head(server, "GET /api/changes HTTP/1.1"))
        assert _status(stream.recv(4_096)) == 200
    with server.client() as client:
        refused = client.get("/api/changes")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too-many-streams")
        assert refused.headers["retry-after"]
        streams[0].close()
        _await_metric(client, "prowess_open_streams 2.0")
    again = server.connect()
    again.sendall(_head(server, "GET /api/changes HTTP/1.1"))
    assert _status(again.recv(4_096)) == 200


def test_streams_that_open_at_once_are_bounded_and_give_their_places_back(servers: ServerStarter) -> None:
    server = servers.start_with_limits(streams_per_client=3)
    streams = [server.connect() for _ in range(40)]
    for stream in streams:
        stream.sendall(_head(server, "GET /api/changes HTTP/1.1"))
    statuses = [_status(stream.recv(4_096)) for stream in streams]
    assert (statuses.count(200), statuses.count(429)) == (3, 37)
    for stream in streams:
        stream.close()
    with server.client() as client:
        _await_metric(client, "prowess_open_streams 0.0")
        for _ in range(4):
            assert client.head("/api/changes").status_code == 200
        with client.stream("GET", "/api/changes") as answer:
            assert answer.status_code == 200


def test_flood_of_requests_is_answered_with_429(servers: ServerStarter) -> None:
    server = servers.start_with_limits(requests_per_second=5.0)
    with server.client() as client:
        statuses = [client.get("/healthz" if number % 2 else "/api/trust").status_code for number in range(200)]
    assert set(statuses[1::2]) == {200}  # Whoever looks after the server is answered all the same.
    assert statuses[0] == 200
    assert set(statuses[::2]) == {200, 429}
    time.sleep(0.5)  # For the bucket to fill again.
    _answers(server)


def _await_metric(client: httpx.Client, line: str) -> None:
    """Wait until the metrics say so."""
    _await(lambda: line in client.get("/metrics").text.splitlines())


def _await(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)
