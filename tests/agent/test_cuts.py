"""Where a conversation is cut, and what stands in the place of what was cut off."""

from hypothesis import given
from hypothesis import strategies as st

from prowess.agent.cuts import Cut, plan_cut, quote_request, render_for_summary, truncate
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.transcript import Entry


def entry(message: Message, tokens: int = 10, *receipts: str) -> Entry:
    return Entry(message, tokens, receipts)


def user(text: str = "hi", context: str = "") -> Entry:
    return entry(UserMessage(text, context))


def assistant(text: str = "yes", *calls: str) -> Entry:
    return entry(AssistantMessage(text, tuple(ToolCall(one, "tool", "{}") for one in calls)))


def tool(call: str = "1", content: str = "done") -> Entry:
    return entry(ToolMessage(call, "tool", content))


def test_the_cut_lies_before_a_message_of_the_user() -> None:
    entries = [user("a"), assistant(), user("b"), assistant(), user("c"), assistant()]
    cut = plan_cut(entries, keep_tokens=35)
    assert cut == Cut(tuple(entries[:4]), tuple(entries[4:]))


def test_the_cut_lies_before_an_answer_if_the_last_turn_alone_is_too_long() -> None:
    entries = [user("a"), assistant("", "1"), tool("1"), assistant("", "2"), tool("2")]
    cut = plan_cut(entries, keep_tokens=25)
    assert cut == Cut(tuple(entries[:3]), tuple(entries[3:]))


def test_everything_is_cut_off_if_nothing_fits() -> None:
    entries = [user("a"), assistant("", "1"), tool("1")]
    assert plan_cut(entries, keep_tokens=5) == Cut(tuple(entries), ())


def test_there_is_nothing_to_cut_in_an_empty_conversation() -> None:
    assert plan_cut([], keep_tokens=5) is None


def test_the_instructions_that_are_kept_are_known_by_their_receipts() -> None:
    cut = Cut((entry(UserMessage("a"), 1, "r1"),), (entry(UserMessage("b"), 1, "r2"),))
    assert cut.held == {"r2"}


def test_what_the_user_wants_now_is_kept_word_for_word() -> None:
    assert quote_request(Cut((user("Paint it."), assistant()), (assistant(),)), most_characters=9) == "Paint it."
    assert quote_request(Cut((user("Paint it."), assistant()), (assistant(),)), most_characters=5) == "Paint […]"
    assert quote_request(Cut((user("Paint it."),), (user("Thanks."),)), most_characters=9) == ""


def test_instructions_are_not_summed_up() -> None:
    content = 'Before.\n<skill_content name="pdf">\nFill forms.\n</skill_content>\nAfter.'
    shown = render_for_summary([user("hi", content), tool("1", content)], most_characters=10_000)
    assert "Fill forms" not in shown
    assert shown.count("[instructions of skill pdf]") == 2
    assert "After." in shown


def test_the_latest_is_summed_up_if_not_all_can_be() -> None:
    shown = render_for_summary([user("a" * 50), user("b" * 50), user("c" * 50)], most_characters=120)
    assert shown.startswith("[1 earlier messages are left out]")
    assert "a" * 50 not in shown
    assert shown.endswith("c" * 50)


def test_a_truncated_conversation_keeps_the_beginnings_of_its_latest_messages() -> None:
    shown = truncate([user("old"), user("x" * 500), assistant("Good.")], most_characters=235)
    assert shown == f"[1 earlier messages are left out]\nUser: {'x' * 200} […]\nAssistant: Good."


kinds = st.sampled_from(["user", "assistant", "tool"])


@given(st.lists(st.tuples(kinds, st.integers(0, 100)), min_size=1, max_size=40), st.integers(0, 500))
def test_no_cut_begins_with_a_result_or_keeps_more_than_fits(shapes: list[tuple[str, int]], keep: int) -> None:
    makers: dict[str, Message] = {
        "user": UserMessage("u"),
        "assistant": AssistantMessage("a"),
        "tool": ToolMessage("1", "t", "c"),
    }
    entries = [Entry(makers[kind], tokens) for kind, tokens in shapes]
    cut = plan_cut(entries, keep_tokens=keep)
    assert cut is not None
    assert [*cut.before, *cut.kept] == entries
    assert cut.before
    assert sum(one.tokens for one in cut.kept) <= keep
    assert not cut.kept or not isinstance(cut.kept[0].message, ToolMessage)
