"""The strip plot of a score: as many dots as there are rows, on their scores, in their band."""

import pytest

from whileai_review.charts.strip import rows_a_dot, strip_figure, strip_words


def report(*bins):
    scores = [score for score, _, _ in bins]
    return {
        "bins": [{"score": s, "pass": p, "fail": f} for s, p, f in bins],
        "low": min(scores, default=None),
        "high": max(scores, default=None),
    }


def dots(figure, name):
    trace = next(each for each in figure.data if each.name == name)
    return sorted(trace.x), list(trace.y)


def test_each_labelled_row_is_a_dot_over_its_score():
    figure = strip_figure(report((1, 0, 2), (2, 1, 1), (3, 3, 0)), 3)
    x, y = dots(figure, "gold pass")
    assert x == [2, 3, 3, 3] and all(1 < place < 2 for place in y) and len(set(y)) == 3
    x, y = dots(figure, "gold fail")
    assert x == [1, 1, 2] and all(0 < place < 1 for place in y)
    assert list(figure.layout.yaxis.ticktext) == ["gold pass  4", "gold fail  3"]
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3"]
    # The cut is drawn between 2 and 3, so that no dot lies on it.
    assert figure.layout.shapes[-1].x0 == 2.5
    assert "≥ 3 passes" in [each.text for each in figure.layout.annotations]


def test_many_rows_share_a_dot_and_none_is_lost_or_leaves_its_band():
    many = report((0.1, 1, 100), (0.2, 37, 0))
    assert rows_a_dot(many) == 9  # 100 rows on 12 dots
    figure = strip_figure(many, 0.15)
    assert len(dots(figure, "gold fail")[0]) == 12 and max(dots(figure, "gold fail")[1]) < 1
    assert dots(figure, "gold pass")[0].count(0.1) == 1  # one row still has a dot
    assert "a dot is up to 9 labelled rows" in strip_words(many)
    trace = next(each for each in figure.data if each.name == "gold fail")
    assert trace.text[0] == "score 0.1: 100 rows, gold fail"


@pytest.mark.parametrize("dark", [False, True])
def test_without_labelled_scores_there_is_a_sentence(dark):
    figure = strip_figure(report(), 3, dark)
    assert "no labelled row has a score" in figure.layout.annotations[0].text
