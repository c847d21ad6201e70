"""The published cases: what each public name of the score API returns, as data.

`check.py`, `stubs.py`, `cases/`, `rows/` and `notes/` are the published set, unchanged.
"""

import importlib.util
import json
import sys
import warnings
from pathlib import Path

import pytest

import whileai_review

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"

NOT_YET_DUE = {
    "audit",
    "checklist",
    "curriculum",
    "delta",
    "grading",
    "grounding",
    "hack_scan",
    "hygiene",
    "judging",
    "logprobs",
    "markers",
    "optimize",
    "pairwise",
    "passat",
    "preflight",
    "privileged",
    "publish_gate",
    "quality",
    "reference",
    "rubric",
    "spec",
    "stage",
    "stats",
    "style",
    "trace",
}
"""Modules a later issue brings. One whose names are all exported must leave this list."""


def _load_check():
    spec = importlib.util.spec_from_file_location("conformance_check", HERE / "check.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)  # it puts its folder on the path for stubs.py
    sys.path[:] = path
    return module


check = _load_check()


def _calls(case: dict) -> set[str]:
    """The public names a case calls; methods of earlier values are left out."""
    steps = case.get("steps") or [case]
    values = {"result", "args"} | {step["let"] for step in steps if "let" in step}
    heads = {step["call"].partition(".")[0] for step in steps}
    return heads - values


def _all_cases():
    for path in sorted(CASES.rglob("*.json")):
        module = path.relative_to(CASES).parts[0]
        loaded = json.loads(path.read_text(encoding="utf-8"))
        for n, case in enumerate(loaded if isinstance(loaded, list) else [loaded]):
            yield module, case.get("id") or f"{module}/{path.stem}#{n}", case


ALL = list(_all_cases())
MODULES = {module for module, _, _ in ALL}
EXPORTED = set(whileai_review.__all__)


def _names_of(module: str) -> set[str]:
    return set().union(*(_calls(case) for owner, _, case in ALL if owner == module))


def _is_due(module: str, case: dict) -> bool:
    # A name that is out early answers for its own cases at once.
    return module not in NOT_YET_DUE or _calls(case) <= EXPORTED


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name) for module, name, case in ALL if _is_due(module, case)],
)
def test_the_case_holds(case):
    assert check.run_case(case, whileai_review, HERE) == []


@pytest.mark.parametrize("module", sorted(NOT_YET_DUE))
def test_a_module_that_is_not_yet_due_is_really_not_there(module):
    assert module in MODULES
    assert not _names_of(module) <= EXPORTED, f"{module} is exported: take it off NOT_YET_DUE"


@pytest.mark.parametrize("module", sorted(MODULES - NOT_YET_DUE))
def test_a_due_module_exports_every_name_its_cases_call(module):
    assert _names_of(module) <= EXPORTED
