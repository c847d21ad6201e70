"""What was said in a rollout?"""

from __future__ import annotations

from whileai_review.rows._identity import as_text


def messages(row: dict) -> list[dict]:
    """The conversation: the dict entries of ``row["messages"]``, never None."""
    found = row.get("messages") if isinstance(row, dict) else None
    if not isinstance(found, (list, tuple)):
        return []
    return [entry for entry in found if isinstance(entry, dict)]


def message_text(message: dict) -> str:
    """The text of one message; parts of a multi-part content are joined by newlines."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "\n".join(part for part in map(_part_text, content) if part)
    if isinstance(content, dict):
        return _part_text(content)
    return as_text(content)


def reply(row: dict) -> str:
    """The final reply: ``final_text``, else the last assistant message with text, else ``""``.

    Examples
    --------
    >>> reply({"messages": [{"role": "assistant", "content": "Done."}]})
    'Done.'
    """
    if not isinstance(row, dict):
        return ""
    final = row.get("final_text")
    if final is not None and final != "":
        return final if type(final) is str else as_text(final)
    for message in reversed(messages(row)):
        if message.get("role") == "assistant":
            text = message_text(message)
            if text:
                return text
    return ""


def reply_chars(row: dict) -> int:
    """How much the assistant wrote, in characters.

    All assistant messages, plus ``final_text`` when it is not the last of them.
    """
    if not isinstance(row, dict):
        return 0
    final = row.get("final_text")
    if type(final) is not str:
        final = as_text(final)
    talk = row.get("messages")
    if not talk or not isinstance(talk, (list, tuple)):
        return len(final)
    total, last = 0, ""
    for message in talk:  # not messages(): a list less for each of 100,000 rows
        if isinstance(message, dict) and message.get("role") == "assistant":
            content = message.get("content")
            last = content if type(content) is str else message_text(message)
            total += len(last)
    return total + (0 if final == last else len(final))


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        text = part.get("text", part.get("content"))
        return text if isinstance(text, str) else ""
    return ""
