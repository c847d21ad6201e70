import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review.store import NotFoundError, RefusedError, open_store
from whileai_review.store.search import FINDING, GRADER, LABEL, REASON, match_words

TEXTS = [
    "I will escalate this to billing",
    "The late fee was waived",
    "A late reply about the fee",
    "Escalation is not needed; naïve café",
    "用户要求退款 refund 🙂",
    "고객이 환불을 원한다; ลูกค้าขอคืนเงินแล้ว; お客様は払い戻しを希望",
]


@pytest.fixture
def run(fresh_db, make):
    """Six rows whose replies are TEXTS; the ask of the first says "late"."""
    found = make.run(fresh_db, n=6)
    ids = make.ids(fresh_db, found)
    lines = [
        (i, "late" if not n else "", text, "", "", "")
        for n, (i, text) in enumerate(zip(ids, TEXTS, strict=True))
    ]
    assert fresh_db.index_texts(found["id"], "rows", 0, ids[-1], lines)
    return found | {"ids": ids}


def places(store, run, text):
    found = store.search_rows(run["id"], match_words(text), 0, 100).tolist()
    return [run["ids"].index(i) for i in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("escalate", [0]),
        ("escal", [0, 3]),  # a word finds what begins with it
        ("ESCAL", [0, 3]),
        ("late fee", [1, 2]),  # all words, in any order
        ("fee late", [1, 2]),
        ('"late fee"', [1]),  # as it stands
        ('"late fee', [1]),  # a quote that nobody closed
        ("late -waived", [0, 2]),
        ("reply:late", [1, 2]),
        ("ask:late", [0]),
        ("REPLY:late", [1, 2]),
        ("cafe", [3]),  # without its accent, as people type
        ("naïve", [3]),
        ("fe", []),  # two letters stand as they are
        ("refund", [4]),
        ("用户", [4]),
        ("退款", [4]),  # no blank stands between words of these scripts
        ("要求", [4]),
        ("款退", []),
        ("-用户 fee", [1, 2]),
        ("환불", [5]),  # an ending joins the word
        ("คืนเงิน", [5]),
        ("払い戻し", [5]),
        ("late or fee", []),  # "or" is a word here
        ("late OR fee", []),
        ("NEAR(late fee)", []),
        ("la*", []),
        ("lat*", [0, 1, 2]),
        ("note:late", []),
        ("zebra", []),
        ("body:late", []),  # no place of this name: two words of a text
    ],
)
def test_words_find_the_rows_they_stand_in(fresh_db, run, text, expected):
    assert places(fresh_db, run, text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("🙂", "no letter and no digit"),
        ('"', "no letter and no digit"),
        ('""', "no letter and no digit"),
        ("-", "no letter and no digit"),
        ("* ( ) ^ :", "no letter and no digit"),
        ("-late", "only words to leave out"),
        ("x" * 1_001, "at most 1,000 characters; this one has 1,001"),
        ("x" * 10_000, "at most 1,000 characters; this one has 10,000"),
    ],
)
def test_a_search_that_says_nothing_is_refused_by_name(text, why):
    with pytest.raises(RefusedError, match=why):
        match_words(text)


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from(string.printable + "äß–“”🙂用\0"), max_size=60))
def test_no_search_breaks_the_index(text, searched):
    store, run = searched
    try:
        match = match_words(text)
    except RefusedError:
        return
    assert set(store.search_rows(run["id"], match, 0, 100).tolist()) <= set(run["ids"])


@pytest.fixture(scope="module")
def searched(tmp_path_factory, make_static):
    with open_store(tmp_path_factory.mktemp("search") / "review.db") as store:
        run = make_static.run(store, n=6)
        ids = make_static.ids(store, run)
        lines = [(i, "", text, "", "", "") for i, text in zip(ids, TEXTS, strict=True)]
        store.index_texts(run["id"], "rows", 0, ids[-1], lines)
        yield store, run | {"ids": ids}


def test_two_builders_index_nothing_twice(fresh_db, run):
    first, last = run["ids"][0], run["ids"][-1]
    again = [(first, "", "zebra", "", "", "")]
    assert not fresh_db.index_texts(run["id"], "rows", 0, last, again)
    assert places(fresh_db, run, "zebra") == []
    assert fresh_db.indexed(run["id"]) == {"rows": last}


def test_numbers_of_texts_do_not_meet(fresh_db):
    # 2**36 rows, 2**15 graders and as many labels as rows stay apart.
    assert LABEL > GRADER
    assert REASON + ((1 << 15) - 1) * GRADER + GRADER - 1 < (1 << 62)
    assert LABEL < FINDING < REASON


def test_a_note_is_found_until_it_is_taken_back(fresh_db, run):
    row = run["ids"][2]
    fresh_db.add_label(row, "ana", "fail", "n1", note="promises a zebra")
    fresh_db.add_finding(row, "cause", "bo", code="okapi", note="an okapi here")
    notes = fresh_db.new_notes(run["id"], {})
    for what, at in (("labels", LABEL), ("findings", FINDING)):
        lines = [(at + number, "", "", "", "", note) for number, note in notes[what]]
        fresh_db.index_texts(run["id"], what, 0, notes[what][-1][0], lines)
    assert fresh_db.search_notes(run["id"], match_words("zebra"), 100) == {row}
    assert fresh_db.search_notes(run["id"], match_words("note:okapi"), 100) == {row}
    assert fresh_db.new_notes(run["id"], fresh_db.indexed(run["id"])) == {
        "labels": [],
        "findings": [],
    }
    fresh_db.undo_label("ana", "n2")
    assert fresh_db.search_notes(run["id"], match_words("zebra"), 100) == set()


def test_the_index_goes_with_its_run_and_with_no_other(fresh_db, run, make):
    other = make.run(fresh_db, name="other", n=5)
    ids = make.ids(fresh_db, other)
    fresh_db.index_texts(other["id"], "rows", 0, ids[-1], [(ids[0], "", "zebra", "", "", "")])
    fresh_db.delete_run(run["id"])
    tables = fresh_db._connections
    with tables.read() as conn:
        left = {
            r[0]
            for r in conn.execute(
                "SELECT name FROM sqlite_master WHERE name LIKE 'search\\_%' ESCAPE '\\'"
            )
        }
        kept = {r[0] for r in conn.execute("SELECT DISTINCT run_id FROM searches")}
    assert {name.split("_")[1] for name in left} == {str(other["id"])} == {str(r) for r in kept}
    assert fresh_db.search_rows(other["id"], match_words("zebra"), 0, 9).tolist() == [ids[0]]


# Views


def test_a_name_means_one_view(fresh_db):
    first = fresh_db.save_view("  Big   rows ", "where=regime%3DBIG", "ana")
    assert first["name"] == "Big rows"
    assert fresh_db.save_view("big rows", "where=regime%3DBIG", "bo")["id"] == first["id"]
    with pytest.raises(RefusedError, match="There is a view 'Big rows' already"):
        fresh_db.save_view("BIG ROWS", "cell=fp", "bo")
    assert [v["query"] for v in fresh_db.views()] == ["where=regime%3DBIG"]
    fresh_db.save_view("BIG ROWS", "cell=fp", "bo", replace=True)
    assert [(v["name"], v["query"]) for v in fresh_db.views()] == [("BIG ROWS", "cell=fp")]
    with fresh_db._connections.read() as conn:  # what was replaced is not lost
        told = [
            r[0] for r in conn.execute("SELECT detail FROM events WHERE what='view' ORDER BY id")
        ]
    assert told == ["Big rows: where=regime%3DBIG", "BIG ROWS: cell=fp"]


def test_a_name_means_one_view_in_every_alphabet(fresh_db):
    first = fresh_db.save_view("Große Äpfel", "cell=fp")
    assert fresh_db.save_view("GROSSE äpfel", "cell=fp")["id"] == first["id"]
    fresh_db.save_view("GROSSE ÄPFEL", "cell=fn", replace=True)
    assert [v["query"] for v in fresh_db.views()] == ["cell=fn"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_a_view_needs_a_name(fresh_db, name):
    with pytest.raises(RefusedError, match="1 to 80 characters"):
        fresh_db.save_view(name, "cell=fp")


def test_a_view_is_deleted_once(fresh_db):
    view = fresh_db.save_view("a", "cell=fp")
    fresh_db.delete_view(view["id"], "ana")
    assert fresh_db.views() == []
    with pytest.raises(NotFoundError, match="no longer here"):
        fresh_db.delete_view(view["id"])
