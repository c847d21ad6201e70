"""How text that came from a rollout is put on a screen.

Everything that a rollout, a file name or a judge says is data. Streamlit reads
labels, captions, table cells and tooltips as Markdown, which fetches images and
turns dollars into formulas; a browser reorders a line after one invisible
character. Which helper for which place:

- :func:`plain` where Streamlit reads Markdown: labels of buttons, tabs, expanders,
  radios, metrics; captions, errors, toasts, ``help=``, ``st.table`` cells. Not in
  ``st.badge``, which escapes a second time: badges carry our own words only
- :func:`visible` where text is drawn as it is: ``st.dataframe`` cells, ``st.text``,
  ``st.code``, options of a select box, data of a component
- :func:`html_text` inside ``st.html``
- :func:`cut` for anything that may be long

Plotly reads ticks, hovers and annotations as a small HTML: ``html_text`` there too.
"""

import html
import re
import unicodedata
from typing import NamedTuple

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_BREAKERS = re.compile(r":|@|www(?=\.)|<(?=-)|-(?=[->])|>(?==)|<(?==)|~(?==)", re.IGNORECASE)
_WORD_JOINER = "\u2060"
_INDENT = re.compile(r"^ +")

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, ESC of ANSI codes among them
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # bidi overrides, zero width
    "\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates, which no encoder takes
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags: text hidden in text
    "]+"
)
_JOINERS = "\u200c\u200d"


class Cut(NamedTuple):
    """A text at most as long as asked for, and what was left out."""

    text: str
    total: int
    """Characters of the whole text."""

    @property
    def left(self) -> int:
        """Characters that are not in ``text``."""
        return self.total - len(self.text)

    @property
    def note(self) -> str:
        """What the reader is told; empty when nothing was left out.

        Examples
        --------
        >>> cut("abcdef", 4).note
        'first 4 of 6 characters'
        """
        if not self.left:
            return ""
        return f"first {len(self.text):,} of {self.total:,} characters"


def cut(text: str, limit: int) -> Cut:
    """Keep the first ``limit`` characters, never half of a joined character.

    Examples
    --------
    >>> cut("abcdef", 4)
    Cut(text='abcd', total=6)
    """
    if len(text) <= limit:
        return Cut(text, len(text))
    end = limit
    while end > max(0, limit - 40) and _continues(text, end):
        end -= 1
    return Cut(text[: end or limit], len(text))


def visible(text: object) -> str:
    r"""Give every character that draws nothing a mark that can be seen.

    Line ends and tabs stay. Joiners stay where a script or an emoji needs them.
    A run of one invisible character is one mark, so that a megabyte of them
    does not become ten.

    Examples
    --------
    >>> visible("a\x1b[31mb\x00")
    'a␛[31mb␀'
    >>> visible("pass\u202e liaf")
    'pass⟦U+202E⟧ liaf'
    >>> visible("\u200b" * 5)
    '⟦U+200B ×5⟧'
    """
    shown = str(text).replace("\r\n", "\n")
    return _INVISIBLE.sub(_marks, shown)


def html_text(text: object) -> str:
    """Return text for ``st.html`` or a figure: marks for what is invisible, then escaped.

    Examples
    --------
    >>> html_text("<b>7 & 8</b>")
    '&lt;b&gt;7 &amp; 8&lt;/b&gt;'
    """
    return html.escape(visible(text))


def plain(text: object) -> str:
    r"""Return text that Streamlit's Markdown draws letter by letter, on one line.

    Escapes stop what Markdown sees while it parses. Emoji names, links, icons and
    arrows are found afterwards in the finished text, so a word joiner, which has no
    width, stands inside each.

    Examples
    --------
    >>> plain("![t](x) $2$ *b*")
    '\\!\\[t\\]\\(x\\) \\$2\\$ \\*b\\*'
    >>> plain(":smile:") == "\\:\u2060smile\\:\u2060"
    True
    """
    line = visible(text).replace("\n", " ⏎ ").replace("\t", " ")
    line = _INDENT.sub(lambda found: "\u00a0" * len(found.group()), line)
    # Joiners first: an escape would stand between the two characters of an arrow.
    line = _BREAKERS.sub(lambda found: found.group() + _WORD_JOINER, line)
    return _PUNCTUATION.sub(r"\\\1", line)


def _continues(text: str, at: int) -> bool:
    """Whether the character at ``at`` belongs to the one before it."""
    character = text[at]
    return (
        unicodedata.combining(character) != 0
        or character in "\ufe0f\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or text[at - 1] == "\u200d"
    )


def _marks(found: re.Match[str]) -> str:
    run, text = found.group(), found.string
    if len(run) == 1 and run in _JOINERS and _joiner_has_a_job(text, found.start()):
        return run
    out: list[str] = []
    start = 0
    while start < len(run):
        end = start + 1
        while end < len(run) and run[end] == run[start]:
            end += 1
        out.append(_mark(run[start], end - start))
        start = end
    return "".join(out)


def _mark(character: str, times: int) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        picture = chr(0x2421 if code == 0x7F else 0x2400 + code)
        return picture if times == 1 else f"{picture}⟦×{times:,}⟧"
    return f"⟦U+{code:04X}⟧" if times == 1 else f"⟦U+{code:04X} ×{times:,}⟧"


def _joiner_has_a_job(text: str, at: int) -> bool:
    """Whether a joiner stands inside an emoji, or between letters of a script that joins."""
    if not 0 < at < len(text) - 1:
        return False
    before, after = text[at - 1], text[at + 1]
    if before == "\ufe0f" and at > 1:
        before = text[at - 2]
    emoji = _is_emoji(before) and _is_emoji(after)
    joins = _is_joining_letter(before) and _is_joining_letter(after)
    return emoji or joins


def _is_emoji(character: str) -> bool:
    return character >= "\U0001f000" or "\u2190" <= character <= "\u2bff"


def _is_joining_letter(character: str) -> bool:
    """Arabic to Khmer: scripts whose letters take another form beside a joiner."""
    return "\u0600" <= character <= "\u18af" and unicodedata.category(character)[0] in "LM"
