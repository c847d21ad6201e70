"""Rows of equal identity in one file: which are copies, and which say different things?"""

from __future__ import annotations

from typing import Literal

Policy = Literal["keep", "collapse", "last"]
POLICIES = ("keep", "collapse", "last")

EXAMPLES = 20
"""Identities that a report names."""


class Duplicates:
    """Counts lines of equal identity, and says which of them to keep.

    Parameters
    ----------
    policy : {"keep", "collapse", "last"}
        ``keep``: all stay, apart. ``collapse``: exact copies of a line that was there go,
        lines that differ stay. ``last``: only the last line of an identity stays.
    last_lines : dict, optional
        For ``last``: hash of identity -> its last line, from `Source.duplicates`.

    Attributes
    ----------
    n_exact, n_conflicting : int
        Lines equal to an earlier line of their identity; lines that differ from all of them.
    n_dropped : int
        Lines that `admit` turned away.
    """

    def __init__(self, policy: Policy = "keep", last_lines: dict[int, int] | None = None) -> None:
        if policy not in POLICIES:
            raise ValueError(f"duplicates is keep, collapse or last, not {policy!r}.")
        if policy == "last" and last_lines is None:
            raise ValueError("policy 'last' needs the last lines: use source.duplicates(...).")
        self.policy, self._last = policy, last_lines or {}
        self.n_exact = self.n_conflicting = self.n_dropped = 0
        self.examples: dict[str, list[int]] = {}
        self._first: dict[int, int] = {}
        self._others: dict[int, set[int]] = {}
        self._first_line: dict[int, int] = {}

    def admit(self, identity: str, raw: str, line: int) -> bool:
        """Whether this line stays; call it once for each row, in the order of the file."""
        # 64-bit hashes keep a run of a million rows small; two must meet for a wrong answer.
        key, content = hash(identity), hash(raw)
        known = self._first.setdefault(key, content)
        exact = True
        if key not in self._first_line:
            self._first_line[key] = line
        else:
            exact = known == content or content in self._others.get(key, ())
            self._count(identity, key, exact, line)
            if not exact:
                self._others.setdefault(key, set()).add(content)
            elif self.policy == "collapse":
                self.n_dropped += 1
                return False
        if self.policy == "last" and self._last.get(key) != line:
            self.n_dropped += 1
            return False
        return True

    def _count(self, identity: str, key: int, exact: bool, line: int) -> None:
        if exact:
            self.n_exact += 1
        else:
            self.n_conflicting += 1
        if identity in self.examples:
            self.examples[identity].append(line)
        elif len(self.examples) < EXAMPLES:
            self.examples[identity] = [self._first_line[key], line]

    def report(self) -> dict:
        """Counts and the first identities with their lines."""
        return {
            "policy": self.policy,
            "n_exact": self.n_exact,
            "n_conflicting": self.n_conflicting,
            "n_dropped": self.n_dropped,
            "examples": self.examples,
        }
