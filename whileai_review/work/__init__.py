"""What a person or a job does, one verb each: the only code that joins readers, scores and store.

- bring in: `load_file`, `load_folder`, `load_demo`, `join_verdicts`, `import_labels`, `carry_labels`
- label: `draw_queue`, `extend_queue`, `plan_more`, `review_queue`, `audit_queue`, `answer`,
  `label_by_rule`
- measure: `settings`, `trust`, `slices`, `found_slices`, `cell_rows`, `score_thresholds`,
  `overview`, `person_against_rule`, `gold_of_row`, `golds`
- read: `claims`, `review_result`
- code: `code_counts`, `code_slices`, `note_list`, `reason_list`
- declare: `declare_threshold`, `mark_shown`
- certify: `issue`, `sign_off`, `exported`, `certificate_of`, `gate_run`, `judged_run`
- find: `find_rows`, `begin_index`, `Filters`, `columns_of`, `task_rows`, `picked_queue`
- take out: `export_labels`
"""

from whileai_review.work.answering import answer
from whileai_review.work.certificates import (
    binding_of,
    certificate_of,
    exported,
    first_field,
    gate_run,
    issue,
    issued,
    judged_run,
    kept_certificate,
    sign_off,
)
from whileai_review.work.coding import code_counts, code_slices, note_list, reason_list
from whileai_review.work.drawing import audit_queue, draw_queue, picked_queue, review_queue
from whileai_review.work.extending import (
    extend_queue,
    plan_more,
)
from whileai_review.work.finding import Filters, Found, columns_of, find_rows, task_rows
from whileai_review.work.gold import gold_of_row, golds, person_against_rule
from whileai_review.work.joining import join_verdicts
from whileai_review.work.labelling import carry_labels, export_labels, import_labels
from whileai_review.work.loading import (
    NeedsMappingError,
    load_demo,
    load_file,
    load_folder,
)
from whileai_review.work.measuring import cell_rows, settings, slices, trust
from whileai_review.work.overview import overview
from whileai_review.work.plans import looks_words, note_look, planner_words, verdict_lines
from whileai_review.work.reading import claims, review_result
from whileai_review.work.ruling import label_by_rule
from whileai_review.work.searching import begin_index
from whileai_review.work.showing import mark_shown
from whileai_review.work.slicing import found_slices
from whileai_review.work.thresholds import declare_threshold, score_thresholds

__all__ = [
    "Filters",
    "Found",
    "NeedsMappingError",
    "answer",
    "audit_queue",
    "begin_index",
    "binding_of",
    "carry_labels",
    "cell_rows",
    "certificate_of",
    "claims",
    "code_counts",
    "code_slices",
    "columns_of",
    "declare_threshold",
    "draw_queue",
    "export_labels",
    "exported",
    "extend_queue",
    "find_rows",
    "first_field",
    "found_slices",
    "gate_run",
    "gold_of_row",
    "golds",
    "import_labels",
    "issue",
    "issued",
    "join_verdicts",
    "judged_run",
    "kept_certificate",
    "label_by_rule",
    "load_demo",
    "load_file",
    "load_folder",
    "looks_words",
    "mark_shown",
    "note_list",
    "note_look",
    "overview",
    "person_against_rule",
    "picked_queue",
    "plan_more",
    "planner_words",
    "reason_list",
    "review_queue",
    "review_result",
    "score_thresholds",
    "settings",
    "sign_off",
    "slices",
    "task_rows",
    "trust",
    "verdict_lines",
]
