"""What a sandbox sees, and containers that see it: made, judged and put right, whatever engine runs them.

`mounts` are folders of the host as a sandbox sees them, and the way from a path to its other side. `spec` says what a
container shall be, `arguments` how that is said to a command (Docker, Podman, bubblewrap). `inspection` is what an
engine tells of a container, `staleness` whether that is what it shall be, `pinned_folders` whether it holds a folder
that the host has replaced. `ensuring` makes a container right on any engine; `docker_engine` and `podman_engine` are
the two that there are.

Words: Mount, ContainerSpec, Engine, Inspected, StaleMount, Ensured. Imports `errors` alone; `copies` and `execution`,
which do not know each other, and the rooms above them import it.
"""
