"""Which skills there are, and who may see them.

`discovery` turns sources into skills (with `index`, so that an unchanged file is never parsed twice), `precedence`
settles who wins a name, `catalog` is the resulting snapshot and `refresh` keeps it current (with `watching` on
Linux). `views` says what one agent may see (with `eligibility`, `switches`), `reasons` says why not (with
`lost_names`, for what has a name and is no skill under it), `search` finds skills by what they do, `digests` names
the exact files, `rereading` says what such files declare. `verdicts` is the one way from a folder to what is thought
of it.

Words: Catalog, View, Switch, Reason. Imports `sources` and below.
"""
