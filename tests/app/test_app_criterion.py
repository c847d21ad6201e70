"""One criterion through the pages: draw, answer, then Trust and Queue speak of it."""

from pathlib import Path

import pytest
from app_pages import open_page

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
RECIPE = ROOT / "data/recipe/recipe-run-1.jsonl"


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "review.db"
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(path))
    with open_store(path) as opened:
        mapping = Mapping({"reward": "reward", "reward:action": "judge_action"})
        work.load_file(opened, RECIPE, mapping=mapping, name="recipe", grader="judge")
        yield opened


def page(name, **params):
    return open_page(name, **params)


def words(at):
    assert not at.exception, at.exception
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    parts += [each.label.replace("\\", "") for each in at.button]
    return " ".join(parts).replace("\u2060", "")


def answer_all(store, queue):
    while (following := store.next_row(queue["id"], "Ana")) is not None:
        row_id = following["row_id"]
        verdict = "pass" if store.row(row_id)["row"]["gold_action"] else "fail"
        work.answer(store, queue["id"], "Ana", row_id, verdict, f"{row_id}", shown_ms=4_000)


def test_a_queue_is_drawn_on_a_criterion_and_the_row_says_what_is_asked(store):
    at = page("label")
    box = at.selectbox(key="draw_criterion_1")
    assert (box.value, box.options) == ("overall", ["overall", "action"])
    box.set_value("action").run()
    at.selectbox(key="draw_how").set_value("census").run()
    next(b for b in at.button if b.label.startswith("Label ")).click().run()
    (queue,) = store.queues()
    assert (queue["criterion"], queue["n"]) == ("action", 222)
    said = words(page("label", queue=queue["id"]))
    assert "**criterion: action**" in said
    assert "criterion: action" in words(page("label"))  # in the list of queues too


def test_the_overall_question_is_asked_without_a_word_more(store):
    queue = work.draw_queue(store, 1, "random", 3)
    assert "criterion" not in words(page("label", queue=queue["id"]))


def test_a_hostile_criterion_is_text(store):
    evil = "![t](http://127.0.0.1:9/t.png) <b>"
    queue = work.draw_queue(store, 1, "random", 3, criterion=evil)
    for at in (page("label", queue=queue["id"]), page("label"), page("trust", run=1)):
        assert not any("![" in m.value for m in at.markdown)
        assert not any("![" in b.label for b in at.button)
        assert "<b>" not in " ".join(b.proto.body for b in at.get("html"))


def test_after_the_last_answer_trust_and_queue_are_one_press_away_on_that_criterion(store):
    queue = work.draw_queue(store, 1, "census", criterion="action")
    answer_all(store, queue)
    at = page("label", queue=queue["id"])
    at.button(key="wr_measure_criterion").click().run()
    assert store.run(1)["criterion"] == "action"
    said = words(page("trust", run=1))
    assert "Misses 83% of failures" in said
    assert "57" in said
    said = words(page("queue", run=1))
    assert "57 false passes, 6 false alarms." in said
    # Its own criterion is picked now: the plain link is enough.
    assert not any(b.key == "wr_measure_criterion" for b in page("label", queue=queue["id"]).button)


def test_peoples_labels_beside_a_rules_are_what_trust_shows_after_the_last_answer(
    tmp_path, monkeypatch
):
    path = tmp_path / "demo.db"
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(path))
    with open_store(path) as store:
        mapping = Mapping({"reward": "reward", "gold_reward": "gold_reward"})
        origins = {"gold_reward": {"kind": "program", "annotator": "rule:recipe"}}
        work.load_file(store, RECIPE, mapping=mapping, origins=origins, name="recipe", grader="j")
        queue = work.draw_queue(store, 1, "random", 12)
        answer_all(store, queue)
        assert "n=221 rows" in words(page("trust", run=1))
        at = page("label", queue=queue["id"])
        assert "Trust rests on a rule’s labels now" in words(at)
        at.button(key="wr_measure_people").click().run()
        assert store.run(1)["gold"] == "human"
        assert "labels by people" in words(page("trust", run=1))
        again = page("label", queue=queue["id"])
        assert not any(b.key == "wr_measure_people" for b in again.button)


def test_trust_and_queue_of_a_criterion_without_a_label_or_a_verdict_name_it(store):
    store.choose(1, criterion="action")
    for name in ("trust", "queue"):
        said = words(page(name, run=1))
        assert "No label on the criterion “action”" in said
    work.draw_queue(store, 1, "random", 3, criterion="tone")
    store.choose(1, criterion="tone")
    for name in ("trust", "queue"):
        assert "The judge has no verdict on the criterion “tone”." in words(page(name, run=1))
