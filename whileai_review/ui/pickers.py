"""Which run, judge, criterion and gold a page is about, and what stands in its address.

The address is the truth: a picker shows what it says and writes into it, so reload, a
shared link and Back need nothing else. Which judge, criterion and gold are measured is
kept on the run, where only a person's choice changes it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import streamlit as st

from whileai_review import work
from whileai_review.store import NotFoundError, Store
from whileai_review.ui import cache, state
from whileai_review.ui.data import warn
from whileai_review.ui.people import COOKIE
from whileai_review.ui.text import cut, plain, visible

LAST_RUN = "last_run"
"""Session key: the run of the last page, for a page that is opened without one."""

LAST_LOAD = "last_load"
"""Session key: what came of the last load of this tab, to be said once it is drawn anew."""

MAX_DIGITS = 18
"""Of a number in an address: what has more is no id, and no integer of the store."""

GOLD_WORDS = {"human": "people’s labels", "program": "a rule’s labels", "model": "a model’s labels"}


class Picked(NamedTuple):
    """What a page is about."""

    run: dict
    """As ``Store.run`` gives it."""
    grader: dict | None
    gold: str | None
    criterion: str

    @property
    def key(self) -> tuple[int, int | None, str | None, str]:
        """Run, judge, gold and criterion, as ``cache.measured`` takes them."""
        return self.run["id"], self.grader["id"] if self.grader else None, self.gold, self.criterion


def pick(store: Store) -> Picked:
    """Draw the context line, a button that opens the pickers; end the page without a run."""
    runs = store.runs()
    if not runs:
        warn("Nothing is loaded yet.")
        st.page_link("pages/runs.py", label="Load a run")
        st.stop()
    run_id = _current_run(store, runs)
    found, grader, gold, criterion = work.settings(store, run_id)
    there = cache.golds(store, run_id, criterion)
    gold = gold if gold in there or not there else there[0]
    with st.popover(plain(context_words(found, grader, gold, criterion)), type="tertiary"):
        _pickers(store, runs, Picked(found, grader, gold, criterion), there)
    return Picked(found, grader, gold, criterion)


def context_words(run: dict, grader: dict | None, gold: str | None, criterion: str) -> str:
    """Return the context line: run, judge, criterion, gold."""
    parts = [run["name"], grader["name"] if grader else "no judge", criterion, gold_words(gold)]
    return " · ".join(cut(visible(part), 60).text for part in parts)


def gold_words(gold: str | None) -> str:
    """Return a gold in a reader's words.

    Examples
    --------
    >>> gold_words("human"), gold_words("file:old.csv"), gold_words(None)
    ('people’s labels', 'labels of old.csv', 'no gold')
    """
    if gold is None:
        return "no gold"
    return GOLD_WORDS.get(gold) or f"labels of {gold.removeprefix('file:')}"


def known_reader() -> str:
    """Return who is at the screen where it is known, else "reader"; nobody is asked."""
    name = st.session_state.get(state.ANNOTATOR)
    return name or unquote(st.context.cookies.get(COOKIE, "")) or "reader"


def param(name: str) -> str | None:
    """Return what the address says, None when it says nothing."""
    return st.query_params.get(name) or None


def number_param(name: str) -> int | None:
    """Return the number that the address says; None for nothing, and for what is no id."""
    said = param(name) or ""
    if len(said) > MAX_DIGITS or not (said.isascii() and said.isdecimal()):
        return None
    return int(said)


def set_params(**params: object) -> None:
    """Write into the address; None takes a parameter out."""
    for name, value in params.items():
        if value is None:
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != str(value):
            st.query_params[name] = str(value)


def select(
    label: str,
    name: str,
    options: Sequence[str],
    words: Callable[[str], str] = visible,
    default: str | None = None,
    clears: Sequence[str] = (),
    **how: Any,
) -> str | None:
    """Draw a select box that stands in the address as ``name``.

    Parameters
    ----------
    default
        Chosen while the address says nothing (or nothing known); not written into it.
    clears
        Parameters that a change takes out, as the page of another list.
    """
    key = f"address_{name}"
    said = param(name)
    st.session_state[key] = said if said in options else default

    def write() -> None:
        chosen = st.session_state[key]
        set_params(**dict.fromkeys(clears), **{name: chosen})

    return st.selectbox(label, options, key=key, format_func=words, on_change=write, **how)


def _current_run(store: Store, runs: list[dict]) -> int:
    """The run of the address; else the last page's, else the newest, then written there."""
    run_id: int
    said = number_param("run")
    if param("run") is None:
        last = st.session_state.get(LAST_RUN)
        run_id = next((run["id"] for run in runs if run["id"] == last), runs[0]["id"])
        set_params(run=run_id)
    else:
        try:
            run_id = store.run(-1 if said is None else said)["id"]
        except NotFoundError:
            warn("The run of this address is not here: it was deleted. Pick another one.")
            run_id = runs[0]["id"]
    st.session_state[LAST_RUN] = run_id
    return run_id


def _pickers(store: Store, runs: list[dict], picked: Picked, golds: list[str]) -> None:
    run_id = picked.run["id"]
    names = {str(run["id"]): run["name"] for run in runs} | {str(run_id): picked.run["name"]}
    select(
        "Run",
        "run",
        [*names],
        words=lambda each: visible(names[each]),
        clears=("cell", "field", "value", "page", "row", "queue"),
    )
    graders = {grader["id"]: grader["name"] for grader in picked.run["graders"]}
    _kept(store, run_id, "grader", "Judge", graders, picked.grader and picked.grader["id"])
    criteria = {name: name for name in store.criteria(run_id)}
    _kept(store, run_id, "criterion", "Criterion", criteria, picked.criterion)
    _kept(store, run_id, "gold", "Gold", {g: gold_words(g) for g in golds}, picked.gold)


def _kept(
    store: Store, run_id: int, what: str, label: str, options: dict[Any, str], now: Any
) -> None:
    """A choice that is kept on the run."""
    key = f"kept_{what}_{run_id}"
    st.session_state[key] = now if now in options else None

    def keep() -> None:
        chosen = st.session_state[key]
        if chosen is not None:
            store.choose(run_id, **{what: chosen}, by=known_reader())
        set_params(cell=None, page=None, row=None)

    st.selectbox(
        label,
        [*options],
        key=key,
        format_func=lambda each: visible(options[each]),
        on_change=keep,
        disabled=not options,
        placeholder="none on this run",
    )
