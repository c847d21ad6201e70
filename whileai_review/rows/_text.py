"""What of a rollout can be searched: text, without the marks of the format around it."""

from __future__ import annotations

from typing import Any, NamedTuple

from whileai_review.rows._conversation import message_text, messages
from whileai_review.rows._identity import as_text
from whileai_review.rows._steps import steps


class Searchable(NamedTuple):
    """The texts of a rollout by where they stand in it."""

    ask: str
    """The prompt and what else the user and the system said."""
    reply: str
    """The final reply and what else the assistant said."""
    calls: str
    """Tools, their arguments and results: the values and the names of their keys."""
    reason: str
    """The judge's reason, where it came with the row."""


def searchable(row: dict) -> Searchable:
    """Return the texts of a rollout, each once.

    Examples
    --------
    >>> searchable({"prompt": "Hi", "steps": [{"tool": "look", "arguments": {"id": "INV-7"}}]})
    Searchable(ask='Hi', reply='', calls='look id INV-7', reason='')
    """
    if not isinstance(row, dict):
        return Searchable("", "", "", "")
    said: dict[str, list[str]] = {"ask": [as_text(row.get("prompt"))], "reply": []}
    results = []
    for message in messages(row):
        text = message_text(message)
        role = message.get("role")
        if role == "tool":
            results.append(text)
        else:
            said["reply" if role == "assistant" else "ask"].append(text)
    said["reply"].append(as_text(row.get("final_text")))
    calls: list[str] = []
    for step in steps(row):
        calls.append(step.tool)
        _leaves(step.arguments, calls)
        _leaves(step.result, calls)
    calls += [text for text in results if text not in calls]
    return Searchable(
        _joined(said["ask"]), _joined(said["reply"]), " ".join(calls), as_text(row.get("reason"))
    )


def _joined(texts: list[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _leaves(value: Any, into: list[str]) -> None:
    """Append the keys and values of nested data in their order, however deep it is."""
    left = [value]
    while left:
        each = left.pop()
        if type(each) is str:
            into.append(each)
        elif isinstance(each, dict):
            for key, inner in reversed(each.items()):
                left.append(inner)
                left.append(key)
        elif isinstance(each, (list, tuple)):
            left += reversed(each)
        elif each is not None:
            into.append(as_text(each))
