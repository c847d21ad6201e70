"""Figures as SVG: marks where the numbers say, words of the report, and no verdict too early."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from whileai_review import judge_trust
from whileai_review.charts import svg
from whileai_review.charts.theme import FAIL, PASS, UNCLEAR

ROOT = Path(__file__).parent.parent.parent
NS = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def recipe():
    lines = (ROOT / "data/recipe/recipe-run-1.jsonl").read_text().splitlines()
    return judge_trust([json.loads(line) for line in lines])


def parsed(text):
    return ElementTree.fromstring(text)


def words(root):
    return [(element.text or "").replace("\u00a0", " ") for element in root.iter(f"{NS}text")]


def bars(root):
    return [
        (float(r.get("x")), float(r.get("width")), r.get("fill"))
        for r in root.iter(f"{NS}rect")
        if r.get("fill") in (PASS, FAIL)
    ]


def test_the_two_bars_are_each_class_of_gold(recipe):
    """124 of 148 gold passes, 15 of 73 gold failures: the parts of each fill the same length."""
    root = parsed(svg.confusion_svg(recipe, alone=True))
    upper, lower = bars(root)[:2], bars(root)[2:]
    whole = upper[0][1] + upper[1][1]
    assert upper[0][1] / whole == pytest.approx(124 / 148, abs=1e-3)
    assert lower[0][1] / whole == pytest.approx(15 / 73, abs=1e-3)
    assert lower[0][1] + lower[1][1] == pytest.approx(whole, abs=0.2)
    assert [fill for _, _, fill in upper + lower] == [PASS, FAIL, PASS, FAIL]
    assert "58 judge passed: false pass (79%)" in words(root)
    assert "24 judge failed: false alarm (16%)" in words(root)


def test_the_checks_stand_where_their_numbers_are(recipe):
    root = parsed(svg.checks_svg(recipe, alone=True))
    lines = [
        (line.get("x1"), line.get("x2"), line.get("stroke"))
        for line in root.iter(f"{NS}line")
        if line.get("stroke-width") == "2"
    ]
    share = [(float(x) - svg.NAMES_PX) / svg.AXIS_PX for x in lines[0][:2]]
    low = min(recipe["agreement"]["ci95"][0], recipe["agreement"]["ci95_tasks"][0])
    high = max(recipe["agreement"]["ci95"][1], recipe["agreement"]["ci95_tasks"][1])
    assert share == [pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3)]
    # Agreement, TNR and kappa miss their floors; TPR and reward in error have none, J straddles.
    assert [stroke for _, _, stroke in lines] == [FAIL, FAIL, UNCLEAR, UNCLEAR, FAIL, UNCLEAR]
    assert any(re.match(r" *63% \[\d+, \d+\] +n=221", text) for text in words(root))


def test_an_interim_figure_has_the_colour_of_no_verdict(recipe):
    text = svg.checks_svg({**recipe, "interim": {"planned": 300}}, alone=True)
    assert FAIL not in text and PASS not in text and "<polygon" not in text


def slice_line(value, wrong, failures, interval):
    return {"value": value, "n": failures, "n_gold_fail": failures, "false_passes": wrong,
            "false_pass_rate": wrong / failures if failures else None,
            "false_pass_ci95": interval, "false_pass_ci95_tasks": None,
            "n_judge_pass": failures, "wrong_passes": wrong}  # fmt: skip


def test_a_slice_of_few_rows_is_a_count_and_columns_stand_below_each_other():
    found = {
        "field": "regime",
        "rows": [
            slice_line("BIG", 19, 20, (0.74, 0.99)),
            slice_line("few", 8, 8, (0.6, 1)),
            slice_line("empty", 0, 0, None),
        ],
    }
    root = parsed(svg.slices_svg(found, alone=True))
    numbers = [text for text in words(root) if " of " in text or "measured" in text]
    assert numbers == ["  95% [74, 99]      19 of 20", "too few             8 of 8",
                       "not measured: none here"]  # fmt: skip
    assert len(list(root.iter(f"{NS}polygon"))) == 1


def test_a_long_name_is_cut_and_is_whole_in_its_tooltip():
    found = {"field": "f", "rows": [slice_line("n" * 200, 19, 20, (0.74, 0.99))]}
    root = parsed(svg.slices_svg(found, alone=True))
    assert words(root)[3] == "n" * (svg.NAME_CHARS - 1) + "…"
    assert next(root.iter(f"{NS}title")).text == "n" * 200


def test_more_slices_than_fit_are_left_out():
    lines = [slice_line(f"v{n}", 19, 20, (0.74, 0.99)) for n in range(500)]
    root = parsed(svg.slices_svg({"field": "f", "rows": lines}, alone=True))
    assert len(list(root.iter(f"{NS}polygon"))) == svg.MOST_LINES


@pytest.mark.parametrize("draw", [svg.confusion_svg, svg.checks_svg])
def test_without_gold_a_figure_says_so(draw):
    text = "No row has both a verdict of the judge and a gold label."
    assert words(parsed(draw(judge_trust([]), alone=True))) == [text]


def test_a_class_of_gold_without_a_row():
    rows = [{"prompt": f"p{n}", "final_text": "r", "reward": 1, "gold_reward": 1, "gold_kind": "human"}
            for n in range(20)]  # fmt: skip
    report = judge_trust(rows)
    assert "not measurable: no such row has gold" in words(parsed(svg.confusion_svg(report, True)))
    assert "not measured" in words(parsed(svg.checks_svg(report, True)))
