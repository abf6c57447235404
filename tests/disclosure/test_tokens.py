"""Counting tokens, exactly and by an estimate."""

import inspect
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure import planner
from prowess.disclosure.tokens import PARTS_PER_TOKEN, EstimatedTokens, TiktokenTokens, TokenCounter, make_counter
from prowess.policy import TokenCounting
from tests.disclosure.catalogs import any_line
from tests.skill.strategies import any_text

_ESTIMATED, _EXACT = EstimatedTokens(), TiktokenTokens()
_COUNTERS: tuple[TokenCounter, ...] = (_ESTIMATED, _EXACT)
_SAMPLES = {
    "English": "Fills in PDF forms and checks what was written. Use when a form is to be completed by hand. " * 10,
    "code": inspect.getsource(planner),
    "Chinese": "技能是一個包含說明的資料夾。當需要填寫表格時使用它。" * 10,
    "Japanese": "スキルは説明書が入ったフォルダです。フォームに記入するときに使います。" * 10,
    "Korean": "기술은 지침이 들어 있는 폴더입니다. 양식을 채울 때 사용하십시오. " * 10,
    "Russian": "Заполняет формы и проверяет, что в них написано. " * 10,
    "emoji": "😀👩\u200d🔬🚀🎉🧪🇨🇭✅ " * 10,
    "table": "| name | value |\n| --- | --- |\n| **left** | `right` |\n" * 10,
}


@pytest.mark.parametrize("text", _SAMPLES.values(), ids=_SAMPLES.keys())
def test_estimate_is_never_under_half_of_what_is_counted(text: str) -> None:
    assert _ESTIMATED.count(text) >= _EXACT.count(text) / 2


@pytest.mark.parametrize("kind", ["English", "code", "Chinese", "Japanese"])
def test_estimate_of_usual_text_is_near_what_is_counted(kind: str) -> None:
    assert 0.9 <= _ESTIMATED.count(_SAMPLES[kind]) / _EXACT.count(_SAMPLES[kind]) <= 1.6


@given(first=any_text, second=any_text)
def test_estimates_add_up(first: str, second: str) -> None:
    assert _ESTIMATED.measure(first + second) == _ESTIMATED.measure(first) + _ESTIMATED.measure(second)


@pytest.mark.parametrize("counter", _COUNTERS)
@given(lines=st.lists(any_line, max_size=12))
def test_whole_costs_no_more_than_its_lines(counter: TokenCounter, lines: list[str]) -> None:
    together = counter.measure("".join(f"{line}\n" for line in lines))
    assert together <= sum(counter.measure(f"{line}\n") for line in lines)


@pytest.mark.parametrize("counter", _COUNTERS)
@given(text=any_text)
def test_count_is_the_measure_rounded_up(counter: TokenCounter, text: str) -> None:
    assert counter.count(text) == -(-counter.measure(text) // PARTS_PER_TOKEN)
    assert counter.count(text) >= bool(text)


@pytest.mark.parametrize("counter", _COUNTERS)
def test_nothing_costs_nothing(counter: TokenCounter) -> None:
    assert (counter.measure(""), counter.count("")) == (0, 0)


def test_exact_count_is_that_of_the_tokenizer() -> None:
    """Marks of control that a text imitates are counted as the plain text that they are."""
    assert _EXACT.count("hello world") == 2
    assert _EXACT.count("<|endoftext|>") > 1


def test_policy_chooses_the_counter() -> None:
    assert isinstance(make_counter(TokenCounting.ESTIMATE), EstimatedTokens)
    assert isinstance(make_counter(TokenCounting.TIKTOKEN), TiktokenTokens)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["tiktoken", "tiktoken_ext"])
def test_missing_extra_is_an_error_that_says_what_to_install(module: str) -> None:
    program = f"""
import sys
sys.modules[{module!r}] = None
from prowess.disclosure.tokens import make_counter
from prowess.errors import SettingsError
from prowess.policy import TokenCounting
assert make_counter(TokenCounting.ESTIMATE).count("one two three four") == 5
try:
    make_counter(TokenCounting.TIKTOKEN)
except SettingsError as error:
    print(error.code, error.hint, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "missing-extra",
        "pip install 'prowess[tokens]', or set prompt.counting = \"estimate\"",
    ]
