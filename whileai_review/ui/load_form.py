"""Load a file: by upload, by path, or the demo; what its columns mean is asked, not guessed."""

from collections.abc import Mapping as Dict
from pathlib import Path
from typing import Any

import streamlit as st

from whileai_review import work
from whileai_review.load import Sniff, UnreadableError, open_source
from whileai_review.report import count, plural
from whileai_review.store import Store, StoreError
from whileai_review.ui.data import quiet, warn
from whileai_review.ui.mapping_form import Answers, ask_mapping
from whileai_review.ui.pickers import LAST_LOAD, set_params
from whileai_review.ui.text import visible

DUPLICATES = {
    "keep": "keep them apart and say how many",
    "collapse": "drop exact copies",
    "last": "keep the last one of each",
}
ENDINGS = (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".txt")
SNIFFED = 1_000
HOW_MANY = 3_000
"""Rows between two movements of the bar."""


def show_load(store: Store, expanded: bool = False) -> None:
    """Draw the form; a load that came in opens its run."""
    with st.expander("Load a file", expanded=expanded):
        upload = st.file_uploader(
            "JSON lines, JSON, CSV, TSV or Parquet, plain or gzip", key="wr_upload"
        )
        path = st.text_input(
            "or a path on the server’s machine, a file or a folder", key="wr_path"
        ).strip()
        source = upload if upload is not None else (path or None)
        if source is None:
            return
        if isinstance(source, str) and Path(source).expanduser().is_dir():
            _folder(store, Path(source).expanduser())
            return
        if isinstance(source, str):
            source = str(Path(source).expanduser())
        _file(store, source)


def _file(store: Store, source: Any) -> None:
    try:
        sniff = _sniffed(source, _fingerprint(source))
    except (UnreadableError, OSError) as error:
        warn(str(error))
        return
    quiet(
        f"{plural(sniff.n_rows, 'row')} looked at, {plural(len(sniff.columns), 'column')}"
        + (f", {plural(sniff.n_refused, 'line')} refused so far" if sniff.n_refused else "")
    )
    key = f"{_fingerprint(source)}"
    answers = ask_mapping(source, sniff, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        default = _run_name(getattr(source, "name", source))
        name = st.text_input("Name of the run", default, key=f"name_{key}", max_chars=120)
        split = st.selectbox(
            "One run for each value of",
            sniff.split_columns or sniff.columns,
            index=None,
            placeholder="no column",
            format_func=visible,
            key=f"split_{key}",
        )
        duplicates = st.selectbox(
            "Rows of the same rollout",
            [*DUPLICATES],
            format_func=DUPLICATES.__getitem__,
            key=f"duplicates_{key}",
        )
        again = st.checkbox("Load it even if its content is here", key=f"again_{key}")
    if answers.open:
        quiet(f"Still to be said: {', '.join(answers.open)}.")
    if st.button("Load", type="primary", disabled=bool(answers.open), key=f"load_{key}"):
        _load(store, source, answers, name, split, duplicates, again)


def _load(
    store: Store,
    source: Any,
    answers: Answers,
    name: str,
    split: str | None,
    duplicates: str,
    again: bool,
) -> None:
    bar = st.progress(0.0, "Reading")

    def progress(n: int) -> None:
        # The size is not known beforehand: the bar says that it moves, the words how far.
        bar.progress(n % HOW_MANY / HOW_MANY, f"{count(n)} rows read")

    try:
        result = work.load_file(
            store,
            source,
            name.strip() or None,
            answers.mapping,
            answers.origins,
            split,
            duplicates,
            again=again,
            progress=progress,
        )
    except (StoreError, ValueError) as error:
        bar.empty()
        warn(str(error))
        return
    _tell(result)


def _folder(store: Store, folder: Path) -> None:
    quiet("A folder: each readable file becomes a run, with what is recognised in it.")
    if not st.button("Load the folder", type="primary"):
        return
    try:
        with st.spinner("Loading"):
            result = work.load_folder(store, folder)
    except (StoreError, ValueError) as error:
        warn(str(error))
        return
    failed = [f"{each['file']}: {each['reason']}" for each in result["failed"]]
    _tell(result | {"notes": failed, "label_columns": [], "n_duplicates": 0, "same_as": None})


def _tell(result: Dict[str, Any]) -> None:
    runs = result["runs"]
    line = (
        f"{plural(result['n_rows'], 'row')} came in as {', '.join(run['name'] for run in runs)}; "
        f"{plural(result['n_refused'], 'line')} refused"
    )
    if result["n_duplicates"]:
        line += f"; {plural(result['n_duplicates'], 'row')} share a rollout with another one"
    if result["same_as"]:
        line = "Nothing was loaded."
    st.session_state[LAST_LOAD] = {
        "line": line,
        "notes": list(result["notes"])[:20],
        "label_columns": result["label_columns"],
    }
    set_params(run=runs[0]["id"])
    st.rerun()


def _run_name(path: str) -> str:
    """The file's name without the endings that name a format.

    Examples
    --------
    >>> _run_name("runs/base.r2.jsonl.gz"), _run_name("gpt-3.5-turbo")
    ('base.r2', 'gpt-3.5-turbo')
    """
    name = Path(path).name
    while name.lower().endswith(ENDINGS):
        name = name.rpartition(".")[0]
    return name or "run"


def _fingerprint(source: Any) -> str:
    """Names the content, so that another file asks anew."""
    if isinstance(source, str):
        try:
            about = Path(source).stat()
        except OSError:
            return source
        return f"{source}/{about.st_size}/{about.st_mtime_ns}"
    return f"{source.file_id}"


@st.cache_data(max_entries=16, show_spinner="Looking at the file")
def _sniffed(_source: Any, fingerprint: str) -> Sniff:
    return open_source(_source).sniff(SNIFFED)
