"""How numbers are written, and what a report is."""

import copy
import json
import pickle

import pytest

from whileai_review import report


class Words(report.Report):
    def as_text(self) -> str:
        return f"<b>{self['word']}</b>"


def test_a_report_is_its_dict_and_prints_its_block():
    words = Words(word="x")
    assert words == {"word": "x"}
    assert str(words) == "<b>x</b>"
    assert json.loads(json.dumps(words)) == {"word": "x"}


def test_a_report_survives_pickle_and_copy():
    words = Words(word="x")
    for twin in (pickle.loads(pickle.dumps(words)), copy.deepcopy(words)):
        assert twin == words
        assert str(twin) == str(words)


def test_a_notebook_shows_text_and_never_markup():
    assert Words(word="x")._repr_html_() == "<pre>&lt;b&gt;x&lt;/b&gt;</pre>"


@pytest.mark.parametrize(
    "write",
    [report.percent, report.interval_percent, report.number2, report.interval2]
    + [report.points, report.interval_points, report.p_value, report.count],
)
def test_no_number_is_a_dash_and_not_a_zero(write):
    assert write(None) == "–"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (report.percent(0.794), "79%"),
        (report.percent(0.0), "0%"),
        (report.percent(-0.001), "0%"),
        (report.percent(0.9, n=9), "8 of 9"),
        (report.percent(0.9, n=10), "90%"),
        (report.number2(-0.004), "0.00"),
        (report.number2(-0.26), "−0.26"),
        (report.interval2((-0.06, 0.16)), "[−0.06, 0.16]"),
        (report.interval_points((-0.144, 0.004)), "[−14, 0]"),
        (report.p_value(0.0099), "p=.010"),
        (report.count(0), "0"),
        (report.count(1_234_567), "1,234,567"),
    ],
)
def test_numbers_are_written_as_the_pages_write_them(written, expected):
    assert written == expected
