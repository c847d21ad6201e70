"""Which rows does a rule pass, which does it fail, and which can it not judge?

A program label is a computation, not an opinion: a rule reads what was *done* (the
steps) and what was said (the reply), never a judge's verdict or reason.

A rule has two conditions. Where `when` does not hold, the row gets no label (a gold
that had to be invented is no gold); where it holds, `pass` says 1 or 0::

    when: completed(lookup_invoice)
    pass: (result(lookup_invoice, amount) > 200 and called(escalate_to_human)
           and not called(issue_credit))
          or (result(lookup_invoice, amount) <= 200 and called(issue_credit)
              and not called(escalate_to_human))

=============================  ====================================================
``called(tool)``               there is a call of it, whether it worked or not
``completed(tool)``            a call that did not fail and has a result
``failed(tool)``               a call that is known to have failed
``result(tool, key)``          the values under `key` in the results of its calls that
                               did not fail; ``a.b[0]`` goes deeper, a list on the way
                               stands for each entry; without `key` the whole result
``argument(tool, key)``        the same in the arguments of all its calls
``calls(tool)``                how often it was called
``reply``                      the final reply
``length(value)``              its characters
``value > 200``                also ``< <= >= == !=`` and ``100 < value <= 200``
``"text" in value``            anywhere in it, upper and lower case alike
``value in ("a", "b")``        is one of them
``matches(value, "pattern")``  a regular expression, found anywhere; ``(?i)`` in front
                               ignores case; backslashes are written once
``exists(value)``              there is one, not null and not empty
``and  or  not  ( )``          join conditions
=============================  ====================================================

Several calls or values: a comparison holds when *any* of them meets it; ``!=`` and
``not in`` are the opposites of ``==`` and ``in`` (none meets it). With no value, a
missing key or a value of another kind, a comparison does not hold, so put what the
rule depends on into `when`. Text that as a whole is one number ("$1,195.58") compares
as that number; True and False equal only true and false. Names that are no plain words
go in quotes: ``called("crm.look-up")``.

A pattern that takes over two seconds on one row stops the rule with an error: none of
its labels are given.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whileai_review import rows as reading
from whileai_review.work._rule_syntax import compile_test
from whileai_review.work._rule_values import RowView, RuleError

__all__ = ["Rule", "RuleError", "apply_rule", "label_with", "parse_rule", "read_rule"]

N_EXAMPLES = 5
"""Rows of each outcome that a preview shows."""

_OUTCOMES = {1: "pass", 0: "fail", None: "no_label"}


@dataclass(frozen=True)
class Rule:
    """A rule for program labels; holds text only, so it can be stored, sent and pickled.

    Parameters
    ----------
    passes : str
        The condition for a pass.
    when : str
        The condition for having a label at all; empty: every row has one.
    criterion : str
        What the labels are about.
    name : str
        What people call the rule.

    Raises
    ------
    RuleError
        When a condition cannot be read: one line with the part and the character.

    Examples
    --------
    >>> rule = Rule(passes="called(issue_credit)", when="called(lookup_invoice)")
    >>> rule.label({"steps": [{"tool": "lookup_invoice"}]})
    0
    >>> rule.label({"steps": []}) is None
    True
    """

    passes: str
    when: str = ""
    criterion: str = "overall"
    name: str = ""

    def __post_init__(self) -> None:
        compile_test(self.passes, "pass")
        if self.when.strip():
            compile_test(self.when, "when")

    @property
    def version(self) -> str:
        """Hash of criterion and conditions (not of the name): what the rule says."""
        content = json.dumps([1, self.criterion, self.when.strip(), self.passes.strip()])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def label(self, row: dict) -> int | None:
        """1 when the row passes, 0 when it fails, None when `when` does not hold."""
        return self.labeller()(row)

    def labeller(self) -> Callable[[dict], int | None]:
        """The rule as a plain function of a row, for many rows."""
        passes = compile_test(self.passes, "pass")
        when = compile_test(self.when, "when") if self.when.strip() else None

        def label(row: dict) -> int | None:
            view = RowView(row)
            if when is not None and not when(view):
                return None
            return int(passes(view))

        return label

    def to_dict(self) -> dict:
        """The rule as a dict that JSON can hold; `from_dict` reads it back."""
        return {
            "criterion": self.criterion,
            "name": self.name,
            "when": self.when,
            "pass": self.passes,
        }

    @classmethod
    def from_dict(cls, content: dict) -> Rule:
        """Read what `to_dict` wrote."""
        unknown = set(content) - {"criterion", "name", "when", "pass"}
        if unknown or not isinstance(content.get("pass"), str):
            keys = ", ".join(sorted(map(str, unknown))) or "no pass condition"
            raise RuleError(f"a rule has criterion, name, when and pass: {keys}")
        return cls(
            passes=content["pass"],
            when=content.get("when") or "",
            criterion=content.get("criterion") or "overall",
            name=content.get("name") or "",
        )

    def __str__(self) -> str:
        lines = [f"when: {self.when.strip()}"] if self.when.strip() else []
        return "\n".join([*lines, f"pass: {self.passes.strip()}"])


def parse_rule(
    text_when: str, text_pass: str, *, criterion: str = "overall", name: str = ""
) -> Rule:
    """Read a rule from its two conditions; an empty `text_when` labels every row.

    Raises
    ------
    RuleError
        One line: which condition, which character, what would do.

    Examples
    --------
    >>> parse_rule("", "called(refund) an called(lookup)")
    Traceback (most recent call last):
    ...
    whileai_review.work._rule_values.RuleError: pass, character 16: invalid syntax
    """
    return Rule(passes=text_pass, when=text_when or "", criterion=criterion, name=name)


def read_rule(text: str, *, criterion: str = "overall", name: str = "") -> Rule:
    r"""Read a rule from one text with ``when:`` and ``pass:``, as `str(rule)` writes it.

    Text without ``pass:`` is the pass condition itself.

    Examples
    --------
    >>> read_rule("when: called(lookup)\npass: called(refund)").when
    'called(lookup)'
    """
    parts = re.split(r"(?m)^[ \t]*(when|pass)[ \t]*:", text)
    if len(parts) == 1:
        return parse_rule("", text, criterion=criterion, name=name)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    if parts[0].strip() or len(found) * 2 + 1 != len(parts) or "pass" not in found:
        raise RuleError('a rule is one "when:" (or none) and one "pass:", each on its own line')
    return parse_rule(
        found.get("when", "").strip(), found["pass"].strip(), criterion=criterion, name=name
    )


def apply_rule(rule: Rule, rows: Iterable[dict]) -> tuple[list[int | None], dict]:
    """Label every row by a rule.

    Returns
    -------
    labels : list of 0, 1 or None
        One for each row, in order.
    counts : dict
        ``n``, ``n_pass``, ``n_fail``, ``n_no_label``, and ``examples``: for ``pass``,
        ``fail`` and ``no_label`` up to five ``{"index", "row"}`` (position, identity).

    Raises
    ------
    RuleError
        When a pattern takes too long on a row; no labels are given then.
    """
    return label_with(rule.labeller(), rows)


def label_with(
    labeller: Callable[[dict], object], rows: Iterable[dict]
) -> tuple[list[int | None], dict]:
    """Label every row by a function row -> 0, 1 or None (True and False count as 1 and 0).

    Returns what `apply_rule` returns.

    Raises
    ------
    RuleError
        When the function raises or answers anything else; names the row.
    """
    labels: list[int | None] = []
    counts = {"pass": 0, "fail": 0, "no_label": 0}
    examples: dict[str, list[dict]] = {outcome: [] for outcome in counts}
    for index, row in enumerate(rows):
        label = _one_label(labeller, row, index)
        labels.append(label)
        outcome = _OUTCOMES[label]
        counts[outcome] += 1
        if len(examples[outcome]) < N_EXAMPLES:
            examples[outcome].append({"index": index, "row": reading.identity(row)})
    return labels, {
        "n": len(labels),
        **{f"n_{outcome}": count for outcome, count in counts.items()},
        "examples": examples,
    }


def _one_label(labeller: Callable[[dict], object], row: dict, index: int) -> int | None:
    try:
        answer = labeller(row)
    except Exception as error:  # whatever a person's own function raises, their row is named
        reason = str(error) if isinstance(error, RuleError) else repr(error)
        raise RuleError(f"row {index + 1} ({reading.identity(row)}): {reason}") from error
    if answer is None:
        return None
    label = int(answer) if isinstance(answer, bool) else reading.verdict(answer)
    if label is None:
        raise RuleError(
            f"row {index + 1} ({reading.identity(row)}): the label is {answer!r}; "
            "a rule answers 0, 1 or None"
        )
    return label
