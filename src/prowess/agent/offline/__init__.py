"""The offline model: it answers by fixed rules, so that everything works without a key and without a download.

It sees what any model sees, a request, and nothing else: what it has done already it knows from the messages since the
user's last one. `recollection` reads them, `wishes` says what the user wants, `skill_choice` which skill that calls
for, `named_files` and `named_scripts` what the instructions name, `work` what follows from both, `steps` what comes
next, and `answers` what the user is told, in quotations that `quoting` picks. The same request gives the same answer,
to the byte. Only `prowess.agent` imports this room.
"""
