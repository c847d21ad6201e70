"""The plan of labels on Trust: looks, the two intervals, extending, verdicts under each other."""

import json
from pathlib import Path

import pytest
from app_pages import html, open_page

from whileai_review import load, work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent


def load_run(db, tmp_path, n_tasks=120, gold=None):
    """A run of two rows a task whose judge passes every second task."""
    path = tmp_path / "run.jsonl"
    lines = [
        {
            "scenario_id": f"t{n // 2}",
            "rollout_index": n % 2,
            "prompt": f"ask {n // 2}",
            "final_text": f"reply {n}",
            "reward": n // 2 % 2,
            **({"gold": gold(n)} if gold else {}),
        }
        for n in range(2 * n_tasks)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    columns = {"reward": "reward", **({"gold_reward": "gold"} if gold else {})}
    origins = {"gold_reward": {"kind": "program"}} if gold else None
    with open_store(db) as store:
        loaded = work.load_file(store, path, mapping=load.Mapping(columns), origins=origins)
        return loaded["runs"][0]["id"]


def label(db, queue, start, stop, wrong=(), by="ben"):
    with open_store(db) as store:
        for place, row_id in enumerate(store.queue_row_ids(queue)[start:stop], start):
            truth = store.row(row_id)["row"]["reward"] == int(place not in wrong)
            store.add_label(row_id, by, "pass" if truth else "fail", f"n{row_id}", queue_id=queue)


def begin(db, tmp_path, n=40, done=20, wrong=(3, 7), by="ben"):
    run = load_run(db, tmp_path)
    with open_store(db) as store:
        queue = work.draw_queue(store, run, "one_per_task", n)["id"]
        store.choose(run, gold="human")
    label(db, queue, 0, done, wrong, by)
    return run, queue


def page(name="trust", **params):
    return open_page(name, **params)


def button(at, start):
    return next(b for b in at.button if b.label.startswith(start))


def looks(db, run):
    with open_store(db) as store:
        found = work.trust(store, run, gold="human")["plan_history"]["looks"]
    return [(look["n_labels"], look["by"]) for look in found]


def test_opening_an_interim_figure_is_one_look_and_a_rerun_is_none(db, tmp_path):
    run, queue = begin(db, tmp_path)
    at = page()
    said = html(at)
    assert "Looked at once before the last of 40 labels." in said
    at.run()
    page()
    assert looks(db, run) == [(20, "Ana")]
    label(db, queue, 20, 25)
    assert "Looked at twice before" in html(page())
    assert looks(db, run) == [(20, "Ana"), (25, "Ana")]


def test_who_labels_makes_no_look_before_asking_for_one(db, tmp_path):
    run, _ = begin(db, tmp_path, by="Ana")
    at = page()
    assert looks(db, run) == [] and "At every look" not in html(at)
    button(at, "Show the figures").click().run(timeout=60)
    assert looks(db, run) == [(20, "Ana")]
    assert "At every look" in html(at)


@pytest.mark.parametrize(("name", "params"), [("queue", {}), ("rows", {"cell": "fp"})])
def test_cells_of_a_queue_under_way_are_counted_for_its_annotator_only_when_asked(
    db, tmp_path, name, params
):
    run, _ = begin(db, tmp_path, by="Ana")
    at = page(name, **params)
    assert looks(db, run) == [] and "false pass" not in str(at.main)
    button(at, "Show the figures").click().run(timeout=60)
    assert not at.exception
    assert looks(db, run) == [(20, "Ana")] and "false pass" in str(at.main)


def test_who_only_reads_makes_a_look_on_the_queue_page_too(db, tmp_path):
    run, _ = begin(db, tmp_path, by="ben")
    page("queue")
    assert looks(db, run) == [(20, "Ana")]


def test_the_interval_that_holds_at_every_look_stands_beside_the_fixed_one(db, tmp_path):
    begin(db, tmp_path)
    said = html(page())
    assert "Fixed plan" in said and "one look, after the last planned label" in said
    # 18 of 20, one a task: solve ln B(19, 3) - 18 ln p - 2 ln(1-p) = ln 20 (scipy): .590 and .996.
    row = said[said.index("At every look") :]
    assert "[59, 100]" in row
    assert "go on labelling" in said
    assert "more labels (then" in said and "of 120 tasks) if the rate holds" in said


def test_the_verdict_stands_with_its_date_its_looks_and_what_came_after(db, tmp_path):
    _, queue = begin(db, tmp_path)
    page()  # a look
    label(db, queue, 20, 40)
    said = html(page())
    assert "Verdict of " in said and "(40 labels, 40 tasks), looked at once before." in said
    assert "Labels changed" not in said
    with open_store(db) as store:
        row_id = store.queue_row_ids(queue)[0]
        store.add_label(row_id, "ben", "unclear", "changed", queue_id=queue, change=True)
    said = html(page())
    assert "(40 labels, 40 tasks), looked at once before." in said
    assert "Labels changed after that verdict: now" in said and "(39 labels, 39 tasks)" in said


def test_a_queue_is_extended_on_the_page_and_what_is_none_is_refused_in_a_line(db, tmp_path):
    _, queue = begin(db, tmp_path)
    label(db, queue, 20, 40)
    at = page()
    assert not at.number_input
    at.session_state[f"wr_extend_{queue}"] = True  # AppTest opens no popover by itself
    at.run()
    number = next(n for n in at.number_input if n.label == "Planned labels in all")
    assert number.value > 40
    number.set_value(30).run(timeout=60)
    button(at, "Extend it to 30").click().run(timeout=60)
    assert "is planned for 40 labels already: 30 is no extension" in html(at)
    next(n for n in at.number_input).set_value(60).run(timeout=60)
    button(at, "Extend it to 60").click().run(timeout=60)
    assert not at.exception
    said = html(at)
    assert "Extended on " in said and "by Ana from 40 to 60 labels" in said
    assert any("INTERIM" in m.value for m in at.markdown)
    label(db, queue, 40, 60)
    said = html(page())
    assert said.count("Verdict of ") == 2
    # The first verdict and the look at 40 of 60 labels came before the second one.
    assert "(60 labels, 60 tasks), looked at twice before." in said


def test_an_annotator_reads_no_number_of_an_earlier_verdict_while_labelling(db, tmp_path):
    _, queue = begin(db, tmp_path, by="Ana")
    label(db, queue, 20, 40, by="Ana")
    page()
    with open_store(db) as store:
        work.extend_queue(store, queue, 60, "Ana", "NOT SHOWN. Agrees 95%")
    said = html(page())
    assert "Verdict of " in said and "Agrees" not in said and "95%" not in said


def test_a_rule_s_gold_offers_a_queue_of_people_s_labels(db, tmp_path):
    # 60 tasks with gold, 8 of them wrong: 87%. People's labels are a gold of their own, from none.
    run = load_run(
        db, tmp_path, 300, gold=lambda n: None if n % 2 or n >= 120 else (n // 2 + (n < 16)) % 2
    )
    at = page()
    planned = next(b for b in at.button if b.label.endswith("rows as planned"))
    n = int(planned.label.split()[1])
    with open_store(db) as store:
        here = work.trust(store, run)["plan"]["here"]
    assert n == 60 + here["for_power"]
    planned.click().run(timeout=60)
    assert not at.exception
    with open_store(db) as store:
        (queue,) = store.queues(run)
    assert (queue["how"], queue["planned_n"], queue["created_by"]) == ("one_per_task", n, "Ana")


def test_a_hopeless_judge_is_told_so_and_has_no_button(db, tmp_path):
    run = load_run(db, tmp_path)
    with open_store(db) as store:
        queue = work.draw_queue(store, run, "one_per_task", 60)["id"]
        store.choose(run, gold="human")
    label(db, queue, 0, 60, wrong=range(0, 60, 2))
    at = page()
    said = html(at)
    assert "no number of labels will pass it" in said
    assert not any(b.label.startswith("Label ") for b in at.button)
    label(db, queue, 0, 0)
    with open_store(db) as store:
        work.extend_queue(store, queue, 80)
    said = html(page())
    assert "No number of labels will pass this judge: its upper bound is under 80%." in said


@pytest.mark.parametrize("done", [0, 1])
def test_no_label_and_one_label_draw_the_page(db, tmp_path, done):
    begin(db, tmp_path, n=1, done=done, wrong=())
    at = page()
    assert not at.exception
    assert ("Verdict of " in html(at)) == bool(done)
