"""What people agree with each other: by hand, and with statsmodels' Fleiss' kappa."""

import copy
import random
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

from whileai_review import judge_trust
from whileai_review.score._columns import people_votes
from whileai_review.score.people import people_agreement, people_words


def votes_of(*rows):
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


TEN = votes_of(
    (0, 2, 0), (0, 2, 0), (1, 2, 0), (1, 1, 1), (2, 2, 0), (2, 0, 2), (3, 2, 0), (3, 1, 1),
    (4, 0, 2), (4, 0, 2),
)  # fmt: skip
"""Ten rows of five tasks, two people each: five both pass, three both fail, two split."""


def test_two_people_by_hand():
    """8 of 10 agree; 12 of 20 verdicts pass, so chance is .36 + .16; Scott's pi = .28 / .48."""
    found = people_agreement(TEN)
    assert (found["value"], found["n"], found["n_tasks"]) == (0.8, 10, 5)
    assert found["kappa"] == pytest.approx(0.28 / 0.48)
    assert found["ci95"] == pytest.approx(proportion_confint(8, 10, method="wilson"))
    # By task: s = 2 1 2 1 2 of 2 each, sum (s - 1.6)^2 = 1.2, V = 5/4 x 1.2 / 100 = .015 < .016.
    q = student.ppf(0.975, 4)
    centre = (0.8 + q * q / 20) / (1 + q * q / 10)
    half = q / (1 + q * q / 10) * sqrt(0.016 + q * q / 400)
    assert found["deff"] == 1.0
    assert found["ci95_tasks"] == pytest.approx((centre - half, centre + half))
    low, high = found["kappa_ci95"]
    assert low < found["kappa"] < high <= 1


def test_tasks_on_which_all_differ_make_a_row_worth_less():
    """Six tasks of three rows, people split on all rows of two: deff 3.6, as of verdicts."""
    found = people_agreement(votes_of(*[(t, 2, 0) if t < 4 else (t, 1, 1) for t in range(6)] * 3))
    assert found["value"] == 12 / 18 and found["deff"] == pytest.approx(3.6)
    assert found["ci95_tasks"][0] < found["ci95"][0]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.integers(0, k).map(lambda p: (p, k - p)), min_size=2, max_size=40)
    )
)
def test_kappa_is_fleiss_kappa(rows):
    table = np.array(rows)
    found = people_agreement(votes_of(*[(i, *row) for i, row in enumerate(rows)]))
    k = table.sum(axis=1)[0]
    agreeing = (table * (table - 1)).sum(axis=1) / (k * (k - 1))
    assert found["value"] == pytest.approx(agreeing.mean())
    if table.sum(axis=0).all():
        assert found["kappa"] == pytest.approx(fleiss_kappa(table, method="fleiss"))
    else:
        assert found["kappa"] == 1.0 and found["kappa_ci95"] is None


def test_a_row_counts_once_however_many_labelled_it():
    """Shares 1/3 (two of three pass) and 1 (two of two): their mean is 2/3, not 2 of 4 pairs."""
    found = people_agreement(votes_of((0, 2, 1), (1, 2, 0)))
    assert found["value"] == pytest.approx(2 / 3) and found["n"] == 2
    assert found["kappa_ci95"] is None  # two tasks
    low, high = proportion_confint(4 / 3, 2, method="wilson")
    assert found["ci95"] == pytest.approx((low, high))


def test_the_order_of_rows_and_numbers_of_tasks_change_nothing():
    votes = votes_of((7, 2, 1), (7, 1, 1), (3, 4, 1), (9, 0, 2), (3, 2, 3), (1, 2, 0))
    before = votes.copy()
    found = people_agreement(votes)
    assert (votes == before).all()
    for seed in range(5):
        order = list(range(len(votes)))
        random.Random(seed).shuffle(order)
        moved = votes[order]
        moved[:, 0] = 5 + 3 * moved[:, 0]
        assert people_agreement(moved) == found


def test_the_interval_holds_the_truth():
    """50 tasks of 3 rows, ICC of agreement .4, two people who agree on 80%: 95% of 400 studies."""
    rng, hits = np.random.default_rng(1), 0
    a, b = 0.8 * 1.5, 0.2 * 1.5  # beta with ICC 1 / (1 + a + b) = .4
    for _ in range(400):
        share = rng.beta(a, b, 50)
        agree = rng.random((50, 3)) < share[:, None]
        passes = rng.random((50, 3)) < 0.6
        first = np.where(agree, np.where(passes, 2, 0), 1)
        task = np.repeat(np.arange(50), 3)
        found = people_agreement(np.stack([task, first.ravel(), 2 - first.ravel()], axis=1))
        low, high = found["ci95_tasks"]
        hits += low <= 0.8 <= high
    assert 0.92 <= hits / 400 <= 0.98


def label(annotator, said, kind="human", **more):
    return {"label": said, "annotator": annotator, "kind": kind, **more}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([label("ana", 1), label("bo", 0)], (1, 1)),
        ([label("ana", 1), label("bo", 1), label("cy", 0)], (2, 1)),
        ([label("ana", 1), label("ana", 0)], None),
        ([label("ana", 1, ts=2), label("ana", 0, ts=1), label("bo", 1)], (2, 0)),
        ([label("ana", 1), label("rule", 0, "program")], None),
        ([label("ana", 1), label("gpt", 0, "model"), label("bo", 0)], (1, 1)),
        ([label(None, 1), label("", 0)], None),
        ([label("ana", 1), label("bo", 0.5)], None),
        ([label("ana", 1), {"label": 1, "annotator": "bo"}], None),
        ([], None),
        ("no list", None),
        ([None, 3], None),
    ],
    ids=["two", "three", "one twice", "the later", "a rule", "a model beside", "unsigned",
         "a fraction", "no kind", "empty", "text", "junk"],
)  # fmt: skip
def test_who_counts_as_people(labels, expected):
    assert people_votes({"gold_labels": labels}) == expected


def rows(n_agree=40, n_split=10, third=False):
    """Two people a row; where they split the rule decides, so that the row keeps its gold."""
    out = []
    for i in range(n_agree + n_split):
        said = (i % 2, i % 2 if i < n_agree else 1 - i % 2)
        out.append(
            {"task_id": f"t{i // 2}", "reward": i % 2, "gold_reward": i % 2, "gold_kind": "human",
             "gold_labels": [label("ana", said[0]), label("bo", said[1])]}
        )  # fmt: skip
    return out


def test_the_report_has_it_and_prints_it():
    own = rows()
    before = copy.deepcopy(own)
    report = judge_trust(own)
    assert own == before
    people = report["people"]
    assert (people["value"], people["n"], people["n_tasks"]) == (0.8, 50, 25)
    line = str(report).splitlines()[-1]
    assert line.startswith("people agree 80% [")
    assert "kappa 0.60 [" in line and "n=50 rows, 25 tasks" in line
    assert line.endswith(": a judge’s ceiling")


def test_a_floor_that_people_do_not_reach_is_said():
    words = people_words(judge_trust(rows(25, 25))["people"], 0.8)
    assert words.endswith(": under the floor of 80%")


def test_where_nobody_labelled_twice_nothing_is_said():
    own = rows()
    for row in own:
        row["gold_labels"] = row["gold_labels"][:1]
    report = judge_trust(own)
    assert report["people"] is None and "people agree" not in str(report)
    assert judge_trust([])["people"] is None and people_words(None, 0.8) == ""
