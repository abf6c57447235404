"""The conversation in the terminal.

`conversation_loop` reads lines and has them answered; `screen` shows what happens, with its `cards`; `line_input` reads
what a person types; `slash_commands` are the lines that are for Prowess and not for the model; `chat_asker` puts
questions of consent; `one_turn` is for scripts. Imported by the command alone.
"""
