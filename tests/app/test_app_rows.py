"""The Rows page in each of its states, without a browser."""

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
def store(tmp_path, monkeypatch):
    path = tmp_path / "review.db"
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(path))
    with open_store(path) as opened:
        file = ROOT / "data/recipe/recipe-run-1.jsonl"
        work.load_file(opened, file, mapping=MAPPING, origins=PROGRAM)
        yield opened


def rows_page(**params):
    return open_page("rows", **params)


def words(at):
    parts = [*(m.value.replace("\\", "") for m in at.markdown)]
    parts += [block.proto.body for block in at.get("html")]
    parts += [text.value for text in at.text] + [w.value for w in at.warning]
    return " ".join(parts).replace("\u2060", "")


def button(at, start):
    return next(each for each in at.button if (each.key or "").startswith(start))


def asked(at):
    params = at.query_params
    return {name: params[name] for name in params if name not in ("run", "row")}


def test_all_rows_are_listed(store):
    at = rows_page()
    assert "222 of 222 rows." in words(at)
    assert len(at.dataframe[0].value) == 100  # a page of them
    assert list(at.dataframe[0].value.columns) == ["task", "reply", "judge", "gold", "read"]


def test_false_passes_as_trust_counts_them(store):
    at = rows_page(cell="fp")
    assert "58 of 222 rows: false passes." in words(at)  # the study's cell
    shown = at.dataframe[0].value
    assert len(shown) == 58
    assert {j[-4:] for j in shown["judge"]} == {"pass"} and {g[-4:] for g in shown["gold"]} == {
        "fail"
    }


def test_a_search_is_written_into_the_address_and_taken_off(store):
    at = rows_page(cell="fp")
    at.text_input(key="rows_search").set_value("escalate").run()
    assert asked(at) == {"cell": "fp", "q": "escalate"}
    first = words(at)
    assert "“escalate”, false passes." in first
    button(at, "rows_off_cell").click().run()
    assert asked(at) == {"q": "escalate"}
    button(at, "rows_off_q").click().run()
    assert asked(at) == {} and "222 of 222 rows." in words(at)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"q": "🙂"}, "no letter and no digit"),
        ({"q": "x" * 10_000}, "at most 1,000 characters; this one has 10,000"),
        ({"cell": "zz"}, "No cell"),
        ({"where": "colour=red"}, "No field"),
        ({"where": "regime"}, "is no filter"),
        ({"label": "<b>"}, "No label"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_what_cannot_be_followed_is_named(store, params, why):
    at = rows_page(**params)
    assert why in words(at) and "No list." in words(at)
    button(at, "rows_off_").click().run()
    assert "222 of 222 rows." in words(at)


def test_nothing_found(store):
    assert "No row meets all of this." in words(rows_page(q="zebra"))


def test_a_filter_that_the_address_says_twice_is_one(store):
    at = rows_page(where=["regime=BIG", "regime=BIG"])
    assert "114 of 222 rows: regime=BIG." in words(at)
    button(at, "rows_off_").click().run()
    assert "222 of 222 rows." in words(at)


@pytest.mark.parametrize("page", ["3", "9999", "9" * 18])
def test_a_page_behind_the_last_is_the_last(store, page):
    at = rows_page(page=page)
    assert "No row meets" not in words(at)
    assert len(at.dataframe[0].value) == 22


@pytest.mark.parametrize(
    ("least", "said"),
    [(1_765_108_000.25, "at>=1765108000.25"), (1_765_108_000.0, "at>=1765108000")],
)
def test_a_bound_keeps_all_its_digits(store, tmp_path, least, said):
    rows = [
        {"prompt": f"p{n}", "final_text": "r", "reward": 1, "at": 1_765_107_999 + n / 4}
        for n in range(200)
    ]
    path = tmp_path / "times.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = work.load_file(store, path, mapping=load.Mapping({"reward": "reward"}))["runs"][0]["id"]
    at = rows_page(run=str(run))
    at.selectbox(key="rows_field").set_value("at").run()
    at.number_input(key="rows_low_at").set_value(least).run()
    button(at, "rows_add_at").click().run()
    assert asked(at)["where"] == said
    n = sum(row["at"] >= least for row in rows)
    assert f"{n} of 200 rows" in words(at)


def test_a_view_is_saved_opened_and_deleted(store):
    at = rows_page(cell="fp", where="regime=BIG")
    at.text_input(key="view_name").set_value("Big false passes").run()
    button(at, "view_save").click().run()
    view = store.views()[0]
    assert (view["name"], view["query"], view["created_by"]) == (
        "Big false passes",
        "cell=fp&where=regime%3DBIG",
        "Ana",
    )
    found = words(at)
    at = rows_page()
    button(at, f"view_{view['id']}").click().run()
    assert asked(at) == {"cell": "fp", "where": "regime=BIG"} and words(at)[:80] == found[:80]
    button(at, f"view_off_{view['id']}").click().run()
    assert store.views() == []


def test_views_that_stand_in_every_run(store):
    at = rows_page(q="escalate")
    button(at, "view_standing_cell=disagree").click().run()
    assert asked(at) == {"cell": "disagree"} and "82 of 222 rows" in words(at)  # 58 + 24


def test_a_second_view_of_one_name_says_what_it_replaces(store):
    store.save_view("mine", "cell=fn", "Bo")
    at = rows_page(cell="fp")
    at.text_input(key="view_name").set_value("MINE").run()
    assert button(at, "view_save").label == "Replace “MINE”"
    button(at, "view_save").click().run()
    assert [v["query"] for v in store.views()] == ["cell=fp"]


def test_an_open_row_is_read_and_its_rollouts_stand_beside_it(store):
    ids = store.tasks_of(1)[0]
    at = rows_page(row=str(ids[2]))
    assert "3 rollouts" in words(at)
    assert [f["row_id"] for f in store.findings(1, "read")] == [ids[2]]


def test_a_row_that_waits_for_ones_own_label_shows_no_verdict(store):
    queue = work.draw_queue(store, 1, "census")
    first, second = store.queue_row_ids(queue["id"])[:2]
    work.answer(store, queue["id"], "Ana", first, "pass", nonce="n", shown_ms=900)
    at = rows_page(row=str(second))
    assert "waits for your own label" in words(at)
    assert store.findings(1, "read") == []
    shown = at.dataframe[0].value
    assert set(shown["judge"]) <= {"", "▲ pass", "▼ fail"} and "" in set(shown["judge"])
    at = rows_page(cell="fp")
    assert "left out, since this list would give the judge" in words(at)


def test_the_rows_found_become_a_queue_to_label(store):
    at = rows_page(cell="fp")
    button(at, "rows_queue").click().run()
    queue = store.queues(1)[0]
    assert (queue["how"], queue["n"], queue["name"]) == ("picked", 58, "picked: false passes")
    assert not at.exception
