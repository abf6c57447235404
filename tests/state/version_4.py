"""A database as the fourth schema has it, with rows. The text of the schema stands here as it was released."""

from dataclasses import replace

from prowess.activation.grants import Act, Decision, Grant
from prowess.activation.receipts import Receipt, RunReceipt, SessionRecord
from prowess.catalog.switches import Switch, SwitchKey
from prowess.skill.digest import FileKind, SkillFile
from prowess.state.conversations import ConversationRecord, LoggedEvent, TurnReceipt
from tests.state.values import end_run, end_turn, make_receipt, make_run, make_turn

__all__ = [
    "CONVERSATIONS",
    "EVENTS",
    "GRANTS",
    "RECEIPTS",
    "REVISION",
    "RUNS",
    "SESSIONS",
    "STATEMENTS",
    "SWITCHES",
    "TRUSTED",
    "TURNS",
]

SWITCHES = {("", SwitchKey("core:pdf")): Switch.OFF}
TRUSTED = frozenset({"/old\udcff"})
REVISION = 11
_PDF = SwitchKey("project:pdf", "/old\udcff")
_FILES = (SkillFile(b"SKILL.md", FileKind.FILE, 120, "a" * 64),)
GRANTS = (
    Grant("ann", _PDF, "pdf", "d1", Decision.ALLOW, "", "terminal", 2.5, (), Act.RUN, ("network", "secret:\udcff")),
    Grant("ann", _PDF, "pdf", "d1", Decision.ALLOW, "", "callback", 1.5, _FILES),
)
"""Of ann, newest first."""
RECEIPTS: tuple[Receipt, ...] = (make_receipt("r2", digest="d2", at=2.0), replace(make_receipt("r1"), ended_at=2.0))
RUNS: tuple[RunReceipt, ...] = (make_run("x2", at=2.0), end_run(make_run("x1")))
SESSIONS = (SessionRecord("ann", "chat", "main", 1.0, 2.0, ("pdf",)),)
CONVERSATIONS = (ConversationRecord("ann", "chat", "Taxes", "offline", 1.0, 2.0, 1),)
EVENTS = (
    LoggedEvent(1, "t1", "begun", '{"event":"begun","message":"Fill in \\u00e4"}', 1.0),
    LoggedEvent(2, "t1", "answer", "half \ud83d", 2.0, "fork\udcff"),
)
TURNS: tuple[TurnReceipt, ...] = (
    make_turn("t2", at=2.0),
    end_turn(make_turn("f1", parent="t1", session="fork"), cost_usd=0.25),
    end_turn(make_turn("t1", session="two")),
)
"""Newest first, then by session."""
STATEMENTS = (
    """CREATE TABLE switches (
            agent TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            position TEXT NOT NULL,
            PRIMARY KEY (agent, skill, root)
        )""",
    """CREATE TABLE revisions (
            number BIGINT NOT NULL
        )""",
    """CREATE TABLE trust (
            owner TEXT NOT NULL,
            path TEXT NOT NULL,
            PRIMARY KEY (owner, path)
        )""",
    """CREATE TABLE sessions (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            agent TEXT NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            used_at DOUBLE PRECISION NOT NULL,
            prompt_basis TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (owner, id)
        )""",
    "CREATE INDEX sessions_by_use ON sessions (owner, used_at)",
    """CREATE TABLE receipts (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            id TEXT NOT NULL,
            number BIGINT NOT NULL,
            skill TEXT NOT NULL,
            name TEXT NOT NULL,
            digest TEXT NOT NULL,
            asked_by TEXT NOT NULL,
            agent TEXT NOT NULL,
            triggered_by TEXT NOT NULL,
            arguments TEXT NOT NULL,
            consent TEXT NOT NULL,
            size_bytes BIGINT NOT NULL,
            tokens BIGINT NOT NULL,
            started_at DOUBLE PRECISION NOT NULL,
            in_context BIGINT NOT NULL,
            ended_at DOUBLE PRECISION,
            PRIMARY KEY (owner, session, id)
        )""",
    "CREATE UNIQUE INDEX receipts_one_open ON receipts (owner, session, skill) WHERE ended_at IS NULL",
    "CREATE INDEX receipts_in_order ON receipts (owner, session, number)",
    "CREATE INDEX receipts_by_start ON receipts (owner, started_at)",
    "CREATE INDEX receipts_of_a_skill ON receipts (owner, skill, started_at)",
    "CREATE INDEX receipts_by_end ON receipts (owner, ended_at)",
    """CREATE TABLE grants_by_act (
            owner TEXT NOT NULL,
            digest TEXT NOT NULL,
            session TEXT NOT NULL,
            act TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            name TEXT NOT NULL,
            decision TEXT NOT NULL,
            given_by TEXT NOT NULL,
            given_at DOUBLE PRECISION NOT NULL,
            files TEXT NOT NULL,
            powers TEXT NOT NULL,
            PRIMARY KEY (owner, digest, session, act)
        )""",
    "ALTER TABLE grants_by_act RENAME TO grants",
    "CREATE INDEX grants_of_a_skill ON grants (owner, skill, root, given_at)",
    """CREATE TABLE runs (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            id TEXT NOT NULL,
            skill TEXT NOT NULL,
            name TEXT NOT NULL,
            digest TEXT NOT NULL,
            script TEXT NOT NULL,
            arguments TEXT NOT NULL,
            asked_by TEXT NOT NULL,
            agent TEXT NOT NULL,
            consent TEXT NOT NULL,
            backend TEXT NOT NULL,
            powers TEXT NOT NULL,
            started_at DOUBLE PRECISION NOT NULL,
            ended_at DOUBLE PRECISION,
            exit_status BIGINT,
            timed_out BIGINT NOT NULL,
            seconds DOUBLE PRECISION NOT NULL,
            stdout_bytes BIGINT NOT NULL,
            stderr_bytes BIGINT NOT NULL,
            output_files BIGINT NOT NULL,
            output_bytes BIGINT NOT NULL,
            PRIMARY KEY (owner, session, id)
        )""",
    "CREATE INDEX runs_by_start ON runs (owner, started_at)",
    "CREATE INDEX runs_of_a_session ON runs (owner, session, started_at)",
    "CREATE INDEX runs_of_a_skill ON runs (owner, skill, started_at)",
    """CREATE TABLE conversations (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            given_title TEXT NOT NULL,
            first_words TEXT NOT NULL,
            model TEXT NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            used_at DOUBLE PRECISION NOT NULL,
            turns BIGINT NOT NULL,
            last_event BIGINT NOT NULL,
            PRIMARY KEY (owner, id)
        )""",
    "CREATE INDEX conversations_by_use ON conversations (owner, used_at)",
    """CREATE TABLE events (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            number BIGINT NOT NULL,
            turn TEXT NOT NULL,
            kind TEXT NOT NULL,
            data TEXT NOT NULL,
            happened_at DOUBLE PRECISION NOT NULL,
            fork TEXT NOT NULL,
            PRIMARY KEY (owner, session, number)
        )""",
    """CREATE TABLE turns (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            id TEXT NOT NULL,
            model TEXT NOT NULL,
            agent TEXT NOT NULL,
            parent TEXT NOT NULL,
            skill TEXT NOT NULL,
            name TEXT NOT NULL,
            digest TEXT NOT NULL,
            permissions TEXT NOT NULL,
            granted_by TEXT NOT NULL,
            started_at DOUBLE PRECISION NOT NULL,
            ended_at DOUBLE PRECISION,
            outcome TEXT NOT NULL,
            steps BIGINT NOT NULL,
            calls BIGINT NOT NULL,
            requests BIGINT NOT NULL,
            input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL,
            cached_tokens BIGINT NOT NULL,
            cost_usd DOUBLE PRECISION,
            PRIMARY KEY (owner, session, id)
        )""",
    "CREATE INDEX turns_by_start ON turns (owner, started_at)",
    "CREATE INDEX turns_of_a_session ON turns (owner, session, started_at)",
    "CREATE INDEX turns_of_a_parent ON turns (owner, parent, started_at)",
    "INSERT INTO switches VALUES ('', 'core:pdf', '', 'off')",
    "INSERT INTO revisions VALUES (11)",
    "INSERT INTO trust VALUES ('ann', 'bytes:2f6f6c64ff')",
    """INSERT INTO grants VALUES
        ('ann', 'd1', '', 'use', 'project:pdf', 'bytes:2f6f6c64ff', 'pdf', 'allow', 'callback', 1.5,
            '[{"path":"U0tJTEwubWQ=","kind":"file","size":120,"sha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]',
            '[]'),
        ('ann', 'd1', '', 'run', 'project:pdf', 'bytes:2f6f6c64ff', 'pdf', 'allow', 'terminal', 2.5, '[]',
            '["network","bytes:7365637265743aff"]')""",
    "INSERT INTO sessions VALUES ('ann', 'chat', 'main', 1.0, 2.0, 'basis')",
    """INSERT INTO receipts VALUES
        ('ann', 'chat', 'r1', 1, 'core:pdf', 'pdf', 'd1', 'user', 'main', 'fill the form', 'form.pdf --all', 'always',
            100, 25, 1.0, 1, 2.0),
        ('ann', 'chat', 'r2', 2, 'core:pdf', 'pdf', 'd2', 'user', 'main', 'fill the form', 'form.pdf --all', 'always',
            100, 25, 2.0, 1, NULL)""",
    """INSERT INTO runs VALUES
        ('ann', 'chat', 'x1', 'core:pdf', 'pdf', 'd1', 'scripts/fill.py', 'form.pdf --all', 'model', 'main', 'always',
            'bubblewrap', '["network","secret:TOKEN"]', 1.0, 1.5, 0, 0, 0.5, 1099511627776, 7, 2, 300),
        ('ann', 'chat', 'x2', 'core:pdf', 'pdf', 'd1', 'scripts/fill.py', 'form.pdf --all', 'model', 'main', 'always',
            'bubblewrap', '["network","secret:TOKEN"]', 2.0, NULL, NULL, 0, 0.0, 0, 0, 0, 0)""",
    "INSERT INTO conversations VALUES ('ann', 'chat', 'Taxes', 'Fill in', 'offline', 1.0, 2.0, 1, 2)",
    """INSERT INTO events VALUES
        ('ann', 'chat', 1, 't1', 'begun', '{"event":"begun","message":"Fill in \\u00e4"}', 1.0, ''),
        ('ann', 'chat', 2, 't1', 'answer', 'utf-16:00680061006c00660020d83d', 2.0, 'bytes:666f726bff')""",
    """INSERT INTO turns VALUES
        ('ann', 'two', 't1', 'offline', 'main', '', '', '', '', '[]', '', 1.0, 1.5, 'answered', 2, 3, 2, 100, 10, 50,
            NULL),
        ('ann', 'chat', 't2', 'offline', 'main', '', '', '', '', '[]', '', 2.0, NULL, '', 0, 0, 0, 0, 0, 0, NULL),
        ('ann', 'fork', 'f1', 'offline', 'main', 't1', 'core:deploy', 'deploy', 'd1', '["@network","@workspace"]',
            'deploy Skill', 1.0, 1.5, 'answered', 2, 3, 2, 100, 10, 50, 0.25)""",
)
