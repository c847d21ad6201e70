"""The Queue page in each of its states, without a browser."""

import json
from pathlib import Path

import pytest
from app_pages import open_page

from whileai_review import load, work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
MAPPING = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})
PROGRAM = {"gold_reward": {"kind": "program", "annotator": "rule:recipe"}}


@pytest.fixture
def store(db):
    with open_store(db) as opened:
        file = ROOT / "data/recipe/recipe-run-1.jsonl"
        work.load_file(opened, file, mapping=MAPPING, origins=PROGRAM)
        yield opened


def queue_page(**params):
    return open_page("queue", **params)


def words(at):
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    parts += [text.value for text in at.text]
    parts += [link.proto.label for link in at.get("page_link")]
    return " ".join(parts).replace("\u2060", "")


def listed(at):
    return len(at.radio(key="wr_rows").options)


def button(at, start):
    return next(each for each in at.button if (each.key or "").startswith(start))


def false_passes(store, field=None, value=None):
    run = store.runs()[0]["id"]
    return work.cell_rows(store, run, None, None, None, "fp", field, value)


def test_no_run_and_no_gold_say_what_is_missing(db, tmp_path):
    assert "Nothing is loaded yet." in words(queue_page())
    rows = [{"prompt": f"a{i}", "final_text": f"b{i}", "reward": i % 2} for i in range(20)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as store:
        work.load_file(store, path)
    said = words(queue_page())
    assert "NOT MEASURED" in said
    assert "What is missing" in said


def test_it_opens_on_the_false_passes_with_judge_gold_and_what_was_called(store):
    at = queue_page()
    said = words(at)
    assert "58 false passes, 24 false alarms." in said
    assert "read so far 0 of these 58" in said
    assert listed(at) == 50  # a page of 58
    assert "Looked it up and escalated it to a human." in said
    assert "▼ fail by rule:recipe" in said
    assert "escalate_to_human: named by the reply and the judge, called 0 times" in said


def test_the_address_filters_the_list(store):
    big = false_passes(store, "regime", "BIG")
    at = queue_page(cell="fp", field="regime", value="BIG")
    assert listed(at) == len(big) == 19
    assert at.selectbox(key="address_value").value == "BIG"
    assert at.selectbox(key="address_cell").value == "fp"


def test_another_cell_is_written_into_the_address_and_forgets_the_open_row(store):
    at = queue_page(cell="fp", row=false_passes(store)[3])
    at.selectbox(key="address_cell").set_value("fn").run()
    assert at.query_params["cell"] == "fn"
    assert "row" not in at.query_params
    assert listed(at) == 24


def test_an_address_that_says_nonsense_is_the_plain_page(store):
    at = queue_page(cell="zz", field="nothing", value="x", page="-3", row="abc")
    assert listed(at) == 50


def test_the_row_of_the_address_is_open_and_its_page_listed(store):
    ids = false_passes(store)
    at = queue_page(row=ids[55])
    assert at.radio(key="wr_rows").value == ids[55]
    assert listed(at) == 8
    assert "56 of 58" in words(at)


def test_next_and_back_walk_the_list_through_the_address(store):
    ids = false_passes(store)
    at = queue_page(row=ids[49])
    button(at, "Next").click().run()
    assert at.query_params["row"] == str(ids[50])
    assert at.radio(key="wr_rows").value == ids[50]
    button(at, "Back").click().run()
    assert at.query_params["row"] == str(ids[49])


def test_the_ends_of_the_list_are_ends(store):
    ids = false_passes(store)
    assert button(queue_page(row=ids[0]), "Back").disabled
    assert button(queue_page(row=ids[-1]), "Next").disabled


def test_a_row_that_left_the_list_is_shown_and_said(store):
    other = work.cell_rows(store, 1, None, None, None, "tp")[0]
    assert "not in the list" in words(queue_page(cell="fp", row=other))


def test_a_row_that_is_gone_is_one_line(store):
    assert "no longer here" in words(queue_page(row=10**9))


def test_reading_is_recorded_once_for_a_row_that_was_on_the_screen(store):
    at = queue_page()
    at.run()
    run = store.runs()[0]["id"]
    assert [f["row_id"] for f in store.findings(run, "read")] == false_passes(store)[:1]
    assert "read so far 1 of these 58" in words(at)


def test_causes_are_typed_once_and_then_stand_on_a_button(store):
    run, ids = store.runs()[0]["id"], false_passes(store)
    for row_id in ids[:2]:
        store.add_finding(row_id, "cause", "Ana", code="says it, never calls")
    at = queue_page(row=ids[2])
    button(at, f"cause_{ids[2]}_5").click().run()
    causes = [f for f in store.findings(run, "cause") if f["row_id"] == ids[2]]
    assert [c["code"] for c in causes] == ["says it, never calls"]
    assert 'wr-num">3<' in words(at)
    button(at, f"drop_{causes[0]['id']}").click().run()
    assert [f["row_id"] for f in store.findings(run, "cause")] == ids[:2]


def test_a_merged_cause_is_one_button_and_one_count(store):
    run, row = store.runs()[0]["id"], false_passes(store)[0]
    store.add_finding(row, "cause", "Ana", code="a")
    store.add_finding(row, "cause", "ben", code="b")
    a, b = (code["id"] for code in store.codes())
    store.merge_codes([a], b, "Ana")
    at = queue_page(row=row)
    drops = [each for each in at.button if (each.key or "").startswith("drop_")]
    assert [each.label for each in drops] == ["b ×"]
    assert 'wr-num">1<' in words(at)
    drops[0].click().run()
    assert store.findings(run, "cause") == []


def test_a_note_is_kept_on_the_row_and_shown_as_text(store):
    run, row = store.runs()[0]["id"], false_passes(store)[0]
    at = queue_page(row=row)
    at.text_area(key=f"wr_note_{row}").set_value("  ![t](http://x) <b>\n")
    at.button(key=f"wr_note_{row}_keep").click().run()
    assert [f["note"] for f in store.findings(run, "note")] == ["![t](http://x) <b>"]
    assert "Ana: ![t](http://x) &lt;b&gt;" in words(at)
    assert at.text_area(key=f"wr_note_{row}").value == ""
    at.button(key=f"wr_note_{row}_keep").click().run()  # nothing is no note
    assert len(store.findings(run, "note")) == 1


def test_causes_are_counted_with_what_was_read_and_without_a_share(store):
    ids = false_passes(store)
    for row_id in ids[:3]:
        store.add_finding(row_id, "read", "Ana")
    store.add_finding(ids[0], "cause", "Ana", code="wrong <tool>")
    said = words(queue_page(row=ids[0]))
    assert "of 3 read" in said
    assert "wrong &lt;tool&gt;" in said


def test_answering_draws_the_disagreements_and_a_share_of_the_rest(store):
    at = queue_page(cell="disagree")
    at.slider(key="wr_share").set_value(20).run()
    next(b for b in at.button if b.label == "Draw and answer").click().run()
    (queue,) = store.queues(purpose="review")
    # 82 rows disagree, a fifth of the 139 agreeing ones is 28 (statistics.md 1).
    assert queue["n"] == 82 + 28
    assert at.query_params == {"queue": str(queue["id"])}
    assert "Looked it up and" not in words(at)  # blind: no reason of the judge


def test_a_queue_in_the_address_is_answered_blind(store):
    queue = work.review_queue(store, 1, by="Ana")
    said = words(queue_page(queue=queue["id"]))
    assert "Looked it up and" not in said
    assert "rule:recipe" not in said
    assert 'data-wr-row="' in said


def test_a_queue_that_is_gone_is_one_line(store):
    assert "no longer here" in words(queue_page(queue=999))


def test_hostile_rows_are_text_in_list_and_record(db, tmp_path):
    evil = "![t](http://127.0.0.1:9/t.png) <img src=x> $x$ :smile:"
    rows = [
        {
            "scenario_id": f"{evil}{i}", "rollout_index": 0, "prompt": evil, "final_text": evil,
            "reason": evil, "reward": 1, "gold_reward": i % 2, "group": evil,
        }
        for i in range(40)
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as store:
        work.load_file(store, path, mapping=MAPPING, origins=PROGRAM)
        store.add_finding(false_passes(store)[0], "cause", "Ana", code=evil)
    at = queue_page(field="group", value=evil)
    assert listed(at) == 20
    assert not any(
        "![" in option or ":smile:" in option for option in at.radio(key="wr_rows").options
    )
    assert "<img" not in words(at).replace("&lt;img", "")
    assert not any("![" in b.label for b in at.button)


@pytest.mark.parametrize("nonsense", ["abc", "-1", "1" + "0" * 30, "9" * 5_000, "²", "1.5"])
def test_an_address_with_a_run_that_is_none_says_so(store, nonsense):
    at = queue_page(run=nonsense)
    assert "The run of this address is not here" in words(at)
    assert listed(at) == 50


@pytest.mark.parametrize("nonsense", ["abc", "-1", "9" * 5_000, "²"])
@pytest.mark.parametrize("name", ["row", "page", "queue", "cell", "field", "value"])
def test_nonsense_in_an_address_opens_the_list_as_it_is_without_it(store, name, nonsense):
    run = store.runs()[0]["id"]
    at = queue_page(run=run, **{name: nonsense})
    assert listed(at) == 50
    assert at.radio(key="wr_rows").value == false_passes(store)[0]


def test_a_row_of_another_run_is_not_shown_beside_this_ones_judge(store, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps({"prompt": "a", "final_text": "not of this run", "reward": 1}))
    other = work.load_file(store, path)["runs"][0]["id"]
    (row,) = (row_id for row_id, _ in store.numbered_rows(other))
    first = min(run["id"] for run in store.runs())
    said = words(queue_page(run=first, row=row))
    assert "The row of this address is of another run, other." in said
    assert "not of this run" not in said
    assert store.findings(other, "read") == []
