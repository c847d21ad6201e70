"""Trust as one file of HTML that asks no host and runs no script, and its headline to quote.

Everything that stands on the page: the sentence, the checks with floors, intervals, rows and
tasks, the figures as SVG, the slices of the first named field, the corrected pass rate, the
warnings, the report as it prints, and what it all binds to by hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whileai_review.charts import svg
from whileai_review.charts.checks import SHAPE, check_notes, gold_notes, trust_checks
from whileai_review.charts.coverage import coverage_bar, coverage_words
from whileai_review.charts.pass_rate import pass_rate_notes, pass_rates
from whileai_review.charts.slices import MEASURES, MOST_LINES, floor_words
from whileai_review.charts.theme import FAIL, INK, PASS, QUIET, UNCLEAR
from whileai_review.intervals import wider
from whileai_review.report import count, interval_percent, percent
from whileai_review.score._gate_text import sign_off_words
from whileai_review.score.certificate import WORDS, binding_lines, day
from whileai_review.shown import html_text, markdown_text, visible
from whileai_review.store import Store, open_store
from whileai_review.work import pool
from whileai_review.work.certificates import certificate_of, first_field, issued, kept_certificate
from whileai_review.work.headlines import has_figures, weighting_lines
from whileai_review.work.measuring import slices, trust
from whileai_review.work.plans import looks_words

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may do with the file: read its own styles. The second lock; the first is that
every text is escaped."""

_BADGE = {"passes": PASS, "fails": FAIL}

_CSS = f"""
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.5 {svg.SANS}; color: {INK[False]}; background: #fff; margin: 0 auto;
  padding: 24px; max-width: 1080px; }}
p {{ margin: 4px 0; }} h2 {{ font-size: 15px; margin: 26px 0 6px; }}
.q {{ color: {QUIET[False]}; }}
.word {{ border: 1.5px solid {UNCLEAR}; border-radius: 4px; padding: 1px 7px; margin-right: 6px;
  font-weight: 600; }}
h1 {{ font-size: 17px; margin: 10px 0 4px; overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }}
th, td {{ border-bottom: 1px solid rgba(128,134,142,.28); padding: 3px 14px 3px 0; text-align: left;
  vertical-align: top; }}
th {{ font-weight: 400; color: {QUIET[False]}; }}
.n {{ text-align: right; white-space: nowrap; }} .h {{ overflow-wrap: anywhere; }}
.scroll {{ overflow-x: auto; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.45 {svg.MONO}; }}
svg {{ max-width: 100%; height: auto; display: block; margin: 6px 0; }}
@media screen and (prefers-color-scheme: dark) {{
  body {{ color: {INK[True]}; background: {svg.PAPER[True]}; }} .q, th {{ color: {QUIET[True]}; }}
}}
@media print {{
  :root {{ color-scheme: light; }} * {{ print-color-adjust: exact; }}
  body {{ padding: 0; }} h2 {{ break-after: avoid; }} svg, tr {{ break-inside: avoid; }}
}}
"""

FIGURES = ("confusion", "checks", "slices")


def trust_html(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    field: str | None = None,
) -> str:
    """What Trust says of a loaded run, as a file of HTML.

    Parameters
    ----------
    run, grader, gold, criterion
        As for `trust`.
    field
        By which rows are sliced; the first named one where None.

    Raises
    ------
    NotFoundError
        No such run, grader, gold or criterion.
    """
    report = trust(store, run, grader, gold, criterion)
    about = (report["run_id"], report["grader_id"] or None, report["gold"], report["criterion"])
    found = store.run(about[0])
    if field is None:
        field = first_field(found, lambda name: store.field_texts(about[0], name))
    cut = None
    if field is not None and report["agreement"]["n"]:
        cut = slices(store, about[0], field, *about[1:])
    certificate = certificate_of(store, *about)
    kept = kept_certificate(store, certificate)
    return trust_page(report, kept or certificate, cut, issued(store, about[0]))


def trust_file(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    field: str | None = None,
) -> str:
    """:func:`trust_html`, made beside the server for a run of many rows."""
    about = (run, grader, gold, criterion, field)
    if store.run(run)["n_rows"] <= pool.ROWS:
        return trust_html(store, *about)
    return pool.run(_made, str(store.path), *about)


def _made(path: str, *about: Any) -> str:
    with open_store(path, create=False) as store:
        return trust_html(store, *about)


def trust_page(
    report: Mapping[str, Any],
    certificate: Mapping[str, Any],
    cut: Mapping[str, Any] | None = None,
    there: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The file of a report of `judge_trust` or `trust`.

    Parameters
    ----------
    certificate
        Of that report, issued or not.
    cut
        Of `slices`; left out where None.
    there
        Certificates that were issued of the run.
    """
    said, state = certificate["headline"], certificate["state"]
    about = _about(certificate)
    colour = _BADGE.get(state, UNCLEAR)
    parts = [
        f'<p class="q">{html_text(about)} · measured {html_text(_minute(certificate))} '
        f"by whileai-review {html_text(certificate['version'])}</p>",
        f'<h1><span class="word" style="border-color:{colour}">{html_text(said["word"])}</span> '
        f"{html_text(said['bold'])}</h1>",
        _quiet(said["grey"]),
        *map(_quiet, _plan_lines(report)),
        _coverage(report),
    ]
    if has_figures(report):
        parts += [
            _head("Of what gold says, what did the judge say?"),
            svg.confusion_svg(report),
            _head("Checks"),
            svg.checks_svg(report),
            *_checks(report),
            *_rates(report),
            *(_slices(report, cut) if cut is not None else ()),
        ]
    parts += _rest(report)
    parts += _certificates(certificate, there)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(said['word'])}: {html_text(about)}</title>"
        f"<style>{_CSS}{svg.STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def figure_svg(
    report: Mapping[str, Any],
    name: str,
    cut: Mapping[str, Any] | None = None,
    measure: str = "false_pass",
) -> str:
    """A figure of Trust as a file of SVG: ``confusion``, ``checks``, or ``slices`` of `cut`.

    Parameters
    ----------
    measure
        Of the slices, as for :func:`whileai_review.charts.slices.slices_figure`.

    Raises
    ------
    ValueError
        No such figure, or slices without a `cut`.
    """
    if name == "confusion":
        return svg.confusion_svg(report, alone=True)
    if name == "checks":
        return svg.checks_svg(report, alone=True)
    if name == "slices" and cut is not None:
        return svg.slices_svg(cut, measure, alone=True, interim=bool(report.get("interim")))
    raise ValueError(f"No figure {name!r}: there are {', '.join(FIGURES)}.")


def headline_texts(report: Mapping[str, Any]) -> dict[str, str]:
    """The headline to quote, as ``text``, ``markdown`` and ``json``: what, of whom, on what."""
    said, agreement = report["headline"], report["agreement"]
    names = (report["run"], report["grader"] or "no judge", report["criterion"])
    where = visible(" · ".join(map(str, names)))
    markdown = [f"**{said['word']}. {markdown_text(said['bold'])}**"]
    plan = report.get("verdict_lines") or []
    markdown += [markdown_text(line) for line in (said["grey"], *plan, where) if line]
    low, high = wider(agreement["ci95"], agreement["ci95_tasks"]) or (None, None)
    value = {
        "state": "interim" if report["interim"] else report["state"],
        "headline": said["bold"],
        "detail": said["grey"],
        "run": report["run"],
        "judge": report["grader"],
        "criterion": report["criterion"],
        "gold": report["gold"],
        "agreement": {"value": agreement["agreement"], "low": low, "high": high},
        "n_rows": agreement["n"],
        "n_tasks": agreement["n_tasks"],
        "plan": plan,
    }
    lines = [f"{said['word']}. {said['bold']}", said["grey"], *plan, where]
    return {
        "text": visible("\n".join(line for line in lines if line)),
        "markdown": "  \n".join(markdown),
        "json": json.dumps(value, indent=1),
    }


def _plan_lines(report: Mapping[str, Any]) -> list[str]:
    """Verdicts with their dates, extensions, and what the looks before the end do to them."""
    if not report.get("verdict_lines"):
        return []
    return [line for line in (*report["verdict_lines"], looks_words(report)) if line]


def _about(certificate: Mapping[str, Any]) -> str:
    judge = certificate["judge"].get("name") or "the judge of the file"
    kind = {"human": "people’s labels", "program": "a rule’s labels", "model": "a model’s labels"}
    gold = kind.get(certificate["gold"].get("kind") or "", "no gold")
    return f"{certificate['data'].get('run')} · {judge} · {certificate['criterion']} · {gold}"


def _minute(certificate: Mapping[str, Any]) -> str:
    return f"{day(certificate)} {certificate['measured_at'][11:16]} UTC"


def _coverage(report: Mapping[str, Any]) -> str:
    coverage = report.get("coverage")
    if not coverage:
        return ""
    kind = report["gold_kind"]
    bar = coverage_bar(coverage, kind)
    scope = (report.get("weighting") or {}).get("scope", "")
    lines = "".join(map(_quiet, [coverage_words(coverage, kind, scope), *weighting_lines(report)]))
    return f'<div style="max-width:620px;margin-top:8px">{bar}{lines}</div>'


def _checks(report: Mapping[str, Any]) -> list[str]:
    interim = bool(report.get("interim"))
    checks, lines = trust_checks(report), []
    for check in checks:
        state = "" if interim else f"{SHAPE.get(check.way, '')} {check.state}".strip()
        cells = (check.name, check.value, check.interval, check.floor, check.n, check.tasks)
        lines.append((*cells, state))
    notes = check_notes(report, checks)
    if not interim:
        notes.append("▲ the whole interval holds its floor · ▼ all of it misses · ○ not shown")
    notes.append(
        "95% intervals: the wider of that of rows and that of tasks, since rollouts of a task "
        "resemble each other."
    )
    notes += weighting_lines(report)
    heads = ("check", "value", "95%", "floor", "rows", "tasks", "state")
    return [_table(heads, lines, "wnnnnnw"), *map(_quiet, notes)]


def _rates(report: Mapping[str, Any]) -> list[str]:
    rates = pass_rates(report)
    if not rates:
        return []
    lines = []
    for rate in rates:
        cells = [html_text(cell) for cell in rate[:5]]
        if not rate.counts:
            cells[1:3] = [f"<s>{cell}</s>" for cell in cells[1:3]]
        lines.append(cells)
    heads = ("by", "value", "95%", "rows", "tasks")
    return [
        _head("How much of this run passes?"),
        _table(heads, lines, "wnnnn", escaped=True),
        *map(_quiet, pass_rate_notes(report)),
    ]


def _slices(report: Mapping[str, Any], cut: Mapping[str, Any]) -> list[str]:
    field = visible(cut["field"])
    lines = [
        (
            visible(line["value"]),
            count(line["n"]),
            count(line["n_tasks"]),
            *_share(line["false_passes"], line["n_gold_fail"], line, "false_pass"),
            *_share(line["wrong_passes"], line["n_judge_pass"], line, "error"),
        )
        for line in cut["rows"][:MOST_LINES]
    ]
    title, gold = MEASURES["false_pass"].title, gold_notes(report)
    heads = (field, "rows", "tasks", "false passes", "95%", "reward in error", "95%")
    more = len(cut["rows"]) - len(lines)
    return [
        _head(f"Where does it leak? By {field}"),
        _quiet(" · ".join([title[0].upper() + title[1:], floor_words("false_pass"), *gold])),
        svg.slices_svg(cut, interim=bool(report.get("interim"))),
        _table(heads, lines, "wnnnnnn"),
        _quiet(f"{count(more)} more values are not drawn.") if more > 0 else "",
    ]


def _share(hits: int, n: int, line: Mapping[str, Any], name: str) -> tuple[str, str]:
    """The share with its counts, and its interval; under ten the counts alone."""
    rate = percent(line[f"{name}_rate"], n)
    counts = f"{count(hits)} of {count(n)}"
    if " of " in rate or not n:
        return counts, ""
    interval = wider(line[f"{name}_ci95"], line.get(f"{name}_ci95_tasks"))
    return f"{rate}, {counts}", interval_percent(interval, n)


def _rest(report: Mapping[str, Any]) -> list[str]:
    warnings = [_quiet(f"! {warning}") for warning in report["warnings"]]
    text = report.get("text") or str(report)
    return [
        *([_head("Warnings"), *warnings] if warnings else []),
        _head("print(report)"),
        f"<pre>{html_text(text)}</pre>",
    ]


def _certificates(certificate: Mapping[str, Any], there: Sequence[Mapping[str, Any]]) -> list[str]:
    data, policy, judge = certificate["data"], certificate["policy"], certificate["judge"]
    hashes = [
        ("content of the run", data.get("sha256")),
        ("rows measured, verdicts and labels", data.get("rows_sha256")),
        ("policy", policy.get("sha256")),
        ("judge", judge.get("sha256")),
        ("rubric", judge.get("rubric_sha256")),
        ("threshold", judge.get("threshold_sha256")),
        ("measurement", certificate["measurement"]),
    ]
    full = [(what, hash_ or "not known here") for what, hash_ in hashes]
    lines = []
    for each in there:
        signed = "; ".join(sign_off_words(one, each["state"]) for one in each["sign_offs"])
        words = WORDS[each["state"]]
        what = f"{each['judge'].get('name')} · {each['criterion']}"
        lines.append((day(each), words, what, each["hash"], signed or "none"))
    heads = ("measured", "state", "judge · criterion", "sha256", "sign-offs")
    return [
        _head("What this binds to"),
        _table(("what", "by"), binding_lines(certificate), "ww"),
        _head("sha256"),
        _table(("of", "sha256"), full, "wh"),
        _head("Certificates issued of this run"),
        _table(heads, lines, "wwwhw") if lines else _quiet("None."),
    ]


def _head(text: str) -> str:
    return f"<h2>{html_text(text)}</h2>"


def _quiet(text: str) -> str:
    return f'<p class="q">{html_text(text)}</p>' if text else ""


def _table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], kinds: str, escaped: bool = False
) -> str:
    """A table; `kinds` says of each column: words, numbers, or a hash that may break."""
    css = [{"w": "", "n": ' class="n"', "h": ' class="h"'}[kind] for kind in kinds]
    head = "".join(
        f'<th scope="col"{kind}>{html_text(name)}</th>'
        for kind, name in zip(css, heads, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{cell if escaped else html_text(cell)}</td>"
            for kind, cell in zip(css, line, strict=True)
        )
        + "</tr>"
        for line in lines
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )
