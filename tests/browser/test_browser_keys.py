"""The key presses that broke naive versions (ui.md 2.2), on a fast line and on a slow one.

What must hold in each: a label for each row that was really answered, none twice, and
none for a row that was not on the screen when the key went down. The slow line is for
the presses that it can hurt; what never leaves the browser is tested on the fast one.
"""

import itertools

import pytest

NAMES = (f"test{i}" for i in itertools.count())
both_lines = pytest.mark.parametrize("bar", ["fast", "slow"], indirect=True)


@pytest.fixture(scope="module")
def server(serve_once):
    """One test app for the file; each test has an address that stores apart."""
    return serve_once("bar_app.py")


@pytest.fixture(scope="module")
def slow_line(server, slow_proxy):
    return slow_proxy(server)


@pytest.fixture
def bar(request, server, slow_line, tab):
    """A page on the test app with the first row on screen, at the fast line or the slow one."""
    address, tab.server = server.apart(next(NAMES))
    slow = getattr(request, "param", "fast") == "slow"
    slow_line.delay = 0
    tab.goto(address.replace(server.url, slow_line.url) if slow else address)
    ready(tab, "r0")
    # Only now: a hundred files of a first visit would take half a minute.
    tab.delay = slow_line.delay = 0.5 if slow else 0
    return tab


def ready(page, row_id, dwell=400):
    page.wait_for_selector(f"[data-wr-ready={row_id}]", state="attached", timeout=30_000)
    page.wait_for_timeout(dwell)


def status(page):
    return page.locator(".status").inner_text()


def answered(page):
    return [label["row_id"] for label in page.server.lines()]


def settled(page):
    """Wait until the bar is free, no script runs and nothing more is on its way."""
    free = "[data-test-script-state=notRunning] .bar[data-locked=false]"
    page.wait_for_selector(free)
    page.wait_for_timeout(600 + 1_400 * page.delay)  # there and back, and a rerun
    page.wait_for_selector(free)


@both_lines
def test_five_rows_by_keyboard_give_five_labels_in_order(bar):
    for i, key in enumerate("12321"):
        ready(bar, f"r{i}")
        bar.keyboard.press(key)
    ready(bar, "r5")
    lines = bar.server.lines()
    assert [line["row_id"] for line in lines] == ["r0", "r1", "r2", "r3", "r4"]
    assert [line["action"] for line in lines] == ["pass", "fail", "unclear", "fail", "pass"]
    assert all(line["shown_ms"] >= 300 for line in lines)


@both_lines
def test_a_burst_of_eight_gives_one_label(bar):
    for _ in range(8):
        bar.keyboard.press("1")
    settled(bar)
    assert answered(bar) == ["r0"]


@both_lines
def test_a_key_held_for_two_seconds_gives_one_label(bar):
    bar.keyboard.down("1")
    for _ in range(60):
        bar.wait_for_timeout(33)
        bar.keyboard.down("1")  # Playwright marks a second down as a repeat
    bar.keyboard.up("1")
    settled(bar)
    assert answered(bar) == ["r0"]


@both_lines
def test_presses_during_a_slow_rerun_are_neither_lost_nor_doubled(bar):
    bar.server.settings(sleep=1.5)
    bar.keyboard.press("1")
    for _ in range(5):
        bar.wait_for_timeout(150)
        bar.keyboard.press("2")
    ready(bar, "r1")
    settled(bar)
    assert answered(bar) == ["r0"]
    bar.keyboard.press("2")
    ready(bar, "r2")
    settled(bar)
    assert answered(bar) == ["r0", "r1"]


@both_lines
def test_a_press_while_another_rerun_runs_is_stored_once(bar):
    bar.server.settings(sleep=1.5)
    bar.get_by_label("other field").fill("x")
    bar.get_by_label("other field").press("Enter")
    bar.wait_for_timeout(300)
    bar.get_by_label("other field").blur()
    bar.keyboard.press("1")
    bar.keyboard.press("2")  # without the lock this one would take the place of the first
    ready(bar, "r1")
    settled(bar)
    assert [(line["row_id"], line["action"]) for line in bar.server.lines()] == [("r0", "pass")]


@both_lines
def test_a_newer_rerun_right_behind_a_press_does_not_swallow_it(bar):
    bar.server.settings(sleep=0.6)
    field = bar.get_by_label("other field")
    for i in range(3):
        ready(bar, f"r{i}", dwell=500)
        field.fill(f"text {i}")
        field.blur()  # one rerun runs
        bar.keyboard.press("1")  # the press waits
        field.fill(f"text {i}, changed")
        field.blur()  # a newer one waits behind it
    ready(bar, "r3")
    settled(bar)
    assert answered(bar) == ["r0", "r1", "r2"]


def test_a_press_that_got_lost_on_its_way_is_sent_again_by_itself(bar):
    bar.evaluate(
        """() => {
            const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function () { WebSocket.prototype.send = send; };
        }"""
    )
    bar.keyboard.press("1")
    ready(bar, "r1")
    settled(bar)
    assert answered(bar) == ["r0"]


@both_lines
def test_a_double_click_gives_one_label(bar):
    bar.get_by_role("button", name="Pass").dblclick()
    settled(bar)
    assert answered(bar) == ["r0"]


def test_mouse_and_space_do_not_press_the_same_button_again(bar):
    bar.get_by_role("button", name="Fail").click()
    ready(bar, "r1")
    bar.keyboard.press("Space")
    settled(bar)
    assert answered(bar) == ["r0"]


@both_lines
def test_a_reload_in_the_middle_brings_the_same_row_and_its_note(bar):
    bar.keyboard.press("n")
    bar.keyboard.type("half a thou")
    bar.reload()
    ready(bar, "r0")
    assert bar.locator(".note").input_value() == "half a thou"
    bar.keyboard.press("n")
    bar.keyboard.type("ght")
    bar.keyboard.press("Escape")
    bar.keyboard.press("2")
    ready(bar, "r1")
    assert [(line["row_id"], line["note"]) for line in bar.server.lines()] == [
        ("r0", "half a thought")
    ]
    assert bar.locator(".note").input_value() == ""


@both_lines
def test_digits_in_a_note_are_text_and_the_key_after_escape_stores_both(bar):
    bar.keyboard.press("n")
    bar.keyboard.type("paid 2 of 3 u s")
    bar.keyboard.press("Control+Enter")
    assert answered(bar) == []
    bar.keyboard.press("Escape")
    bar.keyboard.press("3")
    ready(bar, "r1")
    (line,) = bar.server.lines()
    assert (line["action"], line["note"]) == ("unclear", "paid 2 of 3 u s")


@both_lines
def test_a_click_takes_a_note_that_is_being_typed(bar):
    bar.keyboard.press("n")
    bar.keyboard.type("wrong sum")
    bar.get_by_role("button", name="Fail").click()
    ready(bar, "r1")
    (line,) = bar.server.lines()
    assert (line["action"], line["note"]) == ("fail", "wrong sum")


PRESS_AT_ONCE = """
() => new MutationObserver((_, watch) => {
  if (document.documentElement.dataset.wrReady !== "r1") return;
  watch.disconnect();
  const key = { key: "1", code: "Digit1", bubbles: true };
  document.body.dispatchEvent(new KeyboardEvent("keydown", key));
}).observe(document.documentElement, { attributes: true })
"""
"""Presses in the page itself: from outside, a busy machine may take longer than the dwell."""


def test_a_press_before_the_row_could_be_read_is_refused(bar):
    bar.evaluate(PRESS_AT_ONCE)
    bar.keyboard.press("1")
    bar.wait_for_selector(".status:has-text('not saved: too fast')")
    settled(bar)
    assert answered(bar) == ["r0"]


@both_lines
def test_a_press_is_refused_while_the_bar_is_ahead_of_the_record(bar):
    bar.server.settings(sleep=2.5, late=True)
    bar.keyboard.press("1")
    bar.wait_for_selector(".progress:has-text('1 of 1000')")  # the bar is at r1
    bar.wait_for_timeout(500)
    assert bar.locator("[data-wr-row]").get_attribute("data-wr-row") == "r0"
    bar.keyboard.press("2")
    assert status(bar) == "not saved: not drawn yet"
    ready(bar, "r1")
    settled(bar)
    assert answered(bar) == ["r0"]


def test_undo_needs_no_waiting_and_brings_the_row_back(bar):
    bar.keyboard.press("1")
    bar.wait_for_selector("[data-wr-ready=r1]", state="attached")
    bar.keyboard.press("u")
    ready(bar, "r0")
    settled(bar)
    assert [line["action"] for line in bar.server.lines()] == ["pass", "undo"]
    bar.keyboard.press("2")
    ready(bar, "r1")
    assert [line["action"] for line in bar.server.lines()] == ["pass", "undo", "fail"]


def test_undo_brings_the_note_back_too(bar):
    bar.keyboard.press("n")
    bar.keyboard.type("wrong sum")
    bar.keyboard.press("Escape")
    bar.keyboard.press("2")
    bar.wait_for_selector("[data-wr-row=r1]", timeout=20_000)
    bar.keyboard.press("u")
    bar.wait_for_selector("[data-wr-row=r0]", timeout=20_000)
    bar.wait_for_timeout(300)
    assert bar.locator(".note").input_value() == "wrong sum"


def test_what_was_not_saved_is_said_and_the_same_press_again_saves_it_once(bar):
    bar.server.settings(fail=True)
    bar.keyboard.press("n")
    bar.keyboard.type("keep me")
    bar.keyboard.press("Escape")
    bar.keyboard.press("2")
    bar.wait_for_selector("text=the disk is full")
    assert bar.locator(".note").input_value() == "keep me"
    assert answered(bar) == []
    bar.server.settings(fail=False)
    bar.keyboard.press("2")
    ready(bar, "r1")
    (line,) = bar.server.lines()
    assert (line["row_id"], line["note"]) == ("r0", "keep me")


def test_keys_with_a_modifier_and_keys_in_other_fields_do_nothing(bar):
    bar.keyboard.press("Control+1")
    bar.keyboard.press("Alt+2")
    bar.get_by_label("other field").fill("")
    bar.get_by_label("other field").press_sequentially("123su")
    settled(bar)
    assert answered(bar) == []


def test_steps_are_walked_and_unfolded_without_the_server(bar):
    assert bar.locator("details[open]").count() == 0
    bar.keyboard.press("j")
    bar.keyboard.press("j")
    bar.keyboard.press("x")
    assert bar.locator("[data-wr-step='1'] details[open]").count() == 1
    bar.keyboard.press("e")
    assert bar.locator("details[open]").count() == 3
    bar.keyboard.press("2")
    ready(bar, "r1")
    (line,) = bar.server.lines()
    assert line["step"] == 1
    assert bar.locator("details[open]").count() == 0


def test_the_question_mark_shows_the_keys(bar):
    bar.keyboard.press("?")
    assert bar.get_by_text("undo the last one").is_visible()
    bar.keyboard.press("?")
    assert not bar.get_by_text("undo the last one").is_visible()


def test_a_hidden_tab_does_not_count_as_seen(server, tab):
    address, stored = server.apart(next(NAMES))
    tab.goto(address)
    ready(tab, "r0", dwell=500)
    hide = """hidden => {
        Object.defineProperty(document, 'visibilityState',
            {configurable: true, get: () => hidden ? 'hidden' : 'visible'});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    tab.evaluate(hide, True)
    tab.wait_for_timeout(3_000)
    tab.evaluate(hide, False)
    tab.keyboard.press("1")
    ready(tab, "r1")
    (line,) = stored.lines()
    assert 400 <= line["shown_ms"] < 2_500


def test_a_row_that_another_tab_answered_is_refused_and_not_stored_twice(server, new_page):
    address, stored = server.apart(next(NAMES))
    first, second = new_page(), new_page()
    for each in (first, second):
        each.goto(address)
        ready(each, "r0")
    first.keyboard.press("1")
    ready(first, "r1")
    second.keyboard.press("2")
    ready(second, "r1")
    assert [(line["row_id"], line["action"]) for line in stored.lines()] == [("r0", "pass")]
