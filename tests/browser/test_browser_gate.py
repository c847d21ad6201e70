"""The gate's three outcomes as Trust shows them, and the file that a click downloads."""

import json

import pytest

from whileai_review import load, work
from whileai_review.score.certificate import gate, read_certificate
from whileai_review.store import open_store

MAPPING = load.Mapping({"reward": "reward", "gold_reward": "gold_reward"})
RUNS = {
    "good": [(1, 1)] * 60 + [(0, 0)] * 60,
    "bad": [(1, 1)] * 60 + [(1, 0)] * 40 + [(0, 1)] * 20 + [(0, 0)] * 10,
    "after": [(1, 1)] * 8 + [(0, 0)] * 8,
}


@pytest.fixture(scope="module")
def gated(serve_once, tmp_path_factory):
    """The app on a run that passes, one that fails, and one of another policy."""
    folder = tmp_path_factory.mktemp("gate")
    db = folder / "gate.db"
    with open_store(db) as store:
        for name, pairs in RUNS.items():
            path = folder / f"{name}.jsonl"
            rows = [
                {"scenario_id": f"t{n}", "prompt": f"ask {n}", "final_text": name,
                 "reward": judge, "gold_reward": gold}
                for n, (judge, gold) in enumerate(pairs)
            ]  # fmt: skip
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            work.load_file(store, path, grader="rubric_judge", mapping=MAPPING,
                           origins={"gold_reward": {"kind": "human"}})  # fmt: skip
    return serve_once(db=db)


def test_the_three_outcomes_and_a_certificate_from_click_to_gate(gated, tab, tmp_path):
    tab.goto(f"{gated.url}/trust?run=1", timeout=60_000)
    tab.get_by_text("the gate says PASSES: exit status 0.").wait_for(timeout=60_000)
    tab.get_by_role("button", name="Issue a certificate").click()
    tab.get_by_role("button", name="Issue it").click()
    tab.get_by_text("nothing has moved since").wait_for(timeout=30_000)
    with tab.expect_download() as waiting:
        tab.get_by_role("button", name="Download it").click()
    waiting.value.save_as(tmp_path / "judge.json")
    certificate = read_certificate((tmp_path / "judge.json").read_text())
    assert (certificate["state"], gate(certificate)["exit"]) == ("passes", 0)

    tab.get_by_role("button", name="Sign off").click()
    tab.get_by_text("Accept", exact=True).click()
    tab.get_by_label("Reason").fill("read by two")
    tab.get_by_label("Your name").fill("lea")
    tab.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Sign off").click()
    tab.get_by_text("accepted by lea on").wait_for(timeout=30_000)

    tab.goto(f"{gated.url}/trust?run=2", timeout=60_000)
    tab.get_by_text("the gate says FAILS: exit status 1.").wait_for(timeout=60_000)

    tab.goto(f"{gated.url}/trust?run=3", timeout=60_000)
    tab.get_by_text("the gate says NOT SHOWN: exit status 3.").wait_for(timeout=60_000)
    tab.get_by_text("this run is after: label 40 random rows of after").wait_for(timeout=30_000)
