"""What do the columns of a file mean? Recognised by name and values, asked where two readings are possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from whileai_review.load import _names as names
from whileai_review.load._columns import Column, columns_of
from whileai_review.load._names import plain
from whileai_review.load._types import Refusal
from whileai_review.load.mapping import Mapping

FEW = 50
"""Distinct values up to which a column may tell runs apart."""

WORDS = 10
"""Distinct values up to which a column of words may be a verdict."""


@dataclass(frozen=True)
class Question:
    """Something about a file that only a person can say.

    Attributes
    ----------
    key : str
        Key of ours that is open (``"reward"``).
    candidates : list of str
        Columns that may be it.
    why : str
        One line for the person.
    blocks : bool
        True when the file has verdicts that cannot be read without the answer. A file with
        other open questions loads, and what is open stays out of the mapping.
    """

    key: str
    candidates: list[str]
    why: str
    blocks: bool = False


@dataclass
class Sniff:
    """What the first rows of a file look like.

    Attributes
    ----------
    columns : list of str
    kinds : dict
        Column -> kind of value (null, bool, int, float, number text, text, list, object) -> count.
    values : dict
        Column -> text of a value -> count, for columns with few values.
    mapping : Mapping
        What was recognised: no more than can be read in one way.
    questions : list of Question
    label_columns : list of str
        Columns that look like gold; their origin (a person, a program, a model) is to be asked.
    gold_kinds : dict
        Values of the file's own `gold_kind` column -> count: the origin, where the file says it.
    verdict_columns : list of str
        Further columns of 0 and 1: other judges, criteria or checks.
    split_columns : list of str
        Columns that may tell the runs in the file apart.
    n_rows, n_refused : int
        Rows looked at, lines refused among them.
    """

    columns: list[str]
    kinds: dict[str, dict[str, int]]
    values: dict[str, dict[str, int]]
    mapping: Mapping
    questions: list[Question]
    label_columns: list[str]
    gold_kinds: dict[str, int]
    verdict_columns: list[str]
    split_columns: list[str]
    n_rows: int
    n_refused: int = 0
    refused: list[Refusal] = field(default_factory=list)


def recognise(objects: Iterable[dict], tabular: bool = False) -> Sniff:
    """What the columns of some rows mean.

    Parameters
    ----------
    objects : iterable of dict
        Rows as they stand in the file.
    tabular : bool
        True for CSV and TSV, where 0, 1, true and false are text.
    """
    columns, n_rows = columns_of(objects, tabular)
    look = _Look(columns)
    look.texts()
    look.conversation()
    look.verdict()
    look.aside("reason", names.REASON)
    look.aside("judge_name", names.JUDGE_NAME)
    look.identity()
    labels = look.labels()
    metrics = look.metrics(labels)
    kinds_of_gold = columns["gold_kind"].values if "gold_kind" in columns else {}
    return Sniff(
        columns=list(columns),
        kinds={name: dict(column.kinds) for name, column in columns.items()},
        values={name: dict(column.values) for name, column in columns.items() if column.few},
        mapping=Mapping(look.keys, {}, metrics),
        questions=look.questions,
        label_columns=labels,
        gold_kinds=dict(kinds_of_gold),
        verdict_columns=[c.name for c in look.free(labels) if c.zero_one and c.name not in metrics],
        split_columns=[
            c.name for c in look.named(names.SPLIT) if c.scalar and len(c.values) <= FEW and c.few
        ],
        n_rows=n_rows,
    )


class _Look:
    """One pass over the columns; gathers keys and questions."""

    def __init__(self, columns: dict[str, Column]) -> None:
        self.columns = columns
        self.keys: dict[str, str] = {}
        self.questions: list[Question] = []

    def named(self, wanted: list[str]) -> list[Column]:
        return [column for name, column in self.columns.items() if plain(name) in wanted]

    def ask(self, key: str, candidates: list[Column], why: str, blocks: bool = False) -> None:
        self.questions.append(Question(key, [c.name for c in candidates], why, blocks))

    def take(self, key: str, wanted: list[str], fits: Callable[[Column], bool], what: str) -> bool:
        """Map `key` when our own name or exactly one other name fits; ask when several do."""
        if key in self.columns:
            return True
        found = [column for column in self.named(wanted) if fits(column)]
        if len(found) == 1:
            self.keys[key] = found[0].name
        elif found:
            self.ask(key, found, f"{_list(found)} may each be {what}.")
        return bool(found)

    def texts(self) -> None:
        has_prompt = self.take("prompt", names.PROMPT, lambda c: c.text or c.turns, "the ask")
        has_reply = "final_text" in self.columns
        answers = [c for c in self.named(names.REPLY) if c.text or c.turns]
        words = [c for c in answers if c.answers]
        if not has_reply and len(answers) == 1 and words:
            self.ask("final_text", answers, f"{_list(answers)} {_holds(words[0])}: reply or label?")
            has_reply = True
        elif not has_reply:
            spoken = [c for c in answers if not c.answers]
            self.take_found("final_text", spoken, "the reply")
            has_reply = bool(spoken)
        bare = [c for c in self.named(names.TEXT_OF_ROW) if c.text]
        if bare and not has_prompt and not has_reply:
            self.ask("prompt", bare, f"{_list(bare)} may be the ask or the reply.")

    def take_found(self, key: str, found: list[Column], what: str) -> None:
        if len(found) == 1:
            self.keys[key] = found[0].name
        elif found:
            self.ask(key, found, f"{_list(found)} may each be {what}.")

    def conversation(self) -> None:
        self.take("messages", names.MESSAGES, lambda c: c.turns, "the conversation")
        if "tool_trace" not in self.columns:
            self.take("steps", names.STEPS, lambda c: c.objects, "the tool calls")

    def verdict(self) -> None:
        own = self.columns.get("reward")
        named = self.named(names.JUDGE)
        if own is not None and own.filled and not own.other_text and not own.only_containers:
            self.keys["reward"] = "reward"
            return
        fit = [c for c in named if c.zero_one]
        if own is not None and own.filled:
            others = "" if not fit else f" {_list(fit)} may be meant instead."
            why = f"reward {_holds(own)}: which values pass?{others}"
            self.ask("reward", [own, *fit], why, blocks=True)
        elif len(fit) == 1:
            self.keys["reward"] = fit[0].name
        elif fit:
            self.ask("reward", fit, f"{_list(fit)} may each be the judge's verdict.", blocks=True)
        else:
            words = [c for c in self.named(names.VERDICT_WORDS) if c.few]
            words = [c for c in words if len(c.values) <= WORDS]
            self._ask_about_values([c for c in (*named, *words) if c.filled])

    def _ask_about_values(self, found: list[Column]) -> None:
        zero_one = [c for c in found if c.zero_one]
        if len(found) == 1 and zero_one:
            self.keys["reward"] = found[0].name
        elif found:
            held = "; ".join(f"{c.name} {_holds(c)}" for c in found[:4])
            # A number that is no verdict is kept as a metric: nothing is lost by loading.
            blocks = not all(c.numeric for c in found)
            self.ask("reward", found, f"No verdict of 0 and 1: {held}. Which values pass?", blocks)

    def aside(self, key: str, wanted: list[str]) -> None:
        """A key worth having and not worth a question: mapped when exactly one column fits."""
        found = [c for c in self.named(wanted) if c.text]
        if key not in self.columns and len(found) == 1:
            self.keys[key] = found[0].name

    def identity(self) -> None:
        has_index = self.take(
            "rollout_index", names.INDEX, lambda c: c.whole, "the number of the repeat"
        )
        any_ids = [c for c in self.named(names.ANY_ID) if c.scalar]
        if "scenario_id" not in self.columns:
            tasks = [c for c in self.named(names.TASK) if c.scalar]
            if not tasks:
                self.take_found("scenario_id", any_ids, "the task")
                return
            self.keys["scenario_id"] = tasks[0].name
        if not has_index and "rollout_id" not in self.columns:
            own = [c for c in any_ids if c.unique]
            if len(own) == 1:
                self.keys["rollout_id"] = own[0].name

    def labels(self) -> list[str]:
        used = set(self.keys.values())
        return [
            c.name
            for c in self.columns.values()
            if c.name not in used and c.filled and _is_label_name(c)
        ]

    def free(self, labels: list[str]) -> list[Column]:
        taken = {*self.keys.values(), *labels, *names.OURS}
        return [c for c in self.columns.values() if c.name not in taken]

    def metrics(self, labels: list[str]) -> dict[str, dict[str, str]]:
        return {
            c.name: {"unit": "", "direction": ""}
            for c in self.free(labels)
            if c.numeric and not c.zero_one and not _is_count_of_nothing(c.name)
        }


def _is_label_name(column: Column) -> bool:
    name = plain(column.name)
    if name in ("gold_kind", "gold_labels"):
        return False
    if name in names.GOLD or name.startswith(("gold_", "human_", "annotator")):
        return True
    return name in names.REPLY and column.answers


def _is_count_of_nothing(name: str) -> bool:
    text = plain(name)
    return text in names.NOT_METRICS or text.endswith(("_id", "_hash", "_index", "_at", "_seed"))


def _list(columns: list[Column]) -> str:
    return ", ".join(column.name for column in columns)


def _holds(column: Column) -> str:
    """What a column holds, in a few words."""
    if column.few and column.text_or_mixed:
        shown = ", ".join(list(column.values)[:5])
        return f"holds {shown}{', ...' if len(column.values) > 5 else ''}"
    if column.numeric:
        return f"holds numbers from {column.low:g} to {column.high:g}"
    return "holds " + ", ".join(column.kinds)
