"""What a row says: the only code that knows the keys of a row.

A row is a plain dict, one rollout. Rows come from elsewhere, so any key may be
missing, ``None`` or of another shape than expected; every reader here answers
with "nothing there" and never raises.

- who is it: :func:`identity`, :func:`task_key`
- what was decided: :func:`verdict`, :func:`gold_kind`
- what was said: :func:`messages`, :func:`message_text`, :func:`reply`, :func:`reply_chars`
- what can be searched: :func:`searchable`
- what was done: :class:`Step`, :func:`steps`, :func:`declared_tools`, :func:`tool_counts`
"""

from whileai_review.rows._conversation import message_text, messages, reply, reply_chars
from whileai_review.rows._identity import as_text, identity, identity_keys, task_key
from whileai_review.rows._steps import Step, declared_tools, steps, tool_counts
from whileai_review.rows._text import Searchable, searchable
from whileai_review.rows._verdict import (
    KINDS,
    TRUSTED_KINDS,
    gold_kind,
    gold_labels,
    is_number,
    label_kind,
    mixed_is_trusted,
    verdict,
)

__all__ = [
    "KINDS",
    "TRUSTED_KINDS",
    "Searchable",
    "Step",
    "as_text",
    "declared_tools",
    "gold_kind",
    "gold_labels",
    "identity",
    "identity_keys",
    "is_number",
    "label_kind",
    "message_text",
    "messages",
    "mixed_is_trusted",
    "reply",
    "reply_chars",
    "searchable",
    "steps",
    "task_key",
    "tool_counts",
    "verdict",
]
