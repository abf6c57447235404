"""What a conversation has switched on, and who agreed to it.

`grants` is consent to a digest, `consent` how a person is asked for it, `receipts` the record of what was activated,
`mentions` and `triggers` (with many patterns as one, in `pattern_sets`) find skills that a message calls for. `tools`
are what a model is offered, `tool_dialects` how each provider takes them, `tool_outputs` what they answer, and
`tool_arguments` checks a call. All of it is values and pure functions; the runtime's session carries it out.

Words: Grant, Question, Receipt, Session, Mention, Trigger. Imports `catalog` and below; `disclosure` is a neighbour.
"""
