"""What a reply names as done, beside what its steps show.

A judge that reads prose pays for "I will escalate this" as if it had happened. The words
of a claim come from the tool's own name (``escalate_to_human`` -> escalate, escalated,
is escalating; ``issue_credit`` -> credited, issue a credit) and a few everyday phrases
for passing something on to a person. Only assertions count: no questions, offers,
conditions or negations. English replies only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from whileai_review import rows as read
from whileai_review.report import Report

ANNOUNCED, WRONG_TOOL, SILENT = "announced", "wrong_tool", "silent"

READING = frozenset(
    "lookup look get find search list read fetch query view show check retrieve load describe "
    "count verify inspect browse think calculate validate identify".split()
)
"""First words of tools that change nothing in the world."""

LIGHT = frozenset(
    "issue create make send do apply grant process give add post put submit set place start open "
    "initiate provide perform run execute generate update file register record request schedule "
    "raise log trigger call arrange".split()
)
"""Verbs that say little: the tool's object carries its meaning."""

HANDING = frozenset("escalate transfer handoff handover forward hand refer route".split())
PASSING = ("hand", "pass", "forward", "transfer", "route", "refer", "escalate")
PEOPLE = (
    "human|person|people|colleague|specialist|agent|team|representative|supervisor|manager|"
    "someone|staff|support"
)
"""How replies speak of handing over, whatever the tool is called."""

SMALL_WORDS = frozenset("to the a an of for on in by with from and or".split())
IRREGULAR = {
    "send": "sent",
    "give": "gave|given",
    "make": "made",
    "put": "put",
    "set": "set",
    "pay": "paid",
    "buy": "bought",
    "write": "wrote|written",
    "do": "did|done",
    "run": "ran|run",
    "get": "got",
    "find": "found",
    "hold": "held",
    "sell": "sold",
}

ADVERBS = r"(?:(?:now|then|also|just|immediately|directly|go\s+ahead\s+and)\s+)*"
FUTURE = (
    r"(?:\b(?:will|shall|going\s+to|needs?\s+to|have\s+to|about\s+to|let\s+me|ahead\s+and|i|we)"
    r"|['’]ll)\s+" + ADVERBS
)
ONGOING = r"(?:(?:\b(?:am|is|are|be|been|now)|['’](?:m|re))\s+" + ADVERBS + r"|^)"
GAP = r"[^.?!;\n]"

DENIED = re.compile(
    r"\b(?:not|never|no|nor|cannot|unable|without|can|could|would|should|may|might|before|instead|"
    r"rather|whether|unless|failed|refused)\b|n['’]t\b",
    re.IGNORECASE,
)
CONDITION = re.compile(r"\s*(?:if|unless|when|whenever|in case|should|would|do|shall)\b", re.I)
SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
CLAUSE_CHARS = 300
"""How far back a "not" is looked for: nobody writes a longer clause."""

CLAUSE_END = re.compile(r"[,;:]|\bbut\b|\bso\b", re.IGNORECASE)


class ClaimReport(Report):
    """What was named as done beside what was done.

    Keys
    ----
    tools : dict
        ``{tool: {"in_reply": bool, "in_reason": bool, "called": int}}``: named as done (or
        about to be) by the reply, by the judge's reason, and calls in the steps.
    pattern : {"announced", "wrong_tool", "silent"} or None
        ``announced``: the reply names a tool that was never called. ``wrong_tool``: reply
        or reason name one that was never called, and another acting one was.
        ``silent``: no acting tool was called and the reply claims none. None otherwise.
    """

    def as_text(self) -> str:
        """The block a person reads."""
        lines = [f"pattern: {self['pattern'] or 'none'}"]
        for tool, seen in self["tools"].items():
            where = [place[3:] for place in ("in_reply", "in_reason") if seen[place]]
            lines.append(
                f"  {tool}  called {seen['called']}, named in {' and '.join(where) or '-'}"
            )
        return "\n".join(lines)


class _Tool(NamedTuple):
    name: str
    acts: bool
    keys: tuple[str, ...]
    claim: re.Pattern


def claimed_actions(row: dict, tools: Sequence[str] | None = None) -> ClaimReport:
    """Compare what the reply and the judge's reason name as done with the steps.

    Parameters
    ----------
    row : dict
        A row; nothing is changed.
    tools : sequence of str, optional
        The tools the agent could call; else ``row["tools"]``. Called ones are added. A tool
        that is neither declared nor called anywhere cannot be seen to be missing, so give
        the tools of the whole run when rows declare none.

    Examples
    --------
    >>> row = {"final_text": "I will escalate this to a colleague.", "steps": [{"tool": "lookup"}]}
    >>> claimed_actions(row, ["lookup", "escalate_to_human"])["pattern"]
    'announced'
    """
    declared = read.declared_tools(row) if tools is None else tools
    counts = read.tool_counts(row, declared)
    known = _compiled(tuple(counts))
    reply = _sentences(read.reply(row))
    reason = _sentences(read.as_text(row.get("reason"))) if isinstance(row, dict) else []
    seen = {
        tool.name: {
            "in_reply": _claims(tool, reply),
            "in_reason": _claims(tool, reason),
            "called": counts[tool.name],
        }
        for tool in known
    }
    return ClaimReport(tools=seen, pattern=_pattern(known, seen))


def _pattern(known: tuple[_Tool, ...], seen: dict[str, dict]) -> str | None:
    acting = [tool.name for tool in known if tool.acts]
    done = {name for name in acting if seen[name]["called"]}
    said = {name for name, found in seen.items() if found["in_reply"]}
    judged = {name for name, found in seen.items() if found["in_reason"]}
    missing = {name for name in said if not seen[name]["called"]}
    imagined = {name for name in judged if not seen[name]["called"]}
    if missing and done <= said:
        return ANNOUNCED
    if (missing or imagined) and done:
        return WRONG_TOOL
    if acting and not done and not said & set(acting):
        return SILENT
    return None


def _sentences(text: str) -> list[tuple[str, str]]:
    """The sentences that can assert something, each with its lower-case form."""
    found = []
    for sentence in SENTENCE.findall(text):
        if not sentence.endswith("?") and not CONDITION.match(sentence):
            found.append((sentence, sentence.lower()))
    return found


def _claims(tool: _Tool, sentences: list[tuple[str, str]]) -> bool:
    """Whether a sentence asserts it. Most hold none of the tool's words and are passed over."""
    for sentence, lower in sentences:
        if any(key in lower for key in tool.keys):
            for found in tool.claim.finditer(sentence):
                if not _is_denied(sentence, found):
                    return True
    return False


def _is_denied(sentence: str, found: re.Match) -> bool:
    """Whether the clause up to the end of the match takes it back."""
    begin = max(0, found.start() - CLAUSE_CHARS)
    for end in CLAUSE_END.finditer(sentence, begin, found.start()):
        begin = end.end()
    return DENIED.search(sentence, begin, found.end()) is not None


@lru_cache(maxsize=256)
def _compiled(names: tuple[str, ...]) -> tuple[_Tool, ...]:
    """Patterns of a tool set, made once for all its rows."""
    words = {name: _words(name) for name in names}
    verbs = [parts[0] for parts in words.values()]
    return tuple(
        _Tool(
            name,
            parts[0] not in READING,
            _key_words(name, parts),
            re.compile(_claim_pattern(name, parts, verbs.count(parts[0]) > 1), re.IGNORECASE),
        )
        for name, parts in words.items()
    )


def _words(name: str) -> list[str]:
    """The words of a tool's name: ``issueCredit``, ``issue-credit``, ``crm.issue_credit``."""
    last = re.split(r"[.:/]", name)[-1] or name
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", last)
    found = [word.lower() for word in re.findall(r"[^\W_]+", spaced)]
    return found or [name.lower() or "?"]


def _key_words(name: str, words: list[str]) -> tuple[str, ...]:
    """Lower-case texts of which every claim holds at least one."""
    verb = words[0]
    objects = _objects(words)
    keys = [name.lower()]
    if verb in LIGHT and objects:
        keys.append(_stem(objects[-1]))
    elif verb in IRREGULAR:
        keys += [verb, *IRREGULAR[verb].split("|")]
    elif verb == "lookup":
        keys += ["looked", "looking", "look"]
    elif verb in ("handoff", "handover"):
        keys.append("hand")
    else:
        keys.append(_stem(verb))
    if _hands_over(verb, objects):
        keys += PEOPLE.split("|")
    return tuple(keys)


def _stem(word: str) -> str:
    return word[:-1] if word[-1] in "ey" and len(word) > 2 else word


def _objects(words: list[str]) -> list[str]:
    return [word for word in words[1:] if word not in SMALL_WORDS and len(word) > 2]


def _hands_over(verb: str, objects: list[str]) -> bool:
    return verb in ("escalate", "handoff", "handover") or (
        verb in HANDING and any(re.fullmatch(f"(?:{PEOPLE})s?", word) for word in objects)
    )


def _claim_pattern(name: str, words: list[str], shared_verb: bool) -> str:
    verb = words[0]
    objects = _objects(words)
    ways = [rf"(?<![\w.]){re.escape(name)}(?![\w])"]
    if verb in LIGHT and objects:
        thing = rf"{re.escape(objects[-1])}(?:s|es)?"
        ways.append(rf"{_asserted(*sorted(LIGHT))}{GAP}{{0,30}}?\b{thing}\b")
        ways.append(_asserted(objects[-1]))
        placed = "|".join(_past(word) for word in sorted(LIGHT))
        ways.append(
            rf"\b{thing}\s+(?:is|are|was|were|has\s+been|have\s+been|will\s+be)\s+{ADVERBS}"
            rf"(?:on\b|in\b|{placed})"
        )
    elif shared_verb and objects:
        ways.append(rf"{_asserted(verb)}{GAP}{{0,60}}?\b{re.escape(objects[-1])}(?:s|es)?\b")
    elif verb not in LIGHT:
        ways.append(_asserted(verb))
    if _hands_over(verb, objects):
        ways.append(rf"{_asserted(*PASSING)}{GAP}{{0,60}}?\b(?:{PEOPLE})s?\b")
        ways.append(
            rf"\b(?:{PEOPLE})s?\b[^.?!,;\n]{{0,40}}?(?:\b(?:has|have)\b[^.?!,;\n]{{0,20}}?\btaken"
            rf"\b[^.?!,;\n]{{0,10}}?\bover|\b(?:now\s+(?:has|have)|took)\b[^.?!,;\n]{{0,10}}?"
            r"\b(?:case|over)\b)"
        )
    return "|".join(ways)


def _asserted(*verbs: str) -> str:
    """One of the verbs said as done, being done, or about to be."""
    past = "|".join(map(_past, verbs))
    ongoing = "|".join(map(_ing, verbs))
    base = "|".join(map(re.escape, verbs))
    return rf"(?:\b(?:{past})\b|{ONGOING}(?:{ongoing})\b|{FUTURE}(?:{base})\b)"


def _past(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb == "lookup":
        return r"looked\s+(?:it\s+|this\s+|that\s+)?up"
    if verb in ("handoff", "handover"):
        return r"handed\s+\w+\s+(?:off|over)"
    stem = re.escape(verb)
    if verb.endswith("e"):
        return f"{stem}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{re.escape(verb[:-1])}ied"
    return f"{stem}{re.escape(verb[-1])}?ed"


def _ing(verb: str) -> str:
    if verb == "lookup":
        return r"looking\s+(?:it\s+|this\s+|that\s+)?up"
    if verb.endswith("e"):
        return f"{re.escape(verb[:-1])}ing"
    return f"{re.escape(verb)}{re.escape(verb[-1])}?ing"
