"""Packages that a Python script declares.

They are read (`script_metadata`), resolved and locked (`locking`), and installed (`environments`), by uv
(`uv_command`).
"""
