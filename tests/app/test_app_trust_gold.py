"""What the Trust page says of its gold: the audit, the second reading, what nobody could tell."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import open_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(db, tmp_path):
    """120 rows of a judge that passes 80; gold is a column of a program, wrong on every ninth."""
    rows = [
        {"prompt": f"ask {i}", "final_text": f"reply {i}", "scenario_id": f"t{i // 2}",
         "rollout_index": i % 2, "reward": int(i < 80)}
        for i in range(120)
    ]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with open_store(db) as opened:
        run = work.load_file(opened, file, mapping=Mapping({"reward": "reward"}))["runs"][0]
        opened.run_id = run["id"]
        yield opened


def truth(i):
    return i < 60 or i > 100


def rule(store):
    work.label_by_rule(
        store, store.run_id, lambda row: truth(n := number(row)) != (n % 9 == 0), "r"
    )


def number(row):
    return int(row["final_text"].split()[1])


def answer(store, queue, says, annotator="Bo", skip=0):
    rows = store.queue_row_ids(queue["id"])
    for row_id in rows[: len(rows) - skip]:
        i = number(store.row(row_id)["row"])
        store.add_label(row_id, annotator, says(i), f"{annotator}{row_id}", queue_id=queue["id"])


def person(i):
    return "pass" if truth(i) else "fail"


def page(file="trust"):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["annotator"] = "Ana"
    return app.run().switch_page(f"pages/{file}.py").run(timeout=60)


def words(at):
    parts = [each.proto.body for each in at.get("html")]
    links = [each.proto.label for each in at.get("page_link")]
    return " ".join([*parts, *(each.value for each in at.markdown), *links])


def test_gold_of_a_program_says_at_once_that_nobody_audited_it(store):
    rule(store)
    at = page()
    assert not at.exception
    said = words(at)
    # The sentence, the section, the checks, the pass rate; no field here to slice by.
    assert said.lower().count("program gold not audited") >= 4
    assert "Program gold not audited." in words(page("runs"))


def test_one_press_draws_the_audit_and_its_result_stands_beside_the_numbers(store):
    rule(store)
    before = work.trust(store, store.run_id)["agreement"]
    at = page()
    press = next(b for b in at.button if b.label == "Audit the gold: label 30 rows blind")
    press.click().run(timeout=60)
    assert not at.exception
    (queue,) = store.queues(store.run_id, "audit")
    assert (queue["n"], queue["created_by"]) == (30, "Ana")
    again = page()  # drawn and not begun: no second queue is offered
    assert "Go on with the audit, 30 rows left" in words(again)
    assert not any("Audit the gold" in b.label for b in again.button)
    answer(store, queue, person, skip=10)
    half = words(page())
    assert "under way, 20 of 30 rows read" in half and "Go on with the audit, 10 rows" in half
    assert "agree [" not in half.split("How far can this gold")[1].split("</p>")[0]
    assert "People against the rule" not in half  # it would tell the auditor what the rule says
    for row_id in store.queue_row_ids(queue["id"])[-10:]:
        i = number(store.row(row_id)["row"])
        store.add_label(row_id, "Bo", person(i), f"l{row_id}", queue_id=queue["id"])
    report = work.trust(store, store.run_id)
    agree = report["gold_audit"]["agree"]
    said = words(page())
    assert said.count(f"rogram gold audited: {agree} of 30 agree [") >= 4
    assert "The program alone passed" in said and "People against the rule" in said
    assert report["agreement"] == before
    assert store.run(store.run_id)["gold"] == "program"


def test_the_label_page_says_audit_and_leads_back_to_the_gold(store):
    rule(store)
    queue = work.audit_queue(store, store.run_id, n=3)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["annotator"] = "Bo"
    app.query_params["queue"] = str(queue["id"])
    at = app.run().switch_page("pages/label.py").run(timeout=60)
    (component,) = at.get("bidi_component")
    assert "random, audit of the gold" in json.loads(component.proto.json)["progress"]
    answer(store, queue, person)
    at = at.run(timeout=60)
    assert "See what they say of the gold" in words(at)


def test_people_s_gold_has_no_audit_and_can_not_tell_has_bounds(store):
    queue = work.draw_queue(store, store.run_id, "random", 100)
    answer(store, queue, lambda i: "unclear" if i % 7 == 0 else person(i))
    at = page()
    said = words(at)
    assert not at.exception
    assert "audited" not in said and "Audit" not in said
    report = work.trust(store, store.run_id)
    low, high = report["unclear"]["bounds"]["agreement"]
    assert f"Can’t tell on {report['unclear']['n']} rows" in said and "over 5%" in said
    assert f"{round(low * 100)}% to {round(high * 100)}%" in said


def test_a_review_read_to_its_end_gives_an_estimate_of_its_own(store):
    rule(store)
    queue = work.review_queue(store, store.run_id, agreeing_share=0.3)
    answer(store, queue, person)
    found = work.trust(store, store.run_id)["reread"]
    share = f"the agreement is {round(100 * found['agreement']['value'])}% ["
    said = words(page())
    assert "After a second, blind reading of all" in said and share in said
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["annotator"] = "Bo"
    app.query_params["queue"] = str(queue["id"])
    at = app.run().switch_page("pages/queue.py").run(timeout=60)
    assert share in words(at) and "so this is no estimate" not in words(at)


def test_a_review_of_disagreements_alone_says_that_it_is_no_estimate(store):
    rule(store)
    queue = work.review_queue(store, store.run_id, agreeing_share=0)
    answer(store, queue, person)
    assert "queue decisions are not part of this estimate" in words(page())


def test_without_gold_there_is_no_section(store):
    at = page()
    assert not at.exception and "How far can this gold" not in words(at)
