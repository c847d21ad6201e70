"""Readers: files of other tools -> rows, with a report of what was refused.

- a whole file, from Python: :func:`read`
- step by step: :func:`open_source`, then ``source.sniff()`` and ``source.records(mapping)``
- what the keys mean: :class:`Mapping`, :func:`parse_map` (the text of ``--map``)
- one stored line again: ``mapping.apply(parse_line(raw))``
- a folder: :func:`find_files`
- a file of verdicts or labels for a loaded run: :func:`verdicts`
"""

from whileai_review.load._parse import parse_line
from whileai_review.load._types import Record, Refusal, RowRefusedError, UnreadableError
from whileai_review.load.duplicates import Duplicates
from whileai_review.load.mapping import Mapping
from whileai_review.load.parse_map import parse_map
from whileai_review.load.sniff import Question, Sniff, recognise
from whileai_review.load.source import LoadReport, Source, find_files, open_source, read
from whileai_review.load.verdicts import Given, key_of, verdicts

__all__ = [
    "Duplicates",
    "Given",
    "LoadReport",
    "Mapping",
    "Question",
    "Record",
    "Refusal",
    "RowRefusedError",
    "Sniff",
    "Source",
    "UnreadableError",
    "find_files",
    "key_of",
    "open_source",
    "parse_line",
    "parse_map",
    "read",
    "recognise",
    "verdicts",
]
