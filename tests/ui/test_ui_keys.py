"""What a browser may send is whatever it likes."""

from hypothesis import given
from hypothesis import strategies as st

from whileai_review.ui import keys
from whileai_review.ui.keys import ACTIONS, MAX_NOTE, Press, min_ms, read_press

GOOD = {
    "row_id": "7",
    "revision": "2",
    "action": "fail",
    "note": "n",
    "step": 1,
    "shown_ms": 412.6,
    "nonce": "a",
}


def test_a_press_is_read_as_it_was_sent():
    assert read_press(GOOD) == Press("7", "2", "fail", "n", 1, 412, "a")


def test_a_note_is_cut_where_the_field_in_the_browser_stops():
    assert len(read_press(GOOD | {"note": "x" * 10_000}).note) == MAX_NOTE


def test_a_time_that_is_no_number_counts_as_not_shown():
    for broken in (float("nan"), float("inf"), "9", None, -5):
        assert read_press(GOOD | {"shown_ms": broken}).shown_ms == 0


def test_a_press_without_nonce_row_or_a_known_act_is_none():
    for broken in (
        {"nonce": ""},
        {"nonce": "x" * 65},
        {"row_id": 7},
        {"action": "drop"},
        {"action": None},
    ):
        assert read_press(GOOD | broken) is None


@given(
    st.dictionaries(
        st.sampled_from(sorted(GOOD)),
        st.none() | st.text() | st.integers() | st.floats() | st.lists(st.text()),
    )
)
def test_anything_else_is_a_press_of_known_types_or_none(value):
    press = read_press(value)
    if press is not None:
        assert press.action in ACTIONS and press.shown_ms >= 0 and isinstance(press.note, str)


@given(st.integers(0, 10**8))
def test_the_least_time_grows_with_the_record_and_ends(characters):
    assert 300 <= min_ms(characters) <= min_ms(characters + 1) <= 1_200


class NoItems:
    """A session that ends the run at every access by key, as Streamlit may."""

    def __init__(self, **values):
        self.values = values

    def to_dict(self):
        return self.values

    def __getattr__(self, name):
        raise RuntimeError("a newer request takes over")

    __getitem__ = __setitem__ = __contains__ = __getattr__


def pressed(monkeypatch, on_press):
    answer = {"nonce": "before", "error": "old"}
    monkeypatch.setattr(keys.st, "session_state", NoItems(bar={"press": GOOD}))
    keys._pressed("bar", on_press, answer)
    return answer


def test_a_press_is_handed_over_once_and_no_newer_request_can_come_between(monkeypatch):
    seen = []
    assert pressed(monkeypatch, seen.append) == {"nonce": "a", "error": ""}
    assert seen == [read_press(GOOD)]


def test_why_it_was_not_saved_goes_back_to_the_bar(monkeypatch):
    assert pressed(monkeypatch, lambda press: "disk full") == {"nonce": "a", "error": "disk full"}


def test_a_fault_of_the_server_is_told_as_not_saved(monkeypatch, caplog):
    def fault(press):
        raise ZeroDivisionError

    assert pressed(monkeypatch, fault)["error"].startswith("Not saved")
    assert "ZeroDivisionError" in caplog.text
