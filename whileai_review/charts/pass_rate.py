"""How much of a run passes: corrected by labels, by labels alone, by the judge. As text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from whileai_review.charts.checks import gold_notes
from whileai_review.intervals import quoted
from whileai_review.report import count, interval_percent, percent
from whileai_review.score.corrected import helps_words


class PassRate(NamedTuple):
    """One estimate."""

    name: str
    value: str
    interval: str
    rows: str
    tasks: str
    counts: bool
    """False for a rate that says nothing of the truth and is struck through."""


def pass_rates(report: Mapping[str, Any]) -> list[PassRate]:
    """The estimates of a trust report, the one to quote first; none where there is none."""
    found = report.get("corrected")
    if not found or found["value"] is None:
        return []
    own, raw, n_rows = found["labels_only"], found["judge"], found["n_rows"]
    of_rows = (count(n_rows), count(found["n_tasks"]))
    of_labels = (count(own["n"]), count(own["n_tasks"]))
    estimates = (
        ("Corrected by labels", found["value"], found["ci95"], n_rows, of_rows, True),
        ("Labels alone", own["value"], quoted(own), own["n"], of_labels, True),
        ("Judge alone", raw["value"], quoted(raw), raw["n"], of_rows, bool(raw["counts"])),
    )
    return [
        PassRate(name, percent(value, n), interval_percent(interval, n), *of, counts)
        for name, value, interval, n, of, counts in estimates
    ]


def pass_rate_notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader of the estimates is told beside them."""
    found = report.get("corrected")
    if not found or found["value"] is None:
        return []
    words = helps_words(found["helps"])
    first = words[0].upper() + words[1:] + "."
    if not found["judge"]["counts"]:
        first += (
            " Its own rate is struck through: J is not above 0, so it says nothing of the truth."
        )
    notes = [first]
    labelled, n_rows = found["labels_only"]["n"], found["n_rows"]
    if report["gold_kind"] == "program" and labelled < n_rows:
        notes.append(
            f"A rule labelled {count(labelled)} of {count(n_rows)} rows, not at random: this holds "
            "for rows like those."
        )
    return notes + gold_notes(report)
