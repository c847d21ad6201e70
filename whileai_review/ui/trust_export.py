"""Trust to take away: its headline to copy, all of it as one file, its figures as SVG."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from whileai_review.store import Store
from whileai_review.ui import cache
from whileai_review.ui.data import quiet
from whileai_review.ui.pickers import Picked, param
from whileai_review.ui.trust_view import MEASURE_WORDS
from whileai_review.work.trust_report import figure_svg, headline_texts, trust_file

KEY = "wr_export"
"""Session key: whether the popover is open; nothing in it is made before."""

_FORMATS = {"text": "Text", "markdown": "Markdown", "json": "JSON"}


@st.fragment
def show_export(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    """Draw the popover; opening it asks again which slices the page shows."""
    popover = st.popover("Quote or export", type="tertiary", on_change="rerun", key=KEY)
    if not popover.open:
        return
    with popover:
        _headline(report)
        with st.container(horizontal=True):
            _file(store, picked, report)
            if report["agreement"]["n"]:
                _figures(store, picked, report)
        quiet("The report is one file with figures and hashes; it runs no script and asks no host.")


def _headline(report: Mapping[str, Any]) -> None:
    texts = headline_texts(report)
    for tab, name in zip(st.tabs([*_FORMATS.values()]), _FORMATS, strict=True):
        with tab:
            st.code(texts[name], language=None, wrap_lines=True)


def _file(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    field = _field(store, picked)
    asked = (report["run_id"], report["grader_id"] or None, report["gold"], report["criterion"])
    _download(
        "Report (HTML)",
        lambda: trust_file(store, *asked, field=field),
        f"trust-{slug(report['run'])}.html",
        "text/html",
    )


def _figures(store: Store, picked: Picked, report: Mapping[str, Any]) -> None:
    field, said = _field(store, picked), param("share")
    measure = said if said in MEASURE_WORDS else "false_pass"
    for name, words in (("confusion", "Bars (SVG)"), ("checks", "Checks (SVG)")):
        _download(
            words,
            partial(figure_svg, report, name),
            f"{name}-{slug(report['run'])}.svg",
            "image/svg+xml",
        )
    if field is not None:
        _download(
            "Slices (SVG)",
            lambda: figure_svg(report, "slices", cache.slices(store, report, field), measure),
            f"slices-{slug(report['run'])}-{slug(field)}.svg",
            "image/svg+xml",
        )


def _field(store: Store, picked: Picked) -> str | None:
    """The field by which the page slices now."""
    said = param("field")
    return said if said in cache.group_fields(picked.run) else cache.first_field(store, picked.run)


def _download(label: str, make: Callable[[], str], file_name: str, mime: str) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(label, make, file_name=file_name, mime=mime, on_click="ignore")


def slug(name: object) -> str:
    """Return a name that any file system and header takes.

    Examples
    --------
    >>> slug("../runs/a b<c>.jsonl"), slug("…")
    ('runs-a-b-c-.jsonl', 'run')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(name)).strip("-.")[:60] or "run"
