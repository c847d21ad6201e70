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

import re
import unicodedata
from typing import NamedTuple

from whileai_review.shown import html_text, visible

__all__ = ["Cut", "cut", "html_text", "plain", "visible"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_BREAKERS = re.compile(r":|@|www(?=\.)|<(?=-)|-(?=[->])|>(?==)|<(?==)|~(?==)", re.IGNORECASE)
_WORD_JOINER = "\u2060"
_INDENT = re.compile(r"^ +")


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
