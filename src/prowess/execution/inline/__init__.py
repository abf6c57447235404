"""Snippets of Python that a model writes, run in an interpreter that reaches nothing but the functions it is given.

`python_workers` has the processes that interpret (pydantic-monty's, an extra), one for each snippet while it runs;
`snippets` carries one out and answers its calls; `notebooks` remembers the variables of each session in between.
`outcomes` says what came of it, and `values` what goes in and out.

Nothing here knows skills: whoever runs a snippet brings the functions.
"""
