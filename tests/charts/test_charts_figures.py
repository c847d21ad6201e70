"""Figures without pixels: which traces, whether they say what the report says."""

import json
from pathlib import Path

import pytest

from whileai_review import judge_trust
from whileai_review.charts.checks import SHAPE, trust_checks
from whileai_review.charts.confusion import confusion_figure
from whileai_review.charts.coverage import coverage_bar, coverage_segments, coverage_words
from whileai_review.charts.slices import MOST_LINES, floor_words, slices_figure
from whileai_review.charts.theme import FAIL, HATCH, INK, PASS, UNCLEAR
from whileai_review.intervals import wilson

ROOT = Path(__file__).parent.parent.parent
HOSTILE = [
    '<a href="http://127.0.0.1:9/x">big</a>',
    "<b>bold</b><br>",
    "$x$ ![i](http://127.0.0.1:9/i.png)",
    "2024-01-02",
    "1e5",
    "007",
]


@pytest.fixture(scope="module")
def recipe():
    lines = (ROOT / "data/recipe/recipe-run-1.jsonl").read_text().splitlines()
    return judge_trust([json.loads(line) for line in lines])


@pytest.fixture(scope="module")
def nothing():
    return judge_trust([])


def slice_line(value, wrong, failures, n=None, passes=None):
    n, passes = n or failures, passes or failures
    return {
        "value": value,
        "n": n,
        "agreement": 1 - wrong / n,
        "agreement_ci95": wilson(n - wrong, n),
        "n_gold_fail": failures,
        "false_passes": wrong,
        "false_pass_rate": wrong / failures if failures else None,
        "false_pass_ci95": wilson(wrong, failures),
        "n_judge_pass": passes,
        "wrong_passes": wrong,
        "error_rate": wrong / passes if passes else None,
        "error_ci95": wilson(wrong, passes),
    }


# The recipe's table of the action item by regime: 18 of 18 [0.824, 1.000], 39 of 51
# [0.632, 0.860]; reward given in error 18 of 108, 39 of 96 (statistics.md 7).
REGIMES = {
    "field": "regime",
    "rows": [slice_line("SMALL", 39, 51, 108, 96), slice_line("BIG", 18, 18, 114, 108)],
}


def traces(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def notes(figure):
    return [note.text.replace("\u00a0", " ") for note in figure.layout.annotations]


def all_text(figure):
    """Every text of a figure that plotly reads as HTML."""
    ticks = figure.layout.yaxis.ticktext or ()
    hovers = [trace.hovertemplate for trace in figure.data if trace.hovertemplate]
    return [*notes(figure), *ticks, *hovers]


def test_the_two_bars_are_the_shares_of_the_report(recipe):
    figure = confusion_figure(recipe)
    shares = {trace.name: trace.x[0] for trace in figure.data}
    # tp=124 fp=58 fn=24 tn=15: of 148 gold passes, of 73 gold failures.
    expected = {"tp": 124 / 148, "fn": 24 / 148, "tn": 15 / 73, "fp": 58 / 73}
    assert shares == pytest.approx(expected)
    assert [trace.y[0] for trace in figure.data] == ["gold pass  148"] * 2 + ["gold fail  73"] * 2


def test_the_counts_stand_under_the_bars(recipe):
    assert notes(confusion_figure(recipe)) == [
        "124 judge passed (84%)",
        "<b>24 judge failed: false alarm (16%)</b>",
        "15 judge failed (21%)",
        "<b>58 judge passed: false pass (79%)</b>",
    ]


def test_only_the_wrong_pieces_are_orange_and_hatched(recipe):
    for trace in confusion_figure(recipe).data:
        wrong = trace.name in ("fn", "fp")
        assert trace.marker.color == (FAIL if wrong else PASS)
        assert trace.marker.pattern.shape == (HATCH["shape"] if wrong else None)
        assert not wrong or trace.marker.pattern.fillmode == "overlay"


def test_a_click_on_a_piece_gives_its_cell(recipe):
    figure = confusion_figure(recipe)
    assert [trace.customdata[0] for trace in figure.data] == ["tp", "fn", "tn", "fp"]


def test_marks_do_not_depend_on_the_theme_and_text_does(recipe):
    light, dark = confusion_figure(recipe), confusion_figure(recipe, dark=True)
    assert [t.marker.color for t in light.data] == [t.marker.color for t in dark.data]
    assert light.layout.yaxis.tickfont.color == INK[False]
    assert dark.layout.yaxis.tickfont.color == INK[True]


def test_an_empty_report_gives_a_figure_that_says_so(nothing):
    assert not confusion_figure(nothing).data
    assert "no row has both" in notes(confusion_figure(nothing))[0]
    assert not slices_figure({"rows": []}).data


def test_gold_of_one_class_says_that_the_other_is_not_measurable():
    report = judge_trust(
        [{"task_id": str(i), "reward": i % 2, "gold_reward": 1} for i in range(20)]
    )
    assert "not measurable: no such row has gold" in notes(confusion_figure(report))


def test_a_class_of_fewer_than_ten_shows_counts_and_no_rate():
    rows = [{"task_id": str(i), "reward": 1, "gold_reward": int(i > 5)} for i in range(30)]
    assert "<b>6 judge passed: false pass</b>" in notes(confusion_figure(judge_trust(rows)))


def test_a_forest_draws_rates_and_intervals_of_its_report():
    figure = slices_figure(REGIMES)
    assert [trace.x[0] for trace in traces(figure, "rate")] == pytest.approx([39 / 51, 1.0])
    small, big = (trace.x for trace in traces(figure, "interval"))
    assert small == pytest.approx([0.632, 0.860], abs=0.0005)
    assert big == pytest.approx([0.824, 1.0], abs=0.0005)


def test_the_numbers_stand_in_a_column_at_the_right():
    assert notes(slices_figure(REGIMES)) == [
        " 76% [63, 86]  39 of 51",
        "100% [82, 100] 18 of 18",
    ]
    assert notes(slices_figure(REGIMES, "error")) == [
        " 41% [31, 51]  39 of 96",
        " 17% [11, 25]  18 of 108",
    ]
    assert slices_figure(REGIMES).layout.margin.r > 200


def test_a_mark_points_down_only_when_its_whole_interval_is_over_the_limit():
    report = {
        "rows": [slice_line("bad", 30, 40), slice_line("good", 0, 60), slice_line("?", 3, 20)]
    }
    marks = [trace.marker for trace in traces(slices_figure(report), "rate")]
    assert [mark.symbol for mark in marks] == ["triangle-down", "triangle-up", "circle-open"]
    assert [mark.color for mark in marks] == [FAIL, PASS, UNCLEAR]


@pytest.mark.parametrize(("failures", "drawn"), [(9, 0), (10, 1)])
def test_under_ten_there_is_a_count_and_no_rate(failures, drawn):
    figure = slices_figure({"rows": [slice_line("few", 5, failures)]})
    assert len(traces(figure, "rate")) == drawn
    assert f"5 of {failures}" in notes(figure)[0]
    assert ("%" in notes(figure)[0]) == bool(drawn)


def test_a_slice_without_failures_is_not_measured_in_words():
    figure = slices_figure({"rows": [slice_line("calm", 0, 0, n=30)]})
    assert notes(figure) == ["not measured: none here"]


def test_all_rows_come_first_and_apart():
    figure = slices_figure(REGIMES | {"all": slice_line("all rows", 57, 69)})
    assert list(figure.layout.yaxis.tickvals) == ["line 0", "line 2", "line 3"]
    assert figure.layout.yaxis.ticktext[0] == "all rows"


def test_agreement_shows_where_a_judge_that_always_passes_would_be():
    report = {"rows": [slice_line("BIG", 24, 114) | {"always_pass": 96 / 114}]}
    assert traces(slices_figure(report, "agreement"), "always pass")[0].x[0] == 96 / 114
    assert not traces(slices_figure(report), "always pass")


@pytest.mark.parametrize("measure", ["false_pass", "error", "agreement"])
def test_names_are_text_on_a_category_axis(measure):
    report = {"rows": [slice_line(name, 30, 60) for name in HOSTILE]}
    figure = slices_figure(report, measure)
    assert figure.layout.yaxis.type == "category"
    assert not any("<a" in text or "<b>" in text for text in all_text(figure))
    shown = figure.layout.yaxis.ticktext
    assert shown[0].startswith("&lt;a href=")
    assert list(shown[3:]) == ["2024-01-02", "1e5", "007"]
    assert [t.customdata[0] for t in traces(figure, "rate")] == HOSTILE


def test_a_field_of_many_values_does_not_become_an_endless_figure():
    report = {"rows": [slice_line(f"v{i}", 3, 12) for i in range(100)]}
    assert len(slices_figure(report).layout.yaxis.ticktext) == MOST_LINES


def test_the_rule_in_a_figure_is_explained_where_there_is_one():
    assert floor_words("agreement") == "line at 80%: the floor"


def test_no_text_of_an_axis_reads_as_a_number():
    # Plotly takes an annotation at y="0" for position 0 and not for the category "0".
    figure = slices_figure({"rows": [slice_line("0", 30, 60), slice_line("1", 20, 60)]})
    assert [note.y for note in figure.layout.annotations] == list(figure.layout.yaxis.tickvals)
    assert not any(str(note.y).isdecimal() for note in figure.layout.annotations)


def test_the_bar_of_coverage_is_as_long_as_its_rows():
    coverage = {"random": 63, "imported": 0, "picked": 5, "unblinded": 2, "unclear": 2, "none": 290}
    parts = [(part.key, n) for part, n in coverage_segments(coverage)]
    assert parts == [("random", 63), ("picked", 5), ("unclear", 2), ("none", 290)]
    assert "height:8px" in coverage_bar(coverage)
    assert [f"flex:{n} " in coverage_bar(coverage) for n in (63, 5, 2, 290)] == [True] * 4
    assert coverage_words({}) == "no rows"


def test_labels_of_a_rule_are_not_said_to_be_drawn():
    assert coverage_words({"random": 60}, "program") == "60 gold, by a rule"
    assert coverage_words({"random": 60}, "human") == "60 gold, drawn"


def test_an_interval_of_many_rows_has_the_decimals_of_its_share():
    # Wilson for 2,000 of 10,000 by hand: 19.2% to 20.8%; whole percents gave "20% [19, 21]".
    figure = slices_figure({"rows": [slice_line("much", 2_000, 10_000)]})
    (text,) = notes(figure)
    assert text.startswith("20.0% [19.2, 20.8] 2,000 of 10,000")
    narrow = slices_figure({"rows": [slice_line("few", 20, 100)]})
    assert figure.layout.margin.r > narrow.layout.margin.r
    rows = [{"task_id": str(i), "reward": i % 5 > 0, "gold_reward": 1} for i in range(10_000)]
    found = lines(judge_trust([row | {"reward": int(row["reward"])} for row in rows]))
    assert found["Agreement"][:2] == ("80.0%", "[79.2, 80.8]")


def lines(report):
    return {
        c.name: (c.value, c.interval, c.floor, c.n, SHAPE.get(c.way, ""))
        for c in trust_checks(report)
    }


def test_the_table_of_checks_reads_as_the_recipe(recipe):
    # statistics.md 2 (kappa's low bound: its bootstrap -0.07, ours -0.08); agreement, reward in
    # error, J and the constant with the wider interval of section 5, by task.
    assert lines(recipe) == {
        "Agreement": ("63%", "[56, 70]", "≥ 80%", "221", "▼"),
        "Kappa": ("0.05", "[−0.08, 0.17]", "≥ 0.60", "221", "▼"),
        "Catches failures (TNR)": ("21%", "[13, 31]", "≥ 90%", "73", "▼"),
        "Passes passes (TPR)": ("84%", "[77, 89]", "", "148", ""),
        "J = TPR + TNR − 1": ("0.04", "[−0.07, 0.16]", "> 0", "221", "○"),
        "Reward given in error": ("32%", "[25, 40]", "", "182", ""),
        "Always “pass”": ("67%", "[60, 73]", "", "221", "○"),
        "Length gap": ("30%", "[18, 41]", "< 15%", "221", "▼"),
    }


def test_the_constant_judge_is_compared_by_a_paired_test(recipe):
    note = next(c.note for c in trust_checks(recipe) if c.name.startswith("Always"))
    assert note == "+4 points [−2, +10] against the judge, p=.20"


def test_nothing_measured_shows_no_number_and_no_shape(nothing):
    table = lines(nothing)
    assert {value for value, *_ in table.values()} == {"–"}
    assert {shape for *_, shape in table.values()} == {""}


def test_every_check_explains_itself(recipe):
    assert all(len(check.help) > 80 for check in trust_checks(recipe))
