"""The parts of the Rows page: search, filters, saved views, the list and the open row.

Everything that says which rows are listed stands in the address, so a view is an address
with a name, and a link from any number opens its rows.
"""

from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from whileai_review import work
from whileai_review.report import count, plural
from whileai_review.store import NotFoundError, RefusedError, Store, StoreError
from whileai_review.ui import cache
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.facts import WORDS, show_facts
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import Picked, known_reader, number_param, param, select, set_params
from whileai_review.ui.text import cut, plain, visible
from whileai_review.ui.transcript import show_record
from whileai_review.work.finding import FLAGS, LABELS, PAGE, VERDICTS

CELLS = {
    "fp": "false passes",
    "fn": "false alarms",
    "disagree": "judge and gold disagree",
    "agree": "judge and gold agree",
    "tp": "right passes",
    "tn": "right fails",
}
VERDICT_WORDS = {"pass": "judge: pass", "fail": "judge: fail", "none": "judge: no verdict"}
PEOPLE_WORDS = {
    "any": "labelled by anybody",
    "none": "without a label",
    "pass": "a label says pass",
    "fail": "a label says fail",
    "unclear": "a label says can’t tell",
}
FLAG_WORDS = {
    "read": "read by somebody",
    "unread": "not read yet",
    "bad_data": "marked as bad data",
    "note": "with a note",
}
ONE = ("q", "cell", "verdict", "label", "flag", "cause", "task")
"""Filters that stand once in the address; ``where`` may stand often."""

PLACE = ("page", "row")
"""Where in the list one is: no part of a view, and gone when a filter changes."""

STANDING = {
    "Disagreements": "cell=disagree",
    "False passes": "cell=fp",
    "False alarms": "cell=fn",
    "Not read yet": "flag=unread",
    "With a note": "flag=note",
    "Bad data": "flag=bad_data",
}
"""Views that are there in every run, by what their address asks for."""

MOST_QUEUED = 5_000
"""Rows that one click puts on a queue."""

TOGETHER = "together"
FIRST_SEARCH = "Every row is read once to make this run searchable; later searches take no time"
SEARCH_HELP = (
    "Finds rows in which all words stand, in any order, and rows with one note in which all of them "
    "stand; a word finds what begins with it. “words in quotes” stand as they are, -word must not "
    "be there, reply:word looks in one place (ask, reply, calls, reason, note)."
)


def show_search() -> None:
    """Draw the search field; Enter searches."""
    key = "rows_search"
    st.session_state[key] = param("q") or ""

    def write() -> None:
        set_params(**dict.fromkeys(PLACE), q=st.session_state[key].strip() or None)

    st.text_input(
        "Search",
        key=key,
        placeholder="Search in ask, reply, tool calls, reasons, notes",
        help=SEARCH_HELP,
        on_change=write,
        label_visibility="collapsed",
        icon=":material/search:",
    )


def show_filters(store: Store, picked: Picked) -> None:
    """Draw the filters, the ones that are on with a way to take each off, and the views."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover("Add a filter", icon=":material/filter_list:"):
            _choices(store, picked)
        with st.popover("Views", icon=":material/bookmark:"):
            _views(store, picked)
        st.checkbox(
            "Rollouts of a task together",
            value=param(TOGETHER) == "1",
            key=f"rows_together_{param(TOGETHER)}",
            on_change=partial(_toggle_together),
        )
        for name, value, words in _on():
            st.button(
                f"{plain(cut(words, 60).text)} ×",
                key=f"rows_off_{name}_{value}",
                on_click=partial(_take_off, name, value),
                help="Take this filter off",
                type="tertiary",
            )


def find(store: Store, picked: Picked) -> work.Found | None:
    """Find the rows of the address; None, with one line that says why, when that can't be."""
    run_id, grader, gold, criterion = picked.key
    try:
        ready = work.begin_index(store, run_id)
        words = "Looking" if ready or not param("q") else FIRST_SEARCH
        with st.spinner(words, show_time=True):
            return work.find_rows(
                store,
                run_id,
                filters(),
                grader,
                gold,
                criterion,
                page=max(1, number_param("page") or 1),
                by_task=param(TOGETHER) == "1",
                reader=known_reader(),
            )
    except (RefusedError, NotFoundError) as error:
        warn(str(error))
        return None


def filters() -> work.Filters:
    """Return what the address asks for."""
    where = _wheres()
    field, value = param("field"), param("value")
    if field and value is not None:  # as other pages write one slice
        where.append(f"{field}={value}")
    return work.Filters(
        text=param("q") or "",
        cell=param("cell"),
        where=tuple(where),
        verdict=param("verdict"),
        label=param("label"),
        flag=param("flag"),
        cause=param("cause"),
        task=param("task"),
    )


def show_headline_of(picked: Picked, found: work.Found | None) -> None:
    """Draw how many rows are listed, of how many."""
    n = picked.run["n_rows"]
    if found is None:
        show_headline("No list.", "The search or a filter can’t be followed; its line says why.")
        return
    total = count(found.total) if found.exact else f"More than {count(found.total)}"
    on = [words for _, _, words in _on()]
    bold = f"{total} of {plural(n, 'row')}" + (f": {', '.join(on)}" if on else "") + "."
    show_headline(cut(bold, 160).text)


def show_list_and_row(store: Store, picked: Picked, found: work.Found) -> None:
    """Draw a page of the list, what can be done with it, and the open row beside it."""
    if found.left_out:
        quiet(
            f"{plural(found.left_out, 'row')} of this run still to be labelled by you: left out, "
            "since this list would give the judge or another label away."
        )
    if found.own_words:
        n = found.own_words
        quiet(
            f"In {plural(n, 'row')} still to be labelled by you, only ask, reply and tool calls "
            "are searched: a reason or a note would give the judge or another label away."
        )
    if not found.ids:
        quiet("No row meets all of this. Take a filter off.")
        if param("q"):
            quiet(
                "Searched are ask, reply, tool calls, reasons and notes; other columns of the file "
                "are not. Rows without an ask or a reply: load the file again and say which "
                "columns hold them."
            )
        return
    hidden = store.still_to_label(known_reader(), ids=found.ids)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        chosen = _list(store, picked, found, hidden)
        _pager(found)
        _acts(store, picked, found, chosen)
    row_id = number_param("row") or found.ids[0]
    with right:
        _open_row(store, picked, row_id, found.ids)


# ---- filters ----


def _on() -> list[tuple[str, str, str]]:
    """The filters that are on: parameter, its value, words."""
    found = []
    for name in ONE:
        value = param(name)
        if value is not None:
            found.append((name, value, _words(name, value)))
    found += [("where", each, visible(each)) for each in _wheres()]
    if param("field") and param("value") is not None:
        found.append(("field", param("field") or "", f"{param('field')}={param('value')}"))
    return found


def _wheres() -> list[str]:
    """The address's filters by column, each once though a person's address says it twice."""
    return [*dict.fromkeys(st.query_params.get_all("where"))]


def _words(name: str, value: str) -> str:
    known = {"cell": CELLS, "verdict": VERDICT_WORDS, "label": PEOPLE_WORDS, "flag": FLAG_WORDS}
    if name in known:
        return known[name].get(value, visible(value))
    return {"q": "“{}”", "cause": "cause: {}", "task": "task {}"}[name].format(visible(value))


def _take_off(name: str, value: str) -> None:
    set_params(**dict.fromkeys(PLACE))
    if name == "where":
        left = [each for each in _wheres() if each != value]
        st.query_params["where"] = left
    elif name == "field":
        set_params(field=None, value=None)
    else:
        set_params(**{name: None})


def _toggle_together() -> None:
    on = None if param(TOGETHER) == "1" else "1"
    set_params(**dict.fromkeys(PLACE), **{TOGETHER: on})


def _choices(store: Store, picked: Picked) -> None:
    how: dict[str, Any] = {"clears": PLACE, "placeholder": "any"}
    if picked.grader and picked.gold:
        select("Judge against gold", "cell", [*CELLS], words=CELLS.__getitem__, **how)
    if picked.grader:
        words = VERDICT_WORDS.__getitem__
        select(f"Judge: {visible(picked.grader['name'])}", "verdict", [*VERDICTS], words, **how)
    select(
        f"Labels, {visible(picked.criterion)}", "label", [*LABELS], PEOPLE_WORDS.__getitem__, **how
    )
    select("Read", "flag", [*FLAGS], FLAG_WORDS.__getitem__, **how)
    causes = sorted({f["code"] for f in store.findings(picked.run["id"]) if f["code"]})
    if causes:
        select("Cause", "cause", causes, **how)
    known = cache.columns(store, picked.run["id"])
    field: Any = st.selectbox(
        "Column",
        [*known],
        index=None,
        format_func=visible,
        key="rows_field",
        placeholder="any column of this run" if known else "this run has none",
        disabled=not known,
    )
    if field is not None:
        _column_choice(field, known[field])


def _column_choice(field: str, column: dict[str, Any]) -> None:
    if column["kind"] == "group":
        counts = dict(column["values"])
        value: Any = st.selectbox(
            "is",
            [*counts],
            index=None,
            key=f"rows_value_{field}",
            format_func=lambda each: f"{visible(each)} ({count(counts[each])})",
            placeholder="a value",
        )
        said = None if value is None else [f"{field}={value}"]
    else:
        low, high = column["low"], column["high"]
        with st.container(horizontal=True):
            # %g: all digits of a small share and of a time stamp alike.
            least = st.number_input("from", value=low, format="%g", key=f"rows_low_{field}")
            most = st.number_input("to", value=high, format="%g", key=f"rows_high_{field}")
        said = []
        if least > low:
            said.append(f"{field}>={_number(least)}")
        if most < high:
            said.append(f"{field}<={_number(most)}")
    st.button(
        "Add", disabled=not said, on_click=partial(_add_where, said or []), key=f"rows_add_{field}"
    )


def _number(value: float) -> str:
    """A number with all its digits, as short as it can be written."""
    return repr(float(value)).removesuffix(".0")


def _add_where(said: list[str]) -> None:
    set_params(**dict.fromkeys(PLACE))
    st.query_params["where"] = [*dict.fromkeys([*_wheres(), *said])]


# ---- views ----


def _query() -> str:
    """The address of this list: the run, the filters, the order."""
    kept = [(name, value) for name, value, _ in _on() if name != "field"]
    kept += [(n, param(n) or "") for n in ("field", "value", TOGETHER) if param(n) is not None]
    return urlencode(kept)


def _views(store: Store, picked: Picked) -> None:
    with st.container(horizontal=True, gap="small"):
        for name, query in STANDING.items():
            if not query.startswith("cell=") or (picked.grader and picked.gold):
                st.button(
                    name,
                    key=f"view_standing_{query}",
                    type="tertiary",
                    on_click=partial(_open_view, query),
                )
    views = store.views()
    if not views:
        quiet("No view of your own yet. Filter the list, then give it a name.")
    for view in views:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                plain(view["name"]),
                key=f"view_{view['id']}",
                type="tertiary",
                on_click=partial(_open_view, view["query"]),
            )
            st.button(
                "×",
                key=f"view_off_{view['id']}",
                type="tertiary",
                help="Delete this view; its rows stay as they are",
                on_click=partial(_act, partial(store.delete_view, view["id"], known_reader())),
            )
    query = _query()
    if not query:
        return
    name = st.text_input("Name for this list", max_chars=80, key="view_name")
    taken = any(v["name"].casefold() == " ".join(name.split()).casefold() for v in views)
    label = f"Replace “{plain(name.strip())}”" if taken and name.strip() else "Save this view"
    st.button(
        label,
        key="view_save",
        on_click=partial(_save_view, store, query, taken),
    )


def _save_view(store: Store, query: str, replace: bool) -> None:
    name = st.session_state.get("view_name", "")
    _act(partial(store.save_view, name, query, known_reader(), replace))


def _open_view(query: str) -> None:
    said = parse_qsl(query, keep_blank_values=True)
    run = param("run")
    together: dict[str, list[str]] = {}
    for name, value in said:
        together.setdefault(name, []).append(value)
    st.query_params.from_dict({**({"run": run} if run else {}), **together})


def _act(act: Any) -> None:
    try:
        act()
    except StoreError as error:
        st.toast(plain(str(error)))


# ---- the list ----


def _list(store: Store, picked: Picked, found: work.Found, hidden: set[int]) -> list[int]:
    """Draw a page of rows; return the chosen ones. A click on a cell opens its row."""
    grader, criterion = picked.key[1], picked.criterion
    briefs = cache.row_briefs(store, tuple(found.ids), grader, criterion, picked.run["id"])
    read = {each["row_id"] for each in store.findings(picked.run["id"], "read")}
    golds = cache.gold_of_rows(store, picked, tuple(found.ids))
    shown = {
        "task": [brief["task"] for brief in briefs],
        "reply": [brief["reply"] for brief in briefs],
        "judge": ["" if b["id"] in hidden else WORDS[b["verdict"]] for b in briefs],
        "gold": ["" if b["id"] in hidden else golds.get(b["id"], "") for b in briefs],
        "read": ["✓" if brief["id"] in read else "" for brief in briefs],
    }
    key = f"rows_list_{picked.run['id']}_{param('page') or 1}_{hash(tuple(found.ids))}"
    event: Any = st.dataframe(
        shown,
        key=key,
        hide_index=True,
        on_select="rerun",
        selection_mode=["multi-row", "single-cell"],
        height=560,
        column_config={
            "task": st.column_config.TextColumn(width="small"),
            "reply": st.column_config.TextColumn(width="medium"),
            "judge": st.column_config.TextColumn(width="small"),
            "gold": st.column_config.TextColumn(width="small"),
            "read": st.column_config.TextColumn(width="small"),
        },
    )
    if hidden:
        quiet(
            f"{plural(len(hidden), 'row')} here waits for your own label, so the judge and the "
            "gold are not shown for it."
            if len(hidden) == 1
            else f"{count(len(hidden))} rows here wait for your own label, so the judge and the "
            "gold are not shown for them."
        )
    ids = [brief["id"] for brief in briefs]
    cells = event["selection"]["cells"]
    if cells and cells[0][0] < len(ids) and ids[cells[0][0]] != number_param("row"):
        opened = f"{key}_opened"
        if st.session_state.get(opened) != cells[0][0]:
            st.session_state[opened] = cells[0][0]
            set_params(row=ids[cells[0][0]])
    return [ids[n] for n in event["selection"]["rows"] if n < len(ids)]


def _pager(found: work.Found) -> None:
    pages = -(-found.total // PAGE)
    if pages < 2 and found.exact:
        return
    page = min(max(1, number_param("page") or 1), pages)
    turned = f"rows_page_{page}"
    st.pagination(
        pages,
        default=page,
        key=turned,
        max_visible_pages=5,
        on_change=lambda: set_params(page=st.session_state[turned], row=None),
    )


def _acts(store: Store, picked: Picked, found: work.Found, chosen: list[int]) -> None:
    n = min(found.total, MOST_QUEUED)
    with st.container(horizontal=True, gap="small"):
        if chosen:
            _queue_button(store, picked, f"Label the {plural(len(chosen), 'chosen row')}", chosen)
        elif _on():
            words = "this row" if n == 1 else f"these {plural(n, 'row')}"
            first = f"the first {plural(n, 'row')}"
            words = words if n == found.total and found.exact else first
            _queue_button(store, picked, f"Label {words}", None)
        else:
            quiet("Choose rows, or filter the list, to put them on a queue.")
            return
        cell = param("cell")
        if cell in ("fp", "fn", "disagree"):
            said = {"run": str(picked.run["id"]), "cell": cell}
            for name in ("field", "value"):
                if param(name) is not None:
                    said[name] = param(name) or ""
            st.page_link("pages/queue.py", label="Read them in the queue", query_params=said)
    quiet("Rows that were picked are labelled blind too, and enter no estimate of the judge.")


def _queue_button(store: Store, picked: Picked, words: str, ids: list[int] | None) -> None:
    if not st.button(words, key="rows_queue"):
        return
    run_id, grader, gold, criterion = picked.key
    try:
        if ids is None:
            ids = work.find_rows(
                store, run_id, filters(), grader, gold, criterion,
                size=MOST_QUEUED, reader=known_reader(),
            ).ids  # fmt: skip
        on = ", ".join(words for _, _, words in _on()) or "all rows"
        name = cut(f"picked: {on}", 80).text
        queue = work.picked_queue(store, run_id, ids, name, criterion, known_reader())
    except StoreError as error:
        warn(str(error))
        return
    st.switch_page("pages/label.py", query_params={"queue": str(queue["id"])})


# ---- the open row ----


def _open_row(store: Store, picked: Picked, row_id: int, listed: list[int]) -> None:
    try:
        row = store.row(row_id)
    except NotFoundError as error:
        warn(str(error))
        return
    if row["run_id"] != picked.run["id"]:
        warn(f"The row of this address is of another run, {store.run(row['run_id'])['name']}.")
        return
    if row_id not in listed:
        quiet("The row of this address, which is not on this page of the list:")
    reader = known_reader()
    blind = bool(store.still_to_label(reader, ids=[row_id]))
    _siblings(store, picked, row_id, row["task"], blind)
    if blind:
        quiet(
            "This row waits for your own label in a queue: the judge’s verdict and other labels "
            "are shown once you have answered it."
        )
    elif number_param("row") == row_id:
        report = cache.measured(store, *picked.key)
        show_facts(store, row, report, picked.run["tools"])
        if not store.read_at(row_id, reader):
            store.add_finding(row_id, "read", reader)
    else:
        st.button(
            "Show the judge’s verdict and the gold",
            key=f"rows_open_{row_id}",
            on_click=partial(set_params, row=row_id),
            help="Opens the row; that you have read it is kept",
        )
    show_record(row["row"], str(row_id), blind=blind, declared=picked.run["tools"])


def _siblings(store: Store, picked: Picked, row_id: int, task: str, blind: bool) -> None:
    """The rollouts of the task, this one among them."""
    ids = work.task_rows(store, row_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        quiet(f"Task {cut(visible(task), 60).text}: {plural(len(ids), 'rollout')}")
        if len(ids) < 2:
            return
        hidden = store.still_to_label(known_reader(), ids=ids)
        briefs = cache.row_briefs(
            store, tuple(ids[:12]), picked.key[1], picked.criterion, picked.run["id"]
        )
        for n, brief in enumerate(briefs, 1):
            mark = "" if blind or brief["id"] in hidden else WORDS[brief["verdict"]].split()[0]
            st.button(
                f"{n} {mark}".strip(),
                key=f"sibling_{brief['id']}",
                type="primary" if brief["id"] == row_id else "tertiary",
                on_click=partial(set_params, row=brief["id"]),
            )
