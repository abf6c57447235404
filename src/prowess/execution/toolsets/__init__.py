"""Tools that a skill brings.

`toolset_protocol` is what is asked of its code in a sandbox, and believed of the answer; `toolset_schemas` are the
schemas that are supported, `toolset_arguments` checks calls by them. `toolset_helper` holds what serves them inside.
"""
