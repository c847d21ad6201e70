"""What was measured of a judge, bound by hashes, and what a gate makes of it.

A certificate is a dict of plain values. Its ``hash`` is the sha256 of everything else in it, as
canonical JSON, so that one edited by hand is refused. A hash is no signature: it shows that a file
was changed, not who made it.

``measurement`` is the sha256 of what was measured alone. Two certificates of one measurement
differ in their date, the names and the version of the code, and in nothing that counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from whileai_review.intervals import quoted
from whileai_review.report import (
    count,
    interval2,
    interval_percent,
    number2,
    percent,
    plural,
)

FORMAT = "whileai-review certificate"
FORMAT_VERSION = 1

MAX_CHARS = 1_000_000
"""Of the text of a certificate; one has some 4,000."""

LABELS_OF_ANOTHER = 30 + 10
"""Rows to label of another policy: 30 tell a hopeless judge, some are "can't tell"."""

EXIT = {
    "passes": 0,
    "fails": 1,
    "not_shown": 3,
    "not_measured": 3,
    "interim": 3,
    "other_policy": 3,
    "other_judge": 3,
}
"""Exit status of `gate` by what it decides."""

WORDS = {
    "passes": "PASSES",
    "fails": "FAILS",
    "not_shown": "NOT SHOWN",
    "not_measured": "NOT MEASURED",
    "interim": "INTERIM",
    "other_policy": "NOT MEASURED ON THIS POLICY",
    "other_judge": "NOT MEASURED FOR THIS JUDGE",
}

MEASURED = (
    "judge", "guideline", "criterion", "gold", "data", "policy", "floors", "n_rows", "n_tasks",
    "confusion", "bounds", "plan", "pass_rate", "slices", "state",
)  # fmt: skip
"""Keys that make up the measurement."""

_KEYS: dict[str, type | tuple[type, ...]] = {
    "format": str, "format_version": int, "version": str, "measured_at": str, "judge": dict,
    "guideline": dict, "criterion": str, "gold": dict, "data": dict, "policy": dict,
    "floors": dict, "n_rows": int, "n_tasks": int, "confusion": dict, "bounds": dict,
    "plan": (dict, type(None)), "pass_rate": dict, "slices": (dict, type(None)), "state": str,
    "state_reason": str, "headline": dict, "measurement": str, "hash": str,
}  # fmt: skip

_BOUNDS = ("agreement", "kappa", "tnr", "tpr", "j", "reward_in_error", "baseline")

_NAMES = {
    "agreement": "Agreement",
    "kappa": "Kappa",
    "tnr": "Catches failures (TNR)",
    "tpr": "Passes passes (TPR)",
    "j": "J = TPR + TNR − 1",
    "reward_in_error": "Reward given in error",
}

_FLOORS = {"agreement": "min_agreement", "kappa": "min_kappa", "j": "min_j"}

_DIGITS = 9
"""Of a number in a certificate: the last bits differ between machines."""


class CertificateError(ValueError):
    """A text is no certificate, or one that was changed; says how to mend it."""


class Bound(NamedTuple):
    """A line of the table of a certificate, as text."""

    name: str
    value: str
    interval: str
    floor: str
    rows: str
    tasks: str


def make_certificate(
    report: Mapping[str, Any], bound: Mapping[str, Any], measured_at: str, version: str
) -> dict[str, Any]:
    """Write down what a trust report measured.

    Parameters
    ----------
    report
        Of `judge_trust`; ``interim``, ``headline``, ``corrected`` and ``judge_passes`` of
        `work.trust` are taken where they are there.
    bound
        What it holds for: ``judge guideline criterion gold data policy plan slices``, as
        `work.certificate_of` makes them.
    measured_at
        UTC, ISO 8601.
    version
        Of the code that measured.

    Returns
    -------
    dict
        ``bounds``: ``value low high n n_tasks`` of each figure, the wider interval of rows
        and tasks, 95%. ``state`` is the report's; ``interim`` before the last planned label.
    """
    agreement, interim = report["agreement"], report.get("interim")
    certificate: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": version,
        "measured_at": measured_at,
        **{key: bound.get(key) for key in ("judge", "guideline", "criterion", "gold")},
        **{key: bound.get(key) for key in ("data", "policy", "plan", "slices")},
        "floors": {**report["floors"], "min_j": 0.0},
        "n_rows": agreement["n"],
        "n_tasks": agreement["n_tasks"],
        "confusion": dict(agreement["confusion"]),
        "bounds": _bounds(report),
        "pass_rate": _pass_rate(report),
        "state": "interim" if interim else report["state"],
        "state_reason": report["state_reason"],
        "headline": _headline(report),
    }
    certificate = _plain(certificate)
    certificate["measurement"] = measurement_of(certificate)
    certificate["hash"] = certificate_hash(certificate)
    return certificate


def canonical(value: Any) -> str:
    r"""The one JSON text of a value: keys sorted, no spaces, ASCII, no NaN, 1.0 as 1.

    Another program may write a file anew in its own way; the hash stays.

    Examples
    --------
    >>> canonical({"b": 1.50, "a": "ü", "c": 1.0})
    '{"a":"\\u00fc","b":1.5,"c":1}'
    """
    whole = _whole(value)
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """The sha256 of a value's canonical JSON, in hex."""
    return sha256(canonical(value).encode("ascii")).hexdigest()


def certificate_hash(certificate: Mapping[str, Any]) -> str:
    """The sha256 over everything but the hash itself and the sign-offs beside it."""
    return digest({k: v for k, v in certificate.items() if k not in ("hash", "sign_offs")})


def measurement_of(certificate: Mapping[str, Any]) -> str:
    """The sha256 of what was measured, without date, version of the code, and names of runs."""
    found = {key: certificate.get(key) for key in MEASURED}
    data = certificate.get("data") or {}
    return digest(found | {"data": {k: v for k, v in data.items() if k != "run"}})


def sign_off_hash(sign_off: Mapping[str, Any], before: str | None) -> str:
    """The sha256 of a sign-off and of the one before it, so that an edited line shows."""
    keys = ("certificate", "decision", "reason", "by", "at")
    return digest({key: sign_off.get(key) for key in keys} | {"before": before})


def read_certificate(text: str | bytes) -> dict[str, Any]:
    """The certificate that a text holds, checked; its sign-offs, if any, under ``sign_offs``.

    Raises
    ------
    CertificateError
        It is no certificate, was changed by hand, is of a newer version, or contradicts itself.
    """
    try:
        found = json.loads(_decoded(text), object_pairs_hook=_once)
    except CertificateError:
        raise
    except (ValueError, RecursionError) as error:
        raise CertificateError(
            "This is no certificate: it is not JSON, or more than one certificate."
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CertificateError("This is no certificate of whileai-review.")
    try:
        found = _whole(found)  # 120.0 of another program's JSON is the 120 that was written
    except RecursionError as error:
        raise CertificateError(_CHANGED) from error
    check_certificate(found)
    return found


def looks_like_certificate(text: str | bytes) -> bool:
    """Whether a text means to be a certificate, even one that is broken by an edit.

    A line of rollouts that quotes a certificate does not begin as one.
    """
    head = _decoded(text)
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        start = "".join(head[:4_000].split())
        return start.startswith("{") and f'"format":"{"".join(FORMAT.split())}"' in start
    return isinstance(found, dict) and found.get("format") == FORMAT


def check_certificate(certificate: Mapping[str, Any]) -> None:
    """Refuse a certificate that is not as it was issued.

    Raises
    ------
    CertificateError
        In the order: of a newer format, changed, keys missing, state against its own bounds, a
        sign-off that was changed.
    """
    version = certificate.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise CertificateError(
            f"This certificate is of a newer format ({version}, this one knows {FORMAT_VERSION}). "
            "Install the newer whileai-review."
        )
    try:
        right = certificate_hash(certificate)
    except (ValueError, TypeError, RecursionError) as error:
        raise CertificateError(_CHANGED) from error
    if certificate.get("hash") != right:
        raise CertificateError(_CHANGED)
    wrong = [key for key, kind in _KEYS.items() if not _is(certificate.get(key), kind)]
    wrong = wrong or [*_wrong_parts(certificate), *_wrong_bounds(certificate)]
    if wrong:
        raise CertificateError(
            f"This is no whole certificate: {', '.join(wrong[:5])} is missing or of a wrong kind."
        )
    if certificate["measurement"] != measurement_of(certificate):
        raise CertificateError(_CHANGED)
    if certificate["state"] not in EXIT:
        raise CertificateError(
            f"This certificate has a state nobody knows: {certificate['state']!r}."
        )
    if certificate["headline"]["word"] != WORDS[certificate["state"]]:
        raise CertificateError(
            f"This certificate contradicts itself: its state is {certificate['state']} and its "
            f"headline says {certificate['headline']['word']!r}. Issue it anew."
        )
    odd = _against_counts(certificate)
    if odd:
        raise CertificateError(
            f"This certificate contradicts itself: its {odd} is not of its rows. Issue it anew."
        )
    missed = [name for name in _FLOORS if not _holds(certificate, name)]
    if certificate["state"] == "passes" and missed:
        raise CertificateError(
            f"This certificate contradicts itself: it says that it passes, and {missed[0]} does "
            "not hold its floor. Issue it anew."
        )
    _check_sign_offs(certificate)


def moved(certificate: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether a newer report of the same judge and run has other numbers than the certificate.

    Compared are the state, the rows by cell and the bounds; not the plan and not the names.
    """
    now = _plain(
        {
            "state": "interim" if report.get("interim") else report["state"],
            "confusion": dict(report["agreement"]["confusion"]),
            "bounds": _bounds(report),
        }
    )
    return any(certificate[key] != value for key, value in now.items())


def gate(
    certificate: Mapping[str, Any],
    on: Mapping[str, Any] | None = None,
    now: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """May this judge be used? The state of a certificate, held against where it is to be used.

    Parameters
    ----------
    certificate
        Checked; or made of a report a moment ago.
    on
        The run to be judged: ``run`` (its name), ``policy`` and ``judge``, as in a certificate.
    now
        A certificate of what is measured on that run today, where it is of the same policy:
        labels that came since can fail a judge that passed.

    Returns
    -------
    dict
        ``decision`` (a key of `EXIT`), ``exit``, ``word``, ``reason``, ``certificate``, ``on``
        (the run's name or None).
    """
    decision, reason = certificate["state"], certificate["state_reason"]
    if on is not None:
        decision, reason = _on(certificate, on, decision, reason)
    if now is not None and decision == "passes" and now["state"] == "fails":
        decision = "fails"
        reason = (
            f"the certificate of {day(certificate)} passes; with the labels of today "
            f"{now['state_reason']}"
        )
    return {
        "decision": decision,
        "exit": EXIT[decision],
        "word": WORDS[decision],
        "reason": reason,
        "on": on["run"] if on is not None else None,
        "certificate": dict(certificate),
    }


def bound_lines(certificate: Mapping[str, Any]) -> list[Bound]:
    """The bounds of a certificate as a table: name, value, 95%, floor, rows, tasks."""
    lines = []
    for name in _BOUNDS:
        found = certificate["bounds"][name]
        n, interval = found["n"], _interval(found)
        coefficient = name in ("kappa", "j")
        floor = certificate["floors"].get(_FLOORS.get(name, ""))
        title = _NAMES.get(name) or f"Always “{found.get('verdict') or 'pass'}”"
        value = number2(found["value"]) if coefficient else percent(found["value"], n)
        lines.append(
            Bound(
                title,
                value,
                interval2(interval) if coefficient else interval_percent(interval, n),
                _floor_words(name, floor),
                count(n),
                count(found["n_tasks"]) if n else "",
            )
        )
    return lines


def binding_lines(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a certificate binds to: (what, words), unknown things said as such."""
    judge, data, policy = certificate["judge"], certificate["data"], certificate["policy"]
    gold, guideline = certificate["gold"], certificate["guideline"]
    lines = [
        ("judge", _named(judge.get("name"), judge.get("sha256"), "known by its name alone")),
        ("rubric", _known(judge.get("rubric_sha256"))),
        ("threshold", _threshold(judge)),
        ("guideline", ", ".join(guideline.get("versions") or []) or "the labels name none"),
        ("criterion", certificate["criterion"]),
        ("gold", _gold_words(gold, guideline)),
        ("run", _named(data.get("run"), data.get("sha256"), "")),
        ("rows measured", _rows_words(certificate)),
        ("policy", _known(policy.get("sha256")) + _policy_words(policy)),
    ]
    plan = certificate.get("plan")
    if plan:
        lines.append(("plan", plan_line(plan)))
    return lines


def plan_line(plan: Mapping[str, Any]) -> str:
    """How many labels were planned and given, and how often somebody looked before the end."""
    words = f"{count(plan['labelled'])} of {count(plan['planned'])} planned labels"
    if plan.get("ended_early"):
        words += ", ended early"
    return f"{words}, {plural(plan['looks'], 'look')} before the end"


def short(hash_: str | None) -> str:
    """The first twelve characters of a hash, which tell any two apart that people meet.

    Examples
    --------
    >>> short("0123456789abcdef"), short(None)
    ('0123456789ab', '')
    """
    return (hash_ or "")[:12]


def day(certificate: Mapping[str, Any]) -> str:
    """The day on which it was measured, in UTC."""
    return certificate["measured_at"][:10]


_CHANGED = (
    "this certificate was changed after it was issued. Take the file that was exported, or issue "
    "it anew."
)


def _bounds(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    agreement, baseline = report["agreement"], report["baseline"]
    about = {"n": agreement["n"], "n_tasks": agreement["n_tasks"]}
    kappa = {"value": agreement["kappa"], "ci95": agreement["kappa_ci95"], **about}
    found = {
        "agreement": _bound({**agreement, "value": agreement["agreement"]}),
        "kappa": _bound(kappa),
        **{name: _bound(report[name]) for name in ("tnr", "tpr", "j", "reward_in_error")},
        "baseline": _bound({**baseline, "value": baseline["agreement"]}),
    }
    found["baseline"]["verdict"] = baseline["verdict"]
    return found


def _bound(share: Mapping[str, Any]) -> dict[str, Any]:
    interval = quoted(share) if share.get("ci95") else None
    low, high = interval if interval is not None else (None, None)
    n_tasks = share.get("n_tasks")
    return {"value": share["value"], "low": low, "high": high, "n": share["n"], "n_tasks": n_tasks}


def _pass_rate(report: Mapping[str, Any]) -> dict[str, Any]:
    k, n = report.get("judge_passes") or [None, None]
    corrected = report.get("corrected") or {}
    low, high = corrected.get("ci95") or (None, None)
    return {
        "judge": k / n if n else None,
        "n_judged": n,
        "corrected": corrected.get("value"),
        "corrected_low": low,
        "corrected_high": high,
    }


def _headline(report: Mapping[str, Any]) -> dict[str, str]:
    said = report.get("headline")
    if said:
        return {key: said[key] for key in ("word", "bold", "grey")}
    reason = report["state_reason"]
    return {
        "word": WORDS[report["state"]],
        "bold": f"{reason[:1].upper()}{reason[1:]}.",
        "grey": f"n={count(report['agreement']['n'])} rows, {plural(report['n_tasks'], 'task')}",
    }


def _plain(value: Any) -> Any:
    """Values that JSON has, with numbers short enough to be the same everywhere."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0 if math.isfinite(value) else None
    if isinstance(value, str):  # a lone surrogate comes back from a file as something else
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _decoded(text: str | bytes) -> str:
    """A file's text: UTF-8, or what a shell of Windows writes, with its mark of order."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    return text.decode(json.detect_encoding(text), "replace")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without a key that stands in it twice: two readers would read two things."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CertificateError(_CHANGED)
    return found


_TEXT = (str, type(None))
_NUMBER = (int, float, type(None))
_PARTS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "judge": {"name": _TEXT, "sha256": _TEXT, "rubric_sha256": _TEXT, "threshold": _NUMBER,
              "threshold_sha256": _TEXT},
    "guideline": {"versions": (list, type(None)), "rules": (list, type(None))},
    "gold": {"kind": _TEXT, "name": _TEXT},
    "data": {"run": _TEXT, "sha256": _TEXT, "rows_sha256": _TEXT},
    "policy": {"sha256": _TEXT, "from": _TEXT},
    "confusion": {cell: int for cell in ("tp", "fp", "fn", "tn")},
    "headline": {"word": str, "bold": str, "grey": str},
    "plan": {"planned": int, "labelled": int, "looks": int},
}  # fmt: skip
"""Of the parts that are read: what kind each value is; None where nobody knows it."""


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)  # True is no count


def _wrong_parts(certificate: Mapping[str, Any]) -> list[str]:
    wrong = []
    for name, kinds in _PARTS.items():
        part = certificate[name]
        for key, kind in kinds.items() if part is not None else ():
            good = _is(part.get(key), kind)
            if isinstance(part.get(key), list):
                good = good and all(isinstance(each, str) for each in part[key])
            if not good:
                wrong.append(f"{name}.{key}")
    if not _is_moment(certificate["measured_at"]):
        wrong.append("measured_at")
    return wrong


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) > 10


def _against_counts(certificate: Mapping[str, Any]) -> str:
    """The first figure whose n is not that of the confusion, or that lies outside its interval."""
    tp, fp, fn, tn = (certificate["confusion"][cell] for cell in ("tp", "fp", "fn", "tn"))
    n = tp + fp + fn + tn
    sizes = {"tnr": fp + tn, "tpr": tp + fn, "reward_in_error": tp + fp}
    if certificate["n_rows"] != n or not 0 <= certificate["n_tasks"] <= n:
        return "number of rows"
    if min(tp, fp, fn, tn) < 0:
        return "confusion"
    for name in _BOUNDS:
        found = certificate["bounds"][name]
        value, low, high = found["value"], found["low"], found["high"]
        if found["n"] != sizes.get(name, n):
            return name
        # Kappa's and J's intervals are of a bootstrap: nothing says that they hold the value.
        inside = name in ("kappa", "j") or value is None or low is None or low <= value <= high
        if (low is None) != (high is None) or not inside:
            return name
    return ""


def _wrong_bounds(certificate: Mapping[str, Any]) -> list[str]:
    wrong = []
    for name in _BOUNDS:
        found = certificate["bounds"].get(name) or {}
        good = isinstance(found, dict) and _is(found.get("n"), int)
        if not good or not all(_is(found.get(k), _NUMBER) for k in ("value", "low", "high")):
            wrong.append(f"bounds.{name}")
    return wrong


def _holds(certificate: Mapping[str, Any], name: str) -> bool:
    low, floor = certificate["bounds"][name]["low"], certificate["floors"].get(_FLOORS[name])
    if low is None or not isinstance(floor, int | float):
        return False
    return low > floor if name == "j" else low >= floor


_SIGN_OFF = {"certificate", "decision", "reason", "by", "at", "hash"}


def _check_sign_offs(certificate: Mapping[str, Any]) -> None:
    before = None
    said = certificate.get("sign_offs")
    if said is not None and not isinstance(said, list):
        raise CertificateError(_CHANGED)
    for each in said or ():
        if not isinstance(each, dict) or each.get("certificate") != certificate["hash"]:
            raise CertificateError("A sign-off in this file is of another certificate.")
        if set(each) != _SIGN_OFF or each["hash"] != sign_off_hash(each, before):
            raise CertificateError("a sign-off of this certificate was changed after it was given.")
        before = each["hash"]


def _on(
    certificate: Mapping[str, Any], on: Mapping[str, Any], decision: str, reason: str
) -> tuple[str, str]:
    """What the certificate says of another run."""
    a, b = certificate["data"].get("run") or "another file", on["run"]
    judge = _other_judge(certificate["judge"], on["judge"])
    if judge:
        return "other_judge", f"{judge}: measure this one"
    if certificate["policy"].get("sha256") != on["policy"].get("sha256"):
        words = f"measured on {a}; this run is {b}: label {LABELS_OF_ANOTHER} random rows of {b}"
        if decision != "passes":
            words += f" ({WORDS[decision]} on {a})"
        return "other_policy", words
    return decision, reason


def _other_judge(mine: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How two judges differ; empty where they are the same as far as is known."""
    for key, what in (
        ("sha256", "judge"),
        ("rubric_sha256", "rubric"),
        ("threshold_sha256", "threshold"),
    ):
        if mine.get(key) and other.get(key) and mine[key] != other[key]:
            return (
                f"measured for the {what} {short(mine[key])}; this run has the {what} "
                f"{short(other[key])}"
            )
    if mine.get("threshold") != other.get("threshold"):
        return "measured at another threshold"
    same_judge = mine.get("sha256") and mine.get("sha256") == other.get("sha256")
    if not same_judge and mine.get("name") != other.get("name"):
        return (
            f"measured for the judge {mine.get('name')}; this run is scored by {other.get('name')}"
        )
    return ""


def _interval(bound: Mapping[str, Any]) -> tuple[float, float] | None:
    return None if bound["low"] is None else (bound["low"], bound["high"])


def _floor_words(name: str, floor: float | None) -> str:
    if floor is None:
        return ""
    if name == "j":
        return "> 0"
    return f"≥ {percent(floor) if name == 'agreement' else number2(floor)}"


def _known(hash_: str | None) -> str:
    return f"sha256 {short(hash_)}" if hash_ else "not known here"


def _named(name: str | None, hash_: str | None, without: str) -> str:
    rest = f"sha256 {short(hash_)}" if hash_ else without
    return " · ".join(part for part in (name or "", rest) if part) or "not known here"


def _rows_words(certificate: Mapping[str, Any]) -> str:
    words = f"{plural(certificate['n_rows'], 'row')}, {plural(certificate['n_tasks'], 'task')}"
    hash_ = certificate["data"].get("rows_sha256")
    return f"{words} · sha256 {short(hash_)}" if hash_ else words


def _threshold(judge: Mapping[str, Any]) -> str:
    said = judge.get("threshold")
    return "its own verdict" if said is None else f"passes from {said:g} on"


def _gold_words(gold: Mapping[str, Any], guideline: Mapping[str, Any]) -> str:
    kind = {"human": "labels by people", "program": "labels by a rule", "model": "a model’s labels"}
    words = kind.get(gold.get("kind") or "", gold.get("kind") or "none")
    if gold.get("name") not in (None, gold.get("kind")):
        words += f" ({gold['name']})"
    rules = guideline.get("rules") or []
    return words + (f", rule {', '.join(rules)}" if rules else "")


def _policy_words(policy: Mapping[str, Any]) -> str:
    if policy.get("from") == "run":
        return " · the rows name no policy: the content of the run stands for it"
    return ""
