"""Where skills come from.

`places` turns a profile's rules into `Source` values for this machine, `plugins` adds what other packages bring,
`folders` searches one root within bounds, `heads` and `skill_files` read what was found; `mcp` keeps mirrors of
servers. A fault in one place is a Problem beside the findings and never stops the others.

Beside them lie tools for the disk that know nothing of skills, and that the rooms above use as well: `open_folders`
opens without following a link, `whole_files` and `durable_names` write what outlives a crash, `renaming` swaps folders,
`locks` keep processes apart, `private_folders` keep other users out, `portable_names` judges names for every disk,
`mount_points` says what is mounted.

Words: Source, Candidate. The catalog and what stands above it may import this package.
"""
