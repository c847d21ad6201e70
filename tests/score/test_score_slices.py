"""Slices that were found by sorting (statistics.md 7): figures of the section, by simulation."""

import numpy as np
import pytest
from scipy.stats import betabinom, norm

from whileai_review.intervals import wilson
from whileai_review.score.slices import (
    Spread,
    bonferroni_level,
    find_slices,
    found_shares,
    quoted_worst,
    row_correlation,
    shrunken,
    spread_of,
    worst_words,
)

TP, FP, FN, TN = range(4)


def alone(hits, n):
    """Counts of a slice whose rows are tasks of their own."""
    return np.repeat([1, 0], [hits, n - hits]), np.ones(n, dtype=int)


def draw(rng, k, n, rate):
    return rng.binomial(n, np.broadcast_to(rate, k))


# What a search does, and what is left of it


@pytest.mark.simulation
def test_the_worst_of_14_slices_looks_bad_by_chance_and_is_pulled_back():
    # statistics.md 7: 14 slices with 8 failures each, all truly .50: the worst shows .79 on
    # average and in 39% of studies a Wilson bound lies above .50; of 30 slices in 66%.
    rng = np.random.default_rng(7)
    shown, again, plain, plain30 = [], [], 0, 0
    for _ in range(400):
        hits = draw(rng, 14, 8, 0.5)
        lines = found_shares([alone(x, 8) for x in hits], hits.sum() / 112)
        worst = max(lines, key=lambda line: line["excess"])
        shown.append(worst["value"])
        again.append(worst["expect_again"])
        plain += any(wilson(x, 8).low > 0.5 for x in hits)
        plain30 += any(wilson(x, 8).low > 0.5 for x in draw(rng, 30, 8, 0.5))
    assert np.mean(shown) == pytest.approx(0.79, abs=0.02)
    assert plain / 400 == pytest.approx(0.39, abs=0.06)
    assert plain30 / 400 == pytest.approx(0.66, abs=0.06)
    assert np.mean(again) == pytest.approx(0.50, abs=0.06)  # what new rows would show


@pytest.mark.simulation
def test_the_corrected_interval_leaves_out_the_truth_of_any_slice_in_at_most_5_percent():
    rng = np.random.default_rng(8)
    missed = stands_out = 0
    for _ in range(300):
        hits = draw(rng, 14, 40, 0.5)
        lines = found_shares([alone(x, 40) for x in hits], hits.sum() / 560)
        bounds = [quoted_worst(line) for line in lines]
        missed += any(not low <= 0.5 <= high for low, high in bounds)
        stands_out += any(line["stands_out"] for line in lines)
    assert missed / 300 <= 0.05 + 0.02  # two standard errors of 300 draws are 0.025
    assert stands_out / 300 <= 0.05


@pytest.mark.simulation
def test_expect_again_is_the_true_rate_of_the_slice_that_was_picked():
    # Rates that truly differ, beta(4.5, 4.5) (rho = .1): without shrinkage the worst is off by
    # more than ten points.
    rng = np.random.default_rng(9)
    shown, again, truth = [], [], []
    for _ in range(300):
        rates = rng.beta(4.5, 4.5, 20)
        hits = draw(rng, 20, 15, rates)
        lines = found_shares([alone(x, 15) for x in hits], hits.sum() / 300)
        worst = int(np.argmax([line["excess"] for line in lines]))
        shown.append(lines[worst]["value"])
        again.append(lines[worst]["expect_again"])
        truth.append(rates[worst])
    assert np.mean(shown) - np.mean(truth) > 0.08
    assert np.mean(again) == pytest.approx(np.mean(truth), abs=0.035)


@pytest.mark.simulation
def test_rollouts_of_a_task_are_not_taken_for_rows_of_their_own():
    # 12 slices of 6 tasks x 5 rollouts; a task passes or fails as a whole. Bonferroni over
    # row intervals would have some slice stand out in most studies.
    rng = np.random.default_rng(10)
    by_row = stands_out = 0
    again = []
    for _ in range(150):
        slices = [(5 * rng.binomial(1, 0.5, 6), np.full(6, 5)) for _ in range(12)]
        hits, sizes = (np.concatenate(part) for part in zip(*slices, strict=True))
        overall = hits.sum() / sizes.sum()
        lines = found_shares(slices, overall, row_correlation(hits, sizes))
        by_row += any(line["ci_worst"][0] > overall for line in lines)
        stands_out += any(line["stands_out"] for line in lines)
        again.append(max(line["expect_again"] for line in lines))
    assert by_row / 150 > 0.5
    assert stands_out / 150 <= 0.06
    assert np.mean(again) == pytest.approx(0.5, abs=0.08)


# Hand values


def test_the_corrected_interval_is_wilsons_at_a_14th_of_the_level():
    # Dunn 1961: alpha/k each; the quantile of scipy.
    z = norm.ppf(1 - 0.05 / 14 / 2)
    line = found_shares([alone(15, 20)] + [alone(10, 20)] * 13, 145 / 280)[0]
    assert bonferroni_level(14) == pytest.approx(1 - 0.05 / 14)
    assert line["ci_worst"] == pytest.approx(tuple(wilson(15, 20, z=z)))
    assert line["expected"] == pytest.approx(20 * 145 / 280)
    assert line["excess"] == pytest.approx(15 - 20 * 145 / 280)


def test_the_shrunken_rate_is_the_mean_of_the_beta_posterior():
    # beta(a, b) with a + b = 1/rho - 1, so the posterior mean is (x + a) / (n + a + b).
    a = b = (1 / 0.125 - 1) / 2
    assert shrunken(8, 8, Spread(0.5, 0.125)) == pytest.approx((8 + a) / (8 + a + b))
    assert shrunken(0, 0, Spread(0.3, 0.5)) == 0.3


def test_the_spread_of_drawn_slices_is_found_again():
    # scipy's beta-binomial with a = b = 2: rho = 1 / (a + b + 1) = 0.2.
    hits = betabinom(25, 2, 2).rvs(4000, random_state=3)
    found = spread_of(hits, [25] * 4000)
    assert found.rho == pytest.approx(0.2, abs=0.015)
    # The same rows parted by two fields: each field has a mean of its own to lose.
    twice = spread_of([*hits, *hits], [25] * 8000, [0] * 4000 + [1] * 4000)
    assert twice.rho == pytest.approx(found.rho)


def test_rate_and_base_rate_point_at_different_slices():
    # statistics.md 7: BIG 18 of 18 false passes, 18 of 108 passes; SMALL 39 of 51 and 39 of 96.
    big = [FP] * 18 + [TP] * 90 + [FN] * 6
    small = [FP] * 39 + [TN] * 12 + [TP] * 57
    cell = np.array(big + small)
    value_of = np.repeat([0, 1], [len(big), len(small)])
    found = find_slices(cell, np.arange(len(cell)), {"regime": (["BIG", "SMALL"], value_of)})
    lines = {line["value"]: line for line in found["slices"]}
    assert found["overall"] == {"false_pass": 57 / 69, "error": 57 / 204}
    assert lines["BIG"]["false_pass"]["excess"] == pytest.approx(18 - 18 * 57 / 69)  # +3.1
    assert lines["SMALL"]["error"]["excess"] == pytest.approx(39 - 96 * 57 / 204)  # +12.2
    assert found["slices"][found["worst"]["false_pass"]]["value"] == "BIG"
    assert found["slices"][found["worst"]["error"]]["value"] == "SMALL"
    said = worst_words(found, "error")
    assert said.startswith("Worst of 2 by reward given in error: regime = SMALL, 39 of 96 passes")
    assert "12.2 more than expected" in said and "corrected for 2: [3" in said


def some(n=60, seed=1):
    rng = np.random.default_rng(seed)
    cell, task = rng.integers(0, 4, n), np.arange(n) // 2
    return rng, cell, task


def coded(texts):
    values, value_of = np.unique(texts, return_inverse=True)
    return [str(v) for v in values], value_of


def test_a_field_that_repeats_verdict_or_label_is_left_out_and_said():
    rng, cell, task = some()
    judge, gold = np.isin(cell, [TP, FP]), np.isin(cell, [TP, FN])
    found = find_slices(
        cell,
        task,
        {
            "copy_of_judge": coded(np.where(judge, "yes", "no")),
            "copy_of_gold": coded(np.where(gold, "ok", "bad")),
            "constant": coded(["x"] * 60),
            "honest": coded(rng.choice(["a", "b", "c"], 60)),
        },
    )
    assert found["fields"] == ["honest"] and found["k"] == 3
    assert {each["field"]: each["why"] for each in found["left_out"]} == {
        "copy_of_judge": "repeats the judge’s verdict",
        "copy_of_gold": "repeats the label",
        "constant": "one value among the labelled rows",
    }
    assert "not searched: copy_of_gold (repeats the label)" in str(found)


def test_the_same_rows_under_two_names_are_one_slice_and_pay_once():
    rng, cell, task = some()
    letters = rng.choice(["a", "b"], 60)
    found = find_slices(
        cell, task, {"letter": coded(letters), "word": coded(np.char.add(letters, "x"))}
    )
    assert found["k"] == 2
    assert {line["value"]: line["same_as"] for line in found["slices"]} == {
        "a": [["word", "ax"]],
        "b": [["word", "bx"]],
    }


def test_the_named_field_is_not_searched():
    rng, cell, task = some()
    fields = {
        "named": coded(rng.choice(["a", "b"], 60)),
        "other": coded(rng.choice(list("cd"), 60)),
    }
    found = find_slices(cell, task, fields, named="named")
    assert (found["named"], found["fields"], found["k"]) == ("named", ["other"], 2)


def test_under_ten_rows_there_is_a_count_and_nothing_stands_out():
    line = found_shares([alone(9, 9), alone(0, 91)], 0.09)[0]
    assert not line["stands_out"] and line["excess"] == pytest.approx(9 - 0.81)
    cell = np.array([FP] * 5 + [TN] + [TN] * 20 + [TP] * 5)
    value_of = np.repeat([0, 1], [6, 25])
    said = worst_words(
        find_slices(cell, np.arange(31), {"f": (["x", "y"], value_of)}), "false_pass"
    )
    assert "f = x, 5 of 6 gold failures" in said and "Under 10 rows: a count, no rate." in said


def test_rows_of_one_task_never_stand_out():
    cell = np.array([FP] * 40 + [TN] * 40 + [TP, FN])
    task = np.array([0] * 40 + [*range(1, 41)] + [41, 42])
    found = find_slices(cell, task, {"f": (["x", "y"], np.repeat([0, 1], [40, 42]))})
    line = found["slices"][0]
    assert (line["value"], line["n_tasks"], line["false_pass"]["value"]) == ("x", 1, 1.0)
    assert not line["false_pass"]["stands_out"]
    assert "All of one task: it says nothing of others." in worst_words(found, "false_pass")


@pytest.mark.parametrize("cells", [[], [TP], [FP] * 12, [TN] * 12, [TP] * 6 + [FN] * 6])
def test_odd_gold_gives_a_report_and_no_error(cells):
    cell = np.array(cells, dtype=int)
    value_of = np.arange(len(cell)) % 2
    before = cell.copy()
    found = find_slices(cell, np.arange(len(cell)), {"f": (["x", "y"], value_of)})
    assert str(found) and (cell == before).all()
    assert found["worst"] == {"false_pass": None, "error": None}
    if not cells:
        assert "no row has both a verdict and a label" in str(found)


def test_a_report_is_plain_and_the_same_for_rows_in_another_order():
    rng, cell, task = some(200)
    letters = rng.choice(list("abcde"), 200)
    one = find_slices(cell, task, {"f": coded(letters)})
    order = rng.permutation(200)
    two = find_slices(cell[order], task[order], {"f": coded(letters[order])})
    assert one == two


def test_a_slice_of_false_passes_alone_is_asked_where_its_field_comes_from():
    cell = np.array([FP] * 12 + [TN] * 12 + [TP] * 6 + [FN])
    value_of = np.repeat([0, 1], [12, 19])
    said = worst_words(find_slices(cell, np.arange(31), {"f": (["x", "y"], value_of)}), "error")
    assert said.endswith(
        "Every row of it is a false pass: was this field written from the outcome?"
    )
    cell[0] = TP
    said = worst_words(find_slices(cell, np.arange(31), {"f": (["x", "y"], value_of)}), "error")
    assert "written from" not in said
