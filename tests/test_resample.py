"""The task bootstrap: its distribution, its edges, its coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review import resample
from whileai_review.score.agreement import kappa_of


def test_cells_count_each_tasks_rows():
    task, cell = np.array([0, 2, 0, 2, 2]), np.array([1, 3, 1, 0, 3])
    # By hand: task 0 twice in cell 1; task 1 has no row; task 2 in cells 0, 3, 3.
    expected = [[0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 0, 2]]
    assert resample.task_cells(task, cell, 4, 3).tolist() == expected


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=12))
def test_totals_are_sums_over_as_many_tasks(vectors):
    vectors = np.array(vectors)
    totals = resample.bootstrap_totals(vectors, n_boot=50)
    assert totals.shape == (50, 2)
    assert (totals >= len(vectors) * vectors.min(axis=0)).all()
    assert (totals <= len(vectors) * vectors.max(axis=0)).all()


def test_drawing_distinct_vectors_is_the_same_distribution_as_drawing_tasks():
    rng = np.random.default_rng(1)
    vectors = rng.integers(0, 3, size=(40, 4))
    drawn = vectors[rng.integers(0, 40, size=(20_000, 40))].sum(axis=1)
    totals = resample.bootstrap_totals(vectors, n_boot=20_000)
    # Mean and covariance over 20,000 draws: standard errors near 0.04 and 0.3.
    assert totals.mean(axis=0) == pytest.approx(drawn.mean(axis=0), abs=0.25)
    assert np.cov(totals.T) == pytest.approx(np.cov(drawn.T), abs=2.0)


def test_fractional_and_many_distinct_vectors_are_drawn_in_chunks(monkeypatch):
    vectors = np.random.default_rng(2).normal(size=(300, 2))
    whole = resample.bootstrap_totals(vectors, n_boot=40)
    monkeypatch.setattr(resample, "MAX_CELLS", 3000)
    assert resample.bootstrap_totals(vectors, n_boot=40) == pytest.approx(whole)


def test_equal_seeds_give_equal_draws():
    vectors = np.eye(4, dtype=int)
    assert (resample.bootstrap_totals(vectors, 9) == resample.bootstrap_totals(vectors, 9)).all()
    other = resample.bootstrap_totals(vectors, 9, seed=5)
    assert (resample.bootstrap_totals(vectors, 9) != other).any()


def test_an_interval_of_constant_draws_is_that_constant():
    """Scipy #14804: a NaN interval for constant data."""
    assert resample.percentile_interval(np.zeros(100)) == (0.0, 0.0)


def test_no_interval_where_the_statistic_is_mostly_undefined():
    draws = np.array([np.nan] * 60 + [0.5] * 40)
    assert resample.percentile_interval(draws) is None
    assert resample.percentile_interval(np.array([])) is None
    assert resample.percentile_interval(draws[20:]) == (0.5, 0.5)


def test_no_tasks_give_empty_totals():
    assert resample.bootstrap_totals(np.zeros((0, 4), dtype=int), 5).tolist() == [[0.0] * 4] * 5


@pytest.mark.simulation
def test_the_task_bootstrap_of_kappa_covers_the_true_value():
    # 300 studies of 60 tasks x 3 rollouts; a task's rollouts share its difficulty, so rows
    # of a task are dependent. True kappa from a study of 400,000 tasks.
    rng = np.random.default_rng(11)

    def study(n_tasks):
        hard = rng.random(n_tasks) < 0.3
        gold = rng.random((n_tasks, 3)) < np.where(hard, 0.3, 0.8)[:, None]
        right = rng.random((n_tasks, 3)) < np.where(hard, 0.6, 0.9)[:, None]
        judge = np.where(right, gold, ~gold)
        cell = np.where(judge, np.where(gold, 0, 1), np.where(gold, 2, 3))
        return np.stack([(cell == c).sum(axis=1) for c in range(4)], axis=1)

    true = kappa_of(study(400_000).sum(axis=0))
    hits = 0
    for i in range(300):
        draws = kappa_of(resample.bootstrap_totals(study(60), 400, seed=i))
        low, high = resample.percentile_interval(draws)
        hits += low <= true <= high
    # 95% nominal; 300 studies have a standard error of 1.3 points.
    assert 0.90 <= hits / 300 <= 0.985
