"""The interim state in a browser: to the last planned label, the verdict, an extension."""

import re

import pytest

from whileai_review import work
from whileai_review.load import Mapping
from whileai_review.store import open_store

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def app(serve_app, tmp_path):
    """A run of 60 tasks, and a queue of 12 of which two labels are missing."""
    path = tmp_path / "run.jsonl"
    path.write_text(
        "".join(
            f'{{"task_id": "t{n}", "prompt": "ask {n}", "final_text": "reply {n}", '
            f'"reward": {n % 2}}}\n'
            for n in range(60)
        )
    )
    with open_store(tmp_path / "plan.db") as store:
        loaded = work.load_file(store, path, mapping=Mapping({"reward": "reward"}))
        run = loaded["runs"][0]["id"]
        queue = work.draw_queue(store, run, "one_per_task", 12)["id"]
        store.choose(run, gold="human")
        for row_id in store.queue_row_ids(queue)[:10]:
            said = "pass" if store.row(row_id)["row"]["reward"] else "fail"
            store.add_label(row_id, "ana", said, f"n{row_id}", queue_id=queue)
    server = serve_app(db=tmp_path / "plan.db")
    server.run, server.queue = run, queue
    return server


def history(server):
    with open_store(server.db) as store:
        return work.trust(store, server.run, gold="human")["plan_history"]


def trust_page(page, server):
    page.goto(f"{server.url}/trust?run={server.run}", timeout=60_000)
    page.get_by_text("print(report)").wait_for(timeout=60_000)  # the last thing on the page


def label(page, server, presses):
    """Answer rows of the queue with a key, each when it is painted."""
    page.goto(f"{server.url}/label?queue={server.queue}", timeout=60_000)
    name = page.get_by_role("textbox", name="Who labels?")
    ready = "document.documentElement.dataset.wrReady"
    page.wait_for_function(
        f"() => {ready} || document.querySelector('input[type=text]')", timeout=60_000
    )
    if name.count():
        name.fill("ana")
        page.get_by_role("button", name="Start labelling").click()
    last = ""
    for key in presses:
        page.wait_for_function(f"last => {ready} && {ready} !== last", arg=last, timeout=30_000)
        page.wait_for_timeout(600)
        last = page.evaluate(ready)
        page.keyboard.press(key)
    page.wait_for_timeout(1_500)


def test_to_the_last_planned_label_and_on(app, page, wait_until):
    trust_page(page, app)
    page.get_by_text("10 of 12 planned labels").first.wait_for()
    page.get_by_text("At every look", exact=True).wait_for()
    assert page.get_by_text(re.compile("^Looked at once before the last of 12 labels")).is_visible()
    assert page.get_by_text("INTERIM").count()
    assert not page.get_by_text(re.compile("^Verdict of")).count()
    label(page, app, "11")
    wait_until(lambda: history(app)["plan"]["labelled"] == 12)
    trust_page(page, app)
    verdict = page.get_by_text(re.compile(r"^Verdict of \d+ \w+ \d{4}: "))
    verdict.wait_for()
    assert "(12 labels, 12 tasks), looked at once before." in verdict.inner_text()
    assert not page.get_by_text("INTERIM").count()
    set_ = history(app)["verdicts"]
    assert [(v["planned"], v["n_looks"]) for v in set_] == [(12, 1)]
    # Extended on the page: interim again, ana is asked before she sees the figures of her queue.
    page.get_by_role("button", name="Extend the queue").click()
    number = page.get_by_role("spinbutton", name="Planned labels in all")
    number.fill("20")
    number.press("Enter")
    page.get_by_role("button", name="Extend it to 20 labels").click()
    page.get_by_text("12 of 20 planned labels").first.wait_for(timeout=30_000)
    assert page.get_by_text(re.compile("^Extended on .* by ana from 12 to 20 labels")).is_visible()
    assert page.get_by_role("button", name="Show the figures so far").is_visible()
    assert not page.get_by_text("At every look", exact=True).count()
    again = [v | {"name": set_[0]["name"]} for v in history(app)["verdicts"]]  # the queue's, longer
    assert again == set_  # what was set stands as it was
