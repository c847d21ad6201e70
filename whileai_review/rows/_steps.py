"""What was done in a rollout: which tools were called, and which were there to call?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from whileai_review.rows._conversation import message_text, messages
from whileai_review.rows._identity import as_text

FAILED_WORDS = frozenset({"error", "failed", "failure", "fail", "exception", "timeout", "denied"})
"""Values of ``status`` that say a call did not work."""

WORKED_WORDS = frozenset({"ok", "success", "succeeded", "done", "completed", "complete"})
"""Values of ``status`` that say a call worked."""


class Step(NamedTuple):
    """One tool call of a rollout.

    Attributes
    ----------
    tool : str
        Name of the tool.
    arguments, result : object
        As they were logged. JSON text of arguments is parsed; unreadable text stays text.
    ok : bool or None
        Whether the call worked; None when the row does not say.
    """

    tool: str
    arguments: object
    result: object
    ok: bool | None


def steps(row: dict) -> list[Step]:
    """The tool calls of a rollout, in order.

    From ``steps``, else ``tool_trace``, else the messages' ``tool_calls`` and tool
    results: the first of them that names a tool.

    Examples
    --------
    >>> steps({"steps": [{"tool": "lookup", "arguments": '{"id": 7}'}]})
    [Step(tool='lookup', arguments={'id': 7}, result=None, ok=None)]
    """
    if not isinstance(row, dict):
        return []
    for key in ("steps", "tool_trace"):
        found = [step for step in map(_read_step, _entries(row.get(key))) if step is not None]
        if found:
            return found
    return _steps_of_messages(messages(row))


def declared_tools(row: dict) -> list[str]:
    """Names of the tools the agent could call, in declared order, without repeats.

    ``row["tools"]`` is a list of names or of OpenAI-style tool dicts (or a dict
    keyed by name).
    """
    declared = row.get("tools") if isinstance(row, dict) else None
    if isinstance(declared, dict):
        declared = [declared] if "function" in declared or "name" in declared else list(declared)
    names = (entry if isinstance(entry, str) else _tool_name(entry) for entry in _entries(declared))
    return list(dict.fromkeys(name for name in names if name))


def tool_counts(row: dict, declared: Iterable[str] | None = None) -> dict[str, int]:
    """How often each tool was called: declared ones first (0 counts), then others in call order.

    Examples
    --------
    >>> tool_counts({"tools": ["credit", "escalate"], "steps": [{"tool": "lookup"}]})
    {'credit': 0, 'escalate': 0, 'lookup': 1}
    """
    counts = dict.fromkeys(declared_tools(row) if declared is None else declared, 0)
    for step in steps(row):
        counts[step.tool] = counts.get(step.tool, 0) + 1
    return counts


def _entries(value: object) -> list:
    return list(value) if isinstance(value, (list, tuple)) else []


def _first(entry: dict, *keys: str) -> Any:
    for key in keys:
        if entry.get(key) is not None:
            return entry[key]
    return None


def _tool_name(entry: object) -> str:
    """The name in a step, a tool call or a tool declaration; ``""`` when there is none."""
    if not isinstance(entry, dict):
        return ""
    name = _first(entry, "tool", "name", "tool_name")
    if name is None:
        function = entry.get("function")
        name = function.get("name") if isinstance(function, dict) else function
    if isinstance(name, dict):  # {"tool": {"name": ...}}
        name = name.get("name")
    return name if isinstance(name, str) else ""


def _read_step(entry: object) -> Step | None:
    if isinstance(entry, str):
        return Step(entry, None, None, None) if entry else None
    name = _tool_name(entry)
    if not name or not isinstance(entry, dict):
        return None
    result = _first(entry, "result", "output", "observation")
    return Step(name, _arguments(entry), result, _worked(entry, result))


def _arguments(entry: dict) -> object:
    value = _first(entry, "arguments", "args", "input", "parameters")
    if value is None and isinstance(entry.get("function"), dict):
        value = _first(entry["function"], "arguments", "args")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _worked(entry: dict, result: object) -> bool | None:
    for key, good in (("ok", True), ("success", True), ("is_error", False)):
        if isinstance(entry.get(key), bool):
            return entry[key] is good
    if "error" in entry:
        return not entry["error"]
    status = entry.get("status")
    if isinstance(status, str):
        word = status.strip().lower()
        return False if word in FAILED_WORDS else True if word in WORKED_WORDS else None
    if isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600:
        return status < 400  # an HTTP status
    if isinstance(result, dict) and result.get("error"):
        return False
    return None


def _steps_of_messages(conversation: list[dict]) -> list[Step]:
    """Pair each call of a conversation with its result, by id, else by name, else in order."""
    calls: list[dict] = []
    for message in conversation:
        role = message.get("role")
        if role in ("tool", "function"):
            _give_result(calls, message.get("tool_call_id"), message.get("name"), message)
            continue
        calls.extend(_calls_of(message))
        for part in _entries(message.get("content")):
            if isinstance(part, dict) and part.get("type") == "tool_result":
                _give_result(calls, part.get("tool_use_id"), None, part)
    return [Step(call["name"], call["arguments"], call["result"], call["ok"]) for call in calls]


def _calls_of(message: dict) -> list[dict]:
    found = _entries(message.get("tool_calls"))
    if isinstance(message.get("function_call"), dict):
        found.append(message["function_call"])
    found += [
        part
        for part in _entries(message.get("content"))
        if isinstance(part, dict) and part.get("type") == "tool_use"
    ]
    return [
        {
            "id": as_text(call.get("id")),
            "name": _tool_name(call),
            "arguments": _arguments(call),
            "result": None,
            "ok": None,
            "open": True,
        }
        for call in found
        if _tool_name(call)
    ]


def _give_result(calls: list[dict], call_id: object, name: object, answer: dict) -> None:
    waiting = [call for call in calls if call["open"]]
    by_id = [call for call in waiting if call_id is not None and call["id"] == as_text(call_id)]
    by_name = [call for call in waiting if name and call["name"] == name]
    candidates = by_id or by_name or waiting
    if not candidates:
        return
    chosen = candidates[0]
    content = answer.get("content")
    chosen["result"] = content if isinstance(content, dict) else message_text(answer)
    chosen["ok"] = _worked(answer, chosen["result"])
    chosen["open"] = False
