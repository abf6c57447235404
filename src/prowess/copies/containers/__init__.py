"""Containers that see the copies: made, judged and put right, whatever engine runs them.

`spec` says what a container shall be, `arguments` how that is said to a command (Docker, Podman, bubblewrap).
`inspection` is what an engine tells of a container, `staleness` whether that is what it shall be, `pinned_folders`
whether it holds a folder that the host has replaced.
`ensuring` makes a container right on any engine; `docker_engine` and `podman_engine` are the two that there are.

Words: ContainerSpec, Engine, Inspected, StaleMount, Ensured. Imports `copies.mounts` and `errors`; imported by the
runtime and the surfaces.
"""
