"""The label bar: one press by key or mouse becomes one call, for the row that was seen.

The browser sends the row's identity with the press, because on a slow line what the
server believes to be on the screen is not there yet (ui.md 2.2). It measures how long
the row could be seen, refuses repeats and presses that come too early, and keeps the
bar locked until the server has answered the press by its nonce.

The callback neither reads nor writes ``st.session_state`` by key: Streamlit takes such
an access as a place to drop the run for a newer request, and the press with it.
"""

import logging
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

ACTIONS = ("pass", "fail", "unclear", "later", "undo")

MIN_MS = 300
"""No press counts before a row has been on the screen for this long (ui.md 1.1.5)."""

MAX_MIN_MS = 1_200
"""A long record asks for more, never for more than this."""

MAX_NOTE = 4_000
"""Characters of a note; the field in the browser stops there."""

_LOG = logging.getLogger("whileai_review")
_ASSETS = Path(__file__).parent / "assets"


class Press(NamedTuple):
    """What the browser sent: one act on one row."""

    row_id: str
    revision: str
    action: str
    """pass, fail, unclear, later or undo."""
    note: str
    step: int | None
    """The step that had the focus when ``fail`` was pressed."""
    shown_ms: int
    """For how long the row was painted in a visible tab."""
    nonce: str
    """The same press, sent again, has the same nonce."""


OnPress = Callable[[Press], str | None]
"""Stores a press. Returns None, or why it was not saved and what to do."""


def min_ms(characters: int) -> int:
    """Return how long a record of this length must be seen before a press counts.

    Examples
    --------
    >>> min_ms(0), min_ms(2_000), min_ms(5_000_000)
    (300, 500, 1200)
    """
    return min(MAX_MIN_MS, MIN_MS + characters // 10)


def label_bar(
    row_id: str,
    revision: str,
    on_press: OnPress,
    *,
    min_ms: int = MIN_MS,
    progress: str = "",
    saved: str = "",
    can_undo: bool = True,
    annotator: str = "",
    key: str = "label_bar",
) -> None:
    """Draw the bar for the row on the screen; ``on_press`` is called once a press.

    Parameters
    ----------
    row_id
        The row whose record carries ``data-wr-row``; empty when there is none, which
        leaves only undo.
    revision
        Changes whenever the same row is to be answered anew, as after an undo.
    on_press
        Called before the page is drawn again.
    min_ms
        See :func:`min_ms`.
    progress, saved
        The two quiet texts in the bar.
    annotator
        Who labels; kept in a cookie so that the next visit knows.
    """
    answer = st.session_state.setdefault(f"{key}_answer", {})
    drawn = _component()(
        key=key,
        data={
            "row_id": row_id,
            "revision": revision,
            "min_ms": min_ms,
            "progress": progress,
            "saved": saved,
            "can_undo": can_undo,
            "annotator": annotator,
            "answer": dict(answer),
        },
        on_press_change=partial(_pressed, key, on_press, answer),
    )
    # After a restart of the server the first press comes with the first run of a new
    # session, which knows no callback yet.
    press = read_press(drawn.get("press"))
    if press is not None and press.nonce != answer.get("nonce"):
        _hand_over(press, on_press, answer)
        st.rerun()


def last_error(key: str = "label_bar") -> str:
    """Return why the last press of this tab was not saved, for a page that draws no bar."""
    return st.session_state.get(f"{key}_answer", {}).get("error", "")


def read_press(value: Any) -> Press | None:
    """Check what came from the browser; None when it is not a press.

    Examples
    --------
    >>> read_press({"row_id": "7", "action": "pass", "nonce": "a"})
    Press(row_id='7', revision='', action='pass', note='', step=None, shown_ms=0, nonce='a')
    >>> read_press({"row_id": "7", "action": "delete", "nonce": "a"})
    """
    if not isinstance(value, dict):
        return None
    row_id, action, nonce = (value.get(key) for key in ("row_id", "action", "nonce"))
    if not (isinstance(row_id, str) and isinstance(nonce, str) and 0 < len(nonce) <= 64):
        return None
    if action not in ACTIONS:
        return None
    note, step, shown = (value.get(key) for key in ("note", "step", "shown_ms"))
    return Press(
        row_id=row_id,
        revision=str(value.get("revision", "")),
        action=action,
        note=note[:MAX_NOTE] if isinstance(note, str) else "",
        step=step if isinstance(step, int) and step >= 0 else None,
        shown_ms=_milliseconds(shown),
        nonce=nonce,
    )


def _milliseconds(value: object) -> int:
    finite = isinstance(value, int | float) and math.isfinite(value)
    return max(0, int(value)) if finite else 0  # type: ignore[call-overload]


def _pressed(key: str, on_press: OnPress, answer: dict[str, str]) -> None:
    # to_dict() is the one way to read a value that cannot end the run (see above).
    state = st.session_state.to_dict().get(key) or {}
    press = read_press(state.get("press"))
    if press is not None:
        _hand_over(press, on_press, answer)


def _hand_over(press: Press, on_press: OnPress, answer: dict[str, str]) -> None:
    try:
        error = on_press(press)
    except Exception:  # whatever it was, the annotator must hear that nothing was kept
        _LOG.exception("a press could not be stored")
        error = "Not saved: the server failed, its log says why. Press again to try once more"
    answer.clear()
    answer.update(nonce=press.nonce, error=error or "")


@cache
def _component() -> Any:
    return st.components.v2.component(
        "whileai_review_label_bar",
        html=(_ASSETS / "bar.html").read_text("utf-8"),
        css=(_ASSETS / "bar.css").read_text("utf-8"),
        js=(_ASSETS / "bar.js").read_text("utf-8"),
    )
