"""The Codes page in each of its states, without a browser."""

import json
from pathlib import Path

import pytest
from app_pages import open_page

from whileai_review import work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent
EVIL = "![t](http://127.0.0.1:9/t.png) <img src=x onerror=alert(1)> $x$ :smile: **b** 😀"


@pytest.fixture
def store(db, tmp_path):
    """40 rows of 20 tasks in two regimes, nothing noted."""
    rows = [
        {
            "scenario_id": f"t{i // 2}", "rollout_index": i % 2, "prompt": f"ask {i // 2}",
            "final_text": f"reply {i}", "reward": i % 2, "reason": f"reason {i}",
            "regime": "BIG" if i < 20 else "SMALL",
        }
        for i in range(40)
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as opened:
        work.load_file(opened, path)
        yield opened


@pytest.fixture
def ids(store):
    return store.tasks_of(1)[0]


@pytest.fixture
def notes(store, ids):
    """A note of ben's on each of the first 30 rows."""
    return [
        (
            "label",
            store.add_label(row, "ben", "fail", f"n{row}", note=f"note {n}")["label_id"],
        )
        for n, row in enumerate(ids[:30])
    ]


def codes_page(**params):
    return open_page("codes", **params)


def words(at):
    assert not at.exception, at.exception
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    parts += [text.value for text in at.text]
    parts += [link.proto.label for link in at.get("page_link")]
    return " ".join(parts).replace("\u2060", "")


def ticks(at):
    return [box for box in at.checkbox if (box.key or "").startswith("wr_tick_1_")]


def tick(at, *places):
    for place in places:
        ticks(at)[place].check()
    return at.run()


def names(store):
    """Row -> names of its codes."""
    by_id = {c["id"]: c["name"] for c in store.codes()}
    found = {}
    for row, code in store.coded_rows(1):
        found.setdefault(row, set()).add(by_id[code])
    return found


def offer(store, *names):
    """Codes that were used once: AppTest picks options, and can't type a new one."""
    for name in names:
        store.add_finding(store.tasks_of(1)[0][39], "cause", "zoe", code=name)
        (found,) = (f for f in store.findings(1, "cause") if f["by"] == "zoe")
        store.withdraw_finding(found["id"], "zoe")


def pick_code(at, name):
    return at.selectbox(key="wr_code_name_1").set_value(name).run()


def give(at, name):
    pick_code(at, name)
    return at.button(key="wr_give").click().run()


def test_no_run_and_no_note_say_what_is_missing(db):
    assert "Nothing is loaded yet." in words(codes_page())


def test_a_run_without_notes_says_where_they_are_written(store):
    said = words(codes_page())
    assert "No note yet." in said
    assert "Label rows" in said
    assert "Read disagreements" in said


def test_rows_that_were_reviewed_without_a_note_do_not_say_that_every_note_has_a_code(store, ids):
    store.add_label(ids[0], "ben", "fail", "n1")
    said = words(codes_page())
    assert "1 row reviewed · no note yet" in said
    assert "Nobody has written a note on a row of this run." in said
    assert "every note" not in said and "filter out" not in said


def test_ticked_notes_get_a_code_and_the_counts_beside_them_follow(store, ids, notes):
    offer(store, "never calls")
    at = codes_page()
    assert "No note has a code yet." in words(at)
    assert "30 rows reviewed · 30 notes without a code" in words(at)
    assert len(ticks(at)) == 25  # a page of 30
    assert at.button(key="wr_give").disabled
    tick(at, 0, 1, 4)
    pick_code(at, "never calls")
    assert at.button(key="wr_give").label == "Give it to 3 notes"
    at.button(key="wr_give").click().run()
    assert names(store) == {ids[n]: {"never calls"} for n in (0, 1, 4)}
    said = words(at)
    assert "“never calls”: 3 notes" in said
    assert "1 code on 3 rows" in said
    assert "of 30</th>" in said
    assert '<td class="wr-num">10%</td>' in said
    assert not any(box.value for box in ticks(at))
    assert store.code_changes(1)[0]["by"] == "Ana"


def test_the_address_filters_by_code_group_and_what_has_none(store, ids, notes):
    store.give_code(1, notes[:3], "a", "Ana")
    code = store.codes()[0]["id"]
    assert len(ticks(codes_page(code=code))) == 3
    assert len(ticks(codes_page(code="none", field="regime", value="SMALL"))) == 10
    for nonsense in ("zz", "-1", "9" * 400, "²"):
        assert len(ticks(codes_page(code=nonsense, page=nonsense, note=nonsense))) == 25
    at = codes_page(page=2)
    assert len(ticks(at)) == 5
    at.text_input(key="wr_codes_search").set_value("note 2").run()
    assert len(ticks(at)) == 11  # 2 and 20 to 29


def test_splitting_and_taking_off_from_the_open_code(store, ids, notes):
    store.give_code(1, notes[:4], "vague", "Ana")
    code = store.codes()[0]["id"]
    offer(store, "wrong amount")
    at = tick(codes_page(code=code), 0, 1)
    pick_code(at, "wrong amount")
    at.button(key=f"wr_split_{code}").click().run()
    assert names(store) == {
        ids[0]: {"wrong amount"}, ids[1]: {"wrong amount"}, ids[2]: {"vague"}, ids[3]: {"vague"},
    }  # fmt: skip
    assert len(ticks(at)) == 2
    tick(at, 0)
    at.button(key=f"wr_take_{code}").click().run()
    assert names(store)[ids[3]] == {"vague"}
    assert ids[2] not in names(store)


def test_renaming_merging_and_undoing_on_the_page(store, ids, notes):
    store.give_code(1, notes[:2], "a", "Ana")
    store.give_code(1, notes[2:4], "b", "Ana")
    a, b = (c["id"] for c in store.codes())
    at = codes_page(code=a)
    at.text_input(key=f"wr_rename_{a}_a").set_value(" B ").run()
    at.button(key=f"wr_rename_{a}_a_do").click().run()
    assert "There is a code “b” already. Merge the two" in words(at)
    at.selectbox(key=f"wr_merge_{a}").set_value(b).run()
    at.button(key=f"wr_merge_{a}_do").click().run()
    assert "Merged into “b”." in words(at)
    assert at.query_params["code"] == str(b)
    assert len(ticks(at)) == 4
    assert "also: a" in words(at)
    assert "Ana merged “a” into “b”" in words(at)
    change = store.code_changes(1)[0]["id"]
    at.button(key=f"wr_undo_{change}").click().run()
    assert "Undone." in words(at)
    assert {c["name"] for c in store.codes()} == {"a", "b"}
    assert "undone by Ana" in words(at)


def test_the_second_of_two_screens_is_told_by_name(store, ids, notes):
    store.give_code(1, notes[:2], "a", "Ana")
    store.give_code(1, notes[2:3], "b", "Ana")
    a, b = (c["id"] for c in store.codes())
    at = codes_page(code=a)
    at.text_input(key=f"wr_rename_{a}_a").set_value("mine")
    tick(at, 0)
    store.merge_codes([a], b, "ben")
    at.button(key=f"wr_rename_{a}_a_do").click().run()
    assert "“a” was merged into “b” by ben meanwhile" in words(at)
    assert len(names(store)) == 3


def test_a_note_that_is_taken_back_under_the_ticks_is_refused_by_name(store, ids, notes):
    offer(store, "a")
    at = tick(codes_page(), 0, 1)
    pick_code(at, "a")
    store.undo_label("ben", "gone", label_id=notes[0][1])
    at.button(key="wr_give").click().run()
    assert "1 of these notes was taken back or changed meanwhile" in words(at)
    assert names(store) == {}


def test_a_code_has_slices_with_rows_tasks_and_interval(store, ids, notes):
    store.give_code(1, notes[:6] + notes[20:21], "a", "Ana")
    said = words(codes_page(code=store.codes()[0]["id"], by="regime"))
    # BIG: 6 of 20 rows, 3 of 10 tasks whole; SMALL: 1 of 10 rows.
    assert '<td class="wr-num">6</td><td class="wr-num">30%</td>' in said
    assert '<td class="wr-num">1</td><td class="wr-num">10%</td>' in said
    assert '<td class="wr-num">20</td><td class="wr-num">10</td>' in said


def test_shares_of_picked_rows_are_said_to_be_no_estimate_and_drawn_ones_stand_apart(store, ids):
    queue = work.draw_queue(store, 1, "random", 12, by="ben")["id"]
    drawn = store.queue_row_ids(queue)
    for row in drawn:
        store.add_label(row, "ben", "fail", f"d{row}", queue_id=queue, note="n")
    other = next(row for row in ids if row not in drawn)
    store.add_finding(other, "cause", "Ana", code="a")
    first = next(n["note"] for n in store.notes(1) if n["row_id"] == drawn[0])
    store.give_code(1, [first], "a", "Ana")
    said = words(codes_page())
    assert "1 of these rows was not drawn" in said
    assert "of 13</th>" in said
    said = words(codes_page(of="drawn"))
    assert "of 12</th>" in said
    assert "not drawn" not in said
    assert "11 of these rows still have a note without a code" in said


def test_saturation_says_how_many_new_codes_the_last_twenty_rows_brought(store, ids, notes):
    store.give_code(1, notes[:19], "a", "Ana")
    assert "too few to say" in words(codes_page())
    store.give_code(1, notes[19:25], "a", "Ana")
    store.give_code(1, notes[25:26], "late", "Ana")
    said = words(codes_page())
    assert "2 codes on 26 rows; the last 20 coded rows brought 1 new." in said
    assert "1 of the last 20 coded rows brought a new code, 95% [" in said
    assert "1 of 2 codes on one row only." in said


def test_reviewed_rows_without_a_note_show_the_judges_reason_to_be_coded(store, ids):
    store.add_finding(ids[3], "read", "ben")
    offer(store, "a")
    at = codes_page(code="reasons")
    assert [box.label for box in ticks(at)] == ["reason 3"]
    give(tick(at, 0), "a")
    assert names(store) == {ids[3]: {"a"}}


def test_who_sees_the_notes_of_others_is_no_blind_annotator_of_these_rows(store, ids, notes):
    codes_page()
    assert store.read_at(ids[0], "Ana") is not None
    assert store.read_at(ids[35], "Ana") is None
    assert store.read_at(ids[0], "ben") is None  # one's own note shows nothing new
    assert store.findings(1, "read") == []


def test_an_open_note_is_shown_whole_with_reason_and_reply(store, ids, notes):
    said = words(codes_page(note=f"label{notes[4][1]}"))
    assert "note 4" in said
    assert "reason 4" in said
    assert "reply 4" in said
    for gone in ("label999999", "row999999", "label", "row-1", "x"):
        words(codes_page(note=gone))


def test_hostile_notes_and_names_are_text(store, ids):
    store.add_label(ids[0], EVIL, "fail", "n0", note=EVIL)
    store.add_finding(ids[1], "note", EVIL, note=EVIL)
    store.add_finding(ids[1], "cause", EVIL, code=EVIL)
    store.rename_code(store.codes()[0]["id"], f"{EVIL} 2", EVIL)
    code = store.codes()[0]["id"]
    for params in ({}, {"code": code}, {"note": f"row{ids[1]}"}):
        at = codes_page(**params)
        for block in at.get("html"):
            assert "<img" not in block.proto.body
        for box in ticks(at):
            assert "![" not in box.label
            assert "$x$" not in box.label
            assert ":smile:" not in box.label
            assert "😀" in box.label
        labels = [each.label for each in (*at.button, *at.expander)]
        assert not any("![" in label or ":smile:" in label for label in labels)
        assert not any("![" in m.value for m in at.markdown)


def test_a_note_of_ten_million_characters_does_not_travel(store, ids):
    store.add_label(ids[0], "ben", "fail", "n0", note="x" * 10_000_000)
    at = codes_page()
    (box,) = ticks(at)
    assert len(box.label) < 1_000
    assert "10,000,000 characters" in box.label.replace("\\", "")
    at = codes_page(note=store_key(store))
    assert sum(len(text.value) for text in at.text) < 60_000
    assert "first 50,000 of 10,000,000 characters" in words(at)


def store_key(store):
    kind, number = store.notes(1)[0]["note"]
    return f"{kind}{number}"
