"""Certificates on the Trust page: issued, listed, signed off, and what the gate says."""

import json
from pathlib import Path

from app_pages import html, open_page

from whileai_review import load, work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
MAPPING = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})
GOOD = [(1, 1)] * 60 + [(0, 0)] * 60
BAD = [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10


def load_run(db, name, pairs, grader="rubric_judge"):
    rows = [
        {"scenario_id": f"t{n}", "prompt": f"ask {n}", "final_text": f"{name}", "reward": judge}
        | ({} if gold is None else {"gold_reward": gold})
        for n, (judge, gold) in enumerate(pairs)
    ]
    path = db.parent / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    origins = {"gold_reward": {"kind": "human"}} if pairs[0][1] is not None else None
    mapping = MAPPING if origins else load.Mapping({"reward": "reward"})
    with open_store(db) as store:
        work.load_file(store, path, grader=grader, mapping=mapping, origins=origins)
        return store.run(name)["id"]


def page(run):
    return open_page("trust", "Lea", run=run)


def press(at, label):
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception, at.exception


def test_a_certificate_is_issued_once_and_names_what_it_binds(db):
    run = load_run(db, "bad", BAD)
    at = page(run)
    assert "Measured here, the gate says FAILS: exit status 1." in html(at)
    assert "rubric_judge · known by its name alone" in html(at)
    assert "the rows name no policy: the content of the run stands for it" in html(at)
    press(at, "Issue it")
    with open_store(db) as store:
        kept = store.certificates(run)
    assert len(kept) == 1 and kept[0]["created_by"] == "Lea"
    assert "nothing has moved since" in html(at)
    assert not any(b.label == "Issue it" for b in at.button)
    assert f">{kept[0]['hash'][:12]}<" in html(at)


def test_the_measurement_that_moved_is_said(db):
    run = load_run(db, "good", GOOD)
    with open_store(db) as store:
        queue = work.draw_queue(store, run, "random", 40)["id"]
        rows = store.queue_row_ids(queue)
        for row_id in rows:
            store.add_label(row_id, "ana", "pass", f"n{row_id}", queue_id=queue)
        store.choose(run, gold="human")
        hash_ = work.issue(store, run, gold="human")["hash"]
        store.add_label(rows[0], "ana", "unclear", "again", queue_id=queue, change=True)
    said = html(page(run))
    assert "The measurement has moved since the certificate of" in said
    assert hash_[:12] in said and "n=40;" in said and "now, n=39." in said


def test_a_sign_off_is_kept_and_shown_as_what_it_is(db):
    run = load_run(db, "bad", BAD)
    with open_store(db) as store:
        hash_ = work.issue(store, run)["hash"]
    at = page(run)
    assert "This one does not pass. Accepting it leaves the gate at FAILS." in html(at)
    press(at, "Sign off")
    assert "Say accept or hold." in html(at)
    at.radio[0].set_value("accept")
    press(at, "Sign off")
    assert "needs a reason" in html(at)
    evil = "![t](http://127.0.0.1:9/t.png) <img src=x onerror=alert(1)>"
    at.text_area[0].set_value(evil)
    press(at, "Sign off")
    with open_store(db) as store:
        assert [(s["decision"], s["reason"], s["by"]) for s in store.sign_offs(hash_)] == [
            ("accept", evil, "Lea")
        ]
    said = html(at)
    assert "accepted by Lea on" in said and "(the gate goes by the numbers: FAILS)" in said
    assert "<img" not in said


def test_another_run_of_the_judge_is_told_to_label_its_own_rows(db):
    good, after = load_run(db, "good", GOOD), load_run(db, "after", BAD[:30])
    with open_store(db) as store:
        work.issue(store, good)
    said = html(page(after))
    assert "measured on good; this run is after: label 40 random rows of after" in said


def test_an_interim_queue_gets_no_certificate(db):
    run = load_run(db, "after", [(n % 2, None) for n in range(60)])
    with open_store(db) as store:
        queue = work.draw_queue(store, run, "random", 30)["id"]
        for row_id in store.queue_row_ids(queue)[:12]:
            store.add_label(row_id, "ana", "pass", f"n{row_id}", queue_id=queue)
        store.choose(run, gold="human")
    at = page(run)
    assert "the gate says INTERIM: exit status 3." in html(at)
    assert "No certificate before the last planned label." in html(at)
    assert not any(b.label == "Issue it" for b in at.button)


def test_a_run_without_labels_has_no_such_section(db):
    run = load_run(db, "after", [(1, None)] * 30)
    assert "the gate says" not in html(page(run))
