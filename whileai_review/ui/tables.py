"""Small tables of numbers as HTML: every cell escaped, numbers right, hairlines only.

``st.table`` reads its cells as Markdown, and a data frame scrolls its last column away on
a narrow screen; a table of ten lines needs neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from whileai_review.charts.checks import SHAPE, Check
from whileai_review.ui.text import cut, html_text

MAX_CELL = 300
"""Characters of a cell; a longer text ends in an ellipsis."""


class Column(NamedTuple):
    """A column: its head, and how its cells stand."""

    name: str
    kind: str = "word"
    """word, number, wrap (words that may break) or bar."""


class Markup(str):
    """HTML made of escaped parts, which a cell takes as it is."""


_CLASSES = {"number": "wr-num", "wrap": "wr-wrap", "bar": "wr-bar", "word": ""}


def show_table(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], chosen: int | None = None
) -> None:
    """Draw a table; see :func:`table_html`."""
    st.html(table_html(columns, rows, chosen))


def table_html(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], chosen: int | None = None
) -> str:
    """Return a table; cells are escaped unless they are :class:`Markup`.

    Parameters
    ----------
    chosen
        Position of a row to set off.

    Examples
    --------
    >>> '<td class="wr-num">&lt;b&gt;7&lt;/b&gt;</td>' in table_html(
    ...     [Column("n", "number")], [["<b>7</b>"]]
    ... )
    True
    """
    kinds = [_CLASSES[column.kind] for column in columns]
    head = "".join(
        f'<th scope="col" class="{kind}">{html_text(column.name)}</th>'
        for kind, column in zip(kinds, columns, strict=True)
    )
    body = "".join(
        f"<tr{' data-chosen' if n == chosen else ''}>"
        + "".join(
            f'<td class="{kind}">{_cell(cell)}</td>' for kind, cell in zip(kinds, row, strict=True)
        )
        + "</tr>"
        for n, row in enumerate(rows)
    )
    return (
        '<div class="wr-scroll"><table class="wr-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def term(name: str, help_text: str) -> Markup:
    """Return a word that explains itself when it is opened, by mouse or by key."""
    return Markup(
        f'<details class="wr-term"><summary>{html_text(name)}</summary>'
        f"<p>{html_text(help_text)}</p></details>"
    )


def struck(text: str) -> Markup:
    """Return a number that is not to be quoted, struck through."""
    return Markup(f"<s>{html_text(text)}</s>")


def link(text: str, page: str, /, **params: object) -> Markup:
    """Return a link to a page of the app with these parameters.

    Examples
    --------
    >>> link("39 of 51", "queue", run=3, value="a&b")
    '<a href="queue?run=3&amp;value=a%26b" target="_self">39 of 51</a>'
    """
    query = urlencode({k: str(v) for k, v in params.items() if v is not None})
    return Markup(f'<a href="{html_text(f"{page}?{query}")}" target="_self">{html_text(text)}</a>')


def show_checks(checks: Sequence[Check], run: int, cells: Mapping[str, int]) -> None:
    """Draw the checks of a judge: value, 95%, floor, rows, tasks and the state as a shape.

    A value opens the rows of the run that keep it from being better, where `cells` has any.
    """

    def value(check: Check) -> object:
        names = ("fp", "fn") if check.cell == "disagree" else (check.cell,)
        n = sum(cells.get(name, 0) for name in names)
        return link(check.value, "queue", run=run, cell=check.cell) if n else check.value

    columns = [
        Column("check", "wrap"),
        Column("value", "number"),
        Column("95%", "number"),
        Column("floor", "number"),
        Column("rows", "number"),
        Column("tasks", "number"),
        Column("state"),
    ]
    show_table(
        columns,
        [
            [
                term(check.name, check.help),
                value(check),
                check.interval,
                check.floor,
                check.n,
                check.tasks,
                f"{SHAPE.get(check.way, '')} {check.state}".strip(),
            ]
            for check in checks
        ],
    )


def inject_css() -> None:
    """Put the look of tables into the page."""
    st.html(f"<style>{_css()}</style>")


def two_by_two(
    table: Mapping[tuple[int, int], int], rows: tuple[str, str], heads: tuple[str, str]
) -> str:
    """Return a small table of two verdicts on the same rows: (first, second) -> rows."""
    columns = [Column(""), Column(heads[0], "number"), Column(heads[1], "number")]
    lines = [
        [name, f"{table[said, 1]:,}", f"{table[said, 0]:,}"]
        for name, said in zip(rows, (1, 0), strict=True)
    ]
    return table_html(columns, lines)


def _cell(cell: object) -> str:
    if isinstance(cell, Markup):
        return cell
    text = cut("" if cell is None else str(cell), MAX_CELL)
    return html_text(text.text) + ("…" if text.left else "")


@cache
def _css() -> str:
    return (Path(__file__).parent / "assets" / "tables.css").read_text("utf-8")
