"""Rank skills by meaning: a text is the mean of its words' vectors, and near vectors mean alike.

The vectors come with the package wordllama, which is not imported: its two files are read as they are, and nothing is
ever downloaded. They were made from Llama 2 and follow its licence.
"""

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from prowess.catalog.search.documents import Document, SearchedText
from prowess.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Vectors: TypeAlias = NDArray[np.float32]

__all__ = ["VectorSpace", "embed_documents", "identify_model", "load_space", "rank_by_meaning", "stack_meanings"]

_LIBRARIES = ("numpy", "safetensors", "tokenizers", "wordllama")
_WEIGHTS = os.path.join("weights", "l2_supercat_256.safetensors")
_TOKENS = os.path.join("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_LEAST_LIKENESS = 0.1
"""Below it, two texts have nothing to do with each other; of real pairs, one in twenty is."""
_MAX_LENGTH = 8_192
"""How much of a text counts."""
_BATCH = 1_000


def find_model() -> tuple[str, str]:
    """Return the files with the vectors and with the words; raise if they, or what reads them, are not installed."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    spec = None if missing else find_spec("wordllama")
    folder = os.path.dirname(spec.origin) if spec and spec.origin else ""
    files = (os.path.join(folder, _WEIGHTS), os.path.join(folder, _TOKENS))
    if missing or not all(map(os.path.isfile, files)):
        what = ", ".join(missing) or "the vectors of wordllama"
        raise SettingsError(
            f"search by meaning is not possible: {what} not found",
            hint="pip install 'prowess[semantic]', or search by words",
            code="semantic-missing",
        )
    return files


@lru_cache(maxsize=1)
def load_space() -> "VectorSpace":
    """Return the space of all texts, read once a process."""
    import numpy as np
    from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType]
    from tokenizers import Tokenizer

    weights, tokens = find_model()
    tokenizer = Tokenizer.from_file(tokens)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return VectorSpace(load_file(weights)[_TENSOR].astype(np.float32), tokenizer)


class VectorSpace:
    """Where texts lie that mean alike. Any thread may ask."""

    def __init__(self, words: "Vectors", tokenizer: "Tokenizer") -> None:
        self._words = words
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Return a vector of length 1 for each text; of length 0 for a text without words."""
        import numpy as np

        vectors = np.zeros((len(texts), self._words.shape[1]), np.float32)
        for first in range(0, len(texts), _BATCH):
            batch = [_clean(text) for text in texts[first : first + _BATCH]]
            for row, encoded in enumerate(self._tokenizer.encode_batch(batch, add_special_tokens=False), start=first):
                if encoded.ids:
                    whole = self._words[encoded.ids].sum(axis=0)
                    vectors[row] = whole / max(float(np.linalg.norm(whole)), 1e-9)
        return vectors


def identify_model() -> str:
    """Return what tells these vectors from those of another version."""
    status = os.stat(find_model()[0])
    return f"{status.st_size}-{status.st_mtime_ns}"


def embed_documents(texts: Sequence[SearchedText]) -> list[bytes]:
    """Return the vectors of skills as they are kept."""
    import numpy as np

    vectors = load_space().embed([_render_text(text) for text in texts]).astype(np.float16)
    return [row.tobytes() for row in vectors]


def stack_meanings(documents: Iterable[Document]) -> "Vectors":
    """Return the vectors of the documents, one a row."""
    import numpy as np

    rows = [document.meaning for document in documents]
    return np.frombuffer(b"".join(rows), np.float16).reshape(len(rows), -1).astype(np.float32)


def rank_by_meaning(query: str, *, vectors: "Vectors", limit: int) -> list[int]:
    """Return the positions of the nearest documents, nearest first; among equals, in their own order."""
    import numpy as np

    likeness = vectors @ load_space().embed([query])[0]
    least = _LEAST_LIKENESS
    if limit < len(likeness):
        least = max(least, float(np.partition(likeness, -limit)[-limit]))
    likely = np.flatnonzero(likeness >= least)
    order = np.lexsort((likely, -likeness[likely]))[:limit]
    return [int(position) for position in likely[order]]


def _clean(text: str) -> str:
    """Return what counts of a text, without half characters, which no tokenizer takes."""
    return text[:_MAX_LENGTH].encode("utf-8", "replace").decode()


def _render_text(text: SearchedText) -> str:
    name = text.name.replace("-", " ")
    return "\n".join([f"{name}. {text.plain}", " ".join((*text.tags, *text.triggers)), " ".join(text.headings)])
