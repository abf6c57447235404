"""The type of a resource is the same on every machine."""

import pytest

from prowess.disclosure.media_types import binary_type, text_type


@pytest.mark.parametrize(
    ("path", "start", "expected"),
    [
        ("a.md", "# A", "text/markdown"),
        ("a.MD", "# A", "text/markdown"),
        ("scripts/run.ts", "let a", "text/plain"),
        ("a.json", "{}", "application/json"),
        ("a.yml", "a: b", "application/yaml"),
        ("a.csv", "a,b", "text/csv"),
        ("a.html", "<p>", "text/html"),
        ("a.svg", '<?xml version="1.0"?><svg/>', "image/svg+xml"),
        ("a.svg", "no picture", "text/plain"),
        ("a.png", "text", "text/plain"),
        ("LICENSE", "text", "text/plain"),
        (".gitignore", "text", "text/plain"),
    ],
)
def test_text_is_typed_by_its_name(path: str, start: str, expected: str) -> None:
    assert text_type(path, start) == expected


def test_name_does_not_make_a_picture() -> None:
    assert binary_type("a.jpg", b"\0\0") == "application/octet-stream"
    assert binary_type("a.svg", b"\xff\xd8\xff") == "image/jpeg"
    assert binary_type("a.tar.gz", b"\x1f\x8b") == "application/gzip"
    assert binary_type("a.wasm", b"\0asm") == "application/wasm"
