"""The names other people give to what a row holds. One place, so that a new one is one word."""

from __future__ import annotations

OURS = {
    "prompt": "the ask",
    "final_text": "the reply",
    "messages": "the conversation",
    "steps": "the tool calls",
    "tools": "the declared tools",
    "reward": "the judge's verdict",
    "reason": "the judge's reason",
    "judge_name": "the judge",
    "gold_reward": "the label",
    "gold_kind": "who gave the label",
    "scenario_id": "the task",
    "task_id": "the task",
    "rollout_index": "the number of the repeat",
    "rollout_id": "the rollout",
    "privileged": "what the agent was not to quote",
    "markers": "single checks",
    "lineage": "model and checkpoint",
}
"""Keys of a row that a mapping may set."""

PROMPT = "prompt question input ask instruction query user_input".split()
REPLY = "final_text reply output response answer completion".split()
MESSAGES = "messages traj trajectory conversation conversations chat".split()
STEPS = "steps tool_trace tool_calls".split()
JUDGE = "correct passed score judge_score pass success is_correct".split()
VERDICT_WORDS = "verdict judge_verdict judge_label judgement judgment grade".split()
"""Names of a verdict that come with words more often than with 0 and 1."""

GOLD = (
    "gold_reward gold gold_label label labels human_label expected expected_output target "
    "ground_truth reference_answer human human_verdict annotation annotator"
).split()
REASON = "reason judge_reason rationale explanation justification feedback".split()
JUDGE_NAME = "judge_name judge_model grader".split()
TASK = "scenario_id task_id".split()
"""Names that say "task"."""

ANY_ID = "idx id uid uuid question_id example_id sample_id instance_id _task_hash".split()
"""Names of an id that may be a task's or a rollout's."""

INDEX = "rollout_index trial epoch repeat".split()
SPLIT = "arm run checkpoint run_id run_name experiment".split()
"""Columns that may tell the runs in one file apart."""

TEXT_OF_ROW = "text".split()
"""Names that may be an ask or a reply."""

LABEL_WORDS = frozenset(
    "accept reject ignore approve pass fail yes no good bad correct incorrect".split()
)
"""Values that make a column look like answers of a person rather than replies."""

NOT_METRICS = (
    "id _hash hash idx index seed line year month day date time timestamp created_at updated_at "
    "version port user user_id offset start end rank"
).split()
"""Numeric columns that count or name, so that their mean says nothing."""


def plain(name: str) -> str:
    """A column's name as it is compared: case, blanks and hyphens do not matter."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
