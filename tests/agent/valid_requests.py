"""What any provider wants of the messages in a request."""

from collections.abc import Sequence

from prowess.agent.messages import AssistantMessage, Message, ToolMessage, UserMessage

__all__ = ["find_faults"]


def find_faults(messages: Sequence[Message]) -> list[str]:
    """Return what is wrong: a call without its result right behind it, a result without a call, a wrong first one."""
    faults = [] if messages and isinstance(messages[0], UserMessage) else ["the first is no message of the user"]
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        match message:
            case ToolMessage(call=call):
                if call in waiting:
                    waiting.remove(call)
                else:
                    faults.append(f"{number} is the result of no call")
                continue
            case AssistantMessage(text=text, calls=calls):
                ids = [one.id for one in calls]
                faults += [f"{number} is empty"] if not (text or calls) else []
                faults += [f"{number} has ids that are taken"] if seen & {*ids} or len(ids) != len({*ids}) else []
            case UserMessage():
                ids = []
        faults += [f"{number} comes before the results of {waiting}"] if waiting else []
        waiting = ids
        seen |= {*ids}
    return faults + ([f"there are no results of {waiting}"] if waiting else [])
