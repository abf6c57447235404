"""The guards, around a small app of their own: what they refuse, and what they let pass."""

import hmac
from collections.abc import AsyncGenerator
from dataclasses import replace
from hashlib import sha256

import anyio
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Scope

from prowess.errors import (
    BrokenSkill,
    NotFound,
    ProwessError,
    Refused,
    SettingsError,
    ToolInputError,
    WorldError,
)
from prowess.surfaces.http.host_names import Authority, parse_authority
from prowess.surfaces.http.options import HttpLimits, HttpOptions, check_options
from prowess.surfaces.web.app import guard
from prowess.surfaces.web.conversations.streams import stream_response, take_slot
from prowess.surfaces.web.guards.failures import FailureGuard, choose_status
from prowess.surfaces.web.guards.headers import CONTENT_SECURITY_POLICY
from prowess.surfaces.web.guards.rates import Bucket, ClientBuckets
from prowess.surfaces.web.guards.stream_slots import StreamSlots
from prowess.surfaces.web.pages.login import clean_next
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.telemetry.health import make_health_routes
from tests.surfaces.web.asgi import HOST, Answer, ask
from tests.surfaces.web.conftest import MakeSite

_TOKEN = "correcthorsebatterystaple"
_OPTIONS = HttpOptions(token=_TOKEN)
_BEARER = ("authorization", f"Bearer {_TOKEN}")
_COOKIE = ("cookie", "prowess=" + hmac.new(_TOKEN.encode(), b"prowess web cookie 1", sha256).hexdigest())
_OWN = ("origin", f"http://{HOST}")
_FOREIGN = ("origin", "http://evil.example")
_HOST = ("host", HOST)


class _Fail(Exception):
    pass


def _make_routes(site: Site) -> list[Route]:
    async def look(request: Request) -> Response:
        return JSONResponse({"local": request.scope["prowess.local"]})

    async def echo(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    async def crash(_: Request) -> Response:
        raise _Fail("a secret of the inside")

    async def missing(_: Request) -> Response:
        raise NotFound(f"nothing at {site.runtime.settings.place.home}/notes", hint="look elsewhere")

    async def strict(_: Request) -> Response:
        return PlainTextResponse("x", headers={"Content-Security-Policy": "sandbox"})

    routes = [("look", look), ("echo", echo), ("crash", crash), ("missing", missing), ("strict", strict)]
    return [
        Route(f"{prefix}/{name}", handler, methods=["GET", "POST"])
        for prefix in ("", "/api")
        for name, handler in routes
    ]


def _guard(site: Site) -> ASGIApp:
    return guard(Router([*_make_routes(site), *make_health_routes(site)]), site)


@pytest.fixture
def app(make_site: MakeSite) -> ASGIApp:
    return _guard(make_site(_OPTIONS))


def _look(app: ASGIApp, *headers: tuple[str, str], client: str = "127.0.0.1", method: str = "GET") -> Answer:
    return ask(app, "/api/look", headers=[*headers, _BEARER], client=client, method=method)


# Hosts


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "[::1]:8765", "localhost.:8765"]
)
def test_names_of_this_machine_are_answered_to(app: ASGIApp, host: str) -> None:
    assert _look(app, ("host", host)).json == {"local": True}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost:8766",
        "localhost.evil.example:8765",
        "127.0.0.1.evil.example:8765",
        "127.0.0.1:8765@evil.example",
        "evil.example#127.0.0.1:8765",
        "2130706433:8765",
        "192.168.1.5:8765",
        "127.0.0.1:8765, evil.example",
        "127.0.0.1:",
        "[::1:8765",
        "",
    ],
)
def test_rebound_name_is_refused(app: ASGIApp, host: str) -> None:
    answer = _look(app, ("host", host))
    assert (answer.status, answer.code) == (421, "wrong-host")


@pytest.mark.parametrize(
    "headers", [(), (_HOST, _HOST), (_HOST, ("host", "evil.example"))], ids=["none", "twice", "two"]
)
def test_exactly_one_host_must_be_named(app: ASGIApp, headers: tuple[tuple[str, str], ...]) -> None:
    assert _look(app, *headers).status == 421


def test_server_on_all_addresses_answers_to_addresses_and_to_no_strange_name(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, host="0.0.0.0")))
    statuses = [_look(app, ("host", host)).status for host in ("192.168.1.5:9000", "[fe80::1]:8765", "localhost:9000")]
    assert statuses == [200, 200, 200]
    assert _look(app, ("host", "evil.example:8765")).status == 421


def test_allowed_and_public_names_are_answered_to(make_site: MakeSite) -> None:
    options = replace(_OPTIONS, hosts=("skills.internal", "box:99"), public_url="https://skills.example.org")
    app = _guard(make_site(options))
    given = ("skills.internal", "skills.internal:1", "box:99", "box", "skills.example.org", "skills.example.org:443")
    assert [_look(app, ("host", host)).status for host in given] == [200, 200, 200, 421, 200, 200]
    assert _look(app, ("host", "skills.example.org:80")).status == 421


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_answered_by_any_name(app: ASGIApp, path: str) -> None:
    assert ask(app, path, headers=[("host", "10.0.0.7:8765")]).status in {200, 503}
    assert ask(app, path, headers=[]).status in {200, 503}


@pytest.mark.parametrize(
    ("client", "headers", "is_local"),
    [
        ("127.0.0.1", (_HOST,), True),
        ("::ffff:127.0.0.1", (_HOST,), True),
        ("10.0.0.7", (_HOST,), False),
        ("127.0.0.1", (_HOST, ("x-forwarded-for", "10.0.0.7")), False),
        ("127.0.0.1", (_HOST, ("forwarded", "for=10.0.0.7")), False),
        ("127.0.0.1", (("host", "skills.internal"),), False),
    ],
)
def test_only_who_sits_at_this_machine_is_local(
    make_site: MakeSite, client: str, headers: tuple[tuple[str, str], ...], is_local: bool
) -> None:
    app = _guard(make_site(replace(_OPTIONS, hosts=("skills.internal",))))
    assert _look(app, *headers, client=client).json == {"local": is_local}


def test_nobody_is_local_behind_a_proxy(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, public_url="https://skills.example.org")))
    assert _look(app, _HOST).json == {"local": False}
    assert ask(app, "/metrics").status == 401


def test_authority_is_read_in_one_form() -> None:
    assert parse_authority("[0:0:0:0:0:0:0:1]:80") == Authority("::1", 80)
    assert parse_authority("EXAMPLE.org.") == Authority("example.org", None)


# Origins


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:8766",
        "http://127.0.0.1",
        "http://localhost:8765",
        f"ftp://{HOST}",
        f"http://{HOST}/",
        f"http://{HOST}.evil.example",
        "",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_foreign_origin_is_refused_even_with_the_token(app: ASGIApp, method: str, origin: str) -> None:
    answer = _look(app, _HOST, ("origin", origin), method=method)
    assert (answer.status, answer.code) == (403, "foreign-origin")


def test_two_origins_are_refused(app: ASGIApp) -> None:
    assert _look(app, _HOST, _OWN, _FOREIGN).status == 403


def test_own_page_may_change_things(app: ASGIApp) -> None:
    headers = [_HOST, _OWN, _COOKIE]
    assert ask(app, "/api/look", method="POST", headers=headers).status == 200
    headers = [_HOST, _COOKIE, ("sec-fetch-site", "same-origin")]
    assert ask(app, "/api/look", method="POST", headers=headers).status == 200


def test_cookie_alone_changes_nothing(app: ASGIApp) -> None:
    answer = ask(app, "/api/look", method="POST", headers=[_HOST, _COOKIE])
    assert (answer.status, answer.code) == (403, "foreign-origin")


def test_public_origin_is_ours_also_where_a_proxy_changes_the_host(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, public_url="https://skills.example.org")))
    public = ("origin", "https://skills.example.org")
    assert _look(app, _HOST, public, method="POST").status == 200
    assert _look(app, ("host", "skills.example.org"), public, method="POST").status == 200
    plain = ("origin", "http://skills.example.org")
    assert _look(app, ("host", "skills.example.org"), plain, method="POST").status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_only_a_followed_link_may_come_from_another_site(app: ASGIApp, site: str) -> None:
    fetched = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")]
    framed = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")]
    followed = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    assert [_look(app, _HOST, *headers).status for headers in (fetched, framed, followed)] == [403, 403, 200]
    assert _look(app, _HOST, *followed, method="POST").status == 403


# Login


def test_without_the_token_pages_ask_for_it_and_programs_are_told(app: ASGIApp) -> None:
    page = ask(app, "/look")
    assert (page.status, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    told = ask(app, "/api/look")
    assert (told.status, told.code, told.headers["www-authenticate"]) == (401, "not-logged-in", "Bearer")


@pytest.mark.parametrize(
    "header",
    [
        ("authorization", f"Bearer {_TOKEN}x"),
        ("authorization", f"Basic {_TOKEN}"),
        ("authorization", "Bearer "),
        ("authorization", "Bearer \xff"),
        ("cookie", f"prowess={_TOKEN}"),
        ("cookie", "prowess="),
        ("cookie", f"other={_COOKIE[1]}"),
    ],
)
def test_wrong_credentials_open_nothing(app: ASGIApp, header: tuple[str, str]) -> None:
    assert ask(app, "/api/look", headers=[_HOST, header]).status == 401


def test_right_token_and_its_cookie_let_in(app: ASGIApp) -> None:
    crowded = ("cookie", f"a=b; bad cookie [; {_COOKIE[1]}; c=d")
    assert [ask(app, "/look", headers=[_HOST, shown]).status for shown in (_BEARER, _COOKIE, crowded)] == [200] * 3


def test_printed_address_sets_a_strict_cookie_and_goes_on(app: ASGIApp) -> None:
    answer = ask(app, f"/login?token={_TOKEN}&next=/skills")
    assert answer.status == 200
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    assert (name, value) == ("prowess", _COOKIE[1].removeprefix("prowess="))
    assert _TOKEN not in answer.headers["set-cookie"] + answer.text
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=2592000"} <= set(answer.headers["set-cookie"].split("; "))
    assert "Secure" not in answer.headers["set-cookie"]
    assert 'content="0;url=/skills"' in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_cookie_is_for_tls_alone_where_browsers_come_over_it(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, public_url="https://skills.example.org")))
    answer = ask(app, f"/login?token={_TOKEN}")
    assert "Secure" in answer.headers["set-cookie"].split("; ")
    assert answer.headers["strict-transport-security"]


def test_typed_token_lets_in_and_a_wrong_one_does_not(app: ASGIApp) -> None:
    headers = [_HOST, _OWN]
    right = ask(app, "/login", method="POST", headers=headers, body=[f"token={_TOKEN}&next=%2F".encode()])
    assert (right.status, "set-cookie" in right.headers) == (200, True)
    wrong = ask(app, "/login", method="POST", headers=headers, body=[b"token=wrong"])
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
    foreign = ask(app, "/login", method="POST", headers=[_HOST, _FOREIGN], body=[f"token={_TOKEN}".encode()])
    assert foreign.status == 403


def test_logging_out_clears_the_cookie(app: ASGIApp) -> None:
    answer = ask(app, "/logout", method="POST", headers=[_HOST, _OWN, _COOKIE])
    assert answer.status == 200
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert ask(app, "/logout", headers=[_HOST, _COOKIE]).status == 405


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "/\\evil.example",
        "http://evil.example",
        "javascript:alert(1)",
        "",
        "/login?next=/",
        "/a\nb",
        "/ä",
    ],
)
def test_login_goes_on_to_no_other_site(address: str) -> None:
    assert clean_next(address) == "/"


def test_login_goes_on_to_a_path_in_a_harmless_form() -> None:
    assert clean_next("/chat/1?x=%20") == "/chat/1?x=%20"
    assert clean_next("/'\"><script>") == "/%27%22%3E%3Cscript%3E"


def test_too_many_wrong_tokens_are_counted_and_the_right_one_still_opens(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, limits=HttpLimits(logins_per_minute=3))))
    wrong = [ask(app, "/login?token=wrong", client=f"10.0.0.{number}") for number in range(4)]
    assert [answer.status for answer in wrong] == [401, 401, 401, 429]
    assert int(wrong[-1].headers["retry-after"]) > 0
    told = ask(app, "/api/look", headers=[_HOST, ("authorization", "Bearer wrong")])
    assert (told.status, told.code) == (429, "too-many-logins")
    assert ask(app, "/api/look", headers=[_HOST, _BEARER]).status == 200


def test_without_a_token_this_machine_is_let_in_and_nobody_else(make_site: MakeSite) -> None:
    app = _guard(make_site(HttpOptions()))
    assert ask(app, "/look").status == 200
    assert ask(app, "/look", client="10.0.0.7").status == 401
    assert ask(app, "/look", headers=[_HOST, ("x-forwarded-for", "10.0.0.7")]).status == 401
    assert ask(app, "/login").headers["location"] == "/"


def test_metrics_are_for_this_machine_or_the_token(app: ASGIApp) -> None:
    assert ask(app, "/metrics").status == 200
    assert ask(app, "/metrics", client="10.0.0.7").status == 401
    assert ask(app, "/metrics", client="10.0.0.7", headers=[_HOST, _BEARER]).status == 200


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (HttpOptions(host="0.0.0.0"), "token-needed"),
        (HttpOptions(host="192.168.1.5"), "token-needed"),
        (HttpOptions(public_url="https://skills.example.org"), "token-needed"),
        (HttpOptions(hosts=("skills.internal",)), "token-needed"),
        (HttpOptions(token="short"), "bad-token"),
        (HttpOptions(token="with blanks and so on"), "bad-token"),
        (HttpOptions(token=_TOKEN, public_url="skills.example.org"), "bad-address"),
        (HttpOptions(token=_TOKEN, public_url="https://x/prefix"), "bad-address"),
        (HttpOptions(token=_TOKEN, hosts=("https://skills.internal",)), "bad-host"),
        (HttpOptions(token=_TOKEN, hosts=("skills.internal/",)), "bad-host"),
        (HttpOptions(token=_TOKEN, hosts=("*.internal",)), "bad-host"),
        (HttpOptions(token=_TOKEN, hosts=("",)), "bad-host"),
    ],
)
def test_server_that_would_be_open_to_all_is_not_started(options: HttpOptions, code: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_options(options)
    assert caught.value.code == code


def test_names_that_browsers_can_ask_for_are_allowed() -> None:
    check_options(HttpOptions(token=_TOKEN, hosts=("skills.internal", "box:99", "fe80::1", "[fe80::1]:99", "Box_2")))


# Limits


def test_body_over_the_limit_is_refused_by_its_length_and_as_it_comes(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, limits=HttpLimits(body_bytes=10))))
    announced = ask(app, "/api/echo", method="POST", headers=[_HOST, _BEARER, ("content-length", "11")])
    streamed = ask(app, "/api/echo", method="POST", headers=[_HOST, _BEARER], body=[b"123456", b"789012"])
    assert [(one.status, one.code) for one in (announced, streamed)] == [(413, "body-too-large")] * 2
    assert announced.headers["connection"] == "close"
    within = ask(app, "/api/echo", method="POST", headers=[_HOST, _BEARER], body=[b"12345", b"67890"])
    assert within.text == "10"


def test_length_that_is_no_number_is_refused(app: ASGIApp) -> None:
    for length in ("-1", "1e3", "\xb2", "0x10"):
        assert ask(app, "/api/echo", method="POST", headers=[_HOST, _BEARER, ("content-length", length)]).status == 400


def test_one_client_cannot_ask_without_end_and_is_told_when_to_come_again(make_site: MakeSite) -> None:
    app = _guard(make_site(replace(_OPTIONS, limits=HttpLimits(requests_per_second=0.001))))
    first, second = _look(app, _HOST), _look(app, _HOST)
    assert (first.status, second.status, second.code) == (200, 429, "too-many-requests")
    assert int(second.headers["retry-after"]) > 900
    assert _look(app, _HOST, client="10.0.0.7").status == 200
    assert [ask(app, "/healthz").status for _ in range(3)] == [200, 200, 200]


@pytest.mark.parametrize("public_url", ["", "https://skills.example.org"])
def test_strangers_cannot_lock_the_owner_out(make_site: MakeSite, public_url: str) -> None:
    options = replace(_OPTIONS, public_url=public_url, limits=HttpLimits(stranger_requests_per_second=0.001))
    app = _guard(make_site(options))
    statuses = [ask(app, "/api/look").status for _ in range(3)]
    assert statuses == [401, 429, 429]
    wrong = [("authorization", "Bearer wrong"), ("cookie", "prowess=wrong")]
    assert [ask(app, "/api/look", headers=[_HOST, header]).status for header in wrong] == [429, 429]
    assert ask(app, "/login?token=wrong").status == 429
    assert [ask(app, "/api/look", headers=[_HOST, header]).status for header in (_BEARER, _COOKIE)] == [200, 200]
    assert ask(app, f"/login?token={_TOKEN}").status == 200


def test_who_comes_through_a_proxy_counts_by_the_login_and_who_does_not_by_the_address(make_site: MakeSite) -> None:
    async def count(request: Request) -> Response:
        return JSONResponse(request.scope["prowess.client"])

    for public_url, shown in (("https://skills.example.org", "login"), ("", "10.0.0.7")):
        site = make_site(replace(_OPTIONS, public_url=public_url))
        app = guard(Router([Route("/api/count", count)]), site)
        assert ask(app, "/api/count", headers=[_HOST, _BEARER], client="10.0.0.7").json == shown


def test_without_a_token_this_machine_has_the_rate_of_who_is_logged_in(make_site: MakeSite) -> None:
    app = _guard(make_site(HttpOptions(limits=HttpLimits(stranger_requests_per_second=0.001))))
    assert [ask(app, "/look").status for _ in range(3)] == [200, 200, 200]
    assert [ask(app, "/look", client="10.0.0.7").status for _ in range(2)] == [401, 429]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "get", "X" * 100])
def test_odd_method_is_refused(app: ASGIApp, method: str) -> None:
    answer = ask(app, "/api/look", method=method, headers=[_HOST, _BEARER])
    assert (answer.status, answer.code) == (405, "bad-method")


def test_long_address_is_refused(app: ASGIApp) -> None:
    for address in ("/api/" + "a" * 8_000, "/api/look?" + "a" * 8_000):
        assert ask(app, address, headers=[_HOST, _BEARER]).status == 414


def test_web_socket_is_refused(app: ASGIApp) -> None:
    upgrade = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")]
    answer = ask(app, "/api/look", headers=[_HOST, _BEARER, *upgrade])
    assert (answer.status, answer.code) == (400, "no-web-sockets")


def test_bucket_fills_at_its_rate() -> None:
    bucket = Bucket(2.0, burst=2.0, now=0.0)
    assert [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0)] == [0.0, 0.0, 0.5]
    assert (bucket.take(0.5), bucket.take(0.5)) == (0.0, 0.5)


def test_clients_are_counted_each_in_bounded_memory() -> None:
    buckets = ClientBuckets(1.0, burst=1.0, clock=lambda: 0.0)
    assert [buckets.take("10.0.0.1"), buckets.take("10.0.0.2"), buckets.take("10.0.0.1")] == [0.0, 0.0, 1.0]
    assert [buckets.take("2001:db8::1"), buckets.take("2001:db8::2")] == [0.0, 1.0]
    assert [buckets.take("::ffff:10.0.0.1"), buckets.take("no address")] == [1.0, 0.0]
    for number in range(10_000):
        buckets.take(f"10.1.{number // 256}.{number % 256}")
    assert buckets.take("10.0.0.1") == 0.0


def test_streams_are_counted_in_all_and_to_each_client() -> None:
    slots = StreamSlots(HttpLimits(streams=3, streams_per_client=2))
    with slots.take("a"), slots.take("a"), slots.take("b"):
        for client in ("a", "c"):
            with pytest.raises(Refused) as caught:
                slots.take(client)
            assert caught.value.code == "too-many-streams"
        assert len(slots) == 3
    assert len(slots) == 0


def test_stream_counts_from_when_it_is_granted_and_not_after_it_could_not_begin(make_site: MakeSite) -> None:
    site = make_site(HttpOptions(limits=HttpLimits(streams_per_client=1)))
    said = anyio.run(_stream_to_nobody, site)
    assert said == "too-many-streams"
    assert len(site.slots) == 0


async def _stream_to_nobody(site: Site) -> str:
    """Grant a stream whose client is gone before it begins; return what a second one is told meanwhile."""

    async def say() -> AsyncGenerator[bytes, None]:
        yield b"never read"

    async def send(_: Message) -> None:
        raise ConnectionResetError

    scope: Scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "prowess.client": "a"}
    response = stream_response(site, take_slot(site, Request(scope)), say())
    with pytest.raises(Refused) as caught:
        take_slot(site, Request(scope))
    with pytest.raises(ClientDisconnect):
        await response(scope, Request(scope).receive, send)
    return caught.value.code


# Headers


def test_every_answer_carries_the_strict_headers(app: ASGIApp) -> None:
    answers = [_look(app, _HOST), ask(app, "/nowhere"), _look(app, ("host", "evil.example")), ask(app, "/healthz")]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "camera=()" in answer.headers["permissions-policy"]
        assert answer.headers["server"] == "prowess"
        assert "strict-transport-security" not in answer.headers
        assert len(answer.headers.getlist("content-security-policy")) == 1


def test_stricter_policy_of_an_answer_stays(app: ASGIApp) -> None:
    answer = ask(app, "/api/strict", headers=[_HOST, _BEARER])
    assert answer.headers.getlist("content-security-policy") == ["sandbox"]


def test_request_has_an_id_and_one_that_is_given_is_kept_if_it_is_harmless(app: ASGIApp) -> None:
    assert len(_look(app, _HOST).headers["x-request-id"]) == 32
    assert _look(app, _HOST, ("x-request-id", "abc-1")).headers["x-request-id"] == "abc-1"
    assert _look(app, _HOST, ("x-request-id", "a b<")).headers["x-request-id"] != "a b<"


# Failures


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("x"), 404),
        (ToolInputError("x", code="unknown-skill"), 404),
        (ToolInputError("x"), 400),
        (Refused("x"), 403),
        (Refused("x", code="chat-busy"), 409),
        (Refused("x", code="question-answered"), 409),
        (WorldError("x", code="conversation-moved"), 409),
        (Refused("x", code="too-many-turns"), 429),
        (BrokenSkill("x", problems=()), 422),
        (SettingsError("x"), 422),
        (WorldError("x"), 503),
        (WorldError("x", code="internal-error"), 500),
        (ProwessError("x"), 500),
    ],
)
def test_status_says_who_can_act(error: ProwessError, status: int) -> None:
    assert choose_status(error) == status


def test_crash_is_told_without_its_details(app: ASGIApp) -> None:
    told = ask(app, "/api/crash", headers=[_HOST, _BEARER])
    assert (told.status, told.code) == (500, "internal-error")
    page = ask(app, "/crash", headers=[_HOST, _BEARER])
    assert (page.status, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    for answer in (told, page):
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text


def test_paths_of_this_machine_are_told_to_it_alone(app: ASGIApp, make_site: MakeSite) -> None:
    here = ask(app, "/api/missing", headers=[_HOST, _BEARER]).json["error"]["message"]
    away = ask(app, "/api/missing", headers=[_HOST, _BEARER], client="10.0.0.7").json["error"]["message"]
    assert here.endswith("/home/notes")
    assert away == "nothing at ~/notes"


def test_unknown_address_and_wrong_method_are_problems_too(app: ASGIApp) -> None:
    unknown = ask(app, "/api/nowhere", headers=[_HOST, _BEARER])
    wrong = ask(app, "/api/look", method="DELETE", headers=[_HOST, _BEARER])
    assert [(unknown.status, unknown.code), (wrong.status, wrong.code)] == [(404, "not-found"), (405, "bad-method")]
    assert wrong.headers["allow"]


def test_headers_of_an_error_stay(make_site: MakeSite) -> None:
    async def refuse(_: Request) -> Response:
        raise HTTPException(418, "short and stout", {"X-Pot": "tea"})

    site = make_site(_OPTIONS)
    answer = ask(FailureGuard(Router([Route("/api/pot", refuse)]), site), "/api/pot")
    assert (answer.status, answer.headers.get("x-pot")) == (418, "tea")
