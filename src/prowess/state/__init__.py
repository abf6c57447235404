"""What outlives a process: switches and trust so far, in SQLite.

`StateStore` is the protocol that the runtime uses; `sqlite_store` implements it with the standard library.
"""
