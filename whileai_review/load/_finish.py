"""The last touch on a mapped row: messages in one shape, ask and reply, a name of its own.

Identity is the business of `rows.identity`: `rollout_id`, else task and repeat, else ask and
reply. Files of verdicts alone have none of these, and all their rows would be one. So a row
that has nothing of the kind gets a `rollout_id` here:

=============================================  ===========================================
the row has                                    `rollout_id`
=============================================  ===========================================
`rollout_id`, or scenario_id + rollout_index   as it was
task_id + rollout_index                        ``<task_id>#<rollout_index>``
an ask and a reply                             none: ask and reply name it
a task and a reply (or a conversation)         ``<task>#<hash of the reply>``
a task alone                                   ``<task>``: the row is the task's one row
an ask or a reply alone                        none: that text names it
none of them                                   ``row:<hash of the whole row>``
=============================================  ===========================================

A hash of the reply and not the bare task, so that a label is not offered to another reply.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson

from whileai_review import rows

JSON_CELLS = ("messages", "steps", "tools", "markers", "lineage", "tool_trace", "gold_labels")
"""Keys whose value may be JSON text, as in a CSV cell."""

SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
"""Speakers of ShareGPT conversations -> roles."""


def finish(row: dict, obj: dict) -> dict:
    """Shape the messages, take ask and reply from them, and name the row; changes `row` only."""
    get = row.get
    for key in JSON_CELLS:
        value = get(key)
        if type(value) is str and value[:1] in ("[", "{"):
            row[key] = _parsed(value)
    messages = get("messages")
    prompt = get("prompt")
    if messages is not None and not _in_shape(messages):
        messages = row["messages"] = shaped(messages)
    if type(prompt) is list or type(get("final_text")) is list:
        _take_apart(row)
        messages = get("messages")
    if messages:
        _text_from_messages(row, messages)
    if not get("rollout_id") or type(row["rollout_id"]) is not str:
        _name(row, obj)
    return row


def is_conversation(value: Any) -> bool:
    """Whether the value is a list of turns: OpenAI's role and content, or ShareGPT's from and value."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(turn, dict) and ("role" in turn or ("from" in turn and "value" in turn))
        for turn in value
    )


def shaped(messages: Any) -> Any:
    """Messages as a list of role and content; what is no conversation stays as it is."""
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, list):
        return messages
    return [_turn(turn) if isinstance(turn, dict) else turn for turn in messages]


def _turn(turn: dict) -> dict:
    if "role" in turn or "from" not in turn:
        return turn
    speaker = turn["from"]
    role = SPEAKERS.get(speaker, speaker) if isinstance(speaker, str) else speaker
    return {**turn, "role": role, "content": turn.get("value")}


def _in_shape(messages: Any) -> bool:
    return (
        type(messages) is list
        and bool(messages)
        and type(messages[0]) is dict
        and "role" in messages[0]
    )


def _take_apart(row: dict) -> None:
    """Ask and reply that came as lists of turns: their texts, and the conversation they make."""
    parts = [row.get("prompt"), row.get("final_text")]
    if is_conversation(parts[0]) and "messages" not in row:
        row["messages"] = shaped(parts[0]) + (shaped(parts[1]) if is_conversation(parts[1]) else [])
    for key, role in (("prompt", "user"), ("final_text", "assistant")):
        value = row.get(key)
        if is_conversation(value):
            row[key] = _last_text(shaped(value), role)


def _last_text(messages: list[dict], role: str) -> str:
    said = [rows.message_text(turn) for turn in messages if turn.get("role") == role]
    return next((text for text in reversed(said) if text), "")


def _text_from_messages(row: dict, messages: Any) -> None:
    if "prompt" in row and "final_text" in row or not isinstance(messages, list):
        return
    turns = [turn for turn in messages if isinstance(turn, dict)]
    if "prompt" not in row:
        first = next((turn for turn in turns if turn.get("role") == "user"), None)
        if first is not None and (text := rows.message_text(first)):
            row["prompt"] = text
    if "final_text" not in row:
        # Only the very last turn of the assistant: an earlier one is no final reply.
        last = next((t for t in reversed(turns) if t.get("role") == "assistant"), None)
        if last is not None and (text := rows.message_text(last)):
            row["final_text"] = text


def _is_set(value: Any) -> bool:
    return value is not None and value != ""


def _name(row: dict, obj: dict) -> None:
    get = row.get
    if _is_set(get("rollout_id")):
        return
    has_scenario, has_index = _is_set(get("scenario_id")), _is_set(get("rollout_index"))
    if has_scenario and has_index:
        return
    task = get("scenario_id") if has_scenario else get("task_id")
    if not _is_set(task):
        if not _is_set(get("prompt")) and not _is_set(get("final_text")):
            row["rollout_id"] = "row:" + _hash(obj)
        return
    if has_index:
        row["rollout_id"] = f"{rows.as_text(task)}#{rows.as_text(row['rollout_index'])}"
        return
    reply = get("final_text")
    if _is_set(get("prompt")) and _is_set(reply):
        return
    body = reply if _is_set(reply) else get("messages") or get("steps") or get("tool_trace")
    name = rows.as_text(task)
    row["rollout_id"] = f"{name}#{_hash(body)}" if body else name


def _hash(value: Any) -> str:
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        data = rows.as_text(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:16]


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
