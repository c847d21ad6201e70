"""A server that goes away in the middle of a press: nothing is lost, nothing is stored twice."""


def ready(page, row_id, dwell=400):
    page.wait_for_selector(f"[data-wr-ready={row_id}]", state="attached", timeout=60_000)
    page.wait_for_timeout(dwell)


def test_a_press_on_a_dead_server_is_said_to_be_unsaved_and_goes_through_when_it_is_back(
    serve_app, page
):
    server = serve_app("bar_app.py")
    page.goto(server.url)
    ready(page, "r0")
    page.keyboard.press("n")
    page.keyboard.type("kept")
    page.keyboard.press("Escape")
    server.kill()
    page.keyboard.press("1")
    page.wait_for_selector("text=not saved yet, press again", timeout=30_000)
    assert server.lines() == []
    server.start()
    page.wait_for_timeout(6_000)  # Streamlit tries to connect again every few seconds
    page.keyboard.press("1")
    ready(page, "r1")
    (line,) = server.lines()
    assert (line["row_id"], line["note"]) == ("r0", "kept")


def test_a_label_that_was_stored_while_its_answer_got_lost_is_not_stored_twice(serve_app, page):
    server = serve_app("bar_app.py")
    page.goto(server.url)
    ready(page, "r0")
    server.settings(sleep=4)
    page.keyboard.press("2")
    page.wait_for_timeout(1_500)  # stored; the answer would come with the next row
    assert len(server.lines()) == 1
    server.kill()
    server.settings(sleep=0)
    server.start()
    ready(page, "r1")  # the old press is over: the next one is for this row
    page.keyboard.press("1")
    ready(page, "r2")
    assert [(line["row_id"], line["action"]) for line in server.lines()] == [
        ("r0", "fail"),
        ("r1", "pass"),
    ]
