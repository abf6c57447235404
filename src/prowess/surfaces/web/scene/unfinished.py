"""What is still growing: the answer that is being heard, and the output of scripts that run."""

from collections import deque
from dataclasses import dataclass, field

from prowess.surfaces.web.scene.blocks import AssistantText, OutputPiece

__all__ = ["MAX_TEXT", "OutputTail", "UnfinishedAnswer"]

MAX_TEXT = 200_000
"""Characters of one text in a block; the cut shows."""
MAX_TAIL = 40_000
"""Characters of live output: it is sent again with every change."""


@dataclass(slots=True)
class UnfinishedAnswer:
    """An answer as far as it was heard."""

    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    note: str = ""
    is_cut: bool = False
    """Whether more was heard than is held here."""
    _length: int = 0

    def hear(self, text: str) -> None:
        """Take the next part of the text."""
        self._add(self.text, text)

    def think(self, text: str) -> None:
        """Take the next part of the thinking."""
        self._add(self.thinking, text)

    def _add(self, parts: list[str], text: str) -> None:
        left = MAX_TEXT - self._length
        self.is_cut = self.is_cut or len(text) > left
        self._length += min(len(text), left)
        parts.append(text[:left])
        self.note = ""

    def make(self, block_id: str) -> AssistantText:
        """Return it as a block."""
        return AssistantText(
            block_id,
            "".join(self.text),
            thinking="".join(self.thinking),
            is_partial=True,
            note=self.note,
            is_cut=self.is_cut,
        )


@dataclass(slots=True)
class OutputTail:
    """The end of what a script has written so far, what went to each stream told apart."""

    cut: int = 0
    """Characters before it."""
    most: int = MAX_TAIL
    _pieces: deque[OutputPiece] = field(default_factory=deque[OutputPiece])
    _length: int = 0

    def hear(self, stream: str, text: str) -> None:
        """Take what it has written."""
        if len(text) > self.most:
            self.cut += len(text) - self.most
            text = text[len(text) - self.most :]
        self._pieces.append(OutputPiece(stream, text))
        self._length += len(text)
        while self._length > self.most:
            oldest = self._pieces.popleft()
            over = min(self._length - self.most, len(oldest.text))
            self._length -= over
            self.cut += over
            if over < len(oldest.text):
                self._pieces.appendleft(OutputPiece(oldest.stream, oldest.text[over:]))

    def pieces(self) -> tuple[OutputPiece, ...]:
        """Return it, neighbours of one stream in one piece."""
        joined: list[tuple[str, list[str]]] = []
        for piece in self._pieces:
            if joined and joined[-1][0] == piece.stream:
                joined[-1][1].append(piece.text)
            else:
                joined.append((piece.stream, [piece.text]))
        return tuple(OutputPiece(stream, "".join(texts)) for stream, texts in joined)

    def shorten(self, most: int) -> "OutputTail":
        """Return its end."""
        short = OutputTail(cut=self.cut, most=most)
        for piece in self._pieces:
            short.hear(piece.stream, piece.text)
        return short
