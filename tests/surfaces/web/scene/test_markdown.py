"""Markdown that anybody may have written, as HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.surfaces.web.scene.markdown import MAX_MARKDOWN, render_markdown
from tests.surfaces.web.scene.outline import Outline

pytestmark = pytest.mark.requirement("R71")


def test_common_forms_are_rendered() -> None:
    html = render_markdown("# A\n\n*b* **c** ~~d~~ `e`\n\n- f\n\n| g | h |\n|--:|---|\n| 1 | 2 |\n\n3. i\n")
    for part in (
        "<h3>A</h3>",
        "<em>b</em> <strong>c</strong> <s>d</s> <code>e</code>",
        "<li>f</li>",
        '<th class="right">g</th>',
        "<th>h</th>",
        '<ol start="3">',
    ):
        assert part in html


def test_headings_are_beneath_those_of_the_page() -> None:
    html = render_markdown("\n\n".join(f"{'#' * level} x" for level in range(1, 7)))
    assert [html.count(f"<h{level}>") for level in range(1, 7)] == [0, 0, 1, 1, 1, 3]


def test_code_has_its_language_a_button_and_colours() -> None:
    html = render_markdown("```python\ndef f(): return '<b>'\n```\n")
    assert '<span class="code-language">python</span>' in html
    assert '<button type="button" class="copy" data-copy="">Copy</button>' in html
    assert '<span class="c-keyword">def</span>' in html
    assert "&lt;b&gt;" in html


def test_code_in_an_unknown_language_has_no_colours() -> None:
    html = render_markdown("```<x>\ndef\n```\n")
    assert '<span class="code-language">&lt;x&gt;</span>' in html
    assert "c-keyword" not in html


def test_long_code_has_no_colours() -> None:
    assert "c-keyword" not in render_markdown(f"```python\n{'def f(): pass' * 200}\n```\n")


def test_only_the_first_code_of_a_text_has_colours() -> None:
    block = f"```python\ndef f(): pass\n{'#' * 1_900}\n```\n"
    assert render_markdown(block * 20).count("c-keyword") == render_markdown(block).count("c-keyword") * 5


def test_links_lead_to_the_web_and_tell_nothing() -> None:
    html = render_markdown("[a](https://x.example/?q=1) <mailto:b@x.example>")
    rel = 'target="_blank" rel="noopener noreferrer nofollow"'
    assert f'<a href="https://x.example/?q=1" {rel}>a</a>' in html
    assert f'<a href="mailto:b@x.example" {rel}>mailto:b@x.example</a>' in html


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#x09;script:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example",
        "/skills/x/delete",
        "references/guide.md",
        "#main",
    ],
)
def test_other_addresses_are_no_links(address: str) -> None:
    assert "href" not in render_markdown(f"[a]({address}) [b]: {address}\n\n[b]\n\n<{address}>")


def test_picture_is_told_and_not_fetched() -> None:
    html = render_markdown("![a *chart* <b>](https://evil.example/x.png) ![](x.png)")
    assert "<img" not in html
    assert "evil" not in html
    assert '<span class="picture">[picture: a chart &lt;b&gt;]</span>' in html
    assert "[picture: without a text]" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        "<!-- x -->",
        "<style>*{}</style>",
        '```"><script>alert(1)</script>\nx\n```',
        "[a](<https://x.example/\"onmouseover='alert(1)'>)",
        "|<script>|\n|---|\n|<b>|",
    ],
)
def test_html_of_others_is_text(text: str) -> None:
    html = render_markdown(text)
    assert Outline(html).faults == []
    assert "<!--" not in html


def test_characters_that_nobody_sees_are_left_out() -> None:
    assert render_markdown("a\u202eb\u200bc\0d") == "<p>abcd</p>\n"


def test_very_long_text_is_shown_as_it_is() -> None:
    html = render_markdown("*a* <b>" + "x" * MAX_MARKDOWN)
    assert "too long to be shown as Markdown" in html
    assert "*a* &lt;b&gt;xxx" in html


@pytest.mark.parametrize("unit", ["[", "![", "[a](", "`a", "*a", "_a", "~~a", "<", "&"])
def test_tangled_text_is_shown_as_it_is(unit: str) -> None:
    html = render_markdown(unit * 3_000)
    assert "too many signs to be shown as Markdown" in html
    assert "<p>" not in html


def test_table_that_would_be_filled_up_without_end_is_shown_as_it_is() -> None:
    head, rule = "|".join("a" * 300), "|".join("-" * 300)
    assert "<table>" not in render_markdown(f"{head}\n{rule}\n" + "a\n" * 200)
    assert "<table>" not in render_markdown(f"> {head}\n> {rule}\n" + "> a\n" * 200)
    assert "<table>" in render_markdown(f"{head}\n{rule}\n" + "a\n" * 20)


@pytest.mark.parametrize(
    "unit", ["[", "![", "[a](", "> ", "- ", "*a_", "**a", "`", "<", "&", "|", "~~a", "1. ", "(", "\\"]
)
def test_endless_nesting_comes_to_an_end(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    assert render_markdown(text)
    assert render_markdown("\n".join(unit * level for level in range(100)))


@given(st.text(alphabet="[]()!<>*_`~|#-> \n\"'&:/javscript.x1\\=", max_size=200))
def test_nothing_but_our_own_tags_comes_out(text: str) -> None:
    outline = Outline(render_markdown(text))
    assert outline.faults == []
    assert not {"img", "form", "input", "svg"} & set(outline.tags)
