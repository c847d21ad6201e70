"""Expected marks: Unicode 16 chart "Control Pictures" (U+2400..U+2421), written out by hand."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review.ui.text import cut, html_text, plain, visible


def test_controls_become_control_pictures():
    assert visible("a\x00b\x1b[31mc\x7f") == "a␀b␛[31mc␡"


@pytest.mark.parametrize("code", [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_a_bidi_override_becomes_a_mark(code):
    assert visible(f"a{chr(code)}b") == f"a⟦U+{code:04X}⟧b"


@pytest.mark.parametrize("code", [0x200B, 0x2060, 0xFEFF, 0x00AD, 0x200E, 0x061C, 0xE0041])
def test_a_character_without_width_becomes_a_mark(code):
    assert visible(f"a{chr(code)}b") == f"a⟦U+{code:04X}⟧b"


def test_line_ends_and_tabs_stay_and_a_lone_carriage_return_shows():
    assert visible("a\r\nb\tc\rd") == "a\nb\tc␍d"


def test_an_emoji_family_stays_one_character():
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert visible(family) == family
    assert visible("\u2764\ufe0f\u200d\U0001f525") == "\u2764\ufe0f\u200d\U0001f525"


def test_a_joiner_between_persian_letters_stays_and_between_latin_ones_shows():
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert visible("pa\u200css") == "pa⟦U+200C⟧ss"


def test_a_lone_surrogate_can_be_sent():
    visible("a\ud800b").encode("utf-8")


def test_a_megabyte_of_nothing_is_one_mark():
    assert visible("\u200b" * 1_000_000) == "⟦U+200B ×1,000,000⟧"


def test_html_is_escaped_after_the_marks():
    assert html_text("<img src=x>\u202e") == "&lt;img src=x&gt;⟦U+202E⟧"


def test_a_label_has_one_line():
    assert "\n" not in plain("a\n\n# b")


def test_a_label_cannot_start_a_code_block():
    assert not plain("      code").startswith(" ")


@given(st.text())
def test_what_is_shown_has_nothing_invisible_left_but_joiners(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(st.text(alphabet=st.characters(max_codepoint=0x7E, min_codepoint=0x20)))
def test_every_ascii_mark_of_a_label_is_escaped_and_none_is_lost(text):
    label = plain(text)
    bare = label.replace("\u2060", "").replace("\u00a0", " ")
    out, i = [], 0
    while i < len(bare):
        if bare[i] == "\\":
            i += 1
        else:
            assert bare[i].isalnum() or bare[i] == " "
        out.append(bare[i])
        i += 1
    assert "".join(out) == text


@given(st.text())
def test_escaped_html_reads_back_as_the_visible_text(text):
    assert html.unescape(html_text(text)) == visible(text)


@given(st.text(), st.integers(1, 50))
def test_a_cut_is_a_beginning_and_says_what_is_left(text, limit):
    part = cut(text, limit)
    assert text.startswith(part.text)
    assert part.left == len(text) - len(part.text)
    assert (part.note == "") == (len(text) <= limit)


def test_a_cut_does_not_split_an_emoji_family():
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert cut("a" + family + "b", 4).text == "a"
