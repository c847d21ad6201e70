"""Find slices on the Trust page, without a browser."""

import json
from pathlib import Path

import pytest
from app_pages import html, open_page

from whileai_review import load, work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def recipe(db):
    with open_store(db) as store:
        work.load_demo(store, ROOT / "data" / "recipe")
    return db


def load_rows(db, tmp_path, given, gold=None):
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    mapping = load.Mapping({"reward": "reward", **({"gold_reward": "gold"} if gold else {})})
    with open_store(db) as store:
        origins = {"gold_reward": {"kind": gold}} if gold else None
        work.load_file(store, path, mapping=mapping, origins=origins)


def rows(n, judge=lambda i: 1, gold=lambda i: 1, **more):
    return [
        {"scenario_id": f"t{i}", "prompt": f"ask {i}", "final_text": f"reply {i}",
         "reward": judge(i), "gold": gold(i), **{key: value(i) for key, value in more.items()}}
        for i in range(n)
    ]  # fmt: skip


def page(name="trust", **params):
    return open_page(name, **params)


def words(at):
    parts = [*(m.value.replace("\\", "") for m in at.markdown), html(at)]
    return " ".join([*parts, *(button.label for button in at.button)]).replace("\u2060", "")


def test_a_search_is_asked_for_and_stands_in_the_address(recipe):
    at = page()
    assert "Find slices" in words(at) and "Worst of" not in words(at)
    at.button(key="wr_find_slices").click().run()
    assert not at.exception
    assert at.query_params["found"] == "false_pass"
    said = words(at)
    assert "Worst of" in said and "regime is not among them" in said
    assert "95% for all 6" in html(at)


def test_the_worst_slice_is_said_and_linked_to_its_rows(db, tmp_path):
    # Of 60 failures the judge passes 20 of 20 where kind is "<b>refund", 10 of 40 elsewhere.
    load_rows(
        db,
        tmp_path,
        rows(
            120,
            judge=lambda i: int(i < 30 or i >= 60),
            gold=lambda i: int(i >= 60),
            kind=lambda i: "<b>refund" if i < 20 or i >= 100 else "other",
            arm=lambda i: "ab"[i % 2],
        ),
        gold="human",
    )
    at = page(found="error")
    said = html(at)
    assert "kind = &lt;b&gt;refund" in said and "<b>refund" not in said
    assert "Worst of 2 by false passes" in said
    # Expected 20 * 30/60 = 10. Wilson's lower bound of n of n is n / (n + t^2); scipy's t of 19
    # degrees of freedom at 1 - .05/2/2 is 2.433, so .77.
    assert "20 of 20 gold failures, 10.0 more than expected" in said
    assert "It stands out: the corrected interval lies above the 50% of all rows." in said
    assert "100% of 20" in said and "▼ [77, 100]" in said
    assert "queue?run=1&amp;cell=fp&amp;field=kind&amp;value=%3Cb%3Erefund" in said
    at = page("queue", run="1", cell="fp", field="kind", value="<b>refund")
    assert "20" in words(at)


@pytest.mark.parametrize("found", ["nonsense", "false_pass"])
def test_odd_addresses_and_runs_without_fields(db, tmp_path, found):
    load_rows(db, tmp_path, rows(30), gold="human")
    at = page(found=found)
    if found == "false_pass":
        assert "no field of 2 to 50 values divides the labelled rows" in words(at)
    else:
        assert at.button(key="wr_find_slices")


def test_a_field_that_was_not_named_in_advance_says_when_its_intervals_hold(recipe):
    note = "hold for a field that was named before its figures were seen"
    assert note not in words(page())
    assert note in words(page(field="leak_pattern"))


def test_without_labels_there_is_nothing_to_search(db, tmp_path):
    load_rows(db, tmp_path, rows(30))
    assert "Find slices" not in words(page())
