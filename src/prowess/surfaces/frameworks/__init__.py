"""Skills for agents that others lead: one small file for each framework.

Each holds a `Session` and nothing deeper, and loads its framework when it is imported. Their names are public in
`prowess.frameworks`; nothing else imports them.
"""
