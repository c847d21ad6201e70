"""The Runs page in each of its states, without a browser."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from whileai_review import work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def plain_rows(n=12, **more):
    return [
        {"prompt": f"a{i}", "final_text": f"b{i}", "scenario_id": f"t{i}", "reward": i % 2, **more}
        for i in range(n)
    ]


def runs_page(**params):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.session_state["annotator"] = "Ana"  # AppTest has no cookies
    at.query_params.update({key: str(value) for key, value in params.items()})
    at.run()
    assert not at.exception, at.exception
    return at


def words(at):
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    parts += [link.proto.label for link in at.get("page_link")]
    return " ".join(parts).replace("\u2060", "")


def press(at, label):
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception, at.exception
    return at


def give_path(at, path):
    at.text_input(key="wr_path").set_value(str(path)).run()
    assert not at.exception, at.exception
    return at


def box(at, start, end=""):
    return next(
        s for s in at.selectbox if (s.key or "").startswith(start) and (s.key or "").endswith(end)
    )


def test_an_empty_store_offers_the_demo_and_loads_it(db):
    at = runs_page()
    assert "Nothing is loaded." in words(at)
    said = words(press(at, "Load the demo runs"))
    assert "5 demo runs loaded." in said
    assert "recipe-run-1 (rebuilt)" in said


def test_the_table_has_rows_tasks_rates_and_state(db):
    with open_store(db) as store:
        work.load_demo(store, ROOT / "data/recipe")
    said = words(runs_page())
    assert (
        "222 rows, 221 with gold and a verdict. Judge says 82% [77, 87] pass, gold 67% [61, 73]."
        in said
    )
    assert "Judge not trusted." in said
    assert "▼ fails" in said
    assert "height:8px" in said


def test_a_clean_file_loads_by_path_and_says_how_many_rows_came_in(db, tmp_path):
    at = give_path(runs_page(), write(tmp_path / "clean.jsonl", plain_rows()))
    said = words(press(at, "Load"))
    assert "12 rows came in as clean; 0 lines refused" in said
    with open_store(db) as store:
        assert [r["name"] for r in store.runs()] == ["clean"]


def test_the_same_content_again_is_the_same_run(db, tmp_path):
    path = write(tmp_path / "clean.jsonl", plain_rows())
    press(give_path(runs_page(), path), "Load")
    at = give_path(runs_page(), path)
    assert "Nothing was loaded." in words(press(at, "Load"))


def test_words_for_verdicts_are_asked_and_then_mapped(db, tmp_path):
    rows = [
        {"question": f"q{i}", "answer": f"r{i}", "grade": "approve" if i % 3 else "reject"}
        for i in range(30)
    ]
    at = give_path(runs_page(), write(tmp_path / "words.jsonl", rows))
    assert next(b for b in at.button if b.label == "Load").disabled
    box(at, "column_", "_reward").set_value("grade").run()
    assert next(b for b in at.button if b.label == "Load").disabled
    box(at, "value_", "_approve").set_value("pass").run()
    box(at, "value_", "_reject").set_value("fail").run()
    assert "▲ pass" in words(at)  # the preview is live
    press(at, "Load")
    with open_store(db) as store:
        run = store.runs()[0]["id"]
        assert work.overview(store)[0]["pass_rate"]["value"] == pytest.approx(20 / 30)
        assert next(store.rows(run))["prompt"] == "q0"


def test_a_label_column_is_no_gold_until_its_origin_is_said(db, tmp_path):
    rows = [row | {"human_label": i % 2} for i, row in enumerate(plain_rows(40))]
    path = write(tmp_path / "labels.jsonl", rows)
    said = words(press(give_path(runs_page(), path), "Load"))
    assert "no gold, since nobody said where they come from: human_label" in said
    with open_store(db) as store:
        assert work.overview(store)[0]["n_labelled"] == 0


def test_a_label_column_with_an_origin_is_gold_of_that_kind(db, tmp_path):
    rows = [row | {"human_label": i % 2} for i, row in enumerate(plain_rows(40))]
    at = give_path(runs_page(), write(tmp_path / "labels.jsonl", rows))
    box(at, "origin_").set_value("human").run()
    press(at, "Load")
    with open_store(db) as store:
        labels = store.labels(store.runs()[0]["id"])
    assert {(x["kind"], x["annotator"], x["chosen"]) for x in labels} == {
        ("human", "file:labels.jsonl", "imported")
    }
    assert len(labels) == 40


def test_refused_lines_are_listed_with_reason_and_can_be_taken(db, tmp_path):
    path = write(tmp_path / "bad.jsonl", plain_rows())
    path.write_text(path.read_text() + '{"prompt": "cut\n=1+1\n')
    at = give_path(runs_page(), path)
    said = words(press(at, "Load"))
    assert "2 lines refused" in said
    assert "2 lines of the file were refused" in [e.label for e in at.expander]
    labels = [each.proto.label for each in at.get("download_button")]
    assert labels[:2] == ["Download as CSV", "Download as JSON lines"]


def test_a_file_that_cannot_be_read_is_one_line(db, tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    assert "wr-warn" in words(give_path(runs_page(), path))
    assert "wr-warn" in words(give_path(runs_page(), tmp_path / "not-there.jsonl"))
    with open_store(db) as store:
        assert store.runs() == []


def test_a_column_splits_the_file_into_runs(db, tmp_path):
    rows = [row | {"model": f"m{i % 2}"} for i, row in enumerate(plain_rows())]
    at = give_path(runs_page(), write(tmp_path / "two.jsonl", rows))
    box(at, "split_").set_value("model").run()
    press(at, "Load")
    with open_store(db) as store:
        assert {r["name"]: r["n_rows"] for r in store.runs()} == {"two/m0": 6, "two/m1": 6}


def one_run(db, tmp_path, rows=None):
    with open_store(db) as store:
        file = write(tmp_path / "one.jsonl", rows or plain_rows())
        return work.load_file(store, file)["runs"][0]["id"]


def test_a_rule_is_previewed_and_writes_only_then(db, tmp_path):
    rows = [
        row | {"steps": [{"tool": "pay"}] if i % 3 else []} for i, row in enumerate(plain_rows())
    ]
    run = one_run(db, tmp_path, rows)
    at = runs_page(run=run)
    next(t for t in at.text_area if t.label == "It passes when").set_value("called(pay)")
    name = [t for t in at.text_input if t.label == "Name" and t.key is None]
    name[0].set_value("paid")
    press(at, "Preview")
    assert "12 rows: 8 pass, 4 fail, 0 without a label." in words(at)
    with open_store(db) as store:
        assert store.labels(run) == []
    press(at, "Label 12 rows")
    with open_store(db) as store:
        labels = store.labels(run)
    assert [x["annotator"] for x in labels] == ["rule:paid"] * 12
    assert sum(x["verdict"] == "pass" for x in labels) == 8


def test_a_rule_that_cannot_be_read_names_the_character(db, tmp_path):
    at = runs_page(run=one_run(db, tmp_path))
    next(t for t in at.text_area if t.label == "It passes when").set_value("called(pay) an x")
    press(at, "Preview")
    assert "pass, character" in words(at)


def test_a_run_is_renamed_and_tagged(db, tmp_path):
    run = one_run(db, tmp_path)
    at = runs_page(run=run)
    at.text_input(key=f"name_of_{run}").set_value("two <b>")
    at.text_input(key=f"tags_of_{run}").set_value("base, keep")
    said = words(press(at, "Keep"))
    assert "two &lt;b&gt;" in said
    assert "#base #keep" in said


def test_an_archived_run_leaves_the_list_and_is_found_again(db, tmp_path):
    run = one_run(db, tmp_path)
    at = runs_page(run=run)
    at.button(key=f"arch_{run}").click().run()
    with open_store(db) as store:
        assert store.runs() == []
    assert "one" in words(runs_page(archived=1))


def test_deleting_asks_first_and_the_labels_stay(db, tmp_path):
    run = one_run(db, tmp_path)
    with open_store(db) as store:
        row = store.tasks_of(run)[0][0]
        store.add_label(row, "Ana", "pass", "n1")
    at = runs_page(run=run)
    assert "stay" in words(at)
    at.button(key=f"del_{run}").click().run()
    assert not at.exception
    again = one_run(db, tmp_path)
    with open_store(db) as store:
        assert [o["n"] for o in store.label_offers(again)] == [1]
    at = runs_page(run=again)
    press(at, "Take over 1 label of a deleted run")
    with open_store(db) as store:
        assert [x["annotator"] for x in store.labels(again)] == ["Ana"]


def test_a_backup_is_a_store_and_overwrites_nothing(db, tmp_path):
    one_run(db, tmp_path)
    at = runs_page()
    assert "Copied to" in words(press(at, "Back up"))
    with open_store(tmp_path / "review-backup.db", create=False) as copy:
        assert len(copy.runs()) == 1
    assert "is there already" in words(press(at, "Back up"))


def test_hostile_names_are_text(db, tmp_path):
    evil = "![t](http://127.0.0.1:9/t.png) <img src=x> $x$"
    run = one_run(db, tmp_path)
    with open_store(db) as store:
        store.rename_run(run, evil)
        store.tag_run(run, ["<b>x</b>"])
    at = runs_page(run=run)
    blocks = " ".join(block.proto.body for block in at.get("html"))
    assert "&lt;img src=x" in blocks
    assert "<img" not in blocks
    assert "<b>x" not in blocks
    raw = " ".join(m.value for m in at.markdown)
    assert "![" not in raw
    assert "<img" not in raw.replace("\\<", "")


def test_a_column_with_a_hostile_name_is_asked_about_as_text(db, tmp_path):
    evil = "human_![t](http://127.0.0.1:9/t.png)"
    rows = [row | {evil: i % 2} for i, row in enumerate(plain_rows())]
    at = give_path(runs_page(), write(tmp_path / "evil.jsonl", rows))
    assert not any("![" in s.label for s in at.selectbox)


def test_a_broken_store_is_one_line(db):
    db.write_text("this is no database, and long enough to be looked at" * 20)
    assert "wr-warn" in words(runs_page())


def test_archiving_the_open_run_says_so_and_raises_no_alarm(db, tmp_path):
    with open_store(db) as store:
        for name in ("one", "two"):
            work.load_file(store, write(tmp_path / f"{name}.jsonl", plain_rows(text=name)))
        run = store.run("one")["id"]
    at = press(runs_page(run=run), "Archive")
    assert "one is archived." in words(at)
    assert "The run of this address" not in words(at)


def test_a_file_in_which_nothing_can_be_read_opens_the_form_of_its_columns(db, tmp_path):
    path = write(tmp_path / "gpt-3.5-turbo.jsonl", [{"idx": i, "cmp_key": "a"} for i in range(3)])
    at = give_path(runs_page(), path)
    assert "No column is known to hold the ask" in words(at)
    assert "gpt-3.5-turbo" in [box.value for box in at.text_input]
