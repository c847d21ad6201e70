"""The parts of the Runs page: the table of runs, and the care of the one that is picked."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.charts.checks import gold_notes
from whileai_review.charts.coverage import coverage_bar
from whileai_review.load import UnreadableError
from whileai_review.report import count, interval_percent, percent, plural
from whileai_review.store import Store, StoreError
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import LAST_LOAD, LAST_RUN, known_reader, param, select, set_params
from whileai_review.ui.server import app_script
from whileai_review.ui.tables import Column, Markup, link, show_table
from whileai_review.ui.text import html_text, plain, visible

SHOWN_REFUSALS = 20
DOWNLOAD_BYTES = 200_000_000
"""A bigger store is copied beside itself and not through the browser."""

STATE_SHAPES = {"passes": "▲", "fails": "▼", "not_shown": "○", "not_measured": ""}


def all_runs(store: Store) -> list[dict]:
    """Return every run with its measures; archived ones when the address asks for them."""
    with st.spinner("Measuring the runs"):
        return work.overview(store, archived=param("archived") == "1")


def show_nothing_loaded(store: Store) -> None:
    """Say what to do first; the demo is one press."""
    show_headline("Nothing is loaded.", "Load a file of scored rollouts, or the demo.")
    if st.button("Load the demo runs", type="primary"):
        _load_demo(store)


def show_runs(lines: Sequence[dict]) -> dict:
    """Draw the sentence and the table; return the run that is picked."""
    ids = [str(line["id"]) for line in lines]
    last = str(st.session_state.get(LAST_RUN))
    said = param("run")
    chosen = said if said in ids else last if last in ids else ids[0]
    if said is not None and said not in ids:
        warn("The run of this address is not in the list: it was deleted or archived.")
    place = st.container()
    names = {str(line["id"]): line["name"] for line in lines}
    select(
        "Run",
        "run",
        ids,
        words=lambda each: visible(names[each]),
        default=chosen,
        width=420,
        label_visibility="collapsed",
    )
    line = lines[ids.index(chosen)]
    st.session_state[LAST_RUN] = line["id"]
    with place:
        show_headline(*_sentence(line))
    with st.container(horizontal=True):
        params = {"run": chosen}
        st.page_link("pages/trust.py", label="May I use its judge?", query_params=params)
        st.page_link("pages/queue.py", label="Read what goes wrong", query_params=params)
    show_table(
        [
            Column("run", "wrap"),
            Column("judge", "wrap"),
            Column("trust"),
            Column("rows", "number"),
            Column("tasks", "number"),
            Column("judge passes", "number"),
            Column("gold passes", "number"),
            Column("labelled", "bar"),
            Column("", "number"),
        ],
        [_cells(each) for each in lines],
        chosen=ids.index(chosen),
    )
    st.toggle(
        "Archived runs too",
        value=param("archived") == "1",
        key="wr_archived",
        on_change=lambda: set_params(archived="1" if st.session_state["wr_archived"] else None),
    )
    return line


def show_last_load(store: Store) -> None:
    """Say what came of the last load: rows, refused lines with their reasons, offers."""
    result = st.session_state.get(LAST_LOAD)
    if not result:
        return
    if result.get("error"):
        warn(result["error"])
        return
    quiet(result["line"])
    for note in result["notes"]:
        quiet(f"· {note}")
    if result["label_columns"]:
        columns = ", ".join(result["label_columns"])
        quiet(f"Label columns that are no gold, since nobody said where they come from: {columns}")


def show_added(store: Store, line: Mapping[str, Any]) -> None:
    """Add verdicts or labels of a file to the run; take over labels of other runs."""
    run_id = line["id"]
    offers = store.label_offers(run_id)
    title = "Add verdicts or labels of a file to this run"
    if offers:
        title += f" · {plural(sum(o['n'] for o in offers), 'label')} of other runs fit"
    with st.expander(title):
        for offer in offers:
            name = offer["run"] or "a deleted run"
            label = f"Take over {plural(offer['n'], 'label')} of {name}"
            if st.button(plain(label), key=f"offer_{run_id}_{offer['run_id']}"):
                counts = work.carry_labels(store, run_id, offer["run_id"], known_reader())
                _say_and_rerun(f"{plural(counts['new'] + counts['changed'], 'label')} taken over.")
        _add_form(store, run_id)


def show_care(store: Store, line: Mapping[str, Any]) -> None:
    """Refused lines, name, tags, archive, delete, backup."""
    run_id = line["id"]
    refused = store.refusals(run_id) if line["n_refused"] else []
    if refused:
        with st.expander(f"{plural(len(refused), 'line')} of the file were refused"):
            _show_refused(refused, run_id)
    with st.expander("Name, tags, archive, delete, backup"):
        _name_and_tags(store, line)
        with st.container(horizontal=True):
            archived = bool(line["archived_at"])
            if st.button(
                "Take out of the archive" if archived else "Archive", key=f"arch_{run_id}"
            ):
                if not archived and param("archived") != "1":
                    set_params(run=None)  # it leaves the list
                done = "taken out of the archive" if archived else "archived"
                _do(
                    store.archive_run,
                    run_id,
                    not archived,
                    known_reader(),
                    said=f"{line['name']} is {done}.",
                )
            # The run is part of the key: an open question must not pass to the next run.
            with st.popover("Delete", key=f"delete_{run_id}"):
                st.markdown(
                    f"Deletes **{plain(line['name'])}** and its {plural(line['n_rows'], 'row')}. "
                    f"Its labels ({plural(line['n_labelled'], 'row')}) stay in the file and are "
                    "offered to any run with the same rollouts."
                )
                if st.button("Delete this run", type="primary", key=f"del_{run_id}"):
                    set_params(run=None)
                    _do(
                        store.delete_run,
                        run_id,
                        known_reader(),
                        said=f"{line['name']} is deleted, its labels are kept.",
                    )
        _backup(store)


def _sentence(line: Mapping[str, Any]) -> tuple[str, str]:
    judged, gold = line["pass_rate"], line["gold_pass"]
    bold = f"{plural(line['n_rows'], 'row')}, {count(gold['n'])} with gold and a verdict."
    if judged["n"]:
        bold += f" Judge says {_share(judged)} pass"
        if gold["n"]:
            bold += f", gold {_share(gold)}"
        bold += "."
    words = {"passes": "Judge trusted.", "fails": "Judge not trusted.", "not_shown": "Not shown."}
    bold += f" {words.get(line['state'], 'Judge not measured.')}"
    return bold, " ".join([line["headline"]["bold"], *gold_notes(line)])


def _share(rate: Mapping[str, Any]) -> str:
    return f"{percent(rate['value'], rate['n'])} {interval_percent(rate['ci95'], rate['n'])}"


def _cells(line: Mapping[str, Any]) -> list[object]:
    tags = " ".join(f"#{tag}" for tag in line["tags"])
    archived = " (archived)" if line["archived_at"] else ""
    name = link(visible(line["name"]), "", run=line["id"])
    extra = f'<span class="wr-sub">{html_text(tags + archived)}</span>' if tags or archived else ""
    shape = STATE_SHAPES[line["state"]]
    return [
        Markup(name + extra),
        ", ".join(grader["name"] for grader in line["graders"]) or "none",
        f"{shape} {line['headline']['word'].lower()}".strip(),
        count(line["n_rows"]),
        count(line["n_tasks"]),
        _share(line["pass_rate"]) if line["pass_rate"]["n"] else "",
        _share(line["gold_pass"]) if line["gold_pass"]["n"] else "",
        Markup(coverage_bar(line["coverage"], line["gold"])),
        count(line["n_labelled"]),
    ]


def _load_demo(store: Store) -> None:
    folder = app_script().parent / "data"
    loaded = work.load_demo(store, folder / "demo") + work.load_demo(store, folder / "recipe")
    runs = [run for result in loaded for run in result["runs"]]
    _say_and_rerun(f"{plural(len(runs), 'demo run')} loaded.")


def _add_form(store: Store, run_id: int) -> None:
    with st.form(f"add_{run_id}", border=False):
        file = st.file_uploader("A file whose rows name rollouts of this run")
        what = st.radio(
            "It holds",
            ["Another judge’s verdicts", "Labels"],
            horizontal=True,
            key=f"what_{run_id}",
        )
        name = st.text_input("Name of the judge, or of whoever gave the labels")
        kinds = {"human": "a person", "program": "a program", "model": "a model"}
        kind = st.selectbox(
            "Labels come from", [*kinds], format_func=lambda each: kinds[each], index=None
        )
        pressed = st.form_submit_button("Add")
    if not pressed:
        return
    if file is None:
        warn("Choose a file first.")
    elif what == "Labels" and kind is None:
        warn("Say whether a person, a program or a model gave the labels: nothing is guessed.")
    elif what != "Labels" and not name.strip():
        warn("Name the judge that gave the verdicts.")
    else:
        _add(store, run_id, file, what == "Labels", name.strip(), kind)


def _add(store: Store, run_id: int, file: Any, labels: bool, name: str, kind: str | None) -> None:
    try:
        if labels:
            got = work.import_labels(
                store, run_id, file, kind or "human", name or None, by=known_reader()
            )
            said = f"{plural(got['new'], 'label')} new, {count(got['changed'])} changed, {count(got['unchanged'])} known"
        else:
            got = work.join_verdicts(store, run_id, name, file)
            said = f"{plural(got['matched'], 'verdict')} taken, {count(got['conflicting'])} in conflict and left out"
    except (StoreError, ValueError) as error:
        warn(str(error))
        return
    unmatched = got["unmatched"]
    n = unmatched if isinstance(unmatched, int) else len(unmatched)
    _say_and_rerun(f"{said}; {count(n)} fit no rollout of this run.")


def _show_refused(refused: list[dict], run_id: int) -> None:
    show_table(
        [Column("line", "number"), Column("reason", "wrap"), Column("text", "wrap")],
        [[count(each["line"]), each["reason"], each["text"]] for each in refused[:SHOWN_REFUSALS]],
    )
    if len(refused) > SHOWN_REFUSALS:
        quiet(f"The first {SHOWN_REFUSALS}; all of them in the file.")
    with st.container(horizontal=True):
        st.download_button(
            "Download as CSV",
            _as_csv(refused),
            f"refused-{run_id}.csv",
            "text/csv",
            on_click="ignore",
        )
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in refused)
        st.download_button(
            "Download as JSON lines", lines, f"refused-{run_id}.jsonl", on_click="ignore"
        )


def _as_csv(refused: list[dict]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["line", "reason", "text"])
    for each in refused:
        # A spreadsheet runs a cell that starts like a formula.
        text = each["text"]
        writer.writerow([each["line"], each["reason"], f"'{text}" if text[:1] in "=+-@" else text])
    return out.getvalue()


def _name_and_tags(store: Store, line: Mapping[str, Any]) -> None:
    run_id = line["id"]
    with st.form(f"name_{run_id}", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name", line["name"], max_chars=120, key=f"name_of_{run_id}")
            tags = st.text_input(
                "Tags, apart by commas", ", ".join(line["tags"]), key=f"tags_of_{run_id}"
            )
            pressed = st.form_submit_button("Keep")
    if pressed:
        _do(_keep_name, store, line, name, tags)


def _keep_name(store: Store, line: Mapping[str, Any], name: str, tags: str) -> None:
    if name.strip() != line["name"]:
        store.rename_run(line["id"], name, known_reader())
    store.tag_run(line["id"], tags.split(","), known_reader())


def _backup(store: Store) -> None:
    size = store.size()
    quiet(f"The store is {store.path}, {size / 1e6:,.1f} MB.")
    with st.form("backup", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            target = st.text_input(
                "Copy it, while others go on labelling, to",
                str(store.path.with_name(f"{store.path.stem}-backup.db")),
            )
            pressed = st.form_submit_button("Back up")
    if not pressed:
        return
    try:
        copy = store.backup(target)
    except StoreError as error:
        warn(str(error))
        return
    quiet(f"Copied to {copy}, {copy.stat().st_size / 1e6:,.1f} MB, and checked.")
    if copy.stat().st_size <= DOWNLOAD_BYTES:
        st.download_button("Download it", _bytes_of(copy), copy.name, on_click="ignore")


def _bytes_of(path: Path) -> Any:
    return lambda: path.open("rb")


def _do(act: Any, *arguments: Any, said: str = "") -> None:
    """Change something in the store and draw the page anew; what it refuses is one line."""
    try:
        act(*arguments)
    except (StoreError, UnreadableError) as error:
        warn(str(error))
        return
    if said:
        _say_and_rerun(said)
    st.rerun()


def _say_and_rerun(line: str) -> None:
    st.session_state[LAST_LOAD] = {"line": line, "notes": [], "label_columns": []}
    st.rerun()
