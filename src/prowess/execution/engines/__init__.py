"""Docker and Podman as sandboxes, through their commands.

`container_sandbox` runs each job in a container of its own (`job_containers`), which `spare_containers` may have
started before. `container_arguments` says what that container is, `container_images` what is in it,
`container_commands` how the two engines differ. `run_guard` and `leftovers` let no container outlive its process.
"""
