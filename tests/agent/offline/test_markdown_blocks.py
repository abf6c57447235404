"""Instructions as blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.agent.offline.markdown_blocks import Block, Kind, has_steps, parse_blocks

_TEXT = """\
# Title

A paragraph
in two lines.

## Step 1: begin

Read each file:

1. `a`: first
   goes on
2. `b`

   More of b.

   - nested

```sh
run `it`
```

### Detail

| x | y |

## 2. Go on ##

- item

## End
"""


def test_text_is_divided_into_blocks_with_their_steps_and_intros() -> None:
    assert parse_blocks(_TEXT) == (
        Block(Kind.HEADING, ("# Title",), "Title"),
        Block(Kind.PARAGRAPH, ("A paragraph", "in two lines."), "A paragraph in two lines."),
        Block(Kind.HEADING, ("## Step 1: begin",), "Step 1: begin", 1),
        Block(Kind.PARAGRAPH, ("Read each file:",), "Read each file:", 1),
        Block(Kind.ITEM, ("1. `a`: first", "   goes on"), "`a`: first goes on", 1, "Read each file:"),
        Block(Kind.ITEM, ("2. `b`",), "`b`", 1, "Read each file:"),
        Block(Kind.PARAGRAPH, ("   More of b.",), "More of b.", 1),
        Block(Kind.ITEM, ("   - nested",), "nested", 1, "Read each file:"),
        Block(Kind.CODE, ("run `it`",), "run `it`", 1),
        Block(Kind.HEADING, ("### Detail",), "Detail", 1),
        Block(Kind.ROW, ("| x | y |",), "| x | y |", 1),
        Block(Kind.HEADING, ("## 2. Go on ##",), "2. Go on", 2),
        Block(Kind.ITEM, ("- item",), "item", 2),
        Block(Kind.HEADING, ("## End",), "End"),
    )


def test_instructions_without_numbers_have_no_steps() -> None:
    assert has_steps(parse_blocks(_TEXT))
    assert not has_steps(parse_blocks("# A\n\n1. one\n\n## Second\n"))


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_code_ends_with_its_own_fence_only(fence: str) -> None:
    blocks = parse_blocks(f"{fence}\n# no heading\n``\n{fence}\n# Heading")
    assert [block.kind for block in blocks] == [Kind.CODE, Kind.CODE, Kind.HEADING]


@given(st.text(alphabet="# -*1.`~|\nab", max_size=200))
def test_every_line_with_something_on_it_is_in_one_block_or_a_fence(text: str) -> None:
    lines = [line for block in parse_blocks(text) for line in block.lines if line.strip()]
    written = [line.rstrip() for line in text.split("\n") if line.strip()]
    assert [line for line in written if line.lstrip()[:3] not in ("```", "~~~")] == [
        line for line in lines if line.lstrip()[:3] not in ("```", "~~~")
    ]
