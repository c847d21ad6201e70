"""The text of a rule -> a function that answers it for a row.

Python's own parser reads the text (`ast`, mode "eval"); a short list of node types is
turned into closures and everything else is refused. Nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, NoReturn

from whileai_review.work._rule_values import (
    Constant,
    Path,
    RowView,
    RuleError,
    compile_pattern,
    equal,
    in_order,
    value_text,
    values_at,
)

Test = Callable[[RowView], bool]
Term = Callable[[RowView], Iterable[object]]

MAX_RULE_CHARS = 10_000
"""Longest rule text; a rule is typed by a person."""

_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_CONSTANT_NAMES = {"true": True, "false": False, "null": None, "none": None}
_TEST_FORMS = "called(tool), completed(tool), failed(tool), exists(value), matches(value, pattern)"
_VALUE_FORMS = (
    "reply, result(tool, key), argument(tool, key), calls(tool) or length(value) "
    "compared with a number or text"
)
_STRING = re.compile(r"""[rR]?("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", re.DOTALL)


class _Source(NamedTuple):
    """A rule's text as Python can parse it, and where each character came from."""

    part: str
    text: str
    origin: tuple[int, ...]

    def fail(self, at: ast.AST | int, message: str) -> NoReturn:
        if isinstance(at, ast.AST):
            at = _characters(self.text, getattr(at, "col_offset", 0))
        column = self.origin[min(max(at, 0), len(self.origin) - 1)] + 1
        raise RuleError(f"{self.part}, character {column}: {message}")


@lru_cache(maxsize=512)
def compile_test(text: str, part: str = "rule") -> Test:
    """A rule's text as a function of a row.

    Raises
    ------
    RuleError
        One line with the part of the rule, the character and what would do.
    """
    source = _prepare(text, part)
    try:
        tree = ast.parse(source.text, mode="eval")
        return _test(tree.body, source)
    except SyntaxError as error:
        return source.fail((error.offset or 1) - 1, _syntax_message(error, text))
    except (RecursionError, MemoryError):
        raise RuleError(f"{part}: nested too deeply to be read") from None
    except ValueError as error:
        if isinstance(error, RuleError):
            raise
        raise RuleError(f"{part}: {error}") from None


def _prepare(text: str, part: str) -> _Source:
    """Keep backslashes in quotes as typed, so that a pattern needs no doubling; one line."""
    if len(text) > MAX_RULE_CHARS:
        raise RuleError(f"{part}: {len(text):,} characters; at most {MAX_RULE_CHARS:,}")
    lead = len(text) - len(text.lstrip())
    pieces: list[str] = []
    origin: list[int] = []
    at = lead
    for literal in _STRING.finditer(text, lead):
        pieces.append(text[at : literal.start()])
        origin.extend(range(at, literal.start()))
        quoted = literal.group(1)
        written = repr(quoted[1:-1].replace("\\" + quoted[0], quoted[0]))
        pieces.append(written)
        origin.extend([literal.start()] * len(written))
        at = literal.end()
    pieces.append(text[at:])
    origin.extend(range(at, len(text) + 1))
    # "#" would start a Python comment and drop the rest of the rule in silence.
    outside = pieces[::2]
    for n, piece in enumerate(outside):
        if "#" in piece:
            start = sum(len(p) for p in pieces[: 2 * n]) + piece.index("#")
            raise RuleError(f"{part}, character {origin[start] + 1}: '#' stands outside quotes")
        pieces[2 * n] = re.sub(r"[\n\r\t\f\v]", " ", piece)
    return _Source(part, "".join(pieces), tuple(origin))


def _syntax_message(error: SyntaxError, text: str) -> str:
    if not text.strip():
        return "empty; write a condition such as called(lookup_invoice)"
    loud = re.search(r"\b(AND|OR|NOT)\b|&&|\|\|", text)
    if loud:
        return f"write and, or, not in small letters instead of {loud.group(0)}"
    message = (error.msg or "invalid syntax").split(". ")[0].rstrip(".")
    lone = re.search(r"(?<![<>=!])=(?!=)", _STRING.sub("", text))
    return message + ("; write == to compare" if lone else "")


def _characters(text: str, byte_offset: int) -> int:
    """Python counts columns in UTF-8 bytes; people count characters."""
    return len(text.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "ignore"))


# Tests: a row -> True or False


def _test(node: ast.expr, source: _Source) -> Test:
    if isinstance(node, ast.BoolOp):
        tests = [_test(value, source) for value in node.values]
        return _all_of(tests) if isinstance(node.op, ast.And) else _any_of(tests)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _opposite(_test(node.operand, source))
    if isinstance(node, ast.Compare):
        return _comparison(node, source)
    if isinstance(node, ast.Call):
        return _call_test(node, source)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        answer = node.value
        return lambda view: answer
    if isinstance(node, ast.Name) and node.id in ("reply", "true", "false"):
        if node.id == "reply":
            return source.fail(node, f'a condition is missing: reply == "" or "text" in {node.id}')
        answer = node.id == "true"
        return lambda view: answer
    return source.fail(node, f"not a condition; write {_TEST_FORMS}, or {_VALUE_FORMS}")


def _all_of(tests: list[Test]) -> Test:
    def test(view: RowView) -> bool:
        for each in tests:
            if not each(view):
                return False
        return True

    return test


def _any_of(tests: list[Test]) -> Test:
    def test(view: RowView) -> bool:
        for each in tests:
            if each(view):
                return True
        return False

    return test


def _opposite(test: Test) -> Test:
    return lambda view: not test(view)


def _call_test(node: ast.Call, source: _Source) -> Test:
    name = _function_name(node, source)
    if name in ("result", "argument", "calls", "length"):
        source.fail(node, f"a value, not a condition: compare it, as in {name}(...) > 200")
    if name == "called":
        tool = _tool(node, source)
        return lambda view: any(step.tool == tool for step in view.steps)
    if name == "completed":
        tool = _tool(node, source)
        return lambda view: any(
            step.tool == tool and step.ok is not False and step.result is not None
            for step in view.steps
        )
    if name == "failed":
        tool = _tool(node, source)
        return lambda view: any(step.tool == tool and step.ok is False for step in view.steps)
    if name == "exists":
        term = _term(_arguments(node, source, 1)[0], source)
        return lambda view: any(value is not None and value != "" for value in term(view))
    if name == "matches":
        return _pattern_test(node, source)
    return source.fail(node, f"unknown name {name!r}; there are {_TEST_FORMS}, {_VALUE_FORMS}")


def _pattern_test(node: ast.Call, source: _Source) -> Test:
    where, what = _arguments(node, source, 2)
    term = _term(where, source)
    if not (isinstance(what, ast.Constant) and isinstance(what.value, str)):
        source.fail(what, 'the pattern goes in quotes, as in matches(reply, "refund(ed)?")')
    try:
        found = compile_pattern(what.value)
    except RuleError as error:
        source.fail(what, str(error))
    return lambda view: any(found(value_text(value)) for value in term(view))


def _comparison(node: ast.Compare, source: _Source) -> Test:
    operands = [node.left, *node.comparators]
    symbols = [_symbol(operator, node, source) for operator in node.ops]
    places = [n for n, operand in enumerate(operands) if _is_term(operand)]
    if len(places) != 1:
        found = "no value of the row" if not places else "two values of the row"
        source.fail(node, f"{found} in a comparison; compare one of {_VALUE_FORMS}")
    place = places[0]
    if symbols[0] in ("in", "not in") and len(symbols) == 1:
        return _membership(node, symbols[0], place, source)
    if len(symbols) > 1 and not set(symbols) <= {"<", "<=", ">", ">="}:
        source.fail(node, "a chain takes < <= > >= only; join the rest with and")
    term = _term(operands[place], source)
    if len(symbols) == 1:
        symbol = symbols[0] if place == 0 else _TURNED[symbols[0]]
        return _one_comparison(term, symbol, _constant(operands[1 - place], source))
    if len(symbols) > 2 or place != 1:
        source.fail(
            node, "a chain has the value in the middle, as in 100 < result(tool, key) <= 200"
        )
    low, high = _constant(operands[0], source), _constant(operands[2], source)
    left, right = _TURNED[symbols[0]], symbols[1]
    return lambda view: any(
        in_order(value, left, low) and in_order(value, right, high) for value in term(view)
    )


def _one_comparison(term: Term, symbol: str, constant: Constant) -> Test:
    if symbol == "==":
        return lambda view: any(equal(value, constant) for value in term(view))
    if symbol == "!=":
        return lambda view: not any(equal(value, constant) for value in term(view))
    return lambda view: any(in_order(value, symbol, constant) for value in term(view))


def _membership(node: ast.Compare, symbol: str, place: int, source: _Source) -> Test:
    """``"text" in value`` looks inside a text; ``value in ("a", "b")`` is one of several."""
    other = node.comparators[0] if place == 0 else node.left
    term = _term(node.left if place == 0 else node.comparators[0], source)
    if place == 1:
        wanted = _constant(other, source)
        if not isinstance(wanted, str) or not wanted:
            source.fail(other, 'the text to look for goes in quotes, as in "refund" in reply')
        inside = _has_text(term, wanted)
    else:
        if not isinstance(other, (ast.Tuple, ast.List)) or not other.elts:
            source.fail(other, 'write the choices in brackets, as in ("done", "queued")')
        inside = _is_one_of(term, [_constant(each, source) for each in other.elts])
    return inside if symbol == "in" else _opposite(inside)


def _has_text(term: Term, wanted: str) -> Test:
    needle = wanted.casefold()
    return lambda view: any(needle in value_text(value).casefold() for value in term(view))


def _is_one_of(term: Term, choices: list[Constant]) -> Test:
    return lambda view: any(equal(value, each) for value in term(view) for each in choices)


# Terms: a row -> the values a test looks at


def _is_term(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id.lower() not in _CONSTANT_NAMES
    return isinstance(node, ast.Call)


def _term(node: ast.expr, source: _Source) -> Term:
    if isinstance(node, ast.Name):
        if node.id == "reply":
            return lambda view: (view.reply,)
        source.fail(node, f"unknown name {node.id!r}; put text in quotes, or write {_VALUE_FORMS}")
    if not isinstance(node, ast.Call):
        source.fail(node, f"not a value of the row; write {_VALUE_FORMS}")
    name = _function_name(node, source)
    if name == "result":
        tool, path = _tool_and_path(node, source)
        return lambda view: _results(view, tool, path)
    if name == "argument":
        tool, path = _tool_and_path(node, source)
        return lambda view: _call_arguments(view, tool, path)
    if name == "calls":
        tool = _tool(node, source)
        return lambda view: (len(view.calls(tool)),)
    if name == "length":
        inner = _term(_arguments(node, source, 1)[0], source)
        return lambda view: [len(value_text(value)) for value in inner(view)]
    if name in ("called", "completed", "failed", "exists", "matches"):
        source.fail(node, f"{name}(...) is a condition already; it is compared with nothing")
    return source.fail(node, f"unknown name {name!r}; write {_VALUE_FORMS}")


def _results(view: RowView, tool: str, path: Path) -> Iterable[object]:
    # A failed call's result is an error message; what it says is no answer of the tool.
    for step in view.calls(tool):
        if step.ok is not False and step.result is not None:
            yield from values_at(step.result, path)


def _call_arguments(view: RowView, tool: str, path: Path) -> Iterable[object]:
    for step in view.calls(tool):
        if step.arguments is not None:
            yield from values_at(step.arguments, path)


# Small pieces


def _function_name(node: ast.Call, source: _Source) -> str:
    if not isinstance(node.func, ast.Name):
        source.fail(node, f"not a condition; write {_TEST_FORMS}")
    if node.keywords:
        source.fail(node.keywords[0].value, "arguments have no names here")
    return node.func.id


def _arguments(node: ast.Call, source: _Source, n: int) -> list[ast.expr]:
    if len(node.args) != n:
        name = _function_name(node, source)
        source.fail(node, f"{name} takes {n} in its brackets, not {len(node.args)}")
    return node.args


def _tool(node: ast.Call, source: _Source) -> str:
    return _tool_name(_arguments(node, source, 1)[0], source)


def _tool_name(node: ast.expr, source: _Source) -> str:
    try:
        return ".".join(str(key) for key in _keys(node))
    except TypeError:
        return source.fail(node, "not the name of a tool; put it in quotes")


def _tool_and_path(node: ast.Call, source: _Source) -> tuple[str, Path]:
    if not 1 <= len(node.args) <= 2:
        _arguments(node, source, 2)
    tool = _tool_name(node.args[0], source)
    if len(node.args) == 1:
        return tool, ()
    try:
        return tool, _keys(node.args[1])
    except TypeError:
        return source.fail(node.args[1], "not a key; put it in quotes, or write a.b[0]")


def _keys(node: ast.expr) -> Path:
    """``a.b[0]`` as a path; a quoted key is one key, dots and all."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        return (node.value,)
    if isinstance(node, ast.Attribute):
        return (*_keys(node.value), node.attr)
    if isinstance(node, ast.Subscript):
        place, sign = node.slice, 1
        if isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub):
            place, sign = place.operand, -1
        key = place.value if isinstance(place, ast.Constant) else None
        if sign < 0:
            key = -key if isinstance(key, int) else None
        if isinstance(key, (str, int)) and not isinstance(key, bool):
            return (*_keys(node.value), key)
    raise TypeError("not a key")


def _symbol(operator: ast.cmpop, node: ast.Compare, source: _Source) -> str:
    symbol = _SYMBOLS.get(type(operator))
    if symbol is None:
        source.fail(node, "write == and != to compare")
    return symbol


def _constant(node: ast.expr, source: _Source) -> Constant:
    if isinstance(node, ast.Name) and node.id.lower() in _CONSTANT_NAMES:
        return _CONSTANT_NAMES[node.id.lower()]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _constant(node.operand, source)
        if isinstance(inner, (int, float)) and not isinstance(inner, bool):
            return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, type(None))):
        return node.value
    return source.fail(node, "compare with a number, a text in quotes, true, false or null")
