"""Questions of consent, put to the user of a client: as a form, with all that there is to answer it by."""

from collections.abc import Mapping
from typing import Any

from prowess.activation.consent import Answer, Question
from prowess.runtime import Runtime
from prowess.skill.deception import make_printable
from prowess.surfaces.consent_text import render_question
from prowess.surfaces.mcp.requests import current_request

__all__ = ["ANSWERS", "ClientAsker", "InputWanted", "about", "make_form", "read_answer", "render_form_text"]

ANSWERS: dict[str, tuple[Answer, str]] = {
    "allow-once": (Answer.ALLOW_ONCE, "Allow this once"),
    "allow-for-session": (Answer.ALLOW_FOR_SESSION, "Allow in this session"),
    "allow-always": (Answer.ALLOW_ALWAYS, "Allow always, until the skill changes"),
    "refuse-once": (Answer.REFUSE_ONCE, "Not now"),
    "refuse": (Answer.REFUSE, "Refuse for good"),
}
"""What a form sends, what it means, and what a person reads."""
_FIELD = "answer"
_MAX_CHARACTERS = 12_000
"""Of a question; what is cut is said."""
_TITLED_SINCE = "2025-11-25"
"""From this version of the protocol on, choices have titles of their own."""


class InputWanted(Exception):
    """A person must be asked, and the protocol lets only the client begin: its request ends here, and comes again."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.title)
        self.question = question


class ClientAsker:
    """Asks by way of the client whose request is being carried out; nobody, if that cannot ask."""

    name = "mcp"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def ask(self, question: Question) -> Answer | None:
        """Return what the user said; None if the client cannot ask. Blocks, in the thread of the request."""
        request = current_request()
        if request is None or not request.can_ask:
            return None
        given = request.take_answer(about(question))
        if given is not None:
            return given
        if request.is_stateless:
            if request.may_be_repeated(question):
                raise InputWanted(question)
            return None
        reply = request.elicit(self.render(question), make_form(request.protocol_version))
        return None if reply is None else read_answer(reply.action, reply.content)

    def render(self, question: Question) -> str:
        """Return the question as a text of many lines."""
        return render_form_text(question, self._runtime)


def render_form_text(question: Question, runtime: Runtime) -> str:
    """Return what a person reads above the form: what the skill is and may do, its files, and what has changed."""
    lines = render_question(question, runtime.changed_texts(question))
    text = "\n".join(make_printable(line.text) for line in lines)
    more = len(text) - _MAX_CHARACTERS
    return f"{text[:_MAX_CHARACTERS]}\n… and {more:,} more characters" if more > 0 else text


def make_form(protocol_version: str) -> dict[str, Any]:
    """Return the form with the choices, in the words of the protocol's version."""
    choice: dict[str, Any] = {"type": "string", "title": "Your answer"}
    if protocol_version >= _TITLED_SINCE:
        choice["oneOf"] = [{"const": value, "title": title} for value, (_, title) in ANSWERS.items()]
    else:
        choice |= {"enum": list(ANSWERS), "enumNames": [title for _, title in ANSWERS.values()]}
    return {"type": "object", "properties": {_FIELD: choice}, "required": [_FIELD]}


def read_answer(action: str, content: Mapping[str, Any] | None) -> Answer | None:
    """Return what a person said with a form; None if it holds no answer."""
    if action != "accept":
        return Answer.REFUSE_ONCE
    found = ANSWERS.get(str((content or {}).get(_FIELD)))
    return found[0] if found else None


def about(question: Question) -> str:
    """Return all that an answer is for: the skill, its very files, and what is wanted with them."""
    parts = (question.skill, question.digest, question.act, question.script, question.input)
    return "\0".join((*parts, str(question.forks), *question.arguments, "", *question.powers, "", *question.packages))
