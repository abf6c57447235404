"""Conversations as this process holds them: turns under way, questions that wait, and those who watch."""
