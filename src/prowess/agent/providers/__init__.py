"""Models of providers: whoever sells or serves one, behind the protocol of `prowess.agent.chat_model`.

A **provider** is named by the prefix of a model's name, as in `anthropic:…`. `known_providers` is the table of them and
`usability` says which can be used here; neither loads a library. `ProviderModel` asks, and asks again where that may
help. It loads pydantic-ai when it is first needed, and with it the files that stand between our words and that
library's: `building` (its model), `translating` (messages and tools), `answering` (one request), `failing` and
`telling` (what went wrong). Only `prowess.agent` and surfaces import this room.
"""
