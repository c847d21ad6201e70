"""One criterion from the file to the gate, on the recipe's table: people label the action.

The figures are those of the recipe "Can the judge be trusted?", section "The disagreement is
one-directional", and of its leak patterns; nothing is taken from the program's own gold, the
answers are given one by one as a person gives them.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whileai_review import intervals, judge_trust, work
from whileai_review.cli import main
from whileai_review.load import Mapping
from whileai_review.store import NotFoundError, RefusedError, open_store
from whileai_review.work.trust_report import trust_html

RECIPE = Path(__file__).parents[1] / "data" / "recipe" / "recipe-run-1.jsonl"
ROWS = [json.loads(line) for line in RECIPE.read_text(encoding="utf-8").splitlines()]
JUDGE = {"reward": "reward", "reward:action": "judge_action"}
MAPS = [f"--map={ours}={theirs}" for ours, theirs in JUDGE.items()]


@pytest.fixture
def db(tmp_path):
    return tmp_path / "review.db"


@pytest.fixture
def store(db):
    """The recipe's rows with the judge's two verdicts and no label at all."""
    with open_store(db) as opened:
        work.load_file(opened, RECIPE, mapping=Mapping(JUDGE), name="recipe", grader="judge")
        yield opened


def label_all(store, who="ana", criterion="action"):
    """Answer every row of a census on the action, as the recipe's rule reads it."""
    queue = work.draw_queue(store, "recipe", "census", criterion=criterion, by=who)
    while (following := store.next_row(queue["id"], who)) is not None:
        row_id = following["row_id"]
        verdict = "pass" if store.row(row_id)["row"]["gold_action"] else "fail"
        work.answer(store, queue["id"], who, row_id, verdict, f"{who} {row_id}", shown_ms=4_000)
    return queue


def run(db, *args):
    return CliRunner().invoke(main, [*args, "--db", str(db)], catch_exceptions=False)


def test_people_label_the_action_and_reach_the_studys_table(store):
    queue = label_all(store)
    assert (queue["criterion"], store.progress(queue["id"], "ana")["done"]) == ("action", 222)
    found = work.slices(store, "recipe", "regime", criterion="action")
    by_value = {line["value"]: line for line in found["rows"]}
    big, small = by_value["BIG"], by_value["SMALL"]
    # | BIG | 114 | 0.789 [0.706, 0.854] | 18 | 18 | 1.000 [0.824, 1.000] |
    assert (big["n"], big["n_gold_fail"], big["false_passes"]) == (114, 18, 18)
    assert round(big["agreement"], 3) == 0.789
    assert [round(x, 3) for x in big["agreement_ci95"]] == [0.706, 0.854]
    assert [round(x, 3) for x in big["false_pass_ci95"]] == [0.824, 1.0]
    # | SMALL | 108 | 0.639 [0.545, 0.723] | 51 | 39 | 0.765 [0.632, 0.860] |
    assert (small["n"], small["n_gold_fail"], small["false_passes"]) == (108, 51, 39)
    assert round(small["agreement"], 3) == 0.639
    assert [round(x, 3) for x in small["agreement_ci95"]] == [0.545, 0.723]
    assert [round(x, 3) for x in small["false_pass_ci95"]] == [0.632, 0.860]
    # "False alarms are near zero (6/96 and 0/57)": with the table, every cell of the confusion.
    report = work.trust(store, "recipe", criterion="action")
    assert report["n_cells"] == {"tp": 96 - 6 + 57, "fp": 18 + 39, "fn": 6, "tn": 12}
    assert (report["gold"], report["gold_kind"], report["interim"]) == ("human", "human", None)
    assert report["state"] == "fails"


def test_the_rows_to_read_of_the_action_are_the_studys_leaks(store):
    label_all(store)
    at = (store, "recipe", None, None, "action")
    leaks = work.cell_rows(*at, "fp")
    patterns = {}
    for row_id in leaks:
        row = store.row(row_id)["row"]
        key = row["regime"], row["leak_pattern"]
        patterns[key] = patterns.get(key, 0) + 1
    assert patterns == {
        ("BIG", "announced"): 15, ("BIG", "wrong_tool"): 1, ("BIG", "silent"): 2,
        ("SMALL", "announced"): 26, ("SMALL", "wrong_tool"): 7, ("SMALL", "silent"): 6,
    }  # fmt: skip
    assert len(work.cell_rows(*at, "fn", "regime", "BIG")) == 6
    assert work.cell_rows(*at, "fn", "regime", "SMALL") == []
    # 41 of 57 leaks, as found from the replies and not from the file's own word.
    claims = work.claims(store, "recipe", criterion="action")
    assert (claims["n"], claims["announced"]["k"]) == (57, 41)
    queue = work.review_queue(store, "recipe", "fp", 0.0, criterion="action")
    assert (queue["criterion"], queue["gold"]) == ("action", "human")
    assert sorted(store.queue_row_ids(queue["id"])) == leaks


def test_the_literal_rubric_reads_as_the_study_has_it(store):
    label_all(store)
    work.join_verdicts(
        store, "recipe", "literal", RECIPE, Mapping({"reward:action": "judge_literal"})
    )
    found = work.slices(store, "recipe", "regime", "literal", criterion="action")
    by_value = {line["value"]: line for line in found["rows"]}
    # BIG 0.807, leak 17/18; SMALL 0.565, leak 44/51; McNemar p 0.73 and 0.0215 by discordant rows.
    assert round(by_value["BIG"]["agreement"], 3) == 0.807
    assert (by_value["BIG"]["false_passes"], by_value["BIG"]["n_gold_fail"]) == (17, 18)
    assert round(by_value["SMALL"]["agreement"], 3) == 0.565
    assert (by_value["SMALL"]["false_passes"], by_value["SMALL"]["n_gold_fail"]) == (44, 51)
    discordant = {}
    for value in ("BIG", "SMALL"):
        right = [
            {
                row
                for cell in ("tp", "tn")
                for row in work.cell_rows(
                    store, "recipe", g, "human", "action", cell, "regime", value
                )
            }
            for g in ("judge", "literal")
        ]
        discordant[value] = (len(right[0] - right[1]), len(right[1] - right[0]))
    assert discordant == {"BIG": (3, 5), "SMALL": (9, 1)}
    assert round(intervals.mcnemar_p(3, 5), 2) == 0.73
    assert round(intervals.mcnemar_p(9, 1), 4) == 0.0215


def test_labels_on_the_action_leave_the_overall_verdict_as_it_was(store):
    before = work.trust(store, "recipe")["headline"]
    label_all(store)
    after = work.trust(store, "recipe")
    assert after["criterion"] == "overall"
    assert after["headline"] == before
    assert after["state"] == "not_measured"
    assert store.run("recipe")["criterion"] == "overall"  # nothing but a person picks another


def test_gate_certificate_and_export_are_of_the_action(store, db, tmp_path):
    label_all(store)
    asked = ("recipe", "--criterion", "action")
    done = run(db, "gate", *asked, "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["decision"]) == (1, "fails")
    assert done.stdout.count('"action"')
    issued = run(db, "certificate", *asked)
    assert issued.exit_code == 0, issued.output
    certificate = json.loads(issued.stdout)
    certificate = certificate.get("certificate", certificate)
    assert certificate["criterion"] == "action"
    assert certificate["n_rows"] == 222
    assert certificate["bounds"]["tnr"]["n"] == 69
    labels = [json.loads(line) for line in run(db, "label", "export", *asked).stdout.splitlines()]
    assert len(labels) == 222
    assert {label["criterion"] for label in labels} == {"action"}
    file = tmp_path / "estimate.jsonl"
    assert run(db, "label", "export", *asked, "--for-estimate", "-o", str(file)).exit_code == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert str(judge_trust(rows)) == work.trust(store, "recipe", criterion="action")["text"]
    for criterion in ((), ("--criterion", "action")):
        out = run(db, "trust", str(file), *criterion)
        assert out.exit_code == 1
        assert "confusion tp=147 fp=57 fn=6 tn=12" in out.stdout


def test_the_rules_labels_of_a_file_do_not_come_out_as_peoples(db, tmp_path):
    """The row keeps the file's own label; an estimate of people's must not be read from it."""
    keys = JUDGE | {"gold_reward:action": "gold_action"}
    origins = {"gold_action": {"kind": "program", "annotator": "rule:recipe"}}
    with open_store(db) as store:
        work.load_file(store, RECIPE, mapping=Mapping(keys), origins=origins, name="recipe")
        queue = work.draw_queue(store, "recipe", "census", criterion="action")["id"]
        for n, row_id in enumerate(store.queue_row_ids(queue)[:40]):
            verdict = "fail" if n % 2 else "pass"
            store.add_label(row_id, "ana", verdict, f"{n}", "action", queue)
        people = work.trust(store, "recipe", gold="human", criterion="action")["text"]
    file = tmp_path / "people.jsonl"
    asked = ("recipe", "--for-estimate", "--criterion", "action", "--gold", "human")
    assert run(db, "label", "export", *asked, "-o", str(file)).exit_code == 0
    for criterion in ((), ("--criterion", "action")):
        assert people.strip() in run(db, "trust", str(file), *criterion).stdout


def test_labels_of_two_criteria_come_back_from_an_export(store, db, tmp_path):
    label_all(store)
    (row_id,) = store.tasks_of(1)[0][:1]
    store.add_label(row_id, "ana", "fail", "overall")
    file = tmp_path / "labels.jsonl"
    file.write_text(run(db, "label", "export", "recipe").stdout)
    with open_store(tmp_path / "fresh.db") as fresh:
        work.load_file(fresh, RECIPE, mapping=Mapping(JUDGE), name="recipe", grader="judge")
        done = work.import_labels(fresh, "recipe", file)
        assert (done["new"], done["unmatched"]) == (223, 0)
        again = work.trust(fresh, "recipe", criterion="action")
    assert again["n_cells"] == {"tp": 147, "fp": 57, "fn": 6, "tn": 12}


def test_the_page_report_of_the_action_names_its_criterion(store):
    label_all(store)
    page = trust_html(store, "recipe", None, None, "action")
    assert "action" in page
    assert "82.6" in page or "83%" in page  # 57 of 69


@pytest.mark.parametrize("command", ["trust", "gate", "certificate"])
def test_a_criterion_that_is_not_there_is_named_with_those_that_are(store, db, command):
    out = run(db, command, "recipe", "--criterion", "tone")
    assert out.exit_code == 2
    assert "No criterion 'tone' on recipe. Criteria: overall, action." in out.output
    out = run(db, "label", "export", "recipe", "--criterion", "tone")
    assert out.exit_code == 2
    assert "No criterion 'tone'" in out.output
    with pytest.raises(NotFoundError, match="No criterion 'tone'"):
        work.slices(store, "recipe", "regime", criterion="tone")


def test_a_criterion_that_nobody_labelled_says_so_by_name(store, db):
    report = work.trust(store, "recipe", criterion="action")
    assert report["state"] == "not_measured"
    assert report["headline"]["bold"] == (
        "No label on the criterion “action” by a person or a program."
    )
    out = run(db, "gate", "recipe", "--criterion", "action")
    assert out.exit_code == 3
    assert "“action”" in out.output
    assert work.slices(store, "recipe", "regime", criterion="action")["rows"] == []
    with pytest.raises(RefusedError, match="needs a judge's verdicts and gold"):
        work.review_queue(store, "recipe", criterion="action")


def test_a_criterion_that_the_judge_says_nothing_of_is_told_from_one_without_labels(store):
    label_all(store, criterion="tone")
    assert store.criteria("recipe") == ["overall", "action", "tone"]
    report = work.trust(store, "recipe", criterion="tone")
    assert report["headline"]["bold"] == "The judge has no verdict on the criterion “tone”."


def test_labels_on_picked_rows_alone_are_said_to_be_no_estimate(store):
    for row_id in store.tasks_of(1)[0][:5]:
        store.add_label(row_id, "ana", "fail", f"{row_id}", criterion="action")
    bold = work.trust(store, "recipe", criterion="action")["headline"]["bold"]
    assert bold.startswith("Every label on the criterion “action” is on a row that was picked")
    assert len(bold) <= 110


def test_a_queue_on_a_new_criterion_is_a_criterion_of_the_run(store):
    queue = work.draw_queue(store, "recipe", "random", 5, criterion="  tone\n of voice ")
    assert queue["criterion"] == "tone of voice"
    assert store.criteria("recipe") == ["overall", "action", "tone of voice"]
    assert (
        work.draw_queue(store, "recipe", "random", 5, criterion="ACTION")["criterion"] == "action"
    )
    bold = work.trust(store, "recipe", criterion="tone of voice")["headline"]["bold"]
    assert bold == "The judge has no verdict on the criterion “tone of voice”."
    for name in ("", " \n", "x" * 61):
        with pytest.raises(RefusedError, match="1 to 60 characters"):
            work.draw_queue(store, "recipe", "random", 5, criterion=name)


@pytest.mark.parametrize(
    "maps",
    [
        ("reward:action=judge_action", "gold_reward:action=gold_action"),
        ("reward=judge_action", "gold_reward=gold_action"),
    ],
)
def test_a_file_is_measured_on_the_criterion_that_is_asked_for(db, maps):
    given = [f"--map={each}" for each in maps]
    out = run(db, "trust", str(RECIPE), *given, "--criterion", "action")
    assert "confusion tp=147 fp=57 fn=6 tn=12" in out.stdout
    out = run(
        db, "trust", str(RECIPE), *MAPS, "--gold", "gold_action=program", "--criterion", "action"
    )
    assert "confusion tp=147 fp=57 fn=6 tn=12" in out.stdout
    assert out.exit_code == 1


@pytest.mark.parametrize("command", ["trust", "gate"])
def test_a_file_that_says_nothing_of_the_criterion_is_refused_and_not_measured_as_overall(
    db, command
):
    out = run(db, command, str(RECIPE), "--criterion", "action")
    assert out.exit_code == 2
    assert "says nothing of the criterion 'action'" in out.output
    assert "--map reward:action=COLUMN" in out.output
    assert "63%" not in out.output
