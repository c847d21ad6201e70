"""Files of other tools that hold no rows as they are, told apart so that the error can name them."""

from __future__ import annotations

import io
import zipfile
from typing import Any

MAGICS = (
    (b"SQLite format 3\x00", "an SQLite database. Open it with --db if it is a review store."),
    (b"\x89PNG", "an image."),
    (b"\xff\xd8\xff", "an image."),
    (b"GIF8", "an image."),
    (b"%PDF", "a PDF document."),
    (b"BZh", "packed with bzip2. Unpack it first, or pack it with gzip."),
    (b"\xfd7zXZ", "packed with xz. Unpack it first, or pack it with gzip."),
    (b"\x28\xb5\x2f\xfd", "packed with zstd. Unpack it first, or pack it with gzip."),
    (b"\x7fELF", "a program."),
    (b"\x80\x04\x95", "a Python pickle, which is not opened. Save the rows as JSON lines."),
    (b"ARROW1", "an Arrow file. Save it as Parquet."),
)
"""First bytes -> what the file is."""

LATER = "It is not read yet; save its rows as JSON lines, one object a line."


def foreign_bytes(head: bytes, name: str, whole: Any = None) -> str | None:
    """What a binary file is, by its first bytes; None when they say nothing."""
    if head.startswith(b"PK\x03\x04"):
        return _zip(name, whole)
    for magic, what in MAGICS:
        if head.startswith(magic):
            return what
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "an image."
    return None


def _zip(name: str, whole: Any) -> str:
    names: list[str] = []
    try:
        names = zipfile.ZipFile(io.BytesIO(whole()) if whole else name).namelist()
    except (zipfile.BadZipFile, OSError):
        pass
    if name.endswith(".eval") or any(n.startswith("_journal/") for n in names):
        return f"an Inspect log (.eval). {LATER}"
    if any(n.startswith("xl/") for n in names):
        return "an Excel workbook. Save the sheet as CSV."
    return "a zip file. Unpack it first."


def foreign_json(value: Any) -> str | None:
    """What a JSON value is when another tool's container; None when it may be rows."""
    if isinstance(value, dict):
        return _foreign_object(value)
    if isinstance(value, list) and any(_is_label_studio_task(entry) for entry in value[:50]):
        return f"a Label Studio export (tasks with annotations). {LATER}"
    return None


def _foreign_object(value: dict) -> str | None:
    if _has(value, "eval", "plan") and ("samples" in value or "status" in value):
        return f"an Inspect log. {LATER}"
    if _has(value, "trajectory", "history", "info"):
        return f"a SWE-agent trajectory (one rollout). {LATER}"
    if isinstance(value.get("tests"), dict) and "metrics" in value:
        return f"an agbenchmark report (nested tests). {LATER}"
    if _has(value, "rubrics", "splits"):
        return "a TruLens alignment report: published tables, no rows."
    if _is_label_studio_task(value):
        return f"a Label Studio task. {LATER}"
    if _has(value, "nbformat", "cells"):
        return "a Jupyter notebook."
    return None


def _has(value: dict, *keys: str) -> bool:
    return all(key in value for key in keys)


def _is_label_studio_task(entry: Any) -> bool:
    """A task keeps what is labelled in `data` and lists of results in `annotations`."""
    if not isinstance(entry, dict) or not isinstance(entry.get("data"), dict):
        return False
    annotations = entry.get("annotations", entry.get("completions"))
    if not isinstance(annotations, list):
        return False
    return any(isinstance(a, dict) and isinstance(a.get("result"), list) for a in annotations)
