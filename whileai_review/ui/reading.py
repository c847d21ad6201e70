"""Reading a cell of the confusion: the list, the open row, and what was found on it.

Nothing is answered here: whoever reads sees the judge's reason and the gold. The switch
to answering draws a queue of its own, blind, with agreeing rows mixed in.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from whileai_review import work
from whileai_review.report import count, plural
from whileai_review.store import NotFoundError, Store, StoreError
from whileai_review.ui import cache
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.facts import show_facts
from whileai_review.ui.follow import follow
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import Picked, known_reader, number_param, select, set_params
from whileai_review.ui.tables import Column, show_table
from whileai_review.ui.text import cut, plain, visible
from whileai_review.ui.transcript import show_record
from whileai_review.work.headlines import claim_words

CELLS = {
    "fp": "false passes",
    "fn": "false alarms",
    "disagree": "both: false passes and false alarms",
    "tp": "right passes",
    "tn": "right fails",
}
"""What can be read, worst first; the words of the select box."""

REVIEWED = ("fp", "fn", "disagree")
PAGE_ROWS = 50
CAUSE_KEYS = "56789"
"""Keys of the causes used last (look.md, Keystrokes)."""


class Found(NamedTuple):
    """The list that the address names."""

    cell: str
    field: str | None
    value: str | None
    ids: list[int]
    read: set[int]
    """Rows of the run that somebody has read."""


def show_filters(store: Store, picked: Picked, report: Mapping[str, Any]) -> Found:
    """Draw the sentence and the filters; end the page where there is nothing to list."""
    cells = report["n_cells"]
    if not report["agreement"]["n"]:
        said = report["headline"]
        show_headline(said["bold"], said["grey"], said["word"], said["state"])
        st.page_link("pages/trust.py", label="What is missing", query_params=_run(picked))
        st.stop()
    run_id = picked.run["id"]
    read = {each["row_id"] for each in store.findings(run_id, "read")}
    place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        cell = select(
            "Rows",
            "cell",
            [*CELLS],
            words=lambda each: f"{CELLS[each]} ({count(_size(cells, each))})",
            default="fp" if cells["fp"] or not cells["fn"] else "fn",
            clears=("page", "row"),
            width=330,
        )
        field, value = _pick_group(store, picked)
        ids = cache.cell_rows(store, report, cell or "fp", field, value)
        if cell in REVIEWED and ids:
            _offer_to_answer(store, picked, cell, field, value)
    with place:
        bold = (
            f"{plural(cells['fp'], 'false pass', 'false passes')}, "
            f"{plural(cells['fn'], 'false alarm')}."
        )
        if cells["fp"]:
            bold += f" {claim_words(cache.claims(store, report))}"
        done = len(read.intersection(ids))
        show_headline(bold.strip(), f"read so far {count(done)} of these {count(len(ids))}")
    if not ids:
        quiet("No row is in this list. Take a filter out.")
        st.stop()
    return Found(cell or "fp", field, value, ids, read)


def show_list_and_row(
    store: Store, picked: Picked, report: Mapping[str, Any], found: Found
) -> None:
    """Draw the list, the open row beside it, and the bar that walks and codes."""
    row_id = _open_row(found)
    page = _page(found, row_id)
    left, right = st.columns([1, 3], gap="medium")
    with left:
        with st.container(key="wr_list"):
            _list(store, report, found, page, row_id)
        follow("wr_list", row_id, len(found.ids), len(_causes_of(store, picked.run["id"], row_id)))
        _pager(found, page)
        with st.container(key="wr_causes"):
            _cause_counts(store, picked.run["id"], found)
    try:
        row = store.row(row_id)
    except NotFoundError as error:
        warn(str(error))
        return
    if row["run_id"] != picked.run["id"]:
        # Judge, gold and list are of the run that is picked: beside this row they would lie.
        with right:
            _say_other_run(store, row)
        return
    reader = known_reader()
    with right:
        if row_id not in found.ids:
            quiet("This row is not in the list at the left; K and J go back to it.")
        show_facts(store, row, report, picked.run["tools"])
        show_record(row["row"], str(row_id), blind=False, declared=picked.run["tools"])
        # On a narrow screen the list is above the record: what is counted comes after it.
        with st.container(key="wr_causes_below"):
            _cause_counts(store, picked.run["id"], found)
    with st.bottom:
        _bar(store, picked.run["id"], found, row_id, reader)
    if row_id not in found.read:
        store.add_finding(row_id, "read", reader)


def _say_other_run(store: Store, row: Mapping[str, Any]) -> None:
    name = store.run(row["run_id"])["name"]
    warn(f"The row of this address is of another run, {name}.")
    st.page_link(
        "pages/queue.py",
        label="Open it there",
        query_params={"run": str(row["run_id"]), "row": str(row["id"])},
    )


def _run(picked: Picked) -> dict[str, str]:
    return {"run": str(picked.run["id"])}


def _size(cells: Mapping[str, int], cell: str) -> int:
    return sum(cells[name] for name in (("fp", "fn") if cell == "disagree" else (cell,)))


def _pick_group(store: Store, picked: Picked) -> tuple[str | None, str | None]:
    fields = cache.group_fields(picked.run)
    if not fields:
        return None, None
    field = select(
        "Only where", "field", fields, clears=("value", "page", "row"), width=180, placeholder="any"
    )
    if field is None:
        return None, None
    values = cache.group_values(store, picked.run["id"], field)
    value = select(
        "is", "value", values, clears=("page", "row"), width=180, placeholder="any value"
    )
    return field, value


def _offer_to_answer(
    store: Store, picked: Picked, cell: str, field: str | None, value: str | None
) -> None:
    run_id = picked.run["id"]
    with st.popover("Answer blind"):
        quiet(
            "The same rows without the judge’s reason or the gold, with rows mixed in on which "
            "the two agree, so that nobody can tell which is which."
        )
        share = st.slider(
            "Of the rows on which they agree, mix in, %", 0, 100, 20, 5, key="wr_share"
        )
        if st.button("Draw and answer", type="primary"):
            queue = work.review_queue(
                store, run_id, cell, share / 100, field=field, value=value, by=known_reader()
            )
            st.query_params.from_dict({"queue": str(queue["id"])})
            st.rerun()
        for queue in store.queues(run_id, "review")[:10]:
            st.page_link(
                "pages/queue.py",
                label=plain(f"go on: {queue['name']}, {queue['n']:,} rows"),
                query_params={"queue": str(queue["id"])},
            )


def _open_row(found: Found) -> int:
    """The row of the address; else the first of the page of the address."""
    said = number_param("row")
    if said is not None:
        return said
    first = (max(1, number_param("page") or 1) - 1) * PAGE_ROWS
    return found.ids[first] if first < len(found.ids) else found.ids[0]


def _page(found: Found, row_id: int) -> int:
    """The page that holds the open row, from 1."""
    if row_id in found.ids:
        return found.ids.index(row_id) // PAGE_ROWS + 1
    return 1


def _list(store: Store, report: Mapping[str, Any], found: Found, page: int, row_id: int) -> None:
    ids = found.ids[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    lines = cache.list_lines(store, tuple(ids))
    key = "wr_rows"
    st.session_state[key] = row_id if row_id in ids else None

    def open_chosen() -> None:
        set_params(row=st.session_state[key])

    st.radio(
        "Rows",
        ids,
        key=key,
        format_func=lambda each: f"{'✓ ' if each in found.read else ''}{plain(lines[each])}",
        on_change=open_chosen,
        label_visibility="collapsed",
    )


def _pager(found: Found, page: int) -> None:
    pages = -(-len(found.ids) // PAGE_ROWS)
    if pages > 1:
        turned = f"wr_page_{page}"
        st.pagination(
            pages,
            default=page,
            key=turned,
            max_visible_pages=5,
            on_change=lambda: set_params(page=st.session_state[turned], row=None),
        )


def _cause_counts(store: Store, run_id: int, found: Found) -> None:
    """Counts with the n that was read, and no share: the list is not a sample."""
    causes = [f for f in store.findings(run_id, "cause") if f["row_id"] in set(found.ids)]
    if not causes:
        return
    done = len(found.read.intersection(found.ids))
    counts: dict[str, set[int]] = {}
    for cause in causes:
        counts.setdefault(cause["code"], set()).add(cause["row_id"])
    lines = sorted(counts.items(), key=lambda line: (-len(line[1]), line[0]))
    show_table(
        [Column("cause", "wrap"), Column(f"of {count(done)} read", "number")],
        [[visible(name), count(len(rows))] for name, rows in lines[:12]],
    )


def _causes_of(store: Store, run_id: int, row_id: int) -> list[dict]:
    return [each for each in store.findings(run_id, "cause") if each["row_id"] == row_id]


def _bar(store: Store, run_id: int, found: Found, row_id: int, reader: str) -> None:
    """Back and on, the causes of this row, and the ones used last on keys."""
    mine = _causes_of(store, run_id, row_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _step_button("Back", "K", _neighbour(found.ids, row_id, -1), row_id)
        _step_button("Next", "J", _neighbour(found.ids, row_id, 1), row_id)
        if row_id in found.ids:
            st.text(f"{found.ids.index(row_id) + 1:,} of {len(found.ids):,}", width="content")
        for cause, findings in _by_code(mine).items():
            st.button(
                f"{plain(cause)} ×",
                key=f"drop_{findings[0]}",
                on_click=partial(_drop_cause, store, findings, reader),
                help="Take this cause off the row",
            )
        _cause_box(store, run_id, row_id, reader)
        given = {cause["code"] for cause in mine}
        for digit, name in zip(CAUSE_KEYS, store.last_codes(run_id), strict=False):
            st.button(
                plain(name),
                key=f"cause_{row_id}_{digit}",
                shortcut=digit,
                disabled=name in given,
                type="tertiary",
                on_click=partial(_add_cause, store, row_id, name, reader),
            )
        with st.popover("Note"):
            _notes(store, row_id, reader)


def _by_code(causes: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Cause -> its findings on the row: several people may have found it, or codes were merged."""
    found: dict[str, list[int]] = {}
    for cause in causes:
        found.setdefault(cause["code"], []).append(cause["id"])
    return found


def _notes(store: Store, row_id: int, reader: str) -> None:
    """What was noted on the row in the Queue, and a box for a note; codes come later, on Codes."""
    for text in store.note_texts([("row", row_id)])["row", row_id]:
        quiet(f"{cut(text['by'], 40).text}: {text['text']}")
    key = f"wr_note_{row_id}"
    st.text_area("Note on this row", key=key, height=80)

    def keep() -> None:
        note = st.session_state[key].strip()
        if not note:
            return
        try:
            store.add_finding(row_id, "note", reader, note=note)
        except StoreError as error:
            st.toast(plain(str(error)))
        else:
            st.session_state[key] = ""

    st.button("Keep the note", key=f"{key}_keep", on_click=keep)


def _step_button(label: str, key: str, to: int | None, row_id: int) -> None:
    # The open row is part of the key: a press on a slow line is for the row that was seen.
    st.button(
        label,
        key=f"{label}_{row_id}",
        shortcut=key,
        disabled=to is None,
        on_click=partial(set_params, row=to),
    )


def _neighbour(ids: Sequence[int], row_id: int, step: int) -> int | None:
    if row_id not in ids:
        return ids[0] if ids else None
    at = ids.index(row_id) + step
    return ids[at] if 0 <= at < len(ids) else None


def _cause_box(store: Store, run_id: int, row_id: int, reader: str) -> None:
    key = f"new_cause_{row_id}"
    codes = sorted({f["code"] for f in store.findings(run_id, "cause")})

    def add() -> None:
        chosen = st.session_state[key]
        if chosen and chosen.strip():
            _add_cause(store, row_id, chosen, reader)
        st.session_state[key] = None

    st.selectbox(
        "Cause",
        codes,
        index=None,
        key=key,
        accept_new_options=True,
        format_func=visible,
        placeholder="Cause: pick or type",
        label_visibility="collapsed",
        on_change=add,
        width=230,
    )


def _add_cause(store: Store, row_id: int, code: str, reader: str) -> None:
    try:
        store.add_finding(row_id, "cause", reader, code=code)
    except StoreError as error:
        st.toast(plain(str(error)))


def _drop_cause(store: Store, findings: Sequence[int], reader: str) -> None:
    try:
        for finding in findings:
            store.withdraw_finding(finding, reader)
    except StoreError as error:
        st.toast(plain(str(error)))
