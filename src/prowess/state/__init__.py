"""What outlives a process: switches, trust, grants, sessions, receipts, runs, conversations and turns.

`StateStore` is the protocol that the runtime uses, and `open_store` gives one. `sql_store` implements it once, in SQL
that SQLite and PostgreSQL both understand, out of `sql_decisions`, `sql_sessions`, `sql_conversations`, `sql_turns`,
`sql_history`, `sql_live_turns` and `sql_questions`; `database` is what it asks of either. `migrations` is the schema.
`live_store` is the part of the protocol by which several processes share a conversation. `conversations` and
`live_turns` are the values that only a store and those above it know; all others come from the rooms below.

Words: Store, Database, Transaction, LoggedEvent, TurnReceipt, LiveTurn. Imports `activation` and below; the
runtime imports it.
"""
