"""The agent: conversations that use skills, with any model.

A **turn** answers one message of a user: sync, prompt, model, tool calls, and again. A **fork** is a subagent that
works a skill. Whatever happens is an event, and a conversation is what its events add up to. Only surfaces import this
room; it acts through a runtime and its sessions, and takes only values and pure functions from what lies deeper.
"""
