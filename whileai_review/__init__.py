"""Find out whether an LLM judge can be trusted: measure it, read it, label blind."""

from whileai_review.rows import task_key
from whileai_review.score._claims import claimed_actions
from whileai_review.score._verdicts import normalize_judge_result
from whileai_review.score.agreement import judge_agreement
from whileai_review.score.corrected import corrected_pass_rate
from whileai_review.score.judge_trust import format_judge_trust, judge_probes, judge_trust
from whileai_review.score.labels import annotator_agreement, attach_labels

__version__ = "0.3.0"

__all__ = [
    "__version__",
    "annotator_agreement",
    "attach_labels",
    "claimed_actions",
    "corrected_pass_rate",
    "format_judge_trust",
    "judge_agreement",
    "judge_probes",
    "judge_trust",
    "normalize_judge_result",
    "task_key",
]
