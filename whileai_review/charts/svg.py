"""Figures of Trust as SVG: for a file that asks no host, and to put into a document.

Drawn by hand and not by plotly: its JavaScript is 4 MB and a script, and a still picture of it
needs a browser. Text stays text, to be searched, read aloud and copied; colours follow the
reader's theme by CSS. Whatever came from a file is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whileai_review.charts.confusion import BARS, part_shares
from whileai_review.charts.slices import MEASURES, MOST_LINES, direction
from whileai_review.charts.theme import FAIL, INK, PASS, QUIET, UNCLEAR
from whileai_review.defaults import LEAK_WARN
from whileai_review.intervals import quoted, wider
from whileai_review.report import (
    NONE,
    SMALL_N,
    count,
    interval2,
    interval_percent,
    number2,
    percent,
)
from whileai_review.shown import html_text, visible

WIDTH = 760
NAMES_PX, AXIS_PX, NUMBERS_AT = 168, 260, 446
"""Room for names at the left, length of the axis, where the column of numbers starts."""

ROW_PX = 28
NAME_CHARS = 24

PAPER = {False: "#FFFFFF", True: "#14171A"}

GRID = "rgba(128,134,142,.3)"

SANS = "system-ui,'Segoe UI',Helvetica,Arial,sans-serif"
MONO = "ui-monospace,Menlo,Consolas,monospace"

STYLE = (
    f".wf text{{font:13px {SANS};fill:{INK[False]}}}"
    f".wf .wq{{fill:{QUIET[False]}}}.wf .wm{{font-family:{MONO};white-space:pre}}"
    f".wf .wb{{font-weight:600}}.wf .wp{{fill:{PAPER[False]}}}"
    f".wf .wg{{stroke:{GRID};stroke-width:1}}.wf .wl{{stroke:{UNCLEAR};stroke-width:1.5}}"
    "@media screen and (prefers-color-scheme:dark){"
    f".wf text{{fill:{INK[True]}}}.wf .wq{{fill:{QUIET[True]}}}.wf .wp{{fill:{PAPER[True]}}}"
    "}"
)
"""CSS of the figures; a page that holds several needs it once."""

_COLOUR = {"up": PASS, "down": FAIL, "unclear": UNCLEAR}

Line = tuple[str, "float | None", "Sequence[float] | None", "float | None", str, str]
"""Name, value, interval, tick, way, text of the numbers."""


def confusion_svg(report: Mapping[str, Any], alone: bool = False) -> str:
    """Draw what the judge said of each class of gold, as two bars of 100%.

    Parameters
    ----------
    report
        Of `judge_trust`.
    alone
        For a file of its own: with the name space, the style and a background.
    """
    agreement = report["agreement"]
    if not agreement["n"]:
        return _nothing("No row has both a verdict of the judge and a gold label.", alone)
    shares, parts, left = part_shares(report), [], 118
    width = WIDTH - left
    for place, (name, size, pieces) in enumerate(BARS):
        top = 8 + 62 * place
        parts.append(_text(left - 10, top + 15, f"{name}  {count(agreement[size])}", "", "end"))
        at = float(left)
        for right, part in enumerate(pieces):
            long = (shares[part.cell] or 0) * width
            parts.append(_bar(at, top, long, part.good))
            at += long
            words = _piece_words(part, shares[part.cell], agreement, size, bool(right))
            where = (WIDTH, "end") if right else (left, "start")
            bold = "wb" if right and agreement["confusion"][part.cell] else ""
            parts.append(_text(where[0], top + 38, words, bold, where[1]))
    label = "What the judge said of gold passes and gold failures"
    return _svg(parts, 8 + 62 * len(BARS), label, alone, hatch=True)


def checks_svg(report: Mapping[str, Any], alone: bool = False) -> str:
    """Draw the checks as a forest: shares over 0 to 100%, then kappa and J over -1 to 1.

    A long tick is a floor, a short one what a constant judge would agree. Before the last
    planned label nothing has the colour or the shape of a verdict.
    """
    agreement, floors = report["agreement"], report["floors"]
    if not agreement["n"]:
        return _nothing("No row has both a verdict of the judge and a gold label.", alone)
    plain = bool(report.get("interim"))
    rates: list[tuple[str, dict, float | None]] = [
        ("Agreement", {**agreement, "value": agreement["agreement"]}, floors["min_agreement"]),
        ("Catches failures (TNR)", report["tnr"], 1 - LEAK_WARN),
        ("Passes passes (TPR)", report["tpr"], None),
        ("Reward given in error", report["reward_in_error"], None),
    ]
    parts, top = _axis(0, len(rates), (0, 1), [(0, "0%"), (0.5, "50%"), (1, "100%")]), 0.0
    for place, (name, rate, floor) in enumerate(rates):
        interval = quoted(rate) if rate["ci95"] else None
        text = _rate_text(rate["value"], interval, rate["n"])
        always = report["baseline"]["agreement"] if place == 0 else None
        way = "unclear" if plain or floor is None else direction(interval, floor, True)
        line = (name, rate["value"], interval, floor, way, text)
        parts += _line(top + ROW_PX * place, line, (0, 1), always)
    top = ROW_PX * len(rates) + 34
    kappa = {"value": agreement["kappa"], "ci95": agreement["kappa_ci95"], "n": agreement["n"]}
    parts += _axis(top, 2, (-1, 1), [(-1, "−1"), (0, "0"), (1, "1")])
    for place, (name, found, floor) in enumerate(
        (("Kappa", kappa, floors["min_kappa"]), ("J = TPR + TNR − 1", report["j"], 0.0))
    ):
        interval = quoted(found) if found["ci95"] else None
        text = f"{number2(found['value']):>5} {interval2(interval):<15} n={count(found['n'])}"
        way = "unclear" if plain else direction(interval, floor, True)
        if way == "up" and floor == 0 and interval is not None and interval[0] <= 0:
            way = "unclear"
        line = (name, found["value"], interval, floor, way, text)
        parts += _line(top + ROW_PX * place, line, (-1, 1), None)
    label = "The checks of the judge, each with its 95% interval and its floor"
    return _svg(parts, top + ROW_PX * 2 + 26, label, alone)


def slices_svg(
    found: Mapping[str, Any],
    measure: str = "false_pass",
    alone: bool = False,
    show: Callable[[object], str] = visible,
    interim: bool = False,
) -> str:
    """Draw the slices of a field as a forest, all rows first.

    Parameters
    ----------
    found
        Of `work.slices`.
    measure
        As for :func:`whileai_review.charts.slices.slices_figure`.
    """
    what = MEASURES[measure]
    lines = list(found["rows"])[:MOST_LINES]
    if not lines:
        return _nothing("No row with this field has both a verdict and a label.", alone)
    drawn = [*([found["all"]] if found.get("all") else []), *lines]
    parts = _axis(0, len(drawn), (0, 1), [(0, "0%"), (0.5, "50%"), (1, "100%")])
    for place, each in enumerate(drawn):
        n, rate = each[what.n], each[what.rate]
        interval = wider(each[what.interval], each.get(f"{what.interval}_tasks"))
        hits = each[what.hits] if what.hits else None
        few = n < SMALL_N or interval is None
        way = "unclear" if interim else direction(interval, what.floor, what.more_is_better)
        text = _slice_text(rate, interval, n, hits)
        line: Line = (
            show(each["value"]),
            None if few else rate,
            None if few else interval,
            what.floor,
            way,
            text,
        )
        always = each.get("always_pass") if what.more_is_better else None
        parts += _line(ROW_PX * place, line, (0, 1), always)
    label = f"{what.title}, by {visible(found['field'])}"
    return _svg(parts, ROW_PX * len(drawn) + 26, label, alone)


def _slice_text(rate: float | None, interval: Any, n: int, hits: int | None) -> str:
    counts = f"n={count(n)}" if hits is None else f"{count(hits)} of {count(n)}"
    if not n:
        return "not measured: none here"
    if n < SMALL_N:
        return f"too few{counts:>{13 + len(counts)}}"
    return f"{percent(rate, n):>5} {interval_percent(interval, n):<13} {counts}"


def _rate_text(value: float | None, interval: Any, n: int) -> str:
    if not n:
        return "not measured"
    return f"{percent(value, n):>5} {interval_percent(interval, n):<15} n={count(n)}"


def _piece_words(part: Any, share: float | None, agreement: Mapping, size: str, right: bool) -> str:
    n, of = agreement["confusion"][part.cell], agreement[size]
    if not of:
        return "" if right else "not measurable: no such row has gold"
    return f"{count(n)} {part.words}" + (f" ({percent(share)})" if of >= SMALL_N else "")


def _axis(
    top: float, rows: int, span: tuple[float, float], ticks: Sequence[tuple[float, str]]
) -> list[str]:
    bottom = top + ROW_PX * rows
    parts = []
    for value, words in ticks:
        x = _x(value, span)
        parts.append(
            f'<line class="wg" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
        )
        parts.append(_text(x, bottom + 16, words, "wq", "middle"))
    return parts


def _line(top: float, line: Line, span: tuple[float, float], always: float | None) -> list[str]:
    name, value, interval, floor, way, numbers = line
    y = top + ROW_PX / 2
    parts = [_text(NAMES_PX - 12, y + 4.5, _short(name), "", "end", full=name)]
    if floor is not None:
        x = _x(floor, span)
        parts.append(
            f'<line class="wl" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 2:.1f}" '
            f'y2="{top + ROW_PX - 2:.1f}"/>'
        )
    if always is not None:
        x = _x(always, span)
        parts.append(
            f'<line class="wl" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 6:.1f}" y2="{y + 6:.1f}" '
            'stroke-dasharray="2 2"><title>always the more frequent verdict</title></line>'
        )
    if interval is not None:
        low, high = _x(interval[0], span), _x(interval[1], span)
        parts.append(
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{_COLOUR[way]}" stroke-width="2"/>'
        )
    if value is not None:
        parts.append(_mark(_x(value, span), y, way))
    parts.append(_text(NUMBERS_AT, y + 4.5, numbers or NONE, "wm"))
    return parts


def _mark(x: float, y: float, way: str) -> str:
    colour = _COLOUR[way]
    if way == "unclear":
        return f'<circle class="wp" cx="{x:.1f}" cy="{y:.1f}" r="5" stroke="{colour}" stroke-width="2"/>'
    up = -1 if way == "up" else 1
    corners = ((x - 6, y - 5 * up), (x + 6, y - 5 * up), (x, y + 6 * up))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _bar(x: float, y: float, width: float, good: bool) -> str:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="22"'
    plain = f'<rect {box} fill="{PASS if good else FAIL}"/>'
    return plain if good else f'{plain}<rect {box} fill="url(#wf-hatch)"/>'


def _x(value: float, span: tuple[float, float]) -> float:
    low, high = span
    inside = min(max(value, low), high)
    return NAMES_PX + AXIS_PX * (inside - low) / (high - low)


def _text(
    x: float, y: float, words: str, kind: str = "", anchor: str = "start", full: str = ""
) -> str:
    title = f"<title>{html_text(full)}</title>" if full and full != words else ""
    kinds = f' class="{kind}"' if kind else ""
    # SVG folds spaces as HTML does; the columns of numbers are made of them.
    spaced = html_text(words).replace(" ", "\u00a0") if kind == "wm" else html_text(words)
    return f'<text x="{x:.1f}" y="{y:.1f}"{kinds} text-anchor="{anchor}">{spaced}{title}</text>'


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"


def _nothing(words: str, alone: bool) -> str:
    return _svg([_text(0, 20, words, "wq")], 32, words, alone)


def _svg(parts: Sequence[str], height: float, label: str, alone: bool, hatch: bool = False) -> str:
    pattern = (
        '<defs><pattern id="wf-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="1.5" height="6" fill="#fff" '
        'fill-opacity=".45"/></pattern></defs>'
    )
    margin = 16 if alone else 0
    box = f"{-margin} {-margin} {WIDTH + 2 * margin} {height + 2 * margin:.0f}"
    space, head = "", ""
    if alone:
        space = ' xmlns="http://www.w3.org/2000/svg"'
        head = (
            f"<style>{STYLE}</style>"
            f'<rect class="wp" x="{-margin}" y="{-margin}" width="100%" height="100%"/>'
        )
    return (
        f'<svg{space} class="wf" role="img" aria-label="{html_text(label)}" viewBox="{box}" '
        f'width="{WIDTH + 2 * margin}" height="{height + 2 * margin:.0f}">'
        f"{head}{pattern if hatch else ''}{''.join(parts)}</svg>"
    )
