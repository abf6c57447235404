"""What outlives a process: switches, trust, grants, sessions, receipts, runs, conversations and turns.

`StateStore` is the protocol that the runtime uses, and `open_store` gives one. `sql_store` implements it once, in SQL
that SQLite and PostgreSQL both understand, out of `sql_decisions`, `sql_sessions`, `sql_conversations`, `sql_turns` and
`sql_history`; `database` is what it asks of either. `migrations` is the schema.

Words: Store, Database, Transaction. Imports `activation` and below; the runtime imports it.
"""
