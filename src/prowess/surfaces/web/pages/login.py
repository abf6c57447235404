"""The pages by which a person logs in and out."""

from urllib.parse import parse_qs, quote

from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.guards.credentials import Credentials
from prowess.surfaces.web.pages.page import Visit
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.static_files import static_url

__all__ = ["answer_login", "answer_logout", "clean_next", "show_login"]

_WELCOME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="0;url={address}">
<link rel="icon" href="{icon}" type="image/svg+xml">
<title>Prowess</title>
</head>
<body><p><a href="{address}">Go on to Prowess</a></p></body>
</html>
"""
"""A redirect would not do: in a chain that began on another site, browsers leave a strict cookie out."""


async def answer_login(site: Site, request: Request, credentials: Credentials) -> Response:
    """Let in who shows the token, in the address or in the form; show the form to everybody else."""
    if request.method == "POST":
        form = await _read_form(request)
    elif request.method in {"GET", "HEAD"}:
        form = dict(request.query_params)
    else:
        raise _wrong_method("GET, HEAD, POST")
    next_path = clean_next(form.get("next", "/"))
    if not credentials.are_needed:
        return RedirectResponse(next_path, 303)
    token = form.get("token", "").strip()
    if not token:
        is_known = credentials.accept_cookie(request.headers)
        return RedirectResponse(next_path, 303) if is_known else show_login(site, request, next_path=next_path)
    if not credentials.accept_token(token):
        return _render(site, request, {"failed": True, "next": next_path}, status=401)
    response = _welcome(next_path)
    credentials.set_cookie(response)
    return response


async def answer_logout(site: Site, request: Request, credentials: Credentials) -> Response:
    """Have the browser forget that it was let in."""
    if request.method != "POST":
        raise _wrong_method("POST")
    response = _render(site, request, {"failed": False, "next": "/"}, status=200)
    credentials.clear_cookie(response)
    return response


def show_login(site: Site, request: Request, *, next_path: str) -> Response:
    """Return the page that asks for the token."""
    return _render(site, request, {"failed": False, "next": clean_next(next_path)}, status=401)


def _render(site: Site, request: Request, values: dict[str, object], *, status: int) -> Response:
    response = Visit(site, request).render("login.html", values, status=status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def clean_next(address: str) -> str:
    """Return where to go on to: a path on this site, or the first page for anything else."""
    is_path = address.startswith("/") and address.isascii() and address.isprintable()
    leads_away = address.startswith("//") or "\\" in address  # Browsers take a backslash for a slash.
    if not is_path or leads_away or address.split("?", 1)[0] in {"/login", "/logout"}:
        return "/"
    return quote(address, safe="/?=&%-._~:@!$()*+,")


def _welcome(next_path: str) -> Response:
    address = escape(next_path)
    # The address of this page holds the token: no other server, and no cache, is to see it.
    headers = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
    return HTMLResponse(_WELCOME.format(address=address, icon=static_url("prowess.svg")), headers=headers)


async def _read_form(request: Request) -> dict[str, str]:
    try:
        fields = parse_qs((await request.body()).decode(), max_num_fields=10, keep_blank_values=True)
    except (UnicodeDecodeError, ValueError):
        raise RequestRefused("the form cannot be read", status=400, code="bad-form") from None
    return {name: values[0] for name, values in fields.items()}


def _wrong_method(allowed: str) -> RequestRefused:
    return RequestRefused(
        "this address is not for that method", status=405, code="bad-method", headers={"Allow": allowed}
    )
