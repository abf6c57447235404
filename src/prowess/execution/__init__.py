"""Scripts of skills, run where they can do no harm.

A `Job` (`jobs`) is one command with all that it may see and use; a `ScriptSandbox` (`sandbox`) carries it out:
`bubblewrap_sandbox`, or `container_sandbox` for Docker and Podman; `choosing` says which. They share `draining`
(output, bounded), `outputs` (the files that a run leaves), `seccomp` (which system calls are refused), and bounds on
memory and processes (`control_groups`, `watchdog`). `interpreters` says what runs a script, `probing` what the sandbox
has.

What a run may do is decided before: `tool_rules` and `shell_words` for `allowed-tools`, `permission_tags` and `rights`
for permissions. `secrets` keeps secrets and `redaction` takes them out of output; `script_metadata`, `locking` and
`environments` are for the packages that a script declares; `toolsets` and `toolset_schemas` for tools that a skill
brings, which `prowess_toolset`, the helper for their authors, serves inside the sandbox.

Words: Job, Run, Sandbox, Power, Right, Rule, Secret, Toolset. Imports `containers`, `catalog` and below; `activation`,
`copies` and `disclosure` are neighbours that it does not know.
"""
