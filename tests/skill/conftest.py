"""How Hypothesis runs here: a busy machine must not make a law fail."""

from hypothesis import settings

settings.register_profile("prowess", deadline=None)
settings.load_profile("prowess")
