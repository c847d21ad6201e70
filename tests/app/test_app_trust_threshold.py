"""A judge that gives scores on the Trust page: thresholds, and declaring one."""

import json
import os
from pathlib import Path

import pytest
from app_pages import open_page

from whileai_review import load, work
from whileai_review.store import open_store
from whileai_review.work.trust_report import trust_html

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def put(db, tmp_path):
    """Load rows of (score, gold), a task each, labelled by people where gold is there."""

    def put(pairs, labelled=True):
        path = tmp_path / "run.jsonl"
        rows = [
            {"scenario_id": f"t{i}", "prompt": "a", "final_text": f"r{i}", "score": s, "gold": g}
            for i, (s, g) in enumerate(pairs)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        mapping = {"reward": "score"} | ({"gold_reward": "gold"} if labelled else {})
        origins = {"gold_reward": {"kind": "human"}} if labelled else None
        with open_store(db) as store:
            work.load_file(
                store, path, mapping=load.Mapping(mapping), origins=origins, grader="help"
            )

    return put


def page(person="Ana", **params):
    return open_page("trust", person, **params)


def words(at):
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    return " ".join(parts).replace("\u2060", "")


# Passes score 3, 4 or 5, failures 1, 2 or 3.
CLEAR = [(3 + i % 3 if i % 2 else 1 + i % 3, i % 2) for i in range(120)]


def test_a_judge_of_verdicts_has_no_such_section(put):
    put([(i % 2, i // 2 % 2) for i in range(40)])
    assert "From which score on" not in words(page())


def test_a_score_is_read_at_each_threshold_and_chosen_on_half_a(put):
    put(CLEAR)
    at = page()
    said = words(at)
    assert "From which score on does a reply pass?" in said
    assert "help gives scores from 1 to 5. Without a threshold 100 of 120 labelled rows" in said
    assert "20 rows with a score of exactly 0 or 1 were read as fail or pass" in said
    assert "On half a:" in said and "on half b (" in said
    # Passes are 3, 4, 5 in turn, failures 1, 2, 3: at 3 J is 1 + 2/3 - 1, at 4 it is 2/3 + 1 - 1;
    # halves are of different make, so either may be chosen.
    assert at.selectbox(key="address_threshold").value in ("3", "4")
    at.selectbox(key="address_threshold").set_value("5").run()
    assert not at.exception
    assert "Looking at several thresholds on half b" in words(at)
    assert at.query_params["threshold"] == "5"


def test_declaring_makes_a_judge_that_is_measured_on_what_did_not_choose_it(put, db):
    put(CLEAR)
    at = page(threshold="4")
    at.button(key="wr_declare_threshold").click().run()
    assert not at.exception
    said = words(at)
    assert "help ≥ 4" in said
    assert (
        "A declared threshold: a row passes where the score of help is at least 4; by Ana" in said
    )
    assert "of tasks that were looked at to choose it are left out of the figures below" in said
    assert "From which score on" not in said
    with open_store(db) as store:
        run = store.runs()[0]
        made = next(g for g in store.run(run["id"])["graders"] if g["name"] == "help ≥ 4")
        assert (run["grader_id"], made["declared_by"]) == (made["id"], "Ana")
        assert work.trust(store, run["id"])["agreement"]["n"] < 120
        store.choose(run["id"], grader=made["scores_of"])
    assert "Declared: help ≥ 4, by Ana on" in words(page())


def test_who_is_not_known_gives_a_name(put):
    put(CLEAR)
    at = page(person="reader")  # whom the app calls so it does not know
    at.button(key="wr_declare_threshold").click().run()
    assert not at.exception
    assert "Say who declares it" in words(at)
    at.text_input(key="wr_threshold_by").set_value("Lea").run()
    at.button(key="wr_declare_threshold").click().run()
    assert "by Lea" in words(at)


@pytest.mark.parametrize(
    ("pairs", "labelled", "said"),
    [
        (CLEAR, False, "None is chosen: no row has both a score and a label"),
        ([(s, 1) for s, _ in CLEAR], True, "None is chosen: each of the 120 labelled rows passes"),
        ([(4, g) for _, g in CLEAR], True, "No threshold: every score is 4"),
        ([(s, 1 - g) for s, g in CLEAR], True, "does a high score mean a fail?"),
    ],
)
def test_odd_labels_and_scores_are_said(put, pairs, labelled, said):
    put(pairs, labelled)
    assert said in words(page(threshold="nonsense"))


def test_without_a_label_nothing_is_said_of_labelled_rows(put):
    put(CLEAR, labelled=False)
    said = words(page())
    assert "help gives scores from 1 to 5." in said
    assert "labelled rows are left out" not in said


def test_scores_of_a_scale_get_no_verdict_before_a_threshold_says_which_pass(put):
    # An exact 1, the lowest score, was read as a pass: the page said that the judge fails.
    put(CLEAR)
    said = words(page())
    assert "NOT MEASURED" in said and "FAILS" not in said.split("From which score on")[0]
    assert "The judge gives scores above 1, and no threshold says which pass." in said
    assert "Declare from which score on a reply passes." in said
    assert "Catches failures" not in said and "How much of this run passes?" not in said
    with open_store(os.environ["WHILEAI_REVIEW_DB"]) as store:
        written = trust_html(store, 1)
    assert "no threshold says which pass" in written and "Catches failures" not in written
