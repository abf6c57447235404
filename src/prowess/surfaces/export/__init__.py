"""Skills as other tools take them: folders, archives, a section of AGENTS.md, definitions of tools.

What is written is remembered beside it in a **ledger**, so that nothing is overwritten that is not Prowess' own. What
the other tool would not do as a skill asks is reported as a `Loss`. The command line imports it.
"""
