"""The facade: the two objects that applications, and every surface of Prowess itself, hold.

`runtime` is the Runtime, which answers for the skills of a machine: `source_choice` says where they come from, with
`hosting` for those of MCP servers and `own_skills` for the user's own, `copying` keeps their copies, `changed_texts`
shows what changed in them, `evaluating` measures their trigger tests (`evaluation` says what came of it). `session` is
one chat or task, with its prompt, its tools and its calls; `session_keys` says where its state is, and `keeper` what it
knows of the runtime.

Behind a session, `prompter` keeps its prompt (with `planning`, which fills it, and `prompt_basis`), `shelf` says where
it takes files from, `activator` switches skills on once `gate` has let them pass (`pending_questions` are those that
await an answer), `reception` reads a user's message for mentions and triggers, and `skill_names` knows what skills are
called. `calling` carries out calls of tools under the rules of `tool_checks`: `host_tools` are the application's,
`toolset_tools` those that skills bring, `inline_python` has code call them, and `tool_results` says in each profile's
manner what came of it. `delegation` has subagents work skills, by whoever can (`forking`).

`runner` runs scripts on the `workbench`, where the sandboxes, secrets and packages are: `run_preparation` finds out
what a run needs, with `run_powers` for what it has beyond a sandbox, `job_making` makes the sandbox's job of it,
`run_results` says what came of it, and `script_problems` what would keep scripts from running.

Imports every room below; only `agent` and `surfaces` import it.
"""

from prowess.runtime.runtime import Runtime
from prowess.runtime.session import Session

__all__ = ["Runtime", "Session"]
