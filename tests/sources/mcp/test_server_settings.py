"""Servers in the settings file: read with the line of every fault, added and removed without touching the rest."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import NotFound, Refused, SettingsError
from prowess.settings import load_settings, render_template
from prowess.settings.server_tables import add_server_table, remove_server_table
from prowess.settings.servers import SERVER_SETTINGS
from prowess.sources.mcp.servers import McpServer
from tests.skills_on_disk import Home


def test_servers_are_read_in_the_order_of_the_file(home: Home) -> None:
    home.write_settings(
        '[mcp.servers.team]\nurl = "https://mcp.example.org/mcp"\nheaders_from = { Authorization = "TEAM_TOKEN" }\n'
        'refresh_seconds = 60\n[mcp.servers.acme]\ncommand = ["acme-mcp", "--stdio"]\nvariables = ["ACME"]\n'
        'enabled = false\ntimeout_seconds = 3\nskills = ["skill://refunds/SKILL.md"]\n'
    )
    assert load_settings().mcp_servers == (
        McpServer(
            "team",
            url="https://mcp.example.org/mcp",
            headers_from=(("Authorization", "TEAM_TOKEN"),),
            refresh_seconds=60,
        ),
        McpServer(
            "acme",
            ("acme-mcp", "--stdio"),
            variables=("ACME",),
            skills=("skill://refunds/SKILL.md",),
            enabled=False,
            timeout_seconds=3,
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mcp.servers.acme]\n", "needs either a command or a url"),
        ('[mcp.servers.acme]\nurl = "https://x"\ncommand = ["y"]\n', "needs either a command or a url"),
        ('[mcp.servers.acme]\nurl = "ftp://x"\n', "'mcp.servers.acme.url' is 'ftp://x'"),
        ('[mcp.servers.acme]\nurl = "https://me:secret@x/"\n', "'mcp.servers.acme.url'"),
        ("[mcp.servers.acme]\ncommand = []\n", "'mcp.servers.acme.command' is []"),
        ('[mcp.servers.acme]\ncommand = ["x"]\ntoken = "y"\n', "unknown setting 'mcp.servers.acme.token'"),
        ('[mcp.servers.Acme]\ncommand = ["x"]\n', "'Acme' cannot be a server's name"),
        ('[mcp.servers."a/b"]\ncommand = ["x"]\n', "'a/b' cannot be a server's name"),
        ("[mcp]\nservers = 7\n", "'mcp.servers' is not a table"),
        ("[mcp]\nserver = 7\n", "unknown setting 'mcp.server'"),
        ('[mcp.servers.acme]\ncommand = ["x"]\nheaders_from = ["y"]\n', "'mcp.servers.acme.headers_from'"),
    ],
)
def test_wrong_server_is_refused_with_its_place(home: Home, text: str, message: str) -> None:
    file = home.write_settings(text)
    with pytest.raises(SettingsError) as refusal:
        load_settings()
    assert message in refusal.value.message
    assert str(file) in refusal.value.message


def test_template_explains_servers() -> None:
    tables = render_template().partition("# [mcp.servers.acme]")[2]
    keys = {line.removeprefix("# ").partition(" = ")[0] for line in tables.splitlines() if " = " in line}
    assert keys == set(SERVER_SETTINGS)


_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
_FILES = st.sampled_from(
    [
        "",
        "# just a remark",
        'profile = "standard"  # kept\n\n[skills]\npdf = "off"\n',
        '[mcp.servers.other]\ncommand = ["x"]\n\n[catalog]\nscan = "recursive"\n# the end\n',
    ]
)


@given(_FILES, st.lists(_TEXTS, min_size=1, max_size=3), _TEXTS, st.booleans())
def test_server_that_is_added_and_removed_leaves_the_file_as_it_was(
    text: str, command: list[str], value: str, enabled: bool
) -> None:
    server = McpServer("acme", tuple(command), headers_from=((value, value),), skills=(value,), enabled=enabled)
    added = add_server_table(text, server)
    assert added.startswith(text)
    table = tomllib.loads(added)["mcp"]["servers"]["acme"]
    assert table["command"] == command
    assert table["headers_from"] == {value: value}
    removed = remove_server_table(added, "acme")
    assert removed.rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("https://mcp.example.org/mcp", True),
        ("http://127.0.0.1:8000/mcp", True),
        ("http://[::1]:8000/mcp", True),
        ("http://localhost/mcp", True),
        ("http://mcp.example.org/mcp", False),
        ("http://10.0.0.7/mcp", False),
        ("http://localhost.example.org/mcp", False),
        ("http://[::1/mcp", False),
    ],
)
def test_secrets_are_sent_to_nobody_in_the_clear(home: Home, url: str, is_taken: bool) -> None:
    table = f'[mcp.servers.acme]\nurl = "{url}"\n'
    home.write_settings(f'{table}headers_from = {{ Authorization = "TOKEN" }}\n')
    if is_taken:
        assert load_settings().mcp_servers[0].url == url
        return
    with pytest.raises(SettingsError, match=r"prowess\.toml:3: 'mcp\.servers\.acme\.headers_from' would be sent"):
        load_settings()


def test_comment_over_the_next_table_stays() -> None:
    text = '# top\n[mcp.servers.a]\ncommand = ["x"]\n\n# about b\n[ mcp . servers . "b" ]\ncommand = ["y"]\n'
    assert remove_server_table(text, "a") == '# top\n\n# about b\n[ mcp . servers . "b" ]\ncommand = ["y"]\n'
    assert tomllib.loads(remove_server_table(text, "b")) == {"mcp": {"servers": {"a": {"command": ["x"]}}}}


def test_server_that_is_named_already_or_not_is_told() -> None:
    text = '[mcp.servers.a]\ncommand = ["x"]\n'
    with pytest.raises(Refused, match="there is a server 'a' already"):
        add_server_table(text, McpServer("a", ("y",)))
    with pytest.raises(NotFound, match="no server 'b'"):
        remove_server_table(text, "b")
    with pytest.raises(NotFound):
        remove_server_table("mcp = 7\n", "b")


def test_table_in_an_unusual_form_is_left_to_people() -> None:
    with pytest.raises(Refused):
        remove_server_table('mcp = { servers = { acme = { command = ["x"] } } }\n', "acme")
    with pytest.raises(Refused):
        add_server_table("mcp = { servers = { } }\n", McpServer("acme", ("x",)))
