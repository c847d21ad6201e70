"""Codes of notes: giving, merging, renaming and splitting lose no note and can be undone."""

import tempfile
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whileai_review.store import NotFoundError, RefusedError, open_store


@pytest.fixture
def run(fresh_db, make):
    return make.run(fresh_db, n=10)


@pytest.fixture
def ids(fresh_db, make, run):
    return make.ids(fresh_db, run)


def noted(store, ids, n, who="ana", text="note {}"):
    """Labels with a note on the first n rows, as notes that codes are given to."""
    return [
        (
            "label",
            store.add_label(row, who, "fail", f"{who} {row}", note=text.format(i))["label_id"],
        )
        for i, row in enumerate(ids[:n])
    ]


def codes_of(store, run):
    """Note -> names of its codes."""
    names = {c["id"]: c["name"] for c in store.codes()}
    return {each["note"]: {names[i] for i in each["code_ids"]} for each in store.notes(run["id"])}


def id_of(store, name):
    return next(c["id"] for c in store.codes() if c["name"] == name)


def test_notes_of_labels_and_of_the_queue_are_one_list_in_time(fresh_db, run, ids):
    (note,) = noted(fresh_db, ids, 1)
    fresh_db.add_label(ids[1], "ana", "pass", "no note")
    fresh_db.add_finding(ids[2], "note", "ben", note="read it twice")
    fresh_db.add_finding(ids[3], "cause", "ben", code="never calls")
    fresh_db.add_finding(ids[4], "read", "ben")
    found = fresh_db.notes(run["id"])
    assert [each["note"] for each in found] == [note, ("row", ids[2]), ("row", ids[3])]
    texts = fresh_db.note_texts([each["note"] for each in found])
    assert [[t["text"] for t in texts[each["note"]]] for each in found] == [
        ["note 0"], ["read it twice"], [],
    ]  # fmt: skip
    assert codes_of(fresh_db, run)["row", ids[3]] == {"never calls"}


def test_a_code_is_given_to_many_notes_at_once_and_each_has_it_once(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 3)
    got = fresh_db.give_code(run["id"], notes, "never calls", "ben")
    assert (got["name"], got["n"], got["had"]) == ("never calls", 3, 0)
    got = fresh_db.give_code(run["id"], [*notes, notes[0]], "Never  Calls", "ana")
    assert (got["name"], got["n"], got["had"]) == ("never calls", 0, 3)
    assert fresh_db.coded_rows(run["id"]) == [(row, got["code_id"]) for row in ids[:3]]


@pytest.mark.parametrize(
    "other",
    ["Never Calls", "  never\n calls ", "NEVER CALLS", "never\u200b calls", "never\u00a0calls"],
)
def test_two_names_that_read_alike_are_one_code(fresh_db, run, ids, other):
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes[:1], "never calls", "ana")
    fresh_db.give_code(run["id"], notes[1:], other, "ana")
    fresh_db.add_finding(ids[2], "cause", "ana", code=other)
    assert [c["name"] for c in fresh_db.codes()] == ["never calls"]


def test_composed_and_decomposed_names_are_one_code(fresh_db, run, ids):
    composed, apart = "caf\u00e9 stra\u00dfe", unicodedata.normalize("NFD", "CAF\u00c9 STRASSE")
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes[:1], apart, "ana")
    fresh_db.give_code(run["id"], notes[1:], composed, "ana")
    assert [c["name"] for c in fresh_db.codes()] == [unicodedata.normalize("NFC", apart)]


@pytest.mark.parametrize("name", ["", " \n\t", "\u200b", "\u2060 \ufeff", "x" * 121])
def test_a_name_that_none_can_have_is_refused_and_nothing_kept(fresh_db, run, ids, name):
    notes = noted(fresh_db, ids, 1)
    with pytest.raises(RefusedError, match="name"):
        fresh_db.give_code(run["id"], notes, name, "ana")
    with pytest.raises(RefusedError, match="name"):
        fresh_db.add_finding(ids[0], "cause", "ana", code=name)
    assert fresh_db.codes() == []


def test_taking_back_a_label_takes_its_code_out_of_the_count_and_the_same_note_keeps_it(
    fresh_db, run, ids
):
    (note,) = noted(fresh_db, ids, 1)
    fresh_db.give_code(run["id"], [note], "a", "ben")
    # Another verdict under the same note is the same note.
    changed = fresh_db.add_label(ids[0], "ana", "pass", "again", note="note 0", change=True)
    assert codes_of(fresh_db, run) == {("label", changed["label_id"]): {"a"}}
    assert len(fresh_db.coded_rows(run["id"])) == 1
    # Another text is another note, which nobody has given a code.
    other = fresh_db.add_label(ids[0], "ana", "pass", "third", note="other", change=True)
    assert codes_of(fresh_db, run) == {("label", other["label_id"]): set()}
    assert fresh_db.coded_rows(run["id"]) == []
    with pytest.raises(RefusedError, match="1 of these notes was taken back or changed"):
        fresh_db.give_code(run["id"], [note], "b", "ben")
    assert [c["name"] for c in fresh_db.codes()] == ["a"]  # nothing of a refused one is kept


def test_a_row_counts_once_however_many_notes_on_it_have_the_code(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 1) + noted(fresh_db, ids, 1, who="ben")
    fresh_db.give_code(run["id"], notes, "a", "ana")
    fresh_db.add_finding(ids[0], "cause", "carl", code="A")
    assert fresh_db.coded_rows(run["id"]) == [(ids[0], id_of(fresh_db, "a"))]


def test_merged_codes_count_as_one_under_whatever_name_they_were_given(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 3)
    for note, name in zip(notes, "abc", strict=True):
        fresh_db.give_code(run["id"], [note], name, "ana")
    a, b, c = (id_of(fresh_db, name) for name in "abc")
    assert fresh_db.merge_codes([a], b, "ben") == 1
    assert fresh_db.merge_codes([b], c, "ben") == 1
    assert [x["name"] for x in fresh_db.codes()] == ["c"]
    assert fresh_db.codes()[0]["also"] == ["a", "b"]
    assert codes_of(fresh_db, run) == {note: {"c"} for note in notes}
    fresh_db.add_finding(ids[4], "cause", "ana", code="A")  # the old name is a name of c
    assert fresh_db.coded_rows(run["id"]) == [(ids[n], c) for n in (0, 1, 2, 4)]
    assert {f["code"] for f in fresh_db.findings(run["id"], "cause")} == {"c"}
    assert fresh_db.last_codes(run["id"]) == ["c"]


def test_a_row_with_two_codes_that_are_merged_counts_once(fresh_db, run, ids):
    (note,) = noted(fresh_db, ids, 1)
    fresh_db.give_code(run["id"], [note], "a", "ana")
    fresh_db.give_code(run["id"], [note], "b", "ana")
    fresh_db.merge_codes([id_of(fresh_db, "a")], id_of(fresh_db, "b"), "ana")
    assert len(fresh_db.coded_rows(run["id"])) == 1
    assert fresh_db.take_code(run["id"], [note], id_of(fresh_db, "b"), "ana") == 1
    assert fresh_db.coded_rows(run["id"]) == []


def test_renaming_to_a_name_that_is_taken_is_refused_by_name(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes[:1], "wrong tool", "ana")
    fresh_db.give_code(run["id"], notes[1:], "tool", "ana")
    with pytest.raises(RefusedError, match="There is a code “wrong tool” already"):
        fresh_db.rename_code(id_of(fresh_db, "tool"), " WRONG tool", "ben")
    # Its own name in other letters is no other code.
    assert fresh_db.rename_code(id_of(fresh_db, "tool"), "Tool", "ben") == "Tool"


def test_what_was_merged_the_wrong_way_round_is_renamed_and_undone(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes[:1], "good name", "ana")
    fresh_db.give_code(run["id"], notes[1:], "bad", "ana")
    fresh_db.merge_codes([id_of(fresh_db, "good name")], id_of(fresh_db, "bad"), "ana")
    fresh_db.rename_code(id_of(fresh_db, "bad"), "good name", "ben")
    assert codes_of(fresh_db, run) == {note: {"good name"} for note in notes}
    rename, merge = fresh_db.code_changes(run["id"])[:2]
    with pytest.raises(RefusedError, match="gave its name away since"):
        fresh_db.undo_code_change(merge["id"], "ana")
    fresh_db.undo_code_change(rename["id"], "ana")
    fresh_db.undo_code_change(merge["id"], "ana")
    assert codes_of(fresh_db, run) == {notes[0]: {"good name"}, notes[1]: {"bad"}}


def test_a_name_that_nobody_uses_any_more_is_free(fresh_db, run, ids):
    (note,) = noted(fresh_db, ids, 1)
    fresh_db.give_code(run["id"], [note], "a", "ana")
    fresh_db.rename_code(id_of(fresh_db, "a"), "b", "ana")
    fresh_db.give_code(run["id"], [note], "a", "ana")  # by mistake, and undone
    fresh_db.undo_code_change(fresh_db.code_changes(run["id"])[0]["id"], "ana")
    fresh_db.undo_code_change(fresh_db.code_changes(run["id"])[1]["id"], "ana")
    assert codes_of(fresh_db, run) == {note: {"a"}}
    assert [c["name"] for c in fresh_db.codes()] == ["a"]


def test_splitting_moves_the_selected_notes_and_leaves_the_rest(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 4)
    fresh_db.give_code(run["id"], notes[:3], "vague", "ana")
    vague = id_of(fresh_db, "vague")
    done = fresh_db.split_code(run["id"], vague, [notes[0], notes[3]], "wrong amount", "ben")
    assert (done["name"], done["n"]) == ("wrong amount", 1)  # the fourth had no such code
    assert codes_of(fresh_db, run) == {
        notes[0]: {"wrong amount"}, notes[1]: {"vague"}, notes[2]: {"vague"}, notes[3]: set(),
    }  # fmt: skip
    with pytest.raises(RefusedError, match="none of the selected notes has the code “vague”"):
        fresh_db.split_code(run["id"], vague, [notes[0]], "third", "ana")
    with pytest.raises(RefusedError, match="“vague” is the code that they have"):
        fresh_db.split_code(run["id"], vague, [notes[1]], "VAGUE", "ana")
    assert [c["name"] for c in fresh_db.codes()] == ["vague", "wrong amount"]


def test_history_says_who_did_what_and_undo_gives_back_the_first_readers_findings(
    fresh_db, run, ids
):
    fresh_db.add_finding(ids[0], "cause", "ana", code="a")
    fresh_db.add_finding(ids[0], "cause", "carl", code="a")
    fresh_db.split_code(run["id"], id_of(fresh_db, "a"), [("row", ids[0])], "b", "ben")
    (change,) = fresh_db.code_changes(run["id"])
    assert {k: change[k] for k in ("what", "by", "name", "to", "n", "undone_by")} == {
        "what": "split", "by": "ben", "name": "a", "to": "b", "n": 1, "undone_by": None,
    }  # fmt: skip
    done = fresh_db.undo_code_change(change["id"], "dora")
    assert done == {"what": "split", "n": 1, "changed": 0}
    assert [(f["code"], f["by"]) for f in fresh_db.findings(run["id"], "cause")] == [
        ("a", "ana"), ("a", "carl"),
    ]  # fmt: skip
    (change,) = fresh_db.code_changes(run["id"])
    assert change["undone_by"] == "dora"
    assert change["undone_at"] >= change["at"]
    with pytest.raises(RefusedError, match="dora has undone this already"):
        fresh_db.undo_code_change(change["id"], "ben")


def test_undo_leaves_what_was_changed_since(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes, "a", "ana")
    fresh_db.split_code(run["id"], id_of(fresh_db, "a"), notes[:1], "b", "ben")
    split, give = fresh_db.code_changes(run["id"])
    assert fresh_db.undo_code_change(give["id"], "ana") == {"what": "give", "n": 1, "changed": 1}
    assert codes_of(fresh_db, run) == {notes[0]: {"b"}, notes[1]: set()}
    fresh_db.take_code(run["id"], notes[:1], id_of(fresh_db, "b"), "ana")
    with pytest.raises(RefusedError, match="Nothing is left to undo"):
        fresh_db.undo_code_change(split["id"], "ana")


def test_undoing_a_rename_whose_old_name_is_in_use_again_is_refused_by_name(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 2)
    fresh_db.give_code(run["id"], notes[:1], "a", "ana")
    fresh_db.rename_code(id_of(fresh_db, "a"), "b", "ana")
    fresh_db.give_code(run["id"], notes[1:], "a", "ben")
    with pytest.raises(RefusedError, match="There is a code “a” already"):
        fresh_db.undo_code_change(fresh_db.code_changes(run["id"])[1]["id"], "ana")


def test_the_second_of_two_people_is_told_what_the_first_did(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 3)
    for note, name in zip(notes, "abc", strict=True):
        fresh_db.give_code(run["id"], [note], name, "ana")
    a, b, c = (id_of(fresh_db, name) for name in "abc")
    fresh_db.merge_codes([a], b, "ana")
    with pytest.raises(RefusedError, match="“a” was merged into “b” by ana meanwhile"):
        fresh_db.merge_codes([b], a, "ben")
    with pytest.raises(RefusedError, match="“a” was merged into “b” by ana meanwhile"):
        fresh_db.rename_code(a, "x", "ben", seen="a")
    with pytest.raises(RefusedError, match="“a” was merged into “b”"):
        fresh_db.merge_codes([a, c], c, "ben")
    assert fresh_db.merge_codes([a], b, "ben") == 0  # the same wish again is granted
    fresh_db.rename_code(c, "d", "ana", seen="c")
    with pytest.raises(RefusedError, match="“c” was renamed “d” meanwhile"):
        fresh_db.rename_code(c, "e", "ben", seen="c")
    for nothing in ([], [c]):
        with pytest.raises(RefusedError, match="pick two"):
            fresh_db.merge_codes(nothing, c, "ben")
    with pytest.raises(RefusedError, match="tick notes first"):
        fresh_db.give_code(run["id"], [], "x", "ben")
    with pytest.raises(NotFoundError, match="not here"):
        fresh_db.rename_code(10**9, "x", "ben")
    with pytest.raises(NotFoundError, match="not here"):
        fresh_db.undo_code_change(10**9, "ben")


def test_notes_of_another_run_are_refused(fresh_db, make, run, ids):
    other = make.run(fresh_db, "other", n=3)
    (note,) = noted(fresh_db, ids, 1)
    for wrong in (note, ("row", ids[0])):
        with pytest.raises(RefusedError, match="taken back or changed"):
            fresh_db.give_code(other["id"], [wrong], "a", "ana")


def test_two_people_at_once_make_one_code_and_opposite_merges_leave_one(fresh_db, run, ids):
    notes = noted(fresh_db, ids, 10)

    def together(*acts):
        start, refused = threading.Barrier(len(acts)), []

        def go(act):
            start.wait()
            try:
                act()
            except RefusedError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=go, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return refused

    give = [
        lambda note=note, name=name: fresh_db.give_code(run["id"], [note], name, "p")
        for note, name in zip(
            notes, ["tool", "Tool", "TOOL ", "t\u200bool", "other"] * 2, strict=True
        )
    ]
    assert together(*give) == []
    one, two = (c["id"] for c in fresh_db.codes())
    refused = together(
        lambda: fresh_db.merge_codes([one], two, "ana"),
        lambda: fresh_db.merge_codes([two], one, "ben"),
    )
    assert len(refused) == 1
    assert "was merged into" in refused[0]
    assert len(fresh_db.codes()) == 1
    assert len(fresh_db.coded_rows(run["id"])) == 10


def test_a_note_of_ten_million_characters_is_listed_by_its_head(fresh_db, run, ids):
    huge = "x" * 10_000_000 + "needle"
    fresh_db.add_label(ids[0], "ana", "fail", "n", note=huge)
    (found,) = fresh_db.notes(run["id"], text="needle")
    (text,) = fresh_db.note_texts([found["note"]])[found["note"]]
    assert (len(text["text"]), text["chars"]) == (600, 10_000_006)
    assert fresh_db.whole_note(found["note"]) == [huge]


@pytest.mark.parametrize("text", ["100%", "a_b", "it's", '"', "\\", "<b>", "😀"])
def test_a_search_takes_every_character_as_itself(fresh_db, run, ids, text):
    noted(fresh_db, ids, 1, text=f"before {text} after")
    noted(fresh_db, ids[1:], 1, text="before 100 axb its bold after")
    assert [each["row_id"] for each in fresh_db.notes(run["id"], text=text)] == ids[:1]


def test_seeing_others_notes_ends_blindness_and_is_no_reading(fresh_db, run, ids):
    fresh_db.mark_seen(ids[:3], "ben")
    fresh_db.mark_seen(ids[:3], "ben")
    assert fresh_db.read_at(ids[0], "ben") is not None
    assert fresh_db.read_at(ids[3], "ben") is None
    assert fresh_db.findings(run["id"], "read") == []
    assert len(fresh_db.findings(run["id"], "seen")) == 3
    assert fresh_db.reviewed_rows(run["id"]) == []


def test_reviewed_rows_know_how_they_were_chosen(fresh_db, make, run, ids):
    queue = make.queue(fresh_db, run, n=2)["id"]
    fresh_db.add_label(ids[0], "ana", "fail", "1", queue_id=queue)
    fresh_db.add_label(ids[1], "ana", "fail", "2", queue_id=queue, unblinded_at="2026-01-01")
    fresh_db.add_label(ids[2], "ana", "fail", "3")
    fresh_db.add_finding(ids[3], "read", "ana")
    fresh_db.add_finding(ids[0], "read", "ana")
    assert [(row, how) for row, _, how in fresh_db.reviewed_rows(run["id"])] == [
        (ids[0], "random"), (ids[1], None), (ids[2], "picked"), (ids[3], None),
    ]  # fmt: skip


NAMES = ["a", "b", "C", "d"]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["give", "give", "give", "take", "merge", "rename", "split", "undo"]),
        st.sampled_from(NAMES),
        st.sampled_from([*NAMES, " A ", "B", "c", "e"]),
        st.sets(st.integers(0, 5), max_size=4),
    ),
    max_size=25,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(ACTS)
def test_any_sequence_leaves_what_a_simple_model_says_and_every_note(make_static, acts):
    """The model: note -> names, and a stack of what it was before each change."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        run = make_static.run(store, n=6)
        ids = make_static.ids(store, run)
        notes = noted(store, ids, 3) + [("row", row) for row in ids[3:]]
        for row in ids[3:]:
            store.add_finding(row, "note", "ana", note=f"found {row}")
        model, before = {note: frozenset() for note in notes}, []
        for what, name, other, places in acts:
            chosen = [notes[i] for i in sorted(places)]
            new = _act(store, run, model, what, name, other, chosen, before)
            if new is not None:
                before.append(model)
                model = new
            elif what == "undo" and before:
                model = before.pop()
            assert codes_of(store, run) == model
            assert {n: [t["text"] for t in store.note_texts([n])[n]] for n in notes} == {
                **{n: [f"note {i}"] for i, n in enumerate(notes[:3])},
                **{n: [f"found {n[1]}"] for n in notes[3:]},
            }
        while before:  # everything can be undone, last first, down to nothing
            assert _act(store, run, model, "undo", "", "", [], before) is None
            model = before.pop()
            assert codes_of(store, run) == model
        assert set(model.values()) == {frozenset()}


def _act(store, run, model, what, name, other, chosen, before):
    """Do it in the store; the model after it, None where nothing was to change."""
    live = {c["name"].casefold(): c for c in store.codes()}
    also = {n.casefold(): c for c in store.codes() for n in c["also"]}
    known = {k: c["name"] for k, c in (also | live).items()}
    at = live.get(name.casefold())
    said = other.strip().casefold()
    target = known.get(said, other.strip())
    if what == "undo":
        standing = [c for c in store.code_changes(run["id"], 100) if c["undone_by"] is None]
        assert len(standing) == len(before)
        if standing:
            store.undo_code_change(standing[0]["id"], "zoe")
        return None
    if what == "give":
        if not chosen:
            return _refused(store.give_code, run["id"], chosen, other, "ana")
        got = store.give_code(run["id"], chosen, other, "ana")
        return _with(model, chosen, add=target) if got["n"] else None
    if at is None:
        return None
    own = at["name"]
    having = [note for note in chosen if own in model[note]]
    if what == "take":
        if not having:
            return _refused(store.take_code, run["id"], chosen, at["id"], "ben")
        assert store.take_code(run["id"], chosen, at["id"], "ben") == len(having)
        return _with(model, having, drop=own)
    if what == "split":
        if not having or target == own:
            return _refused(store.split_code, run["id"], at["id"], chosen, other, "ben")
        store.split_code(run["id"], at["id"], chosen, other, "ben")
        return _with(model, having, add=target, drop=own)
    if what == "merge":
        into = live.get(said)
        if into is None or into["id"] == at["id"]:
            return None
        assert store.merge_codes([at["id"]], into["id"], "ben") == 1
        return _with(model, [n for n in model if own in model[n]], add=into["name"], drop=own)
    held = (also | live).get(said, at)
    in_use = said in also or held["also"] or any(held["name"] in names for names in model.values())
    if held["name"] != own and in_use:
        return _refused(store.rename_code, at["id"], other, "ben")
    renamed = store.rename_code(at["id"], other, "ben")
    if renamed == own:
        return None
    return _with(model, [n for n in model if own in model[n]], add=renamed, drop=own)


def _refused(act, *arguments):
    with pytest.raises(RefusedError):
        act(*arguments)


def _with(model, notes, add=None, drop=None):
    new = dict(model)
    for note in notes:
        new[note] = (new[note] - {drop}) | ({add} if add is not None else set())
    return new
