"""How the app is served: headers, who may talk to it, and whom it talks to."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import pytest

from whileai_review.ui.server import CONTENT_SECURITY_POLICY, Guard, app_script

HERE = os.path.dirname(__file__)
ROOT = os.path.dirname(os.path.dirname(HERE))

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",  # RFC 6455, section 1.3
}


def ask(server, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    if answer.status != 101:
        answer.read()
    connection.close()
    return answer


@pytest.fixture(scope="module")
def server(serve_once):
    return serve_once("bar_app.py")


@pytest.mark.parametrize(
    "path", ["/", "/health", "/_stcore/health", "/static/js/nothing.js", "/record/1"]
)
def test_every_answer_carries_the_security_headers(server, path):
    answer = ask(server, path)
    assert answer.getheader("Content-Security-Policy") == CONTENT_SECURITY_POLICY
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"


def test_a_websocket_of_our_own_page_is_taken_and_a_foreign_one_refused(server):
    ours = {**UPGRADE, "Origin": server.url}
    assert ask(server, "/_stcore/stream", **ours).status == 101
    theirs = {**UPGRADE, "Origin": "https://evil.example"}
    assert ask(server, "/_stcore/stream", **theirs).status == 403


def test_a_name_that_was_rebound_to_this_machine_is_refused(server):
    assert ask(server, "/", Host=f"evil.example:{server.port}").status == 403
    assert ask(server, "/", Host=f"localhost:{server.port}").status == 200


def test_a_proxy_may_name_the_host_under_which_it_is_known():
    guard = Guard(None, "127.0.0.1", hosts=["review.example"])
    assert not guard.refuses(b"review.example", b"https://review.example")
    assert guard.refuses(b"review.example", b"https://other.example")
    assert guard.refuses(b"other.example", None)


def test_an_address_that_others_reach_takes_any_name_but_no_foreign_origin():
    guard = Guard(None, "0.0.0.0")
    assert not guard.refuses(b"box.lan:8501", b"http://box.lan:8501")
    assert guard.refuses(b"box.lan:8501", b"http://evil.example")


def test_a_port_in_use_is_one_line_and_status_1(server, tmp_path):
    second = subprocess.run(
        [sys.executable, "-m", "whileai_review.ui.server", str(tmp_path / "b.db"), str(server.port)],
        capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": ROOT},
    )  # fmt: skip
    assert second.returncode == 1
    assert len(second.stderr.splitlines()) == 1
    assert str(server.port) in second.stderr and "--port" in second.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_with_a_tab_open_and_without_a_traceback(serve_app, page, how):
    server = serve_app("bar_app.py")
    page.goto(server.url)
    page.wait_for_selector("[data-wr-ready]", state="attached")
    begin = time.monotonic()
    server.stop(how)
    assert time.monotonic() - begin < 10
    assert "Traceback" not in server.log.read_text()


def test_a_page_that_fails_shows_one_line_and_logs_the_reason(serve_app, page):
    server = serve_app("failing_app.py")
    page.goto(server.url)
    page.get_by_role("button", name="break").click()
    page.wait_for_selector("text=This page could not be drawn")
    shown = page.inner_text("body")
    assert "secret detail" not in shown and "Traceback" not in shown
    assert "ValueError: a secret detail of the failure" in server.log.read_text()


def test_the_theme_comes_from_the_file_beside_the_app(server, page):
    page.goto(server.url)
    page.wait_for_selector("[data-wr-ready]", state="attached")
    text = page.evaluate("getComputedStyle(document.querySelector('.stApp')).color")
    assert text == "rgb(27, 31, 36)"  # textColor "#1B1F24" of [theme.light]
    assert os.path.exists(os.path.join(app_script().parent, ".streamlit", "config.toml"))


def test_neither_browser_nor_server_asks_another_host(serve_app, page, tmp_path):
    audit = tmp_path / "asked"
    server = serve_app(
        "bar_app.py",
        env={
            "WHILEAI_REVIEW_AUDIT": str(audit),
            "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "audit"), ROOT]),
        },
    )
    page.goto(server.url)
    page.wait_for_selector("[data-wr-ready=r0]", state="attached")
    page.wait_for_timeout(500)
    page.keyboard.press("1")
    page.wait_for_selector("[data-wr-ready=r1]", state="attached")
    # What made Streamlit look for its own outside address: a foreign origin.
    assert ask(server, "/_stcore/stream", **UPGRADE, Origin="https://evil.example").status == 403
    assert ask(server, "/_stcore/health", Origin="https://evil.example").status == 403
    page.wait_for_timeout(500)

    foreign = [
        url for url in page.requested
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1"
    ]  # fmt: skip
    assert page.requested and foreign == []
    asked = audit.read_text().splitlines() if audit.exists() else []
    assert [
        line
        for line in asked
        if not re.search(r"127\.0\.0\.1|'localhost'|::1|^socket.connect '/", line)
    ] == []


def test_the_audit_would_see_an_outside_address(tmp_path):
    audit = tmp_path / "asked"
    subprocess.run(
        [sys.executable, "-c", "import socket; s = socket.socket(2, 2); s.connect(('8.8.8.8', 1))"],
        env={**os.environ, "WHILEAI_REVIEW_AUDIT": str(audit), "PYTHONPATH": os.path.join(HERE, "audit")},
        timeout=30, check=False,
    )  # fmt: skip
    assert "8.8.8.8" in audit.read_text()


def test_the_server_listens_on_this_machine_only(server):
    hosts = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for host in hosts - {"127.0.0.1"}:
        with pytest.raises(OSError):
            socket.create_connection((host, server.port), timeout=2).close()


def test_the_first_visit_of_a_process_may_go_straight_to_a_page(serve_app, page):
    # Streamlit ran pages/label.py alone then, without app.py and its navigation.
    server = serve_app()
    page.goto(server.url + "/label")
    page.wait_for_selector("text=Nothing is loaded yet")
    assert page.get_by_role("link", name="Trust").is_visible()


def test_all_of_a_record_is_text_without_a_word_of_the_judge(serve_app, tmp_path):
    from whileai_review.store import open_store
    from whileai_review.work import load_file

    rows = tmp_path / "rows.jsonl"
    row = {
        "prompt": "<b>ask",
        "final_text": "x" * 3_000_000 + "\u202e",
        "reward": 1,
        "reason": "JUDGED",
    }
    rows.write_text(json.dumps(row) + "\n")
    db = tmp_path / "review.db"
    with open_store(db) as store:
        load_file(store, rows)
    server = serve_app(db=db)
    with urllib.request.urlopen(server.url + "/record/1") as answer:
        text = answer.read().decode()
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert text.startswith("ASK\n<b>ask\n")
    assert text.endswith("x" * 3_000_000 + "⟦U+202E⟧\n")
    assert "JUDGED" not in text
    assert ask(server, "/record/2").status == 404


def test_runs_has_the_address_that_its_name_suggests(serve_app, page):
    page.goto(serve_app().url + "/runs?run=7", timeout=60_000)
    page.get_by_text("Nothing is loaded.").wait_for(timeout=60_000)
    page.wait_for_timeout(500)
    assert page.get_by_text("Page not found").count() == 0
    assert page.url.endswith("/?run=7")
