"""Certify what was measured on a run, and ask a certificate whether a run may be judged.

A certificate holds for what it was measured on: the judge, rubric and threshold, the guideline
under which labels were given, the rows and the policy that wrote them. A judge that was measured
on the policy before training is not measured on the one that was trained against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

import orjson

from whileai_review import __version__
from whileai_review.score.certificate import canonical, gate, make_certificate, sign_off_hash
from whileai_review.store import NotFoundError, RefusedError, Store, field_text, open_store
from whileai_review.work import pool
from whileai_review.work.gold import belongs
from whileai_review.work.measuring import CELLS, measured_as, stored_cells, trust

MOST_VALUES = 20
"""Values of a field whose shares a certificate has; the rest is a count."""

MAX_LOOKED_AT = 8
"""Fields whose values are read to choose the first one."""

VERDICT_TEXTS = {"0", "1", "True", "False", "0.0", "1.0"}


def certificate_of(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
) -> dict[str, Any]:
    """What is measured now, as a certificate that is not issued; keeps nothing.

    Parameters
    ----------
    run, grader, gold, criterion
        As for `trust`.

    Returns
    -------
    dict
        As :func:`whileai_review.score.certificate.make_certificate` has it. Hashes that nobody
        knows are None: a judge that came as a column of a file is bound by its name and by the
        verdicts in ``data.rows_sha256``.

    Raises
    ------
    NotFoundError
        No such run, grader, gold or criterion.
    """
    key = measured_as(store, run, grader, gold, criterion)
    if store.run(key[0])["n_rows"] > pool.ROWS:
        revision = f"{store.label_revision(key[0], key[3])}/{store.verdict_revision(key[0])}"
        return pool.run(_made, str(store.path), revision, key)
    return _certificate(store, key)


def _made(path: str, revision: str, key: tuple[int, int, str, str]) -> dict[str, Any]:
    """:func:`certificate_of` in the pool; `revision` tells two calls apart."""
    with open_store(path, create=False) as store:
        return _certificate(store, key)


def _certificate(store: Store, key: tuple[int, int, str, str]) -> dict[str, Any]:
    run_id, grader_id, gold_name, criterion = key
    report = trust(store, run_id, grader_id or None, gold_name or None, criterion)
    bound = binding_of(store, report)
    bound["data"]["rows_sha256"] = _rows_hash(store, key)
    bound["slices"] = _slice_mix(store, store.run(run_id))
    return make_certificate(report, bound, utc_now(), __version__)


def binding_of(store: Store, report: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate of this trust report would hold for, but for the hash of its rows."""
    run_id, grader_id, criterion = report["run_id"], report["grader_id"], report["criterion"]
    gold = report["gold"] or ""
    return {
        **judged_run(store, run_id, grader_id or None),
        "guideline": _guideline(store, run_id, gold, criterion),
        "criterion": criterion,
        "gold": {"kind": report["gold_kind"], "name": gold or None},
        "plan": store.plan_of(run_id, grader_id, gold, criterion),
        "n_rows": report["agreement"]["n"],
        "n_tasks": report["agreement"]["n_tasks"],
    }


def judged_run(store: Store, run: int | str, grader: int | str | None = None) -> dict[str, Any]:
    """What a certificate is held against: ``run policy judge data`` of a run.

    `grader` is the picked one where None; a run without any has a judge of no name.
    """
    run_id, grader_id, _, _ = measured_as(store, run, grader)
    found = store.run(run_id)
    line: dict = next((g for g in found["graders"] if g["id"] == grader_id), {})
    split = [found["split_column"], found["split_value"]] if found["split_column"] else None
    return {
        "run": found["name"],
        "judge": {
            "name": line.get("name"),
            "sha256": line.get("judge_hash"),
            "rubric_sha256": line.get("rubric_hash"),
            "threshold": line.get("threshold"),
            "threshold_sha256": line.get("threshold_hash"),
        },
        "data": {
            "run": found["name"],
            "sha256": found["content_hash"],
            "split": split,
            "n_rows": found["n_rows"],
            "n_tasks": found["n_tasks"],
        },
        "policy": _policy(found, split),
    }


def issue(
    store: Store,
    run: int | str,
    grader: int | str | None = None,
    gold: str | None = None,
    criterion: str | None = None,
    by: str | None = None,
) -> dict[str, Any]:
    """Keep a certificate of what is measured now, and return it.

    The same measurement is certified once: asked again, the one that is there is returned, with
    the date on which it was made. Nothing new was measured since.

    Raises
    ------
    RefusedError
        Nothing was measured, or the planned labels are not all there.
    """
    certificate = certificate_of(store, run, grader, gold, criterion)
    if certificate["state"] == "interim":
        raise RefusedError(
            f"No certificate yet: {certificate['state_reason']}. Label the rest, or end the queue."
        )
    if certificate["state"] == "not_measured":
        raise RefusedError(f"Nothing to certify: {certificate['state_reason']}.")
    run_id = measured_as(store, run)[0]
    hash_ = store.add_certificate(run_id, certificate, canonical(certificate), by)
    return store.certificate(hash_)["certificate"]


def exported(store: Store, hash_: str) -> dict[str, Any]:
    """A certificate as it is written to a file: with every sign-off, oldest first.

    Each sign-off has a hash over itself and the one before it.
    """
    certificate = store.certificate(hash_)["certificate"]
    said, before = [], None
    for each in store.sign_offs(certificate["hash"]):
        before = sign_off_hash(each, before)
        said.append(each | {"hash": before})
    return certificate | {"sign_offs": said}


def kept_certificate(store: Store, certificate: Mapping[str, Any]) -> dict[str, Any] | None:
    """The issued certificate of the same measurement with its sign-offs; None without one."""
    same = [c for c in store.certificates() if _same(c["certificate"], certificate)]
    return exported(store, same[-1]["hash"]) if same else None


def issued(store: Store, run: int | str | None = None) -> list[dict[str, Any]]:
    """Issued certificates of a run or of all, newest first, each with its ``sign_offs``."""
    run_id = None if run is None else store.run(run)["id"]
    return [exported(store, line["hash"]) for line in store.certificates(run_id)]


def sign_off(store: Store, hash_: str, decision: str, reason: str, by: str) -> dict[str, Any]:
    """Accept a certificate or hold it, with a reason; returns it with all sign-offs.

    A lead may accept what does not pass and hold what does. It is shown as what it is; the gate
    goes by the numbers.
    """
    store.sign_off(hash_, decision, reason, by)
    return exported(store, hash_)


def gate_run(
    store: Store, certificate: Mapping[str, Any], on: int | str, measured: bool = True
) -> dict[str, Any]:
    """May the judge of `certificate` be used on this loaded run? See `score.certificate.gate`.

    Parameters
    ----------
    measured
        Look also at what is measured on that run now; labels that came since may fail it.
    """
    name = certificate["judge"].get("name")
    found = store.run(on)
    known = name in [g["name"] for g in found["graders"]]
    target = judged_run(store, on, name if known else None)
    today = None
    if measured and known and target["policy"]["sha256"] == certificate["policy"]["sha256"]:
        gold = certificate["gold"].get("name")
        try:
            today = certificate_of(store, on, name, gold, certificate["criterion"])
        except NotFoundError:  # the labels are in another database
            today = None
    return gate(certificate, target, today)


def utc_now() -> str:
    """The instant at which something is measured, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def first_field(run: Mapping[str, Any], values_of: Callable[[str], Iterable[str]]) -> str | None:
    """The field to slice a run by first: one that every row has and that is no verdict.

    Parameters
    ----------
    run
        As `Store.run` gives it.
    values_of
        The values of a field, as addresses write them.
    """
    fields = [each["name"] for each in run["fields"] if each["kind"] == "group"]
    for field in fields[:MAX_LOOKED_AT]:
        values = set(values_of(field))
        if field_text(None) not in values and not values <= VERDICT_TEXTS:
            return field
    return fields[0] if fields else None


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a["measurement"] == b["measurement"]


def _policy(run: Mapping[str, Any], split: list | None) -> dict[str, Any]:
    if run["policy_hash"]:
        return {"sha256": run["policy_hash"], "from": "rows"}
    # Two arms that came in one file have its content hash, and are two policies.
    own = run["content_hash"]
    if split is not None:
        own = sha256(canonical([own, *split]).encode("ascii")).hexdigest()
    return {"sha256": own, "from": "run"}


def _guideline(store: Store, run_id: int, gold: str, criterion: str) -> dict[str, list[str]]:
    mine = [
        line
        for line in store.label_versions(run_id, criterion)
        if belongs(gold, line["annotator"], line["kind"])
    ]
    return {
        "versions": sorted({v for line in mine if (v := line["guideline_version"])}),
        "rules": sorted({v for line in mine if (v := line["rule_version"])}),
    }


def _slice_mix(store: Store, run: dict) -> dict[str, Any] | None:
    """The shares of the rows by the first named field; what the judge was measured on."""
    field = first_field(run, lambda name: store.field_texts(run["id"], name))
    if field is None:
        return None
    counts = Counter(field_text(value) for value in store.field_values(run["id"], field)[1])
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(n for _, n in most[MOST_VALUES:])
    return {"field": field, "rows": [[v, n] for v, n in most[:MOST_VALUES]], "others": rest}


def _rows_hash(store: Store, key: tuple[int, int, str, str]) -> str:
    """The sha256 over the compared rows: each one's identity, the judge's verdict, the label."""
    cells = orjson.loads(stored_cells(store, key))
    identity = dict(zip(*store.identities(key[0]), strict=True))
    verdicts = {name: f",{judge},{label}]" for name, (judge, label) in CELLS.items()}
    lines = sorted(  # each as `canonical` has it, which takes ten times as long
        f"[{encode_basestring_ascii(identity[row_id])}{verdicts[name]}"
        for name, ids in cells.items()
        for row_id in ids
    )
    return sha256("\n".join(lines).encode("ascii")).hexdigest()
