"""What of a row a reader sees, in which order, before it becomes HTML or plain text."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from whileai_review import rows

WRITE_WORDS = frozenset(
    "add approve assign book cancel charge close create credit debit delete deny disable edit "
    "enable escalate exec execute file grant insert issue modify move pay post publish put "
    "refund register reject remove rename replace reset resolve revoke run save schedule send "
    "set submit transfer update upload waive withdraw write".split()
)
"""Words in a tool's name that say it changes something: such a call stays unfolded."""

FOLD_OVER = 10
"""Steps over which the uneventful ones are folded (look.md, Keystrokes 1)."""

RESULT_CHARS = 120
ARGUMENT_CHARS = 240
"""What one line shows of a call."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Said(NamedTuple):
    """A turn of the conversation."""

    role: str
    text: str


class Call(NamedTuple):
    """A tool call; ``number`` counts from 0."""

    number: int
    step: rows.Step


class Record(NamedTuple):
    """A row as it is read: what was asked on one side, what was done on the other."""

    ask: str | None
    policy: str | None
    tools: dict[str, int]
    items: list[Said | Call]
    reply: str
    reply_note: str
    """Why there is no reply to read; empty when there is one."""

    @property
    def characters(self) -> int:
        """How much there is to read before anything is unfolded."""
        said = sum(len(item.text) for item in self.items if isinstance(item, Said))
        calls = sum(isinstance(item, Call) for item in self.items)
        return len(self.ask or "") + len(self.reply) + said + 80 * calls


def read_record(row: dict, declared: Sequence[str] | None = None) -> Record:
    """Take apart a row.

    Parameters
    ----------
    row
        Any row; what is missing is said to be missing.
    declared
        Tools of the run, for rows that do not list their own.
    """
    conversation = rows.messages(row)
    ask = _ask(row, conversation)
    reply = rows.reply(row)
    items = _items(row, conversation, ask)
    if items and isinstance(items[-1], Said) and items[-1] == Said("assistant", reply):
        items.pop()
    own = rows.declared_tools(row)
    return Record(
        ask=ask,
        policy=_policy(row, conversation),
        tools=rows.tool_counts(row, own or list(declared or ())),
        items=items,
        reply=reply,
        reply_note=_reply_note(row, reply),
    )


def eventful(calls: Sequence[Call]) -> set[int]:
    """Numbers of the calls that stay unfolded: writes, failures, the last two; or all."""
    if len(calls) <= FOLD_OVER:
        return {call.number for call in calls}
    kept = {call.number for call in calls[-2:]}
    return kept | {c.number for c in calls if c.step.ok is False or is_write(c.step.tool)}


def is_write(tool: str) -> bool:
    """Whether a tool's name says that it changes something.

    Examples
    --------
    >>> is_write("issue_credit"), is_write("sendEmail"), is_write("lookup_invoice")
    (True, True, False)
    >>> is_write("get_address")
    False
    """
    words = [word.lower() for word in _WORD.findall(tool)]
    return any(word in WRITE_WORDS for word in words) and words[:1] not in (["get"], ["list"])


def one_line(value: object) -> str:
    """Write arguments or a result on one line.

    Examples
    --------
    >>> one_line({"amount": 654.3, "note": "paid"})
    '{"amount": 654.3, "note": "paid"}'
    """
    if isinstance(value, str):
        return " ".join(value.split()) if len(value) < 10_000 else value[:10_000]
    return _json(value)


def call_arguments(value: object) -> str:
    """Write arguments as in a call.

    Examples
    --------
    >>> call_arguments({"id": "INV-7", "force": True})
    'id="INV-7", force=true'
    """
    if value is None:
        return ""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ", ".join(f"{key}={_json(each)}" for key, each in value.items())
    return one_line(value)


def in_full(value: object) -> str:
    """Write arguments or a result whole, one entry a line."""
    return value if isinstance(value, str) else _json(value, indent=1)


def as_text(record: Record) -> Iterator[str]:
    """All of a record as plain text, nothing cut."""
    yield f"ASK\n{record.ask if record.ask is not None else '(no ask in this row)'}\n\n"
    if record.policy:
        yield f"POLICY\n{record.policy}\n\n"
    for item in record.items:
        if isinstance(item, Said):
            yield f"{item.role.upper()}\n{item.text}\n\n"
        else:
            yield f"STEP {item.number + 1} {item.step.tool}\n{in_full(item.step.arguments)}\n"
            yield f"-> {in_full(item.step.result)}\n\n"
    yield f"REPLY\n{record.reply_note or record.reply}\n"


def _json(value: object, indent: int | None = None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (ValueError, RecursionError):
        return str(type(value).__name__)


def _ask(row: dict, conversation: list[dict]) -> str | None:
    prompt: Any = row.get("prompt")
    if isinstance(prompt, list):
        turns = rows.messages({"messages": prompt})
        prompt = "\n\n".join(filter(None, map(rows.message_text, turns))) or None
    if prompt is not None:
        return prompt if isinstance(prompt, str) else one_line(prompt)
    for message in conversation:
        if message.get("role") in ("user", "human"):
            return rows.message_text(message)
    return None


def _policy(row: dict, conversation: list[dict]) -> str | None:
    for key in ("policy", "system_prompt", "system"):
        if isinstance(row.get(key), str) and row[key].strip():
            return str(row[key])
    system = [
        rows.message_text(m) for m in conversation if m.get("role") in ("system", "developer")
    ]
    return "\n\n".join(filter(None, system)) or None


def _items(row: dict, conversation: list[dict], ask: str | None) -> list[Said | Call]:
    """Turns and calls in the order in which they happened, as far as the row tells it."""
    calls = [Call(number, step) for number, step in enumerate(rows.steps(row))]
    in_messages = [len(rows.steps({"messages": [message]})) for message in conversation]
    interleaved = sum(in_messages) == len(calls)
    items: list[Said | Call] = [] if interleaved else list(calls)
    waiting = iter(calls)
    asked = False
    for message, n_calls in zip(conversation, in_messages, strict=True):
        role = str(message.get("role") or "?")
        text = rows.message_text(message)
        if role in ("user", "human") and text == ask and not asked:
            asked = True
        elif text and role not in ("system", "developer", "tool", "function"):
            items.append(Said(role, text))
        if interleaved:
            items += [next(waiting) for _ in range(n_calls)]
    return items


def _reply_note(row: dict, reply: str) -> str:
    """Four ways of having no reply, told apart (field report 7)."""
    if reply.strip():
        return ""
    if reply:
        return f"(a reply of {len(reply):,} blank characters)"
    if "final_text" not in row:
        return "(no reply in this row)"
    return "(the reply is null)" if row["final_text"] is None else "(empty reply)"
