"""Every threshold, with its unit and its source.

A report that used one of these carries it (``report["floors"]``), so that a page
quotes the report and not this file.
"""

MIN_AGREEMENT = 0.8
"""Floor of agreement, held against the lower bound of its 95% interval.
Human-human agreement on MT-Bench (Zheng et al. 2023, arXiv:2306.05685)."""

MIN_KAPPA = 0.6
"""Floor of chance-corrected agreement. Landis & Koch (1977): "substantial"."""

LENGTH_GAP_FLAG = 0.15
"""Difference of the judge's pass rates on long and short replies of one gold class."""

FLIP_FLAG = 0.10
"""Share of verdicts that may turn on a re-judge, on filler, or under a probe."""

MAX_SKIPPED_SHARE = 0.10
"""Share of labelled rows the judge may leave out with a fractional reward (whileai #345)."""

LEAK_WARN = 0.10
"""Share of gold failures the judge may pass before a report warns."""

MIN_LABELS = 50
"""Compared rows under which a report calls the sample small."""

HALVES_WARN = 0.15
"""Difference of the two halves' agreement that a report points out."""

HALVES_MIN_N = 10
"""Rows each half needs before their difference is looked at."""

LENGTH_MIN_N = 6
"""Rows of one gold class needed to split them by reply length."""

PROBE_MIN_N = 20
"""Rows in a probe's denominator under which nothing is flagged (whileai #347)."""

SAMPLE = 40
"""Rows re-judged by the perturbation pass and by each probe."""

GOOD_TPR, GOOD_TNR = 0.95, 0.92
"""A good judge, whose kappa at a run's base rate stands beside the measured one (whileai-review,
statistics 3)."""

POWER = 0.8
"""Chance of seeing an effect that is there (Cohen 1988)."""

ALPHA = 0.05
"""Two-sided level of every test."""

LEVEL = 0.95
"""Coverage of every interval."""

N_BOOT = 1000
"""Bootstrap draws of an interval: the drawing moves a bound by about a tenth of the
interval's standard error, and the seed keeps it in place."""

SEED = 0
"""Start of every random draw, so that equal rows give equal reports."""

QUOTE_CHARS = 200
"""Characters of a reason or a reply that a review queue repeats."""
