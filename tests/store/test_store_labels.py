"""Labels: once each, append-only, one current label by row, criterion and annotator."""

import pytest

from whileai_review.store import NotFoundError, RefusedError


@pytest.fixture
def run(fresh_db, make):
    return make.run(fresh_db)


@pytest.fixture
def row(fresh_db, run, make):
    return make.ids(fresh_db, run)[0]


def test_a_label_comes_back_as_it_went_in(fresh_db, run, row, make):
    queue = make.queue(fresh_db, run, 5, guideline_version="g2")
    receipt = fresh_db.add_label(
        row, "anna", "fail", "n1", queue_id=queue["id"], note="  no call", step=2, seconds=3.5
    )
    (label,) = fresh_db.labels(run["id"])
    assert receipt == {"label_id": label["id"], "ts": label["ts"], "repeated": False}
    expected = {
        "run_id": run["id"], "row_id": row, "identity": "r0", "criterion": "overall",
        "annotator": "anna", "kind": "human", "verdict": "fail", "supersedes": None,
        "note": "  no call", "step": 2, "seconds": 3.5, "queue_id": queue["id"],
        "chosen": "random", "inclusion_p": 0.5, "draw_order": 0, "guideline_version": "g2",
        "nonce": "n1",
    }  # fmt: skip
    assert {k: label[k] for k in expected} == expected


def test_a_label_outside_any_queue_is_picked(fresh_db, run, row):
    fresh_db.add_label(row, "anna", "pass", "n1")
    assert fresh_db.labels(run["id"])[0]["chosen"] == "picked"


def test_the_same_press_twice_is_one_label(fresh_db, run, row):
    first = fresh_db.add_label(row, "anna", "pass", "n1")
    again = fresh_db.add_label(row, "anna", "pass", "n1")
    assert again == first | {"repeated": True}
    assert len(fresh_db.labels(run["id"], history=True)) == 1


def test_a_press_that_was_for_another_row_is_not_acknowledged(fresh_db, run, make):
    a, b = make.ids(fresh_db, run)[:2]
    fresh_db.add_label(a, "anna", "pass", "n1")
    with pytest.raises(RefusedError, match="another row"):
        fresh_db.add_label(b, "anna", "pass", "n1")
    with pytest.raises(RefusedError, match="another row"):
        fresh_db.add_label(a, "ben", "pass", "n1")
    assert len(fresh_db.labels(run["id"])) == 1


def test_the_second_tab_is_refused_and_nothing_doubles(fresh_db, run, row):
    fresh_db.add_label(row, "anna", "pass", "tab one")
    with pytest.raises(RefusedError, match="answered this row already"):
        fresh_db.add_label(row, "anna", "fail", "tab two")
    assert [x["verdict"] for x in fresh_db.labels(run["id"], history=True)] == ["pass"]


def test_two_annotators_on_one_row_are_both_kept(fresh_db, run, row):
    fresh_db.add_label(row, "anna", "pass", "n1")
    fresh_db.add_label(row, "ben", "fail", "n2")
    assert {(x["annotator"], x["verdict"]) for x in fresh_db.labels_of(row)} == {
        ("anna", "pass"),
        ("ben", "fail"),
    }


def test_a_changed_mind_is_one_current_label_with_its_history(fresh_db, run, row):
    first = fresh_db.add_label(row, "anna", "pass", "n1")
    fresh_db.add_label(row, "anna", "fail", "n2", change=True)
    assert [x["verdict"] for x in fresh_db.labels(run["id"])] == ["fail"]
    history = fresh_db.labels(run["id"], history=True)
    assert [(x["verdict"], x["supersedes"]) for x in history] == [
        ("pass", None),
        ("fail", first["label_id"]),
    ]


def test_an_undo_opens_the_row_again_and_the_history_says_so(fresh_db, run, row, make):
    queue = make.queue(fresh_db, run, 3)
    fresh_db.add_label(row, "anna", "pass", "n1", queue_id=queue["id"])
    assert fresh_db.next_row(queue["id"], "anna")["position"] == 1
    assert fresh_db.undo_label("anna", "u1", queue["id"])["row_id"] == row
    assert fresh_db.next_row(queue["id"], "anna")["row_id"] == row
    assert fresh_db.labels(run["id"]) == []
    assert [x["verdict"] for x in fresh_db.labels(run["id"], history=True)] == ["pass", None]
    # Argilla and Label Studio double here: label-studio#719
    fresh_db.add_label(row, "anna", "fail", "n2", queue_id=queue["id"])
    assert [x["verdict"] for x in fresh_db.labels(run["id"])] == ["fail"]


def test_the_same_undo_twice_takes_back_one_label(fresh_db, run, make):
    a, b = make.ids(fresh_db, run)[:2]
    fresh_db.add_label(a, "anna", "pass", "n1")
    fresh_db.add_label(b, "anna", "pass", "n2")
    first = fresh_db.undo_label("anna", "u1")
    assert fresh_db.undo_label("anna", "u1") == first
    assert first["row_id"] == b
    assert [x["row_id"] for x in fresh_db.labels(run["id"])] == [a]


def test_an_undo_takes_nobody_elses_label_back(fresh_db, run, row, make):
    queue = make.queue(fresh_db, run, 3)
    other = make.queue(fresh_db, run, 3, name="other")
    label = fresh_db.add_label(row, "anna", "pass", "n1", queue_id=queue["id"])
    assert fresh_db.undo_label("ben", "u1") is None
    assert fresh_db.undo_label("ben", "u2", label_id=label["label_id"]) is None
    assert fresh_db.undo_label("anna", "u3", other["id"]) is None
    assert fresh_db.undo_label("anna", "u4", label_id=label["label_id"])["row_id"] == row


def test_an_unknown_verdict_is_refused(fresh_db, row):
    with pytest.raises(RefusedError, match="pass, fail, unclear"):
        fresh_db.add_label(row, "anna", "maybe", "n1")


def test_the_first_gold_is_the_default_and_no_label_moves_it(fresh_db, run, row):
    fresh_db.put_labels(run["id"], [label(row, annotator="rule:cap", kind="program")])
    fresh_db.add_label(row, "anna", "pass", "n1")
    assert fresh_db.run(run["id"])["gold"] == "program"


def test_a_label_for_a_row_that_was_loaded_again_is_refused(fresh_db, run, row, make):
    fresh_db.delete_run(run["id"])
    again = make.run(fresh_db)
    assert not set(make.ids(fresh_db, again)) & {row}  # an id never comes again
    with pytest.raises(NotFoundError, match="Not saved: the run of this row was deleted"):
        fresh_db.add_label(row, "anna", "pass", "n1")
    assert fresh_db.labels(again["id"], history=True) == []


def test_a_run_deleted_while_someone_labels_it_says_so_and_keeps_their_labels(fresh_db, run, make):
    queue = make.queue(fresh_db, run, 5)
    ids = make.ids(fresh_db, run)
    fresh_db.add_label(ids[0], "anna", "pass", "n1", queue_id=queue["id"])
    assert fresh_db.delete_run("base") == 1
    for act in (
        lambda: fresh_db.add_label(ids[1], "anna", "pass", "n2", queue_id=queue["id"]),
        lambda: fresh_db.queue(queue["id"]),
        lambda: fresh_db.row(ids[1]),
        lambda: fresh_db.defer(queue["id"], "anna", ids[1]),
        lambda: fresh_db.labels(run["id"]),
    ):
        with pytest.raises(NotFoundError) as told:
            act()
        assert "\n" not in str(told.value)
    assert fresh_db.next_row(queue["id"], "anna") is None
    again = make.run(fresh_db, "again")
    assert [(o["run_id"], o["run"], o["n"]) for o in fresh_db.label_offers(again["id"])] == [
        (run["id"], None, 1)
    ]


# put_labels: imports and rules


def label(row_id, verdict="pass", **about):
    return {
        "row_id": row_id, "identity": f"r{row_id - 1}", "criterion": "overall",
        "annotator": "file:gold.csv", "kind": "human", "verdict": verdict,
    } | about  # fmt: skip


def test_the_same_import_twice_changes_nothing(fresh_db, run, make):
    labels = [label(i) for i in make.ids(fresh_db, run)]
    assert fresh_db.put_labels(run["id"], labels)["new"] == 20
    before = fresh_db.labels(run["id"], history=True)
    assert fresh_db.put_labels(run["id"], labels) == {
        "new": 0, "changed": 0, "unchanged": 20, "withdrawn": 0,
    }  # fmt: skip
    assert fresh_db.labels(run["id"], history=True) == before


def test_an_import_with_one_verdict_changed_is_a_revision_with_history(fresh_db, run, row):
    fresh_db.put_labels(run["id"], [label(row), label(row + 1)])
    counts = fresh_db.put_labels(run["id"], [label(row, "fail"), label(row + 1)])
    assert (counts["changed"], counts["unchanged"]) == (1, 1)
    assert [x["verdict"] for x in fresh_db.labels_of(row)] == ["fail"]
    assert len(fresh_db.labels(run["id"], history=True)) == 3


def test_a_rule_run_again_replaces_its_own_labels_only(fresh_db, run, row):
    rule = {"annotator": "rule:cap", "kind": "program"}
    fresh_db.add_label(row, "anna", "pass", "n1")
    fresh_db.put_labels(run["id"], [label(row, **rule), label(row + 1, **rule)])
    counts = fresh_db.put_labels(
        run["id"], [label(row, "fail", **rule)], replace=[("overall", "rule:cap")]
    )
    assert counts == {"new": 0, "changed": 1, "unchanged": 0, "withdrawn": 1}
    assert {(x["annotator"], x["row_id"], x["verdict"]) for x in fresh_db.labels(run["id"])} == {
        ("anna", row, "pass"),
        ("rule:cap", row, "fail"),
    }


def test_one_bad_label_of_an_import_and_none_is_kept(fresh_db, run, row):
    for bad in (label(row + 1, "maybe"), label(row + 1, kind="oracle"), label(99_999)):
        with pytest.raises(RefusedError, match="No label"):
            fresh_db.put_labels(run["id"], [label(row), bad])
    assert fresh_db.labels(run["id"], history=True) == []


def test_an_import_meets_a_label_given_while_it_was_read(fresh_db, run, row):
    """The label of a press between reading and writing is superseded by name, not ignored."""

    def labels():
        fresh_db.add_label(row, "anna", "pass", "n1")
        yield label(row, "fail", annotator="anna")

    counts = fresh_db.put_labels(run["id"], labels())
    assert counts["changed"] == 1
    history = fresh_db.labels(run["id"], history=True)
    assert history[1]["supersedes"] == history[0]["id"]
    assert [x["verdict"] for x in fresh_db.labels(run["id"])] == ["fail"]


def test_gold_labels_are_the_current_ones_of_the_criterion(fresh_db, run, row):
    fresh_db.add_label(row, "anna", "pass", "n1")
    fresh_db.add_label(row, "anna", "fail", "n2", change=True)
    fresh_db.add_label(row, "anna", "pass", "n3", criterion="action")
    (gold,) = fresh_db.gold_labels(run["id"], "overall")
    assert gold[:4] == (row, "fail", "anna", "human")
    assert fresh_db.criteria(run["id"]) == ["overall", "action"]


def test_the_revision_grows_with_every_label_of_its_criterion_and_no_other(fresh_db, run, row):
    seen = [fresh_db.label_revision(run["id"], "overall")]
    fresh_db.add_label(row, "anna", "pass", "n1")
    seen.append(fresh_db.label_revision(run["id"], "overall"))
    fresh_db.undo_label("anna", "u1")
    seen.append(fresh_db.label_revision(run["id"], "overall"))
    assert seen == sorted(set(seen))
    fresh_db.add_label(row, "anna", "pass", "n3", criterion="action")
    assert fresh_db.label_revision(run["id"], "overall") == seen[-1]


def test_labels_carried_over_leave_out_undone_ones_and_rollouts_held_twice(
    fresh_db, run, row, make
):
    for i in (row, row + 1, row + 2):
        fresh_db.add_label(i, "anna", "pass", f"n{i}")
    fresh_db.undo_label("anna", "u", label_id=fresh_db.labels_of(row + 1)[0]["id"])
    load = fresh_db.begin_run("longer", "b.jsonl", "jsonl")
    rows = make.rows(3)
    load.add(*zip(*rows, rows[2], strict=True))  # r2 twice: nobody can say which is meant
    longer = load.finish("b")
    carried = fresh_db.labels_for(longer["id"], run["id"])
    assert [(x["identity"], x["to_row"]) for x in carried] == [("r0", longer["first_id"])]


def test_label_counts_add_up_to_the_current_labels(fresh_db, run, make):
    for n, i in enumerate(make.ids(fresh_db, run)[:6]):
        fresh_db.add_label(
            i, "anna" if n % 2 else "ben", ("pass", "fail", "unclear")[n % 3], f"{n}"
        )
    counts = fresh_db.label_counts(run["id"], "overall")
    assert sum(c["n"] for c in counts) == len(fresh_db.labels(run["id"])) == 6


def test_labels_are_offered_only_where_what_was_said_and_done_is_the_same(fresh_db):
    """Before and after share task and repeat; their rollouts are not the same."""

    def put(name, contents):
        load = fresh_db.begin_run(name, name, "jsonl")
        ids = ["t#0", "t#1"]
        load.add([1, 2], ["{}"] * 2, ids, ["t"] * 2, [0] * 2, [None] * 2, contents)
        return load.finish(name)

    before = put("before", [11, 12])
    after = put("after", [11, 99])
    for n, row_id in enumerate(fresh_db.identities(before["id"])[0]):
        fresh_db.add_label(row_id, "anna", "pass", f"n{n}")
    assert [x["n"] for x in fresh_db.label_offers(after["id"])] == [1]
    carried = fresh_db.labels_for(after["id"], before["id"])
    assert [x["identity"] for x in carried] == ["t#0"]
