"""The parts of the Codes page: the notes with what can be done to them, the codes, the history."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from whileai_review import rows, work
from whileai_review.intervals import quoted, wider
from whileai_review.report import count, interval_percent, percent, plural
from whileai_review.store import Note, Store, StoreError
from whileai_review.ui import cache
from whileai_review.ui.data import clock, quiet, warn
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import Picked, known_reader, number_param, param, select, set_params
from whileai_review.ui.tables import Column, Markup, link, show_table
from whileai_review.ui.text import cut, html_text, plain, visible
from whileai_review.work.coding import LAST_ROWS, note_key, note_of

PAGE_NOTES = 25
HEAD_CHARS = 240
"""Characters of a note in the list."""

WHOLE_CHARS = 50_000
"""Characters of an open note on the page; the rest is downloaded."""

MOST_CODES = 50
MOST_VALUES = 30
MOST_CHANGES = 20

NO_CODE, REASONS = "none", "reasons"

VERDICTS = {"pass": "▲ pass", "fail": "▼ fail", "unclear": "○ can’t tell"}

_SAID = "wr_codes_said"
_CHANGED = "wr_codes_changed"


class Shown(NamedTuple):
    """What the address asks for."""

    code: int | None
    """The open code."""
    reasons: bool
    items: list[dict]
    """The notes of the list, as `Store.notes` has them."""
    n_notes: int
    """Notes of the run, in this list or not."""


def show_top(store: Store, picked: Picked, found: Mapping[str, Any]) -> None:
    """Draw the sentence; end the page where there is nothing to give a code to."""
    if not found["n_notes"] and not found["n_reviewed"]:
        show_headline(
            "No note yet.",
            "Notes are written while one labels (key N) or reads the Queue. Here they get codes, "
            "which are counted.",
        )
        run = {"run": str(picked.run["id"])}
        st.page_link("pages/label.py", label="Label rows")
        st.page_link("pages/queue.py", label="Read disagreements", query_params=run)
        st.stop()
    show_headline(headline(found), grey_line(found))


def headline(found: Mapping[str, Any]) -> str:
    """Return the bold sentence: how many codes, and whether reading still brings new ones.

    Examples
    --------
    >>> said = {"n_rows": 31, "n_codes": 3, "last": 20, "new": 0}
    >>> headline({"codes": [1, 2, 3], "saturation": said})
    '3 codes on 31 rows; the last 20 coded rows brought no new one.'
    """
    said = found["saturation"]
    bold = f"{plural(len(found['codes']), 'code')} on {plural(said['n_rows'], 'row')}"
    if not said["n_rows"]:
        return "No note has a code yet."
    if said["n_rows"] < LAST_ROWS:
        return f"{bold}: too few to say whether reading on brings new ones."
    new = f"{count(said['new'])} new" if said["new"] else "no new one"
    return f"{bold}; the last {said['last']} coded rows brought {new}."


def grey_line(found: Mapping[str, Any]) -> str:
    """Return the grey line: rows reviewed, and what waits for a code."""
    if not found["n_notes"]:
        return f"{plural(found['n_reviewed'], 'row')} reviewed · no note yet"
    waits = f"{plural(found['n_open'], 'note')} without a code"
    return f"{plural(found['n_reviewed'], 'row')} reviewed · {waits if found['n_open'] else 'every note has a code'}"


def show_filters(store: Store, picked: Picked, found: Mapping[str, Any]) -> Shown:
    """Draw which notes are listed; what the address says stands in it."""
    run_id = picked.run["id"]
    names = {str(c["id"]): c["name"] for c in found["codes"]}
    words = {NO_CODE: "without a code", REASONS: "reviewed rows without a note"} | names
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = select(
            "Notes",
            "code",
            [NO_CODE, *names, REASONS],
            words=lambda each: cut(visible(words[each]), 60).text,
            clears=("page", "note"),
            placeholder=f"all {count(found['n_notes'])}",
            width=260,
        )
        field, value = _pick_group(store, picked)
        text = _search(run_id)
    code = int(chosen) if chosen in names else None
    reasons = chosen == REASONS
    wanted = code if code is not None else NO_CODE if chosen == NO_CODE else None
    items = cache.note_list(store, run_id, reasons, wanted, text or None, field, value)
    return Shown(code, reasons, items, found["n_notes"])


def show_notes(store: Store, picked: Picked, shown: Shown) -> None:
    """Draw a page of the notes, each with a box to tick, and what is done to the ticked ones."""
    st.session_state.pop(_CHANGED, None)  # all is drawn anew already
    said = st.session_state.pop(_SAID, None)
    if said:
        (quiet if said[0] else warn)(said[1])
    if not shown.items:
        if shown.n_notes:
            quiet("No note is in this list. Take a filter out.")
        else:
            quiet(
                "Nobody has written a note on a row of this run. N writes one while a row is "
                "labelled or read; “reviewed rows without a note” lists the others."
            )
        return
    pages = -(-len(shown.items) // PAGE_NOTES)
    page = min(max(1, number_param("page") or 1), pages)
    items = shown.items[(page - 1) * PAGE_NOTES : page * PAGE_NOTES]
    reader = known_reader()
    names = {each["id"]: each["name"] for each in store.codes()}
    lines = _lines(store, picked, items, names, reader)
    run_id = picked.run["id"]
    offers = [*dict.fromkeys([*store.last_codes(run_id, 100), *names.values()])]
    code = shown.code
    own = (code, names[code]) if code is not None and code in names else None
    _ticks(store, run_id, own, lines, offers, reader)
    if pages > 1:
        turned = f"wr_codes_page_{page}"
        st.pagination(
            pages,
            default=page,
            key=turned,
            max_visible_pages=5,
            on_change=lambda: set_params(page=st.session_state[turned], note=None),
        )


def show_open_note(store: Store, picked: Picked) -> None:
    """Draw the note that the address names whole, with the judge's reason and the reply."""
    said = param("note") or ""
    number = said.removeprefix("label").removeprefix("row")
    if not said or len(number) > 18 or not (number.isascii() and number.isdecimal()):
        return
    note = note_of(said)
    texts = store.whole_note(note)
    label = store.note_texts([note])[note] if note[0] == "label" else []
    row_id = next(
        (e["row_id"] for e in store.notes(picked.run["id"]) if e["note"] == note),
        note[1] if note[0] == "row" else None,
    )
    if row_id is None:
        warn("The note of this address was taken back, or is of another run.")
        return
    st.markdown("##### The open note")
    brief = _brief(store, picked, row_id)
    if brief is None or brief["run_id"] != picked.run["id"]:
        warn("The note of this address is of another run.")
        return
    for text in texts:
        shown = cut(text, WHOLE_CHARS)
        st.text(visible(shown.text))
        if shown.left:
            quiet(shown.note)
    if any(len(text) > WHOLE_CHARS for text in texts):
        whole = "\n\n".join(texts)
        st.download_button("The whole note", whole, file_name=f"note-{said}.txt", on_click="ignore")
    if label:
        quiet(_who(label[0]))
    reason = cut(_reason(brief), 2_000)
    reply = cut(rows.reply(brief["row"]), 2_000)
    for name, each in (("Judge’s reason", reason), ("Reply", reply)):
        if each.text:
            quiet(name)
            st.text(visible(each.text))
            if each.left:
                quiet(each.note)
    with st.container(horizontal=True):
        st.page_link(
            "pages/queue.py",
            label="The whole row, in the Queue",
            query_params={"run": str(picked.run["id"]), "row": str(row_id)},
        )
        st.button("Close the note", type="tertiary", on_click=partial(set_params, note=None))


def show_codes(store: Store, picked: Picked, found: Mapping[str, Any], shown: Shown) -> None:
    """Draw the codes with their shares, and whether reading on brings new ones."""
    st.markdown("##### Codes")
    if not found["codes"]:
        quiet("Tick notes and give them a code: it stands here with its share.")
        return
    run_id = picked.run["id"]
    of = "drawn" if param("of") == "drawn" and found["n_drawn"] else "all"
    if 0 < found["n_drawn"] < found["n_reviewed"]:
        words = {
            "all": f"all {count(found['n_reviewed'])} reviewed rows",
            "drawn": f"the {count(found['n_drawn'])} drawn and answered blind",
        }
        select("Shares of", "of", [*words], words=words.__getitem__, default="all", width=300)
    counted = work.code_counts(store, run_id, drawn=True) if of == "drawn" else found
    n, tasks = counted["n"], counted["n_tasks"]
    chosen = next((i for i, c in enumerate(counted["codes"]) if c["id"] == shown.code), None)
    show_table(
        [
            Column("code", "wrap"),
            Column("rows", "number"),
            Column(f"of {count(n)}", "number"),
            Column("95%", "number"),
        ],
        [
            [
                link(
                    cut(each["name"], 120).text,
                    "codes",
                    run=run_id,
                    code=each["id"],
                    of=param("of"),
                ),
                count(each["k"]),
                *_share(each["value"], each["n"], quoted(each)),
            ]
            for each in counted["codes"][:MOST_CODES]
        ],
        chosen=chosen,
    )
    if len(counted["codes"]) > MOST_CODES:
        quiet(f"{count(len(counted['codes']) - MOST_CODES)} rarer codes are not drawn.")
    for line in basis_words(counted, of, tasks):
        quiet(line)
    quiet(saturation_words(found["saturation"]))


def basis_words(counted: Mapping[str, Any], of: str, tasks: int) -> list[str]:
    """Return what the shares are of, and what they do not say."""
    rows_words = f"{plural(counted['n'], 'row')}, {plural(tasks, 'task')}"
    lines = [f"A row counts once. Shares of {rows_words}; the interval knows tasks."]
    picked = counted["n"] - counted["n_drawn"]
    if of == "all" and picked:
        lines.append(
            f"{count(picked)} of these rows {'was' if picked == 1 else 'were'} not drawn, or not answered blind: the shares "
            "are of what was read, and no estimate of the run."
        )
    if counted["n_open_rows"]:
        has = "has" if counted["n_open_rows"] == 1 else "have"
        lines.append(
            f"{count(counted['n_open_rows'])} of these rows still {has} a note without a code: "
            "shares can only rise."
        )
    return lines


def saturation_words(said: Mapping[str, Any]) -> str:
    """Return whether reading on brings new codes, with its interval."""
    if not said["n_rows"]:
        return ""
    once = f"{count(said['once'])} of {plural(said['n_codes'], 'code')} on one row only."
    if said["n_rows"] < LAST_ROWS:
        return f"{plural(said['n_rows'], 'coded row')} so far. {once}"
    share = said["bringing"]
    bounds = wider(share["ci95"], share["ci95_tasks"])
    return (
        f"{count(share['k'])} of the last {said['last']} coded rows brought a new code, "
        f"95% {interval_percent(bounds)}%, {plural(share['n_tasks'], 'task')}. {once}"
    )


def show_code(store: Store, picked: Picked, found: Mapping[str, Any], shown: Shown) -> None:
    """Draw the open code: its slices, and what can be done to it."""
    code = next((each for each in found["codes"] if each["id"] == shown.code), None)
    if code is None:
        return
    st.markdown(f"##### {plain(cut(code['name'], 120).text)}")
    also: list[str] = next((c["also"] for c in store.codes() if c["id"] == code["id"]), [])
    if also:
        quiet(f"also: {', '.join(visible(name) for name in also[:10])}")
    _slices(store, picked, code)
    reader = known_reader()
    with st.container(horizontal=True):
        with st.popover("Rename"):
            _rename(store, code, reader)
        with st.popover("Merge into"):
            _merge(store, code, reader)
    quiet("Renaming and merging hold on every run. To split it, tick notes of it at the left.")


def show_history(store: Store, picked: Picked) -> None:
    """Draw who did what to codes, newest first, each with its undo."""
    changes = store.code_changes(picked.run["id"], MOST_CHANGES)
    if not changes:
        return
    reader = known_reader()
    with st.expander("History", key="wr_codes_history"):  # open it stays, whatever is above it
        for each in changes:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f'<p class="wr-note">{html_text(change_words(each))}</p>')
                if each["undone_by"] is None:
                    st.button(
                        "Undo",
                        key=f"wr_undo_{each['id']}",
                        type="tertiary",
                        on_click=partial(_undo, store, each["id"], reader),
                    )


def change_words(change: Mapping[str, Any]) -> str:
    """Return a change in a line: who, when, what, and who undid it."""
    name, to, n = f"“{change['name']}”", f"“{change['to']}”", plural(change["n"], "note")
    what = {
        "give": f"gave {name} to {n}",
        "take": f"took {name} off {n}",
        "split": f"moved {n} from {name} to {to}",
        "rename": f"renamed {name} {to}",
        "merge": f"merged {name} into {to}",
    }[change["what"]]
    line = f"{_when(change['at'])} · {change['by'] or 'somebody'} {what}"
    if change["undone_by"] is not None:
        line += f" · undone by {change['undone_by'] or 'somebody'}, {_when(change['undone_at'])}"
    return line


def _when(at: str) -> str:
    return f"{at[:10]} {clock(at)}"


def _pick_group(store: Store, picked: Picked) -> tuple[str | None, str | None]:
    fields = cache.group_fields(picked.run)
    if not fields:
        return None, None
    clears = ("page", "note")
    field = select(
        "Only where", "field", fields, clears=("value", *clears), width=150, placeholder="any"
    )
    if field is None:
        return None, None
    values = cache.group_values(store, picked.run["id"], field)
    value = select("is", "value", values, clears=clears, width=150, placeholder="any value")
    return field, value


def _search(run_id: int) -> str:
    key = "wr_codes_search"
    return st.text_input(
        "Search",
        key=key,
        width=180,
        max_chars=500,
        placeholder="words of a note",
        on_change=lambda: set_params(page=None, note=None),
    ).strip()


def _lines(
    store: Store, picked: Picked, items: Sequence[dict], names: Mapping[int, str], reader: str
) -> list[dict]:
    """What each note of the page says: note, text, and the grey line under it."""
    notes: list[Note] = [each["note"] for each in items]
    texts = store.note_texts(notes)
    bare = [each["row_id"] for each in items if not texts[each["note"]]]
    briefs = (
        {
            brief["id"]: brief
            for brief in store.briefs(
                bare, picked.grader["id"] if picked.grader else None, picked.criterion
            )
        }
        if bare
        else {}
    )
    lines, seen = [], []
    for each in items:
        said = texts[each["note"]]
        if any(text["by"] != reader for text in said) or not said:
            seen.append(each["row_id"])
        brief = briefs.get(each["row_id"])
        lines.append(
            each
            | {
                "head": _head(said) if said else _no_note(brief),
                "who": " · ".join(dict.fromkeys(_who(text) for text in said)) or "judge’s reason",
                "codes": [(i, names.get(i, "")) for i in each["code_ids"]],
            }
        )
    if reader != "reader":  # whoever answers these rows afterwards has seen what others think
        store.mark_seen(seen, reader)
    return lines


def _head(said: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for text in said:
        head = cut(" ".join(text["text"].split()), HEAD_CHARS)
        left = text["chars"] > len(text["text"]) or head.left
        parts.append(f"{head.text}… ({count(text['chars'])} characters)" if left else head.text)
    return " · ".join(parts[:4]) or "(blank note)"


def _no_note(brief: Mapping[str, Any] | None) -> str:
    if brief is None:
        return "(the row was deleted)"
    said = " ".join(cut(_reason(brief), 4 * HEAD_CHARS).text.split())
    return cut(said, HEAD_CHARS).text or "(no note, and no reason of the judge)"


def _reason(brief: Mapping[str, Any]) -> str:
    said = brief["reason"] if brief["reason"] is not None else brief["row"].get("reason")
    return "" if said is None else str(said)


def _brief(store: Store, picked: Picked, row_id: int) -> dict | None:
    grader = picked.grader["id"] if picked.grader else None
    found = store.briefs([row_id], grader, picked.criterion)
    return found[0] if found else None


def _who(text: Mapping[str, Any]) -> str:
    said = [VERDICTS.get(text.get("verdict", ""), ""), visible(cut(text["by"], 40).text)]
    if text.get("criterion", "overall") != "overall":
        said.insert(1, visible(text["criterion"]))
    return " · ".join(part for part in said if part)


@st.fragment
def _ticks(
    store: Store,
    run_id: int,
    own: tuple[int, str] | None,
    lines: Sequence[dict],
    offers: Sequence[str],
    reader: str,
) -> None:
    if st.session_state.pop(_CHANGED, False):
        st.rerun()
    prefix = f"wr_tick_{run_id}_"
    keys = {f"{prefix}{note_key(each['note'])}": each for each in lines}
    _acts(store, run_id, own, keys, offers, reader)
    with st.container(key="wr_notes"):
        for key, each in keys.items():
            st.checkbox(plain(cut(visible(each["head"]), 4 * HEAD_CHARS).text), key=key)
            chips = "".join(
                f'<span class="wr-chip">{html_text(cut(name, 60).text)}</span>'
                for _, name in each["codes"]
            )
            to = link(
                "open", "codes", run=run_id, code=param("code"), field=param("field"),
                value=param("value"), of=param("of"), page=param("page"),
                note=note_key(each["note"]),
            )  # fmt: skip
            st.html(f'<p class="wr-meta">{chips}{html_text(each["who"])} · {to}</p>')


def _acts(
    store: Store,
    run_id: int,
    own: tuple[int, str] | None,
    keys: Mapping[str, dict],
    offers: Sequence[str],
    reader: str,
) -> None:
    """The bar over the notes: how many are ticked, and what to do with them."""
    ticked = [each["note"] for key, each in keys.items() if st.session_state.get(key)]
    name_key = f"wr_code_name_{run_id}"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        every = len(ticked) < len(keys)
        st.button(
            f"Tick these {len(keys)}" if every else "Untick all",
            key="wr_tick_all",
            on_click=partial(_tick_all, [*keys], every),
        )
        name = st.selectbox(
            "Code",
            offers,
            index=None,
            key=name_key,
            accept_new_options=True,
            format_func=visible,
            placeholder="pick or type a code",
            label_visibility="collapsed",
            width=230,
        )
        ready = bool(ticked and name and name.strip())
        st.button(
            f"Give it to {plural(len(ticked), 'note')}",
            key="wr_give",
            type="primary",
            disabled=not ready,
            on_click=partial(
                _with_ticked, store.give_code, run_id, [*keys], name_key, None, reader
            ),
        )
        if own is not None:
            short = cut(visible(own[1]), 30)
            said = plain(short.text + ("…" if short.left else ""))
            st.button(
                f"Move out of “{said}” to it",
                key=f"wr_split_{own[0]}",
                disabled=not ready,
                help="Split: the ticked notes leave this code for the one that is picked or typed",
                on_click=partial(
                    _with_ticked, store.split_code, run_id, [*keys], name_key, own[0], reader
                ),
            )
            st.button(
                f"Take “{said}” off",
                key=f"wr_take_{own[0]}",
                disabled=not ticked,
                on_click=partial(
                    _with_ticked, store.take_code, run_id, [*keys], None, own[0], reader
                ),
            )


def _tick_all(keys: Sequence[str], on: bool) -> None:
    for key in keys:
        st.session_state[key] = on


def _with_ticked(
    act: Callable[..., Any],
    run_id: int,
    keys: Sequence[str],
    name_key: str | None,
    code: int | None,
    reader: str,
) -> None:
    # What was ticked on the screen came with the press: ticks are read here and not when drawn.
    ticked = [key for key in keys if st.session_state.get(key)]
    prefix = f"wr_tick_{run_id}_"
    notes = [note_of(key.removeprefix(prefix)) for key in ticked]
    arguments: list[Any] = [run_id, notes]
    if name_key is not None and code is not None:
        arguments = [run_id, code, notes, st.session_state.get(name_key) or ""]
    elif name_key is not None:
        arguments.append(st.session_state.get(name_key) or "")
    else:
        arguments.append(code)
    st.session_state[_CHANGED] = True  # the counts beside the list are to be drawn anew too
    if _act(act, *arguments, reader, words=_done):
        _tick_all(ticked, False)


def _act(act: Callable[..., Any], *arguments: Any, words: Callable[[Any], str]) -> bool:
    """Do it and keep what is to be said of it, a refusal too; whether it was done."""
    try:
        st.session_state[_SAID] = True, words(act(*arguments))
    except StoreError as error:
        st.session_state[_SAID] = False, str(error)
        return False
    return True


def _undo(store: Store, change_id: int, reader: str) -> None:
    _act(store.undo_code_change, change_id, reader, words=_undone)


def _done(result: Any) -> str:
    if isinstance(result, int):
        return f"Taken off {plural(result, 'note')}."
    had = f", {count(result['had'])} had it" if result.get("had") else ""
    return f"“{result['name']}”: {plural(result['n'], 'note')}{had}. History has the undo."


def _undone(result: Mapping[str, Any]) -> str:
    kept = result["changed"]
    rest = f" {plural(kept, 'note')} changed since and left as they are." if kept else ""
    return f"Undone.{rest}"


def _rename(store: Store, code: Mapping[str, Any], reader: str) -> None:
    key = f"wr_rename_{code['id']}_{code['name']}"
    st.text_input("New name", value=code["name"], key=key, max_chars=500)

    def rename() -> None:
        new = st.session_state[key]
        _act(
            store.rename_code, code["id"], new, reader, code["name"],
            words=lambda name: f"Renamed “{name}”.",
        )  # fmt: skip

    st.button("Rename it", type="primary", key=f"{key}_do", on_click=rename)


def _merge(store: Store, code: Mapping[str, Any], reader: str) -> None:
    others = {each["id"]: each["name"] for each in store.codes() if each["id"] != code["id"]}
    if not others:
        quiet("There is no other code.")
        return
    key = f"wr_merge_{code['id']}"
    into: Any = st.selectbox(
        "Its notes then count under",
        [*others],
        index=None,
        key=key,
        format_func=lambda each: visible(others[each]),
        placeholder="pick a code",
    )

    def merge() -> None:
        target = st.session_state[key]
        done = _act(
            store.merge_codes, [code["id"]], target, reader,
            words=lambda n: f"Merged into “{others[target]}”.",
        )  # fmt: skip
        if done:
            set_params(code=target, page=None, note=None)

    st.button("Merge it", type="primary", key=f"{key}_do", disabled=into is None, on_click=merge)


def _slices(store: Store, picked: Picked, code: Mapping[str, Any]) -> None:
    fields = cache.group_fields(picked.run)
    if not fields:
        return
    by = select("By", "by", fields, default=cache.first_field(store, picked.run), width=220)
    if by is None:
        return
    run_id = picked.run["id"]
    lines = work.code_slices(store, run_id, code["id"], by, drawn=param("of") == "drawn")
    show_table(
        [
            Column(visible(by), "wrap"),
            Column("with it", "number"),
            Column("share", "number"),
            Column("95%", "number"),
            Column("rows", "number"),
            Column("tasks", "number"),
        ],
        [
            [
                _value_link(run_id, code["id"], by, line),
                count(line["k"]),
                *_share(line["share"], line["n"], wider(line["ci95"], line["ci95_tasks"])),
                count(line["n"]),
                count(line["n_tasks"]),
            ]
            for line in lines[:MOST_VALUES]
        ],
    )
    if len(lines) > MOST_VALUES:
        quiet(f"{count(len(lines) - MOST_VALUES)} more values are not drawn.")


def _value_link(run_id: int, code: int, field: str, line: Mapping[str, Any]) -> Markup:
    return link(
        cut(line["value"], 60).text, "codes", run=run_id, code=code, by=field, field=field,
        value=line["value"], of=param("of"),
    )  # fmt: skip


def _share(value: float | None, n: int, bounds: Any) -> tuple[str, str]:
    """The share and its interval; under ten rows the counts alone."""
    text = percent(value, n)
    if value is None or " of " in text:
        return text, ""
    return text, interval_percent(bounds, n)
