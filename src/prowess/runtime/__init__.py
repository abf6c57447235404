"""The facade: the two objects that applications, and every surface of Prowess itself, hold.

`runtime` is the Runtime, which answers for the skills of a machine (with `source_choice`), and `session` one chat or
task, with its prompt, its tools and its calls (`session_keys` says where its state is). Behind a session, `prompter`
keeps its prompt (with `planning`, which fills it, and `prompt_basis`), `activator` switches skills on once `gate` has
let them pass, `reception` reads a user's message for mentions and triggers, `skill_names` knows what skills are called,
and `tool_results` says in each profile's manner what came of a call. `keeper` is what these know of the runtime.

Imports every room below; only `agent` and `surfaces` import it.
"""

from prowess.runtime.runtime import Runtime
from prowess.runtime.session import Session

__all__ = ["Runtime", "Session"]
