"""Plans of labels: the verdict is set once, looks and extensions are kept and stand under it."""

import json

import pytest

from whileai_review import work
from whileai_review.store import RefusedError
from whileai_review.work.extending import seen_words
from whileai_review.work.plans import looks_words, planner_words, worth_of_second
from whileai_review.work.trust_report import headline_texts, trust_html


@pytest.fixture
def run(put):
    """A hundred tasks of two rows; the judge passes every second task."""
    rows = [
        {
            "task_id": f"t{n // 2}",
            "rollout_index": n % 2,
            "prompt": f"ask {n // 2}",
            "final_text": f"reply {n}",
            "reward": n // 2 % 2,
        }
        for n in range(200)
    ]
    return put(rows)["id"]


@pytest.fixture
def label(store):
    """Label rows of a queue as the judge says, or against it."""
    count = iter(range(10**6))

    def label(queue, rows, agree=True, verdict=None, by="ana", change=False):
        for row_id in rows:
            truth = store.row(row_id)["row"]["reward"] == int(agree)
            said = verdict or ("pass" if truth else "fail")
            store.add_label(
                row_id, by, said, f"n{next(count)}", queue_id=queue["id"], change=change
            )

    return label


def measured(store, run):
    return work.trust(store, run, gold="human")


def test_the_verdict_is_set_with_the_last_planned_label_and_never_again(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 60)
    order = store.queue_row_ids(queue["id"])
    label(queue, order[:59])
    report = measured(store, run)
    assert report["plan_history"]["verdicts"] == [] and report["verdict_lines"] == []
    label(queue, order[59:])
    report = measured(store, run)
    (verdict,) = report["plan_history"]["verdicts"]
    assert (verdict["state"], verdict["n"], verdict["n_tasks"]) == ("passes", 60, 60)
    assert (verdict["planned"], verdict["n_looks"]) == (60, 0)
    (line,) = report["verdict_lines"]
    assert line.startswith("Verdict of ") and "PASSES. Agrees 100% [94, 100]" in line
    assert line.endswith("(60 labels, 60 tasks), no look before it.")
    (hidden,) = work.verdict_lines(report, figures=False)
    assert "PASSES (60 labels, 60 tasks), no look" in hidden
    # Somebody changes their mind: the number moves, the verdict stands, both are said.
    label(queue, order[:40], agree=False, change=True)
    later = measured(store, run)
    assert later["plan_history"]["verdicts"] == [verdict]
    assert later["verdict_lines"][0] == line
    assert later["verdict_lines"][1].startswith(
        "Labels changed after that verdict: now FAILS. Misses"
    )
    assert later["state"] == "fails"


def test_a_queue_that_is_ended_gets_its_verdict_then(store, run, label):
    queue = work.draw_queue(store, run, "random", 60)
    label(queue, store.queue_row_ids(queue["id"])[:12])
    assert measured(store, run)["plan_history"]["verdicts"] == []
    store.close_queue(queue["id"])
    report = measured(store, run)
    assert [v["n"] for v in report["plan_history"]["verdicts"]] == [12]
    assert "ended at 12 of 60 planned labels" in report["headline"]["grey"]
    # A label that an open tab still sends changes the number, not the verdict.
    label(queue, store.queue_row_ids(queue["id"])[12:13])
    report = measured(store, run)
    assert [v["n"] for v in report["plan_history"]["verdicts"]] == [12]
    assert report["verdict_lines"][-1].endswith("(13 labels, 13 tasks).") or "13 labels" in str(
        report["verdict_lines"]
    )


def test_a_look_is_one_for_each_number_of_labels(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 40)
    order = store.queue_row_ids(queue["id"])
    label(queue, order[:10])
    report = measured(store, run)
    assert work.note_look(store, report, "ben") and not work.note_look(store, report, "ana")
    label(queue, order[10:20])
    assert work.note_look(store, measured(store, run), "ben")
    looks = measured(store, run)["plan_history"]["looks"]
    assert [(look["n_labels"], look["by"]) for look in looks] == [(10, "ben"), (20, "ben")]
    label(queue, order[20:])
    report = measured(store, run)
    assert not work.note_look(store, report, "ben")  # it is no interim figure any more
    assert report["plan_history"]["verdicts"][0]["n_looks"] == 2
    assert report["verdict_lines"][0].endswith("looked at twice before.")
    assert work.certificate_of(store, run, gold="human")["plan"]["looks"] == 2
    assert "Looked at twice before the last of 40 labels." in looks_words(report)
    label(
        queue, order[:1], change=True
    )  # the same answer again: the looks of before still stand under it
    assert measured(store, run)["plan_history"]["verdicts"][0]["n_looks"] == 2


def test_a_queue_is_extended_by_its_own_draw_and_the_longer_plan_has_its_own_verdict(
    store, run, label
):
    queue = work.draw_queue(store, run, "one_per_task", 30)
    first = store.queue_row_ids(queue["id"])
    label(queue, first[:25])
    label(queue, first[25:], agree=False)
    before = measured(store, run)
    seen = seen_words(before)
    assert before["state"] == "not_shown"
    longer = work.extend_queue(store, queue["id"], 120, "ana", seen)
    order = store.queue_row_ids(queue["id"])
    assert (longer["planned_n"], longer["n"], order[:30]) == (120, 120, first)
    drawn = work.draw_queue(store, run, "one_per_task", 120)
    assert drawn["id"] == queue["id"]  # the longer draw is this queue, and no second one
    during = measured(store, run)
    assert during["headline"]["bold"] == "30 of 120 planned labels: no verdict yet."
    assert [v["planned"] for v in during["plan_history"]["verdicts"]] == [30]
    (extension,) = during["plan_history"]["extensions"]
    assert (extension["from_n"], extension["to_n"], extension["by"]) == (30, 120, "ana")
    assert extension["seen"] == seen
    label(queue, order[30:])
    after = measured(store, run)
    verdicts = after["plan_history"]["verdicts"]
    assert [(v["planned"], v["n"], v["n_looks"]) for v in verdicts] == [(30, 30, 0), (120, 120, 1)]
    kinds = [line.split(" of ")[0].split(" on ")[0] for line in after["verdict_lines"]]
    assert kinds == ["Verdict", "Extended", "Verdict"]
    assert after["verdict_lines"][1].endswith("by ana from 30 to 120 labels, after that verdict.")
    assert "looked at once before." in after["verdict_lines"][2]
    # All rows of a task are drawn with the chance of the longer draw: none weighs more.
    assert after["weighted"] is None


def test_an_extension_before_the_end_says_what_was_seen(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 30)
    label(queue, store.queue_row_ids(queue["id"])[:20])
    report = measured(store, run)
    assert work.plan_more(store, report, 10, "ana")["planned_n"] == 30  # it waits for ten
    work.plan_more(store, report, 40, "ana")
    (line,) = measured(store, run)["verdict_lines"]
    assert "by ana from 30 to 60 labels, when the page said: INTERIM. 20 of 30 planned" in line
    assert "So far agrees 100%" in line


def test_rows_of_tasks_of_unlike_size_weigh_by_the_longer_draw(store, put, label):
    # 20 tasks of one row, 20 of three: in the first 40 a row of three stands for three, in the
    # 80 that the queue is extended to for three halves.
    rows = [
        {"task_id": f"t{t}", "rollout_index": r, "prompt": "p", "final_text": f"{t} {r}", "reward": 1}
        for t in range(40)
        for r in range(3 if t >= 20 else 1)
    ]  # fmt: skip
    run = put(rows)["id"]
    queue = work.draw_queue(store, run, "one_per_task", 40)
    label(queue, store.queue_row_ids(queue["id"]))
    work.extend_queue(store, queue["id"], 60)
    label(queue, store.queue_row_ids(queue["id"])[40:])
    chances = {line[8] for line in store.gold_labels(run, "overall")}
    assert sorted(chances) == pytest.approx([2 / 3, 1.0])


def test_what_is_no_extension_is_refused_by_name(store, run, label):
    queue = work.draw_queue(store, run, "random", 30)
    label(queue, store.queue_row_ids(queue["id"]))
    for to_n, words in ((30, "planned for 30 labels already"), (0, "0 is no extension"),
                        (201, "drawn from 200 rows: it cannot have 201")):  # fmt: skip
        with pytest.raises(RefusedError, match=words):
            work.extend_queue(store, queue["id"], to_n)
    census = work.draw_queue(store, run, "census")
    with pytest.raises(RefusedError, match="has every row in it"):
        work.extend_queue(store, census["id"], 300)
    picked = store.add_queue(run, "mine", "picked", [(store.tasks_of(run)[0][0], None, None)])
    with pytest.raises(RefusedError, match="not drawn at random"):
        work.extend_queue(store, picked["id"], 3)
    ids = store.tasks_of(run)[0]
    made = store.add_queue(run, "made", "random", [(ids[1], 0.5, None)], planned_n=1, seed=99)
    with pytest.raises(RefusedError, match="not drawn as this version draws"):
        work.extend_queue(store, made["id"], 3)
    assert measured(store, run)["plan_history"]["extensions"] == []


def test_two_who_extend_at_once_do_it_once(store, run):
    queue = work.draw_queue(store, run, "random", 30)
    ids = store.queue_row_ids(queue["id"])
    store.extend_queue(queue["id"], 30, [(i, 0.2) for i in ids], "x")
    with pytest.raises(RefusedError, match="Somebody else extended"):
        store.extend_queue(queue["id"], 29, [(i, 0.2) for i in ids], "x")


def test_labels_of_a_second_queue_are_a_look_more(store, run, label):
    first = work.draw_queue(store, run, "random", 30)
    label(first, store.queue_row_ids(first["id"]))
    measured(store, run)
    second = work.draw_queue(store, run, "random", 40, seed=8)
    answered = set(store.queue_row_ids(first["id"]))
    label(second, [r for r in store.queue_row_ids(second["id"]) if r not in answered])
    verdicts = measured(store, run)["plan_history"]["verdicts"]
    assert [(v["queue"], v["n_looks"]) for v in verdicts] == [(first["id"], 0), (second["id"], 1)]


def test_one_click_makes_the_queue_longer_or_a_new_one(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 30)
    label(queue, store.queue_row_ids(queue["id"]))
    other = work.draw_queue(store, run, "random", 20, seed=4)
    answered = store.labelled_rows(run, "overall")
    label(other, [r for r in store.queue_row_ids(other["id"]) if r not in answered])
    report = measured(store, run)
    more = work.plan_more(store, report, 25, "ana")
    assert more["id"] == other["id"]
    answered = store.labelled_rows(run, "overall")
    new = [r for r in store.queue_row_ids(other["id"]) if r not in answered]
    assert len(new) == 25  # rows of the first queue bring no label, and are passed over
    fresh = work.plan_more(store, report | {"gold": "program"}, 40)
    assert (fresh["how"], fresh["planned_n"]) == ("one_per_task", 40)


@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.parametrize("n", [1, 2])
def test_one_label_is_no_verdict_to_be_trusted_and_no_crash(store, run, label, n, agree):
    queue = work.draw_queue(store, run, "random", n)
    label(queue, store.queue_row_ids(queue["id"]), agree)
    report = measured(store, run)
    (verdict,) = report["plan_history"]["verdicts"]
    assert verdict["state"] in ("not_shown", "fails") and verdict["n"] == n
    assert planner_words(report) and isinstance(looks_words(report), str)


def test_labels_of_one_class_or_none_that_tells(store, run, label):
    queue = work.draw_queue(store, run, "random", 30)
    order = store.queue_row_ids(queue["id"])
    label(queue, order[:29], verdict="unclear")
    assert measured(store, run)["plan_history"]["verdicts"] == []
    label(queue, order[29:], verdict="unclear")
    report = measured(store, run)  # complete, and nothing was measured: no verdict to set
    assert (report["state"], report["plan_history"]["verdicts"]) == ("not_measured", [])
    assert report["interim"] is None
    label(queue, order, verdict="pass", change=True)
    report = measured(store, run)
    (verdict,) = report["plan_history"]["verdicts"]
    assert verdict["state"] in ("not_shown", "fails")
    assert "0 gold failures" in verdict["headline"]


def test_every_row_of_one_task_has_no_plan_and_is_not_shown(store, put, label):
    rows = [
        {"task_id": "t", "rollout_index": n, "prompt": "p", "final_text": f"{n}", "reward": n % 2}
        for n in range(40)
    ]
    run = put(rows)["id"]
    queue = work.draw_queue(store, run, "random", 20)
    label(queue, store.queue_row_ids(queue["id"]))
    report = measured(store, run)
    here = report["plan"]["here"]
    assert (here["n_tasks"], here["if_it_holds"], here["for_power"]) == (1, None, None)
    assert report["always_valid"]["ci95"] == pytest.approx((1 / 40, 1.0))  # one task: one trial


def test_before_anybody_began_there_is_nothing_to_say(store, run):
    report = measured(store, run)
    assert report["plan_history"]["plan"] is None and report["verdict_lines"] == []
    assert looks_words(report) == ""
    assert "30 labels tell a hopeless judge" in planner_words(report)
    work.draw_queue(store, run, "random", 30)
    assert measured(store, run)["plan_history"]["plan"] is None


def test_the_planner_speaks_of_labels_and_of_tasks(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 60)
    order = store.queue_row_ids(queue["id"])
    label(queue, order[:54])
    label(queue, order[54:], agree=False)
    report = measured(store, run)
    here = report["plan"]["here"]
    assert planner_words(report) == (
        f"The lower bound can clear 80% after {here['if_it_holds']} more labels "
        f"(then {here['tasks_if_it_holds']} of 100 tasks) if the rate holds, "
        f"{here['for_power']} (then {here['tasks_for_power']} of 100 tasks) for an 80% chance."
    )
    words = f"{here['if_it_holds']} more labels if the rate holds"
    assert report["state"] != "not_shown" or words in report["headline"]["grey"]


def test_a_second_rollout_is_worth_what_was_published():
    # statistics.md 5: ICC .3, the first 74 labels are worth 74, the next 74 are worth 40.
    assert round(74 * worth_of_second(0.3)) == 40


def test_a_deleted_run_takes_its_plan_with_it(store, run, label):
    queue = work.draw_queue(store, run, "random", 10)
    label(queue, store.queue_row_ids(queue["id"])[:5])
    report = measured(store, run)
    store.delete_run(run)
    assert not work.note_look(store, report, "ana")
    assert not store.set_verdict(
        queue["id"], report["grader_id"], "human", 10,
        {"state": "passes", "headline": "", "n": 1, "n_tasks": 1},
    )  # fmt: skip


def test_a_plan_of_too_few_labels_says_that_no_judge_can_pass(store, run, label):
    # 12 of 12 has a lower bound of .757 (Wilson): under .80 whatever the judge does.
    queue = work.draw_queue(store, run, "one_per_task", 12)
    label(queue, store.queue_row_ids(queue["id"])[:6])
    work.note_look(store, measured(store, run), "ben")
    said = looks_words(measured(store, run))
    assert said == (
        "Looked at once before the last of 12 labels. 12 labels are too few for any judge to clear "
        "80%."
    )


def test_file_and_quote_carry_the_verdict_and_its_looks(store, run, label):
    queue = work.draw_queue(store, run, "one_per_task", 40)
    label(queue, store.queue_row_ids(queue["id"])[:30])
    work.note_look(store, measured(store, run), "ben")
    label(queue, store.queue_row_ids(queue["id"])[30:])
    report = measured(store, run)
    (line,) = report["verdict_lines"]
    file = trust_html(store, run, gold="human")
    assert line in file and "Looked at once before the last of 40 labels" in file
    texts = headline_texts(report)
    assert line in texts["text"] and json.loads(texts["json"])["plan"] == [line]
