"""Can the judge be trusted? The reward is only as good as the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whileai_review import rows as read
from whileai_review.defaults import (
    FLIP_FLAG,
    LENGTH_GAP_FLAG,
    MAX_SKIPPED_SHARE,
    MIN_AGREEMENT,
    MIN_KAPPA,
    QUOTE_CHARS,
    SAMPLE,
    SEED,
)
from whileai_review.intervals import quoted
from whileai_review.report import Report, percent
from whileai_review.score._columns import TrustColumns
from whileai_review.score._probes import judge_probes, perturbation, probe_lines
from whileai_review.score._trust import trust_numbers
from whileai_review.score._verdicts import Judge, judge_name
from whileai_review.score.agreement import (
    agreement_line,
    by_task_lines,
    confusion_line,
    one_class_line,
)
from whileai_review.score.gold import audit_words, unclear_words
from whileai_review.score.people import people_words

__all__ = [
    "JudgeTrustReport",
    "format_judge_trust",
    "judge_probes",
    "judge_trust",
    "trust_from_columns",
]


class JudgeTrustReport(Report):
    """Whether a judge can be trusted.

    Keys
    ----
    ok : bool
        Labelled rows exist, their gold is trusted (or allowed), nothing was flagged.
    state : {"passes", "fails", "not_shown", "not_measured"}
        ``fails`` only when a whole interval lies on the wrong side of its floor; see
        :mod:`whileai_review.score._state`.
    state_reason : str
    n_rows, n_labeled, n_tasks : int
        Rows; rows with 0/1 on both sides; their tasks.
    gold_kind : str or None
    gold_degenerate : bool
        All gold is of one class.
    floors : dict
        ``min_agreement min_kappa max_skipped_share length_gap_flag flip_flag``, as used.
    skipped : dict
        ``n_gold n_used fractional unscored share floor over_floor examples``.
    agreement : AgreementReport
    tpr, tnr, j, reward_in_error, judge_fail_right : dict
        ``value ci95 n``: passes passed; failures caught; their sum minus 1; wrong passes
        among the judge's passes; right fails among its fails. None for no data.
    baseline : dict
        The judge that always answers the gold majority, on the same rows: ``verdict
        agreement ci95 n``, and against the judge ``difference`` (baseline minus judge),
        ``difference_ci95``, ``p_value`` (exact McNemar), ``discordant`` ([only the
        baseline right, only the judge right]); by task ``ci95_tasks n_tasks deff``,
        ``difference_ci95_tasks``, ``p_value_tasks`` (whole tasks change sign).
    plan : dict
        ``if_it_holds``, ``for_power``: labels that are missing until the agreement reaches its
        floor, if its share holds and for a chance of 80% (None: no number will); ``hopeless``.
    kappa_of_a_good_judge : float or None
        What a judge with TPR .95 and TNR .92 would get at this base rate.
    people : dict or None
        What people agree with each other on the rows that two of them labelled:
        :func:`~whileai_review.score.people.people_agreement`. None where nobody knows.
    person_against_rule : dict
        As in :class:`~whileai_review.score.agreement.AgreementReport`.
    held_out_halves : dict
        ``a``, ``b``: an agreement each; a task lies in one half.
    length_sensitivity : dict
        ``gold_1 gold_0 max_gap flagged``.
    foreign_rewards : dict
        ``n``, ``names`` of labelled rows another scorer signed; only with a judge.
    perturbation, probes : dict or None
        Only with a judge (and `probes`).
    exploitable_by : list of str
    disagreements : list of dict
        ``row`` (position), ``task gold judge reason final_text``, in row order. Without
        the two texts from :func:`trust_from_columns`.
    weighted : dict or None
        Where labelled rows were drawn with unequal, known chances (only from
        :func:`trust_from_columns`): the estimates of
        :func:`~whileai_review.score.weighted.weighted_measures`, with ``n_outside``, judged rows
        that no label stands for. The shares above are then these and say ``weighted: True``;
        counts, halves and the length gap are those of the labelled rows.
    gold_audit : dict or None
        Of program gold: what people say who labelled some of it blind, as
        :func:`~whileai_review.score.gold.audit_measures`, with ``planned`` rows and ``answered``.
    unclear : dict or None
        Rows that nobody could tell, and what they leave open of every rate, as
        :func:`~whileai_review.score.gold.unclear_measures`. None where nobody knows.
    flagged : bool
        Something was found that makes `ok` false beside missing gold.
    warnings : list of str
    """

    def as_text(self) -> str:
        """The block a person reads."""
        return format_judge_trust(self)


def judge_trust(
    rows: Sequence[dict],
    judge: Judge | None = None,
    gold: str = "gold_reward",
    sample: int = SAMPLE,
    seed: int = SEED,
    concurrency: int = 8,
    probes: str | Sequence[str] | None = None,
    rubric: str | None = None,
    min_agreement: float = MIN_AGREEMENT,
    min_kappa: float = MIN_KAPPA,
    allow_model_gold: bool = False,
    length_gap_flag: float = LENGTH_GAP_FLAG,
    flip_flag: float = FLIP_FLAG,
    max_skipped_share: float = MAX_SKIPPED_SHARE,
) -> JudgeTrustReport:
    """Measure whether the judge can be trusted, against gold and under attack.

    Parameters
    ----------
    rows : sequence of dict
        Rows with the judge's ``reward``; those with `gold` too are measured. Entries that
        are no dicts are passed over, nothing is changed.
    judge : callable, optional
        ``row -> number or dict``. With it up to `sample` rows are judged again, as they
        are and with filler; it gets copies, `concurrency` at once.
    gold : str
        Key of the gold label.
    seed : int
        Of the draw of `sample` rows; the rows that are measured against gold are all of them.
    probes : "all" or sequence of str, optional
        Hacks to try on the judge; see :func:`judge_probes`, also for `rubric`.
    min_agreement, min_kappa, length_gap_flag, flip_flag, max_skipped_share : float
        Floors and flags, as :mod:`whileai_review.defaults` explains them.
    allow_model_gold : bool
        Let gold of an untrusted kind count as a measurement.

    Returns
    -------
    JudgeTrustReport
        Print it for the block, read it as a dict.

    References
    ----------
    Zheng et al. (2023), arXiv:2306.05685. Landis & Koch (1977), Biometrics 33, 159-174.
    Lambert (2025), RLHF Book, chapters Reward Modeling and Evaluation.

    Examples
    --------
    >>> rows = [{"task_id": str(i), "reward": i % 2, "gold_reward": i % 2} for i in range(20)]
    >>> judge_trust(rows)["agreement"]["agreement"]
    1.0
    """
    own = [row for row in rows if isinstance(row, dict)]
    attacks: dict[str, Any] = {}
    if judge is not None:
        attacks["judge_name"] = judge_name(judge)
        attacks["perturbation"] = perturbation(own, judge, sample, seed, concurrency, flip_flag)
        if probes is not None:
            attacks["probes"] = judge_probes(
                own, judge, probes, rubric, sample, seed, concurrency, flip_flag
            )
    report = trust_from_columns(
        TrustColumns.from_dicts(own, gold),
        min_agreement=min_agreement,
        min_kappa=min_kappa,
        allow_model_gold=allow_model_gold,
        length_gap_flag=length_gap_flag,
        flip_flag=flip_flag,
        max_skipped_share=max_skipped_share,
        **attacks,
    )
    for entry in report["disagreements"]:
        row = own[entry["row"]]
        reason, final = row.get("reason"), row.get("final_text")
        entry["reason"] = (reason if type(reason) is str else read.as_text(reason))[:QUOTE_CHARS]
        entry["final_text"] = (final if type(final) is str and final else read.reply(row))[
            :QUOTE_CHARS
        ]
    return report


def trust_from_columns(columns: TrustColumns, **options: Any) -> JudgeTrustReport:
    """The array layer of :func:`judge_trust`: a report without texts from rows.

    Parameters
    ----------
    columns : TrustColumns
        From rows, or built straight from a database.
    **options
        The floors and flags of :func:`judge_trust` by name (``min_agreement min_kappa
        allow_model_gold length_gap_flag flip_flag max_skipped_share``), what was found
        with a judge: ``judge_name perturbation probes``, ``weights`` of the rows
        (:func:`~whileai_review.score.weighted.row_weights`), ``audit`` and ``unclear`` of gold,
        and ``listed``: False leaves ``disagreements`` empty.

    Returns
    -------
    JudgeTrustReport
        All documented keys; each entry of ``disagreements`` has ``row task gold judge``
        and neither ``reason`` nor ``final_text``.
    """
    return JudgeTrustReport(trust_numbers(columns, **options))


def format_judge_trust(report: dict[str, Any]) -> str:
    """The block a person reads: the verdict, the checks that ran, one line a warning."""
    lines = [_headline(report)]
    agreement = report["agreement"]
    if agreement["n"]:
        lines += [agreement_line(agreement), f"  {confusion_line(agreement)}"]
        if report.get("weighted"):
            lines.append("  weighted by the chance of each row; counts and halves are unweighted")
        for name, half in report["held_out_halves"].items():
            if half["n"]:
                lines.append(f"  half {name}: {percent(half['agreement'])} (n={half['n']})")
        lines.append(_length_line(report["length_sensitivity"]))
    if report["perturbation"]:
        lines.append(_perturbation_line(report["perturbation"]))
    if report["probes"]:
        lines += probe_lines(report["probes"])
    lines.append(f"disagreements to review: {len(report['disagreements'])}")
    lines += [f"! {warning}" for warning in report["warnings"]]
    # Below the recipe's block, which stays as it is: what knows that rows come in tasks.
    lines += by_task_lines(agreement) if agreement["n"] else []
    ceiling = people_words(report["people"], report["floors"]["min_agreement"])
    lines += [ceiling, audit_words(report["gold_audit"]), unclear_words(report["unclear"])]
    return "\n".join(line for line in lines if line)


def _headline(report: dict) -> str:
    skipped = report["skipped"]
    if skipped["over_floor"]:
        return (
            f"INCONCLUSIVE: {skipped['fractional']} of {skipped['n_gold']} labelled rows got a "
            f"fractional reward, n={skipped['n_used']} can be used"
        )
    measured = report["n_labeled"] and report["agreement"]["ok"]
    word = "PASS" if report["ok"] else "FAIL"
    if not measured and not report["flagged"]:
        word = "NOT MEASURED"
    unseen = one_class_line(report["agreement"])
    return f"{word}; {unseen}" if unseen else word


def _length_line(length: dict) -> str:
    if not any("p_value" in length[part] for part in ("gold_1", "gold_0")):
        return "length gap not checked"
    return f"length gap {percent(length['max_gap'])}" + ("  FLAG" if length["flagged"] else "")


def _perturbation_line(passes: dict) -> str:
    if not passes["n"]:
        return f"re-judge not run: {passes['note']}"
    line = (
        f"re-judge flips {percent(passes['consistency_flip_rate'])}, filler flips "
        f"{percent(passes['filler_flip_rate'])} (n={passes['n']})"
    )
    bounds = [quoted(passes[key]) for key in ("consistency", "filler")]
    words = [f"{percent(each.low)}..{percent(each.high)}" for each in bounds if each is not None]
    return f"{line}; 95% {', '.join(words)}" if words else line
