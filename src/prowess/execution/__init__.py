"""Scripts of skills, run where they can do no harm.

A `Job` (`jobs`) is one command with all that it may see and use; a `ScriptSandbox` (`sandbox`) carries it out:
`bubblewrap`, or one of the `engines`, Docker and Podman. `choosing` says which, `probing` what it has, `interpreters`
what runs a script in it. The sandboxes share `draining` (output, bounded), `outputs` (the files that a run leaves),
`seccomp` (which system calls are refused), `host_world` (what is shown of this machine, and as whom a run works) and
`conclusions` (how an end is told).

What a run may do is decided before, by `rules`; what it is given comes from `secrecy` and `packages`; `toolsets` are
tools that a skill brings.

Words: Job, Run, Sandbox, Power, Right, Rule, Secret, Toolset. Imports `containers`, `catalog` and below; `activation`,
`copies` and `disclosure` are neighbours that it does not know.
"""
