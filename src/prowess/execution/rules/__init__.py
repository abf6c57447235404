"""What a skill's run or tool call may do, decided by pure code.

`tool_rules` is for `allowed-tools`, with `shell_words` and `globs`; `permission_tags` and `rights` for permissions.
"""
