"""Where skills come from.

`places` turns a profile's rules into `Source` values for this machine, `plugins` adds what other packages bring,
`folders` searches one root within bounds, `heads` and `skill_files` read what was found; `mcp` keeps mirrors of
servers. A fault in one place is a Problem beside the findings and never stops the others.

Words: Source, Candidate. The catalog and what stands above it may import this package.
"""
