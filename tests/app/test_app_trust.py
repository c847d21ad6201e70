"""The Trust page in each of its states, without a browser."""

import json
from pathlib import Path

import pytest
from app_pages import html, open_page

from whileai_review import load, work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
MAPPING = load.Mapping(
    {
        "reward": "reward",
        "reward:action": "judge_action",
        "gold_reward": "gold_reward",
        "gold_reward:action": "gold_action",
    }
)
PROGRAM = {"kind": "program", "annotator": "rule:recipe"}


def write(tmp_path, rows, name="run.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def load_rows(db, tmp_path, rows, gold=None):
    """Load rows; ``gold`` says who gave the gold column."""
    with open_store(db) as store:
        origins = {"gold_reward": {"kind": gold}} if gold else None
        mapping = load.Mapping({"reward": "reward", **({"gold_reward": "gold"} if gold else {})})
        return work.load_file(store, write(tmp_path, rows), mapping=mapping, origins=origins)


def rows(n, judge=lambda i: 1, gold=lambda i: 1, **more):
    return [
        {
            "scenario_id": f"t{i}",
            "rollout_index": 0,
            "prompt": f"ask {i}",
            "final_text": f"reply {i}",
            "reward": judge(i),
            "gold": gold(i),
            **{key: value(i) for key, value in more.items()},
        }
        for i in range(n)
    ]


def page(name="trust", **params):
    return open_page(name, **params)


def words(at):
    """All text of a page: Markdown (without its escapes), HTML, buttons, links."""
    parts = [*(m.value.replace("\\", "") for m in at.markdown), html(at)]
    parts += [button.label for button in at.button]
    parts += [link.proto.label for link in at.get("page_link")]
    return " ".join(parts).replace("\u2060", "")


@pytest.fixture
def recipe(db):
    with open_store(db) as store:
        work.load_file(
            store,
            ROOT / "data/recipe/recipe-run-1.jsonl",
            mapping=MAPPING,
            origins={"gold_reward": PROGRAM, "gold_reward:action": PROGRAM},
        )
    return db


def test_no_run_says_what_to_do(db):
    said = words(page())
    assert "Nothing is loaded yet." in said
    assert "Load a run" in said


def test_the_recipe_reads_as_published(recipe):
    said = words(page())
    assert "FAILS" in said
    assert (
        "Misses 79% of failures [69, 87]; agrees no better than always answering “pass” "
        "(63% against 67%)." in said
    )
    assert "32% of its passes are wrong [25, 40] · J 0.04 [−0.07, 0.16]" in said
    # statistics.md 10: PPI++, labels only, raw and struck through; the judge helps 0%.
    assert "The judge helps 0%." in said and "J is not above 0" in said
    assert "<s>82%</s>" in html(page())
    assert "Read the 58 false passes" in said
    assert "24 false alarms" in said


def test_the_table_has_value_interval_floor_and_state(recipe):
    table = html(page())
    assert '">63%</a></td><td class="wr-num">[56, 70]</td>' in table
    assert "≥ 80%" in table
    assert "▼ fails" in table
    assert "○ not shown" in table
    assert "p=.20" in table


def test_the_action_criterion_has_the_published_slices(recipe):
    with open_store(recipe) as store:
        store.choose(store.runs()[0]["id"], criterion="action")
    at = page(field="regime")
    table = html(at)
    # 18 of 18, 39 of 51; 18 of 108, 39 of 96. By row [82, 100] and [63, 86] as published; the
    # page quotes the wider one, over 17 and 31 tasks (statistics.md 5).
    for cell in ("100% of 18", "[79, 100]", "76% of 51", "[62, 87]", "17% of 108", "41% of 96"):
        assert f">{cell}<" in table
    assert "criterion action" in table


def test_the_address_names_the_field(recipe):
    assert page(field="leak_pattern").selectbox(key="address_field").value == "leak_pattern"
    assert page().selectbox(key="address_field").value == "regime"


def test_the_address_gets_the_run_so_that_it_can_be_shared(recipe):
    assert page().query_params["run"] == "1"


def test_a_run_that_is_not_there_is_said(recipe):
    assert "was deleted" in words(page(run="77"))
    assert "FAILS" in words(page(run="no number"))


def test_no_label_asks_for_thirty_and_draws_them(db, tmp_path):
    load_rows(db, tmp_path, rows(60))
    at = page()
    said = words(at)
    assert "NOT MEASURED" in said
    assert "No label by a person or a program." in said
    assert "Label 30 rows" in said
    with open_store(db) as store:
        assert store.queues() == []
    next(b for b in at.button if b.label == "Label 30 rows").click().run()
    with open_store(db) as store:
        assert [(q["n"], q["how"]) for q in store.queues()] == [(30, "one_per_task")]


def test_no_judge_is_said(db, tmp_path):
    path = write(tmp_path, [{"prompt": f"a{i}", "final_text": f"b{i}"} for i in range(5)])
    with open_store(db) as store:
        work.load_file(store, path, mapping=load.Mapping())
    said = words(page())
    assert "This run has no judge’s verdicts." in said.replace("'", "’")
    assert "Load a judge’s verdicts" in said


def test_gold_of_one_class_says_what_cannot_be_measured(db, tmp_path):
    load_rows(db, tmp_path, rows(40), gold="human")
    said = words(page())
    assert "False passes not measurable: 0 gold failures" in said
    assert "not measured" in said


def test_a_good_judge_passes_in_blue(db, tmp_path):
    load_rows(db, tmp_path, rows(200, lambda i: i % 2, lambda i: i % 2), gold="human")
    at = page()
    assert "PASSES" in words(at)
    assert not any(button.label.startswith("Read the") for button in at.button)


def test_labels_of_a_person_beside_a_rule_get_a_table_and_move_nothing(recipe):
    before = words(page())
    with open_store(recipe) as store:
        run = store.runs()[0]["id"]
        ids = store.tasks_of(run)[0][:3]
        for n, row_id in enumerate(ids):
            store.add_label(row_id, "ana", "fail", f"n{n}")
    after = words(page())
    assert "People against the rule" in after
    assert "3 rows labelled by both" in after
    sentence = "Misses 79% of failures [69, 87]"
    assert sentence in before
    assert sentence in after


def test_what_people_agree_with_each_other_stands_beside_kappa(db, tmp_path):
    """Two people on 40 rows differ on every fifth: 80%; with one person nothing is said."""
    load_rows(db, tmp_path, rows(40, lambda i: i % 2))
    with open_store(db) as store:
        queue = work.draw_queue(store, 1, "census")["id"]
        ids = store.queue_row_ids(queue)
        for n, row_id in enumerate(ids):
            store.add_label(row_id, "ana", ("pass", "fail")[n % 2], f"a{n}", queue_id=queue)
        store.choose(1, gold="human")
    assert "People agree" not in words(page())
    with open_store(db) as store:
        for n, row_id in enumerate(ids):
            said = (n + (n % 5 == 0)) % 2
            store.add_label(row_id, "bo", ("pass", "fail")[said], f"b{n}", queue_id=queue)
    at = page()
    assert "People agree 80% [" in words(at)
    assert "n=40 rows, 40 tasks: a judge’s ceiling" in words(at)
    assert any("people agree 80% [" in code.value for code in at.code)


def test_hostile_names_are_text(db, tmp_path):
    evil = "![t](http://127.0.0.1:9/t.png) <img src=x onerror=alert(1)> $x$"
    load_rows(
        db,
        tmp_path,
        rows(60, gold=lambda i: i % 2, group=lambda i: evil),
        gold="human",
    )
    with open_store(db) as store:
        store.rename_run(store.runs()[0]["id"], evil)
    at = page(field="group")
    assert "<img" not in html(at)
    assert "&lt;img src=x" in html(at)
    popover = at.get("popover")[0].proto.popover.label
    assert "![" not in popover


def test_a_broken_store_is_one_line(db):
    db.write_text("this is no database, and long enough to be looked at" * 20)
    assert "not a database" in words(page()) or "another program" in words(page())


def test_a_hundred_thousand_rows_draw_the_page(db, tmp_path):
    n = 100_000
    load_rows(
        db,
        tmp_path,
        rows(n, lambda i: int(i % 5 > 0), lambda i: i % 3 > 0 and 1 or 0),
        gold="program",
    )
    said = words(page())
    assert "Read the 26,667 false passes" in said


def begin_queue(db, tmp_path, annotator):
    """A run of which 12 of 30 planned rows are labelled; its queue's id."""
    load_rows(db, tmp_path, rows(60, judge=lambda i: i % 2))
    with open_store(db) as store:
        run = store.runs()[0]["id"]
        queue = work.draw_queue(store, run, "random", 30)["id"]
        for row_id in store.queue_row_ids(queue)[:12]:
            store.add_label(row_id, annotator, "pass", f"n{row_id}", queue_id=queue)
        store.choose(run, gold="human")
    return queue


def test_a_queue_under_way_has_no_verdict_and_no_shape(db, tmp_path):
    begin_queue(db, tmp_path, "somebody else")
    at = page()
    said = words(at)
    assert ":gray-badge[INTERIM] **12 of 30 planned labels: no verdict yet.**" in said
    assert "So far agrees" in said
    assert not any(shape in html(at) for shape in "▲▼")
    assert "holds its floor" not in said
    assert not at.exception


def test_who_labels_a_queue_is_asked_before_its_figures_are_shown(db, tmp_path):
    begin_queue(db, tmp_path, "Ana")
    at = page()
    assert "12 of 30 planned labels" in words(at)
    assert "So far agrees" not in words(at) and "<table" not in html(at)
    next(b for b in at.button if b.label == "Show the figures so far").click().run(timeout=60)
    assert "So far agrees" in words(at)
    assert "<table" in html(at)


def test_a_queue_that_is_ended_early_says_so(db, tmp_path):
    begin_queue(db, tmp_path, "somebody else")
    at = page()
    ending = next(b for b in at.button if b.label == "End it at 12 of 30 labels")
    ending.click().run(timeout=60)
    assert "INTERIM" not in words(at)
    assert "ended at 12 of 30 planned labels" in words(at)


def test_rows_drawn_by_verdict_are_said_to_be_weighted(db, tmp_path):
    # The judge passes 160 of 200 rows and is right on all of them but every tenth.
    load_rows(db, tmp_path, rows(200, judge=lambda i: int(i < 160)))
    with open_store(db) as store:
        run = store.runs()[0]["id"]
        queue = work.draw_queue(store, run, "stratified", 80)["id"]
        place = {row_id: n for n, row_id in enumerate(store.tasks_of(run)[0])}
        for row_id in store.queue_row_ids(queue):
            verdict = "pass" if place[row_id] < 160 and place[row_id] % 10 else "fail"
            store.add_label(row_id, "ana", verdict, f"n{row_id}", queue_id=queue)
        report = work.trust(store, run, gold="human")
        store.choose(run, gold="human")
    fp = report["agreement"]["confusion"]["fp"]
    at = page()
    assert not at.exception
    said = words(at)
    share = round(100 * (160 * (1 - fp / 40) + 40) / 200)  # all 40 fails are labelled, and right
    assert f"Agrees {share}% [" in said
    assert "labels by people, weighted: rows were drawn by the judge" in said
    assert "Each labelled row counts as the rows of the run that it stands for" in said


def test_the_values_of_checks_open_the_rows_that_keep_them_down(recipe):
    said = html(page())
    for cell in ("disagree", "fp", "fn"):
        assert f'href="queue?run=1&amp;cell={cell}"' in said
