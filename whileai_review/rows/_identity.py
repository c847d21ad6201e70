"""Which rollout is this, and which task does it belong to?"""

from __future__ import annotations

import hashlib
import json


def as_text(value: object) -> str:
    """Any value as text: text as it is, None as ``""``, containers as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        if isinstance(value, (dict, list, tuple)):
            return json.dumps(value, ensure_ascii=False, default=str)
        return str(value)
    except (TypeError, ValueError, RecursionError):
        return f"<unreadable {type(value).__name__}>"


def task_key(row: dict) -> str:
    """The one name every report groups a row's rollouts under.

    Returns
    -------
    str
        ``scenario_id``, else ``task_id``, else ``prompt``: the first that is set
        (not None, not empty), as text; ``""`` if none is.

    Examples
    --------
    >>> task_key({"task_id": 7, "prompt": "Refund me"})
    '7'
    """
    if not isinstance(row, dict):
        return ""
    for key in ("scenario_id", "task_id", "prompt"):
        value = row.get(key)
        if value is not None and value != "":
            return value if type(value) is str else as_text(value)
    return ""


def identity(row: dict) -> str:
    """The text that names one rollout.

    Returns
    -------
    str
        ``rollout_id`` if set; else ``"<scenario_id>#<rollout_index>"`` if both are
        there; else a hash of prompt and reply. Identity is text, so ``7`` and
        ``"7"`` are one row and ``"007"`` is another.

    Examples
    --------
    >>> identity({"scenario_id": "big-1", "rollout_index": 0})
    'big-1#0'
    """
    if not isinstance(row, dict):
        return _hash_of("", as_text(row))
    rollout = row.get("rollout_id")
    if _is_set(rollout):
        return as_text(rollout)
    return _position(row) or _text_identity(row)


def identity_keys(row: dict) -> list[str]:
    """Every key a label may use for this row, without repeats, identity first.

    Identity; ``rollout_id``; ``"<scenario_id>#<rollout_index>"``; the bare
    ``scenario_id``; the hash of prompt and reply.
    """
    keys = [identity(row)]
    if not isinstance(row, dict):
        return keys
    if _is_set(row.get("rollout_id")):
        keys.append(as_text(row["rollout_id"]))
    keys.append(_position(row))
    if _is_set(row.get("scenario_id")):
        keys.append(as_text(row["scenario_id"]))
    if _is_set(row.get("prompt")) or _is_set(row.get("final_text")):
        keys.append(_text_identity(row))
    return [key for key in dict.fromkeys(keys) if key]


def _is_set(value: object) -> bool:
    return value is not None and value != ""


def _position(row: dict) -> str:
    scenario, index = row.get("scenario_id"), row.get("rollout_index")
    if not _is_set(scenario) or not _is_set(index):
        return ""
    return f"{as_text(scenario)}#{as_text(index)}"


def _text_identity(row: dict) -> str:
    return _hash_of(as_text(row.get("prompt")), as_text(row.get("final_text")))


def _hash_of(prompt: str, final_text: str) -> str:
    # surrogatepass: lone surrogates occur in logs and have no UTF-8 form.
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass"))
    digest.update(b"\x00")
    digest.update(final_text.encode("utf-8", "surrogatepass"))
    return "text:" + digest.hexdigest()[:32]
