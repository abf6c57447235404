"""The schema, as numbered steps forward. A step that was released is never changed."""

from prowess.errors import SettingsError

__all__ = ["MIGRATIONS", "plan_migration"]

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE switches (
            agent TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            position TEXT NOT NULL,
            PRIMARY KEY (agent, skill, root)
        )""",
        """CREATE TABLE trusted_projects (
            path TEXT NOT NULL PRIMARY KEY
        )""",
    ),
    (
        # How many changes were announced: one row, whose lock also puts the writers of decisions in line.
        """CREATE TABLE revisions (
            number BIGINT NOT NULL
        )""",
        "INSERT INTO revisions (number) VALUES (1)",
        # Without an owner, a project is trusted for everybody: so it was before there were owners.
        """CREATE TABLE trust (
            owner TEXT NOT NULL,
            path TEXT NOT NULL,
            PRIMARY KEY (owner, path)
        )""",
        "INSERT INTO trust (owner, path) SELECT '', path FROM trusted_projects",
        "DROP TABLE trusted_projects",
        """CREATE TABLE grants (
            owner TEXT NOT NULL,
            digest TEXT NOT NULL,
            session TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            name TEXT NOT NULL,
            decision TEXT NOT NULL,
            given_by TEXT NOT NULL,
            given_at DOUBLE PRECISION NOT NULL,
            files TEXT NOT NULL,
            PRIMARY KEY (owner, digest, session)
        )""",
        "CREATE INDEX grants_of_a_skill ON grants (owner, skill, root, given_at)",
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
        # `number` counts within the session: clocks differ, and two activations may share a moment.
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
    ),
    (
        # What was agreed to before there were runs was the use of a skill. A key cannot be changed in SQLite.
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
        """INSERT INTO grants_by_act
            (owner, digest, session, act, skill, root, name, decision, given_by, given_at, files, powers)
            SELECT owner, digest, session, 'use', skill, root, name, decision, given_by, given_at, files, '[]'
            FROM grants""",
        "DROP TABLE grants",
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
    ),
    (
        # `last_event` is the number of the log's last row, so that nobody has to look for it.
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
    ),
    (
        # By its key, a session has one turn at a time.
        """CREATE TABLE live_turns (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            turn TEXT NOT NULL,
            message TEXT NOT NULL,
            model TEXT NOT NULL,
            holder TEXT NOT NULL,
            beats BIGINT NOT NULL,
            begun_at DOUBLE PRECISION NOT NULL,
            beat_at DOUBLE PRECISION NOT NULL,
            draft TEXT NOT NULL,
            wish TEXT NOT NULL,
            PRIMARY KEY (owner, session)
        )""",
        """CREATE TABLE questions (
            owner TEXT NOT NULL,
            session TEXT NOT NULL,
            id TEXT NOT NULL,
            turn TEXT NOT NULL,
            record TEXT NOT NULL,
            asked_at DOUBLE PRECISION NOT NULL,
            answer TEXT NOT NULL,
            answered_by TEXT NOT NULL,
            answered_at DOUBLE PRECISION,
            PRIMARY KEY (owner, session, id)
        )""",
        "CREATE INDEX questions_open ON questions (owner, session, asked_at) WHERE answer = ''",
    ),
)


def plan_migration(version: int, *, place: str) -> tuple[str, ...]:
    """Return the statements that are missing from a schema of this version; refuse one of a newer program."""
    if version > len(MIGRATIONS):
        raise SettingsError(
            f"the state in {place} was written by a newer Prowess (schema {version}, known {len(MIGRATIONS)})",
            hint="update Prowess, or use another database",
            code="state-too-new",
        )
    return tuple(statement for step in MIGRATIONS[version:] for statement in step)
