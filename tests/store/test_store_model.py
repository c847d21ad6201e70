"""Random histories against a simple model, and random texts that come back as they went in."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whileai_review.store import RefusedError, field_text, open_store

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["label", "label", "change", "repeat", "undo", "defer", "import"]),
        st.sampled_from(["anna", "ben"]),
        st.integers(0, 3),
        st.sampled_from(["overall", "action"]),
        st.sampled_from(["pass", "fail", "unclear"]),
    ),
    max_size=30,
)


class Model:
    """What the store should hold: a dict of current labels and a growing history."""

    def __init__(self):
        self.current: dict[tuple, tuple[int, str]] = {}
        self.history: list[tuple] = []
        self.later: dict[tuple, list[int]] = {}

    def say(self, key, verdict):
        self.history.append((*key, verdict))
        self.current[key] = (len(self.history), verdict)

    def undo(self, annotator, criterion):
        mine = [(n, k) for k, (n, _) in self.current.items() if k[1:] == (criterion, annotator)]
        if not mine:
            return None
        key = max(mine)[1]
        del self.current[key]
        self.history.append((*key, None))
        return key[0]

    def next(self, ids, annotator, criterion):
        open_ = [i for i in ids if (i, criterion, annotator) not in self.current]
        put_off = self.later.get((annotator, criterion), [])
        return next(
            (i for i in open_ if i not in put_off), next((i for i in put_off if i in open_), None)
        )


@FEW
@given(ACTS)
def test_any_history_leaves_what_a_simple_model_says(make_static, acts):
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        run = make_static.run(store, n=4)
        ids = make_static.ids(store, run)
        queues = {
            c: make_static.queue(store, run, name=c, criterion=c)["id"]
            for c in ("overall", "action")
        }
        model = Model()
        for n, (what, who, place, criterion, verdict) in enumerate(acts):
            _step(store, model, queues, ids, n, what, who, place, criterion, verdict)
        _compare(store, model, run, queues, ids)


def _step(store, model, queues, ids, n, what, who, place, criterion, verdict):
    row, key, queue = ids[place], (ids[place], criterion, who), queues[criterion]
    later = model.later.setdefault((who, criterion), [])
    if what in ("label", "change", "repeat"):
        try:
            store.add_label(row, who, verdict, f"{n}", criterion, queue, change=what == "change")
            assert what == "change" or key not in model.current
            model.say(key, verdict)
            if row in later:
                later.remove(row)
        except RefusedError:
            assert what != "change"
            assert key in model.current
        else:
            if what == "repeat":
                assert store.add_label(row, who, verdict, f"{n}", criterion, queue)["repeated"]
    elif what == "undo":
        gone = model.undo(who, criterion)
        for _ in range(2):  # the same press again takes nothing more back
            taken = store.undo_label(who, f"{n}", queue)
            assert (taken and taken["row_id"]) == gone
    elif what == "defer":
        store.defer(queue, who, row)
        if row in later:
            later.remove(row)
        later.append(row)
    else:
        label = {
            "row_id": row, "identity": f"r{place}", "criterion": criterion,
            "annotator": who, "kind": "human", "verdict": verdict,
        }  # fmt: skip
        counts = store.put_labels(store.queue(queue)["run_id"], [label])
        held = model.current.get(key)
        # An import's label is of no queue: the model's undo in a queue would not find it.
        if held is None or held[1] != verdict or not counts["unchanged"]:
            store.undo_label(who, f"{n}-import", label_id=store.labels_of(row, criterion)[-1]["id"])
            model.say(key, verdict)
            del model.current[key]
            model.history.append((*key, None))


def _compare(store, model, run, queues, ids):
    lines = store.labels(run["id"], history=True)
    assert [(x["row_id"], x["criterion"], x["annotator"], x["verdict"]) for x in lines] == (
        model.history
    )
    assert [x["id"] for x in lines] == sorted({x["id"] for x in lines})
    current = {
        (x["row_id"], x["criterion"], x["annotator"]): x["verdict"] for x in store.labels(run["id"])
    }
    assert current == {k: v for k, (_, v) in model.current.items()}
    # What was superseded or undone is named by exactly one later line; what stands by none.
    superseded = [x["supersedes"] for x in lines if x["supersedes"] is not None]
    assert len(superseded) == len(set(superseded))
    stands = {x["id"] for x in lines if x["verdict"] is not None} - set(superseded)
    assert stands == {x["id"] for x in store.labels(run["id"])}
    for criterion, queue in queues.items():
        for who in ("anna", "ben"):
            mine = [v for k, v in current.items() if k[1:] == (criterion, who)]
            later = model.later.get((who, criterion), [])
            got = store.progress(queue, who)
            assert got["n"] == len(ids)
            assert (got["done"], got["unclear"]) == (len(mine), mine.count("unclear"))
            assert got["later"] == sum((i, criterion, who) not in current for i in later)
            following = store.next_row(queue, who)
            assert (following and following["row_id"]) == model.next(ids, who, criterion)


TEXT = st.text(max_size=60)


@FEW
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=5))
def test_the_text_of_rows_comes_out_as_it_went_in(texts):
    """NUL, right-to-left marks, emoji, quotes: text is data (field-reports 8)."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        rows = [
            (n, json.dumps({"prompt": task, "final_text": reply}), who, task, len(reply), None)
            for n, (who, task, reply) in enumerate(texts)
        ]
        load = store.begin_run("run", "a", "jsonl")
        load.add(*zip(*rows, strict=True))
        run = load.finish("hash")
        ids, identities = store.identities(run["id"])
        assert identities == [r[2] for r in rows]
        assert store.tasks_of(run["id"])[1] == [r[3] for r in rows]
        assert [store.row(i)["raw"] for i in ids] == [r[1] for r in rows]
        assert [(r.get("prompt"), r.get("final_text")) for r in store.rows(run["id"])] == [
            (task, reply) for _, task, reply in texts
        ]
        assert {i for of in store.ids_by_identity(run["id"]).values() for i in of} == set(ids)
        assert run["n_duplicates"] == len(texts) - len({who for who, _, _ in texts})


@FEW
@given(TEXT, TEXT, TEXT.filter(bool))
def test_notes_names_and_criteria_are_values_never_sql(make_static, note, criterion, who):
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        run = make_static.run(store, n=2)
        row = make_static.ids(store, run)[0]
        store.add_label(row, who, "pass", "n", criterion, note=note)
        (label,) = store.labels(run["id"])
        assert (label["annotator"], label["criterion"]) == (who, criterion)
        assert label["note"] == (note or None)
        assert store.gold_labels(run["id"], criterion)[0][2] == who


def test_text_that_no_utf8_can_hold_is_refused_in_one_line(make_static):
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        run = make_static.run(store, n=2)
        row = make_static.ids(store, run)[0]
        try:
            store.add_label(row, "anna", "pass", "n", note="\ud83d")
        except RefusedError as error:
            assert "\n" not in str(error)
        else:
            raise AssertionError("a lone surrogate was taken")
        assert store.labels(run["id"]) == []
        store.add_label(row, "anna", "pass", "n")  # the connection goes on working


@FEW
@given(
    st.dictionaries(
        st.sampled_from(['a"b', "a\\b", "a.b", "[0]", "$", "é", "#"]), st.integers(0, 9)
    )
)
def test_a_field_of_any_name_gives_its_values(fields):
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "review.db")) as store:
        load = store.begin_run("run", "a", "jsonl")
        load.add([1], ["{}"], ["a"], ["t"], [0], [json.dumps(fields)])
        run = load.finish("hash")
        for name in ('a"b', "a\\b", "a.b", "[0]", "$", "é", "#"):
            assert store.field_values(run["id"], name)[1] == [fields.get(name)]
            assert store.field_texts(run["id"], name) == {field_text(fields.get(name))}


@pytest.mark.parametrize("name", ["k", 'k"'])
def test_equal_numbers_that_read_differently_are_different_values(tmp_path, name):
    with open_store(tmp_path / "review.db") as store:
        load = store.begin_run("run", "a", "jsonl")
        fields = [json.dumps({name: value}) for value in (1, 1.0, "1", None, 2)]
        load.add([1, 2, 3, 4, 5], ["{}"] * 5, list("abcde"), list("ttttt"), [0] * 5, fields)
        run = load.finish("hash")
        assert store.field_texts(run["id"], name) == {"1", "1.0", "2", "(none)"}
