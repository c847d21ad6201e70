"""What importing costs, what is public, and that nothing points back (design.md)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import whileai_review
from whileai_review import load, rows, store, work

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "whileai_review"
HEAVY = ("streamlit", "pandas", "plotly", "scipy.stats", "httpx", "sqlite_utils")

ORDER = (
    "defaults", "rows", "intervals", "resample", "report", "shown", "load", "judges", "score", "store",
    "charts", "work", "ui", "_demo_texts", "_demo_world", "demo", "cli", "__main__",
)  # fmt: skip
"""A module imports only from what stands above it; `score` and `store` not each other."""

APART = {frozenset({"score", "store"})}

EDGE = {
    "streamlit": {"ui"},
    "plotly": {"charts"},
    "sqlite3": {"store"},
    "sqlite_utils": {"store"},
    "httpx": {"judges"},
}
"""The one part that may import a library; app.py and pages/ draw too."""


def imports_of(path):
    """(module, is it at the top level) of every import in a file, relative ones made whole."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    within = ["whileai_review", *path.relative_to(PACKAGE).parent.parts] if (
        PACKAGE in path.parents) else []  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = within[: len(within) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "whileai_review":
                for name in node.names:
                    yield f"{module}.{name.name}", id(node) in top
            else:
                yield module, id(node) in top


def part_of(module):
    """The part of the package that a module belongs to; None outside it."""
    names = module.split(".")
    if names[0] != "whileai_review":
        return None
    return names[1] if len(names) > 1 else "__init__"


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] not in ("__init__", "_app"):
            yield parts[0], path


MODULES = list(modules())


@pytest.fixture(scope="module")
def loaded():
    """The modules that a fresh process holds after ``import whileai_review``."""
    code = "import sys, whileai_review; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("library", HEAVY)
def test_the_package_imports_without(loaded, library):
    assert library not in loaded
    assert "numpy" in loaded and "whileai_review.score.judge_trust" in loaded


def test_the_command_line_answers_for_help_without_them_too():
    code = "import sys, whileai_review.cli; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not set(HEAVY) & set(done.stdout.split())


@pytest.mark.parametrize("package", [whileai_review, load, work, rows, store])
def test_public_names_are_there_sorted_and_once(package):
    names = package.__all__
    by_kind = sorted(set(names), key=lambda name: (not name.isupper(), name))  # constants first
    assert names in (sorted(set(names)), by_kind)
    for name in names:
        assert hasattr(package, name), name


def test_the_names_of_this_issue_are_public():
    # API reference: agreement, labels, judge_trust, with claimed_actions of this issue.
    assert set(whileai_review.__all__) >= {
        "annotator_agreement", "attach_labels", "claimed_actions", "format_judge_trust",
        "judge_agreement", "judge_probes", "judge_trust", "task_key",
    }  # fmt: skip


@pytest.mark.parametrize("package", [whileai_review, work, load, store])
def test_every_public_name_says_what_it_is(package):
    for name in package.__all__:
        thing = getattr(package, name)
        if callable(thing):
            text = thing.__doc__ or ""
            assert len(text.strip()) > 20, name
            assert not text.startswith(f"{name}("), name


def test_every_module_says_what_it_is_for():
    for _, path in MODULES:
        if path.name != "__init__.py" or path.stat().st_size:
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_every_part_of_the_package_has_its_place_in_the_order():
    assert {part for part, _ in MODULES} <= set(ORDER)


@pytest.mark.parametrize(
    ("part", "path"), MODULES, ids=[str(path.relative_to(PACKAGE)) for _, path in MODULES]
)
def test_a_module_imports_only_from_what_stands_above_it(part, path):
    above = set(ORDER[: ORDER.index(part) + 1])
    for module, _ in imports_of(path):
        other = part_of(module)
        if other in (None, part) or module == "whileai_review.__version__":
            continue
        if other not in ORDER:  # a public name: it comes from score, or from rows
            assert other in whileai_review.__all__ and "score" in above, module
            continue
        if (part, other) == ("store", "load"):
            assert "score" not in module  # a stored line is read again by its mapping
        assert other in above, f"{path.name} imports {module}"
        assert frozenset({part, other}) not in APART, f"{path.name} imports {module}"


@pytest.mark.parametrize(
    ("part", "path"), MODULES, ids=[str(path.relative_to(PACKAGE)) for _, path in MODULES]
)
def test_a_library_is_imported_only_where_it_belongs(part, path):
    for module, at_top in imports_of(path):
        library = module.split(".")[0]
        assert part in EDGE.get(library, {part}), f"{path.name} imports {module}"
        if module.startswith("scipy"):
            assert not at_top, f"{path.name} imports {module} for everybody"


@pytest.mark.parametrize("path", [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))],
                         ids=lambda path: path.name)  # fmt: skip
def test_a_page_computes_nothing_and_holds_no_sql(path):
    forbidden = {"numpy", "scipy", "plotly", "sqlite3", "sqlite_utils", "pandas"}
    assert not forbidden & {module.split(".")[0] for module, _ in imports_of(path)}
    names = {module for module, _ in imports_of(path)}
    assert not any(name.startswith("whileai_review.cli") for name in names)


def test_library_code_prints_nothing_and_checks_no_input_with_assert():
    for part, path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Assert), f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
                assert part in ("cli", "demo"), f"{path.name}:{node.lineno}"
