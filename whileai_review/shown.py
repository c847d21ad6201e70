"""Text from a rollout, a file name or a judge, made safe for where it is written.

It is data: a page, a file of HTML and a job's summary show it letter by letter.
"""

from __future__ import annotations

import html
import re
import unicodedata

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, ESC of ANSI codes among them
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # bidi overrides, zero width
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"  # the last two: no XML takes them
    "\ud800-\udfff"  # lone surrogates, which no encoder takes
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags: text hidden in text
    "]+"
)
_JOINERS = "\u200c\u200d"

_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|~&!$@:]|(?<=www)\.", re.IGNORECASE)
"""What formats, links, fetches or breaks a cell inside a line; marks at a line's start do not."""


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


def markdown_text(text: object) -> str:
    r"""Return text that a Markdown reader draws letter by letter, inside a line or a cell.

    Examples
    --------
    >>> markdown_text("![t](x) <b> a|b\nc www.d.e")
    '\\!\\[t\\](x) \\<b\\> a\\|b c www\\.d.e'
    """
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split()))


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
