"""What is unfinished in a turn, as text for processes that have only the log: bounded JSON."""

from dataclasses import dataclass

import msgspec

from prowess.surfaces.web.scene.unfinished import OutputTail, UnfinishedAnswer

__all__ = ["Draft", "parse_draft", "render_draft"]

_MAX_CHARACTERS = 200_000
"""Of a draft as JSON."""
_SHARES = (60_000, 20_000, 5_000, 1_000, 0)
"""Characters of each text, tried one after the other until the draft is short enough."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is unfinished, by the ids of blocks."""

    answers: dict[str, UnfinishedAnswer]
    outputs: dict[str, OutputTail]


class _Answer(msgspec.Struct, frozen=True):
    text: str = ""
    thinking: str = ""
    note: str = ""
    is_cut: bool = False


class _Output(msgspec.Struct, frozen=True):
    pieces: tuple[tuple[str, str], ...] = ()
    cut: int = 0


class _Form(msgspec.Struct, frozen=True):
    answers: dict[str, _Answer] = {}
    outputs: dict[str, _Output] = {}


_DECODER = msgspec.json.Decoder(_Form)


def render_draft(draft: Draft) -> str:
    """Return a draft as JSON. Of an answer that is too long it has the beginning, of output the end."""
    for share in _SHARES:
        form = _Form(
            {block_id: _shorten_answer(answer, share) for block_id, answer in draft.answers.items()},
            {block_id: _shorten_output(tail, share) for block_id, tail in draft.outputs.items() if tail.pieces()},
        )
        text = msgspec.json.encode(form).decode()
        if len(text) <= _MAX_CHARACTERS:
            return text
    return "{}"


def _shorten_answer(answer: UnfinishedAnswer, most: int) -> _Answer:
    text, thinking = "".join(answer.text), "".join(answer.thinking)
    is_cut = answer.is_cut or len(text) > most or len(thinking) > most
    return _Answer(text[:most], thinking[:most], answer.note[:most], is_cut)


def _shorten_output(tail: OutputTail, most: int) -> _Output:
    short = tail.shorten(most)
    return _Output(tuple((piece.stream, piece.text) for piece in short.pieces()), short.cut)


def parse_draft(text: str) -> Draft | None:
    """Return what a draft says; None if it is none."""
    try:
        form = _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None
    answers: dict[str, UnfinishedAnswer] = {}
    for block_id, one in form.answers.items():
        answer = answers[block_id] = UnfinishedAnswer(is_cut=one.is_cut)
        answer.hear(one.text)
        answer.think(one.thinking)
        answer.note = one.note
    outputs: dict[str, OutputTail] = {}
    for block_id, output in form.outputs.items():
        tail = outputs[block_id] = OutputTail(cut=max(0, output.cut))
        for stream, piece in output.pieces:
            tail.hear(stream, piece)
    return Draft(answers, outputs)
