"""The main job, end to end, as the issue's "Show" tells it: label, kill, trust, queue, link."""

import json
import re
import signal
import subprocess
import sys

import pytest

from whileai_review import judge_trust
from whileai_review.intervals import quoted
from whileai_review.report import count, interval_percent, percent
from whileai_review.store import open_store

pytestmark = pytest.mark.timeout(240)


def say_name(page, name):
    page.get_by_role("textbox", name="Who labels?").fill(name)
    page.get_by_role("button", name="Start labelling").click()


def ready(page, not_row=None):
    """Wait until a row (another one than `not_row`) is painted and may be answered."""
    page.wait_for_function(
        "last => document.documentElement.dataset.wrReady"
        " && document.documentElement.dataset.wrReady !== last",
        arg=not_row or "",
        timeout=30_000,
    )
    page.wait_for_timeout(600)
    return page.evaluate("document.documentElement.dataset.wrReady")


def current(db, annotator="ana"):
    """(row, verdict) of the current labels of a person, oldest first."""
    with open_store(db) as store:
        return [
            (str(line["row_id"]), line["verdict"])
            for run in store.runs()
            for line in store.labels(run["id"])
            if line["annotator"] == annotator
        ]


def start_labelling(page, server, name="ana"):
    page.goto(f"{server.url}/label")
    say_name(page, name)
    page.get_by_role("button", name=re.compile("^Label .* rows$")).click()
    return ready(page)


def exported(server, run):
    """The numbers of Python on what the command line exports."""
    out = subprocess.run(
        [sys.executable, "-m", "whileai_review", "label", "export", run, "--for-estimate"]
        + ["--db", str(server.db)],
        capture_output=True,
        check=True,
        env=server.env,
    ).stdout
    return judge_trust([json.loads(line) for line in out.splitlines()])


def open_trust(page, server, run_id):
    page.goto(f"{server.url}/trust?run={run_id}")
    page.get_by_text("print(report)").wait_for()  # the last thing on the page
    page.get_by_role("link", name=re.compile("^Read the")).or_(
        page.get_by_role("button", name=re.compile("Read the"))
    ).first.wait_for()
    return page.locator(".stMain").inner_text()


def test_label_undo_kill_trust_queue_and_link(serve_demo, new_page, wait_until):
    server, page = serve_demo(), new_page()
    with open_store(server.db) as store:
        run_id = store.run("before")["id"]
    before = exported(server, "before")
    trust_before = open_trust(page, server, run_id)

    # Five rows by keyboard, one taken back.
    row, done = start_labelling(page, server), []
    for key, verdict in zip("12312", ("pass", "fail", "unclear", "pass", "fail"), strict=True):
        page.keyboard.press(key)
        done.append((row, verdict))
        row = ready(page, row)
    assert current(server.db) == done
    page.keyboard.press("u")
    assert ready(page, row) == done.pop()[0]
    wait_until(lambda: current(server.db) == done)

    # The server dies in the middle of a sixth: it is stopped, the key goes down, it is killed.
    server.process.send_signal(signal.SIGSTOP)
    page.keyboard.press("1")
    page.wait_for_timeout(500)
    server.kill()
    assert current(server.db) == done

    server.start()
    address = page.url
    page.goto(address)
    row = ready(page)
    assert current(server.db) == done
    page.get_by_text(re.compile(r"^4 of 150")).wait_for()

    # People's labels moved nothing but the table of person against rule.
    after = exported(server, "before")
    assert after == before
    shown = open_trust(page, server, run_id)
    agreement = after["agreement"]
    line = [percent(agreement["agreement"]), interval_percent(quoted(agreement))]
    assert re.search(r"Agreement.*" + r"\s+.*".join(map(re.escape, line)), shown, re.S)
    assert count(agreement["n"]) in shown
    assert shown.split("Read the")[0].split() == trust_before.split("Read the")[0].split()

    # The queue: false passes in the BIG regime, the same in a fresh browser by its address.
    page.goto(f"{server.url}/queue?run={run_id}&cell=fp&field=regime&value=BIG")
    page.get_by_text(re.compile("read so far")).wait_for()
    page.get_by_role("button", name="Next").click()
    page.wait_for_url(re.compile(r"row=\d+"))
    opened = re.search(r"row=(\d+)", page.url).group(1)
    link = page.url
    fresh = new_page()
    fresh.goto(link)
    fresh.wait_for_selector(f"[data-wr-row='{opened}']")
    with open_store(server.db) as store:
        assert store.row(int(opened))["row"]["regime"] == "BIG"

    # Answer a row of it, blind.
    page.get_by_role("button", name="Answer blind").click()
    page.get_by_role("button", name=re.compile("Draw and answer")).click()
    row = ready(page)
    n = len(current(server.db))
    page.keyboard.press("2")
    wait_until(lambda: len(current(server.db)) == n + 1)
    assert (row, "fail") in current(server.db)
    assert exported(server, "before") == before  # picked rows enter no estimate


def test_two_browsers_on_one_queue_lose_nothing(serve_demo, new_page):
    server, ana, ben = serve_demo(), new_page(), new_page()
    row_a = start_labelling(ana, server)
    ben.goto(ana.url)
    say_name(ben, "ben")
    row_b = ready(ben)
    said_a, said_b = [], []
    for key, verdict in zip("1221", ("pass", "fail", "fail", "pass"), strict=True):
        ana.keyboard.press(key)
        ben.keyboard.press(key)
        said_a.append((row_a, verdict))
        said_b.append((row_b, verdict))
        row_a, row_b = ready(ana, row_a), ready(ben, row_b)
    assert current(server.db) == said_a
    assert current(server.db, "ben") == said_b == said_a
