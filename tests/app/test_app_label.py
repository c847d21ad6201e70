"""Each state of the Label page, without a browser. What keys do is in tests/browser."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from whileai_review.load import Mapping
from whileai_review.store import open_store
from whileai_review.ui.keys import Press
from whileai_review.ui.labelling import _store_press
from whileai_review.work import draw_queue, load_file

APP = str(Path(__file__).parent.parent.parent / "app.py")


@pytest.fixture
def store(db, tmp_path):
    """Three rows of a judge who passed all, with a name and a model that must not be seen."""
    rows = [
        {
            "prompt": f"ask {i}", "final_text": f"reply {i}", "scenario_id": f"t{i}",
            "reward": 1, "reason": "JUDGE-REASON", "judge_name": "JUDGE-NAME", "model": "MODEL-NAME",
            "steps": [{"tool": "lookup", "arguments": {"i": i}, "result": {"n": i}}],
            "tools": ["lookup", "credit"],
        }
        for i in range(3)
    ]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as opened:
        load_file(opened, file, name="RUN-NAME")
        yield opened


def label_page(annotator="Ana", **query):
    app = AppTest.from_file(APP, default_timeout=30)
    app.query_params.update(query)
    if annotator:
        app.session_state["annotator"] = annotator
    app.run()
    return app.switch_page("pages/label.py").run()


def words(app):
    html = " ".join(element.proto.body for element in app.get("html"))
    texts = [*app.markdown, *app.caption, *app.button]
    return " ".join([html, *(getattr(each, "value", None) or each.label for each in texts if each)])


def bar(app):
    (component,) = app.get("bidi_component")
    return json.loads(component.proto.json)


def press(store, queue_id, row_id, action, nonce, last=None):
    """A press from a screen that shows this queue, and this label as one's last."""
    last = store.progress(queue_id, "Ana")["last_label"] if last is None else last
    it = Press(str(row_id), f"{queue_id}.{last or 0}", action, "", None, 900, nonce)
    return _store_press(store, "Ana", it)


def test_without_a_run_it_says_what_to_do(db):
    app = label_page()
    assert not app.exception
    assert "Nothing is loaded yet" in words(app)


def test_an_unknown_annotator_is_asked_for_a_name_once(store):
    app = label_page(annotator=None)
    assert "Who labels?" in app.text_input[0].label
    app.text_input[0].set_value("Bo")
    app.button[0].click().run()
    assert "Labelling as Bo" in words(app)


def test_who_has_labelled_here_before_is_one_press_away(store):
    store.add_person("Bo")
    app = label_page(annotator=None)
    next(each for each in app.button if each.label == "Bo").click().run()
    assert "Labelling as Bo" in words(app)


def test_without_a_queue_rows_are_drawn_and_the_address_names_the_queue(store):
    app = label_page()
    assert "No queue yet" in words(app)
    next(each for each in app.button if each.label == "Label 3 rows").click().run()
    assert not app.exception
    (queue,) = store.queues()
    assert (queue["how"], queue["n"]) == ("one_per_task", 3)
    assert app.query_params["queue"] in (str(queue["id"]), [str(queue["id"])])
    assert bar(app)["row_id"]


def test_a_row_is_shown_blind_with_its_tools_and_progress(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)
    app = label_page(queue=str(queue["id"]))
    shown = words(app)
    data = bar(app)
    row = store.row(int(data["row_id"]))["row"]
    assert row["prompt"] in shown and row["final_text"] in shown
    assert f'data-wr-row="{data["row_id"]}"' in shown
    assert "lookup 1" in shown and "credit 0" in shown
    assert data["progress"] == "0 of 3 · random · blind"
    for secret in ("JUDGE-REASON", "JUDGE-NAME", "MODEL-NAME", "RUN-NAME"):
        assert secret not in shown + json.dumps(data)
    assert "Ana" not in json.dumps({name: app.query_params[name] for name in app.query_params})


def test_the_row_after_a_press_is_the_stores_next_one(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)["id"]
    app = label_page(queue=str(queue))
    first = bar(app)["row_id"]
    assert press(store, queue, first, "fail", "n1") is None
    after = bar(app.run())
    assert after["row_id"] != first
    assert after["progress"].startswith("1 of 3") and after["can_undo"]
    assert after["saved"].startswith("saved ")
    assert press(store, queue, after["row_id"], "undo", "n2") is None
    assert bar(app.run())["row_id"] == first


def test_when_all_are_answered_it_says_so_and_undo_stays(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)["id"]
    for i in range(3):
        row = store.next_row(queue, "Ana")["row_id"]
        assert press(store, queue, row, ["pass", "fail", "unclear"][i], f"n{i}") is None
    app = label_page(queue=str(queue))
    assert "All 3 rows of this queue are answered, 1 of them can't tell" in words(app)
    assert (bar(app)["row_id"], bar(app)["can_undo"]) == ("", True)


def test_a_second_annotator_has_a_way_of_their_own_through_the_queue(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)["id"]
    first = bar(label_page(queue=str(queue)))["row_id"]
    press(store, queue, first, "pass", "n1")
    other = bar(label_page(annotator="Bo", queue=str(queue)))
    assert other["row_id"] == first and other["progress"].startswith("0 of 3")


def test_a_queue_that_is_gone_is_one_line_with_a_way_on(store):
    app = label_page(queue="99")
    assert not app.exception
    assert "no longer here" in words(app)
    assert [each.label for each in app.button] == ["other rows"]


def test_an_undo_takes_back_the_label_that_the_screen_showed_as_the_last(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)["id"]
    rows = []
    for n in range(2):
        rows.append(store.next_row(queue, "Ana")["row_id"])
        press(store, queue, rows[-1], "pass", f"n{n}")
    shown = store.labels_of(rows[0])[0]["id"]  # a second tab has not seen the second label
    press(store, queue, 0, "undo", "u", last=shown)
    assert [len(store.labels_of(row)) for row in rows] == [0, 1]


def test_a_press_from_a_page_that_makes_no_sense_is_refused(store):
    it = Press("1", "", "pass", "", None, 900, "n")
    assert "Reload" in _store_press(store, "Ana", it)


def test_a_press_on_a_run_that_was_deleted_says_that_it_was_not_saved(store):
    queue = draw_queue(store, "RUN-NAME", "random", n=3)["id"]
    row = store.next_row(queue, "Ana")["row_id"]
    store.delete_run("RUN-NAME")
    assert "Not saved" in press(store, queue, row, "pass", "n1")


def test_a_file_that_is_not_ours_is_one_line(db):
    db.write_bytes(b"something else entirely " * 200)
    app = label_page()
    assert not app.exception
    assert "wr-warn" in words(app)
    assert db.read_bytes().startswith(b"something else")


def test_a_store_that_was_moved_away_and_put_back_is_tried_again_on_the_same_page(db, tmp_path):
    at = AppTest.from_file(APP, default_timeout=60)
    at.session_state["annotator"] = "Ana"
    with open_store(db):
        pass
    at.run()
    away = tmp_path / "away.db"
    db.rename(away)
    at.switch_page("pages/label.py").run()
    assert "was removed or replaced" in " ".join(block.proto.body for block in at.get("html"))
    away.rename(db)
    at.button(key="wr_try_again").click().run()
    assert not at.exception
    assert "was removed or replaced" not in " ".join(b.proto.body for b in at.get("html"))


def test_rows_can_be_drawn_by_the_verdict_of_the_judge(db, tmp_path):
    rows = [
        {"prompt": f"ask {i}", "final_text": f"reply {i}", "scenario_id": f"t{i}",
         "reward": int(i < 30), "regime": "BIG" if i % 2 else "SMALL"}
        for i in range(40)
    ]  # fmt: skip
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(db) as store:
        load_file(store, file, mapping=Mapping({"reward": "reward"}))
        app = label_page()
        app.selectbox(key="draw_how").set_value("stratified").run()
        assert "Every label counts as the rows that it stands for" in words(app)
        kinds = app.selectbox(key="draw_by")
        assert kinds.options == ["pass and fail of the judge", "regime"]
        app.number_input[0].set_value(20)
        app.run()
        next(each for each in app.button if each.label == "Label 20 rows").click().run()
        assert not app.exception
        (queue,) = store.queues()
        assert (queue["how"], queue["n"], queue["field"]) == ("stratified", 20, None)
        assert "blind" in bar(app)["progress"]
        assert "random, each kind apart" in bar(app)["progress"]


def test_a_draw_that_cannot_be_made_is_said_and_no_traceback(store):
    app = label_page()
    app.selectbox(key="draw_how").set_value("stratified").run()
    next(each for each in app.button if each.label == "Label 3 rows").click().run()
    assert not app.exception
    html = " ".join(element.proto.body for element in app.get("html"))
    assert "All rows are of one kind" in html and "Draw random rows" in html
    assert store.queues() == []
