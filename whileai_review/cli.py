"""The command line: ``whileai-review serve | load | trust | gate | label ... | backup | demo``.

Exit status: 0 it holds, 1 it does not, 2 the input is unusable, 3 not shown yet. One line says
what is wrong; the traceback is for ``WHILEAI_REVIEW_DEBUG=1``.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from whileai_review import __version__

DB_VARIABLE = "WHILEAI_REVIEW_DB"
INTERRUPTED = 130
UNREAD = 141
"""What a shell makes of Ctrl+C and of a reader that closed the pipe; neither is a verdict."""

KINDS = ("human", "program", "model")
EXIT = {"passes": 0, "fails": 1, "not_measured": 3, "not_shown": 3}


class Unusable(click.ClickException):
    """The input can't be used: one line, exit status 2."""

    exit_code = 2


class _Group(click.Group):
    """Help that keeps the order in which a person meets the commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def command(group: click.Group, name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command of `group` whose expected errors are one line and exit status 2."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            from whileai_review.load import UnreadableError
            from whileai_review.store import StoreError
            from whileai_review.work.pool import KilledError

            try:
                return function(*args, **kwargs)
            except BrokenPipeError:
                _end_unread()
            except KeyboardInterrupt:
                # Not 1, which says that something does not hold.
                click.echo("\nStopped.", err=True)
                sys.exit(INTERRUPTED)
            except (UnreadableError, StoreError, KilledError, ValueError, OSError) as error:
                if os.environ.get("WHILEAI_REVIEW_DEBUG"):
                    raise
                raise Unusable(_one_line(error)) from error

        return group.command(name)(run)

    return decorate


def _one_line(error: Exception) -> str:
    """What went wrong, without the numbers of the operating system."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())


def _end_unread() -> NoReturn:
    """End because nobody reads our output any more."""
    # Python flushes standard output once more at its end: into nothing, without a word.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(UNREAD)


def db_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The store that a command works on."""
    return click.option(
        "--db",
        type=click.Path(path_type=Path),
        default="review.db",
        envvar=DB_VARIABLE,
        show_default=True,
        show_envvar=True,
        help="The database file; made when it is not there.",
    )(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        function
    )


def map_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the columns of a file mean."""
    return click.option(
        "--map",
        "maps",
        multiple=True,
        metavar="OURS=THEIRS[:WORD=1,...]",
        help="What a column means, e.g. prompt=question or reward=verdict:approve=1,reject=0; "
        "reward:action=judge_action is a verdict on the criterion 'action'. Repeat.",
    )(function)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whileai-review")
def main() -> None:
    """Find out whether an LLM judge can be trusted, label gold, read the disagreements.

    \b
    Example:
      whileai-review serve --demo
    """


@command(main, "serve")
@click.option("--demo", is_flag=True, help="Load the demo runs into a database of their own.")
@db_option
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True)
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--host", "hosts", multiple=True, help="Name under which a proxy makes the app known. Repeat."
)
@click.option(
    "--browser/--no-browser", default=None, help="Open the first page. [default: on a terminal]"
)
@click.pass_context
def serve_command(
    ctx: click.Context,
    demo: bool,
    db: Path,
    port: int,
    address: str,
    hosts: Sequence[str],
    browser: bool | None,
) -> None:
    """Start the app in this process.

    \b
    Example:
      whileai-review serve --demo --port 8600
    """
    from whileai_review.ui.server import serve

    asked = ctx.get_parameter_source("db")
    if demo and asked is click.core.ParameterSource.DEFAULT:
        db = demo_db()
    with _open(db) as store:
        store.sweep()
        if demo:
            _load_demo(store)
    open_browser = sys.stdout.isatty() if browser is None else browser
    serve(db, port=port, demo=demo, address=address, hosts=hosts, open_browser=open_browser)


@command(main, "load")
@click.argument("source")
@db_option
@map_option
@click.option("--as", "name", help="Name of the run; also loads content that is here already.")
@click.option(
    "--gold",
    "origins",
    multiple=True,
    metavar="COLUMN=KIND[:ANNOTATOR]",
    help="Take a column as labels and say who gave them: human, program or model, "
    "e.g. gold_reward=human or expected=program:unit-tests. Repeat.",
)
@click.option("--split", metavar="COLUMN", help="Make one run for each value of this column.")
@click.option(
    "--duplicates", type=click.Choice(["keep", "collapse", "last"]), default="keep",
    show_default=True, help="Rows of equal identity: keep all, drop exact copies, or keep the last.",
)  # fmt: skip
@click.option("--onto", metavar="RUN", help="Join the file's verdicts onto this loaded run.")
@click.option("--grader", help="Name of the judge that gave the verdicts.")
@json_option
def load_command(
    source: str,
    db: Path,
    maps: Sequence[str],
    name: str | None,
    origins: Sequence[str],
    split: str | None,
    duplicates: str,
    onto: str | None,
    grader: str | None,
    as_json: bool,
) -> None:
    """Load scored rollouts: a file, a folder, or - for standard input.

    \b
    Example:
      whileai-review load runs/before.jsonl --map reward=verdict:approve=1,reject=0
      whileai-review load literal.jsonl --onto before --grader "literal rubric"
    """
    from whileai_review import work

    if onto is not None and not grader:
        raise Unusable("--onto needs --grader NAME: whose verdicts are these?")
    folder = source != "-" and Path(source).is_dir()
    with _file(source) as file, _open(db, create=onto is None) as store:
        mapping = _mapping(file, maps, origins, folder)
        if onto is not None:
            result = work.join_verdicts(store, onto, grader or "", file, mapping)
            _say(result, as_json, _joined_text(result, onto, grader or ""))
            return
        options: dict[str, Any] = {
            "split": split, "duplicates": duplicates, "grader": grader, "mapping": mapping,
            "origins": _origins(origins),
        }  # fmt: skip
        if folder:
            result = work.load_folder(store, source, **options)
        else:
            with _Progress(source) as progress:
                result = work.load_file(
                    store, file, name=name, again=name is not None, progress=progress, **options
                )
    _say(result, as_json, _loaded_text(result))


@command(main, "trust")
@click.argument("source")
@db_option
@map_option
@click.option(
    "--gold",
    help="Of a file: the label column and who gave it, COLUMN=human, program or model. "
    "Of a run: human, program, model, or an import.",
)
@click.option("--grader", help="Of a run: the judge, by name.")
@click.option("--criterion", help="What is judged.")
@click.option("--allow-model-gold", is_flag=True, help="Of a file: let a model's labels count.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Also write all of it as one file of HTML that asks no host.")  # fmt: skip
@json_option
@click.pass_context
def trust_command(
    ctx: click.Context,
    source: str,
    db: Path,
    maps: Sequence[str],
    gold: str | None,
    grader: str | None,
    criterion: str | None,
    allow_model_gold: bool,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Can the judge be trusted? SOURCE is a file, - for standard input, or a loaded run's name.

    Exit status 0 passes, 1 fails, 3 not shown or not measured, 2 unusable input.

    \b
    Example:
      whileai-review trust before --db review.db
      whileai-review label export before --for-estimate | whileai-review trust -
    """
    from whileai_review import judge_trust, work
    from whileai_review.work.trust_report import trust_html, trust_page

    if html_file is not None:
        _check_output(html_file, db, source)
    if source == "-" or Path(source).is_file():
        rows, content = _rows_to_measure(source, maps, gold, criterion)
        report = judge_trust(rows, allow_model_gold=allow_model_gold)
        if html_file is not None:
            bound = _file_certificate(report, source, content, grader, criterion, len(rows))
            _write_whole([trust_page(report, bound).encode()], html_file)
    else:
        with _open(db, create=False) as store:
            report = work.trust(store, source, grader, gold, criterion)
            work.note_look(store, report, "command line")
            if html_file is not None:
                page = trust_html(store, source, grader, gold, criterion)
                _write_whole([page.encode()], html_file)
    if as_json:
        click.echo(json.dumps(report, default=str))
    else:
        if "headline" in report:
            head = report["headline"]
            click.echo(f"{head['word']}. {head['bold']}\n{head['grey']}\n")
        if report.get("verdict_lines"):
            click.echo("\n".join([*report["verdict_lines"], ""]))
        click.echo(report.get("text") or str(report))
    ctx.exit(EXIT[report["state"]])


@command(main, "gate")
@click.argument("source")
@db_option
@map_option
@click.option("--certificate", "certificate_file", metavar="FILE",
              help="Judge SOURCE with this certificate instead of measuring it.")  # fmt: skip
@click.option("--on", metavar="RUN", help="The loaded run that is to be judged.")
@click.option("--gold", help="As for `trust`.")
@click.option("--grader", help="The judge, by name.")
@click.option("--criterion", help="What is judged.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a CI job's summary.")
@json_option
@click.pass_context
def gate_command(
    ctx: click.Context,
    source: str,
    db: Path,
    maps: Sequence[str],
    certificate_file: str | None,
    on: str | None,
    gold: str | None,
    grader: str | None,
    criterion: str | None,
    markdown: bool,
    as_json: bool,
) -> None:
    """May this judge be used? SOURCE is a loaded run, a file of rows, or a certificate.

    A run or file is measured, or held against the certificate that --certificate names. Exit
    status 0 passes, 1 fails, 3 not shown, interim, or measured on another policy or judge,
    2 unusable input. A sign-off does not change it.

    \b
    Example:
      whileai-review gate judge.json --on after --db review.db
      whileai-review gate before --markdown > summary.md
    """
    from whileai_review.score._gate_text import format_gate, format_gate_markdown
    from whileai_review.score.certificate import gate

    if as_json and markdown:
        raise Unusable("Give --json or --markdown, not both.")
    asked = {"grader": grader, "gold": gold, "criterion": criterion}
    with _file(source) as file:
        basis = _certificate_in(file)
        if basis is not None and certificate_file is not None:
            raise Unusable(f"{source} is a certificate itself; leave --certificate out.")
        if certificate_file is not None:
            basis = _certificate_in(certificate_file, must=True)
        if basis is not None:
            _check_asked(basis, asked)
        target = None
        if certificate_file is not None and on is not None:
            raise Unusable("Name the run to be judged once: as SOURCE or with --on.")
        if isinstance(file, Path) or Path(file).is_file():
            if basis is None:
                basis = _measured_file(source, file, maps, gold, grader, criterion)
            elif certificate_file is not None:
                target = _target_file(source, file, maps, basis, grader)
        elif certificate_file is not None:
            on = source
        if basis is not None and on is None:
            result = gate(basis, target) | {"issued": "sign_offs" in basis}
            result |= {"sign_off": (basis.get("sign_offs") or [None])[-1]}
        else:
            with _open(db, create=False) as store:
                result = _gated(store, basis, source, on, asked)
    if as_json:
        click.echo(json.dumps(result))
    else:
        click.echo(format_gate_markdown(result) if markdown else format_gate(result))
    ctx.exit(result["exit"])


@command(main, "certificate")
@click.argument("run")
@db_option
@click.option("--gold", help="human, program, model, or an import.")
@click.option("--grader", help="The judge, by name.")
@click.option("--criterion", help="What is judged.")
@click.option("--by", help="Who issues it.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="A file instead of standard output."
)
def certificate_command(
    run: str,
    db: Path,
    gold: str | None,
    grader: str | None,
    criterion: str | None,
    by: str | None,
    output: Path | None,
) -> None:
    """Certify what is measured on RUN and write the certificate, sign-offs included, as JSON.

    The same measurement is certified once; asked again, the same certificate is written.

    \b
    Example:
      whileai-review certificate before -o judge.json
    """
    from whileai_review import work

    if output is not None:
        _check_output(output, db)
    with _open(db, create=False) as store:
        issued = work.issue(store, run, grader, gold, criterion, by)
        _write_lines([work.exported(store, issued["hash"])], output)


@command(main, "sign-off")
@click.argument("certificate", metavar="HASH")
@click.argument("decision", type=click.Choice(["accept", "hold"]))
@db_option
@click.option("--reason", required=True, help="Why: whoever reads the certificate sees it.")
@click.option("--by", required=True, help="The name that stands under it.")
@json_option
def sign_off_command(
    certificate: str, decision: str, db: Path, reason: str, by: str, as_json: bool
) -> None:
    """Accept a certificate or hold it; HASH is the beginning of its hash. The last one counts.

    \b
    Example:
      whileai-review sign-off 3f2a9c1b accept --reason "rubric v4 read by two" --by lea
    """
    from whileai_review import work
    from whileai_review.score._gate_text import sign_off_words

    with _open(db, create=False) as store:
        signed = work.sign_off(store, certificate, decision, reason, by)
    text = f"{signed['hash']}: {sign_off_words(signed['sign_offs'][-1], signed['state'])}"
    _say(signed, as_json, text)


@command(main, "threshold")
@click.argument("run")
@db_option
@click.option("--gold", help="human, program, model, or an import.")
@click.option("--grader", help="The judge whose scores are cut, by name.")
@click.option("--criterion", help="What is judged.")
@click.option(
    "--declare", is_flag=True, help="Declare the threshold that half a of the tasks chose."
)
@click.option("--at", type=float, help="Declare this threshold: a row passes from this score on.")
@click.option("--in-advance", is_flag=True,
              help="With --at: it was named before anybody looked at labels; all of them measure it.")  # fmt: skip
@click.option("--by", help="Who declares it.")
@json_option
def threshold_command(
    run: str,
    db: Path,
    gold: str | None,
    grader: str | None,
    criterion: str | None,
    declare: bool,
    at: float | None,
    in_advance: bool,
    by: str | None,
    as_json: bool,
) -> None:
    """Show what a judge's score is worth at each threshold, or declare one as a judge of its own.

    A threshold is chosen on half of the tasks and reported on the other half. The labels that
    chose it leave its estimates.

    \b
    Example:
      whileai-review threshold before --grader helpfulness
      whileai-review threshold before --grader helpfulness --declare --by lea
    """
    from whileai_review import work
    from whileai_review.work.thresholds import declared_words

    if declare and at is not None:
        raise Unusable("Give --declare or --at, not both.")
    if in_advance and at is None:
        raise Unusable("--in-advance needs --at SCORE: which threshold was named?")
    if (declare or at is not None) and not (by or "").strip():
        raise Unusable("--by NAME is missing: a threshold is dated and signed.")
    with _open(db, create=False) as store:
        if not declare and at is None:
            report = work.score_thresholds(store, run, grader, gold, criterion)
            _say(report, as_json, str(report))
            return
        if at is None:
            report = work.score_thresholds(store, run, grader, gold, criterion)
            at = report["chosen"]
            if at is None:
                raise Unusable(f"No threshold to declare: {report['reason']}.")
        made = work.declare_threshold(store, run, at, by or "", grader, gold, criterion, in_advance)
    _say(made, as_json, declared_words(made))


@command(main, "shown")
@click.argument("run")
@click.argument("source")
@db_option
@map_option
@click.option("--grader", help="The judge that was shown them, by name; else the picked one.")
@click.option("--undo", is_flag=True, help="It was not shown these rows: they count again.")
@click.option("--by", help="Who says so.")
@json_option
def shown_command(
    run: str,
    source: str,
    db: Path,
    maps: Sequence[str],
    grader: str | None,
    undo: bool,
    by: str | None,
    as_json: bool,
) -> None:
    """Say which rows of RUN a judge was shown: few-shot examples, rows it was tuned on.

    They leave its estimates, with all rollouts of their tasks. A row of SOURCE names a rollout, or
    a task.

    \b
    Example:
      whileai-review shown before fewshot.jsonl --grader rubric_judge
    """
    from whileai_review import work

    with _open(db, create=False) as store, _file(source) as path:
        mapping = _mapping(path, maps, (), False) if maps else None
        result = work.mark_shown(store, run, path, grader, not undo, mapping, by)
    text = (
        f"{result['grader']}: {result['changed']:,} rows changed. {result['n_shown']:,} rows of "
        f"{result['n_tasks']:,} tasks are outside its estimates."
    )
    if result["unmatched"]:
        text += f" {result['unmatched']:,} of {result['n_rows']:,} name no row of this run."
    _say(result, as_json, text)


def _certificate_in(source: str | Path, must: bool = False) -> dict | None:
    """The certificate that a file holds; None for a file of rows, or for no file."""
    from whileai_review.score.certificate import (
        MAX_CHARS,
        looks_like_certificate,
        read_certificate,
    )

    path = Path(source)
    if not path.is_file():
        if must:
            raise Unusable(f"{source} is not there.")
        return None
    with path.open("rb") as file:
        text = file.read(MAX_CHARS + 1)
    if len(text) > MAX_CHARS or not (must or looks_like_certificate(text)):
        if must:
            raise Unusable(f"{source} is no certificate: it is too long for one.")
        return None
    try:
        return {"sign_offs": [], **read_certificate(text)}
    except ValueError as error:
        raise Unusable(f"{source}: {_one_line(error)}") from error


def _check_asked(certificate: dict, asked: dict[str, str | None]) -> None:
    """Refuse a certificate of something else than was asked for."""
    has = {
        "grader": certificate["judge"].get("name"),
        "gold": certificate["gold"].get("name") or certificate["gold"].get("kind"),
        "criterion": certificate["criterion"],
    }
    for key, said in asked.items():
        if said is not None and said != has[key]:
            raise Unusable(f"This certificate is of the {key} {has[key]!r}, not {said!r}.")


def _gated(
    store: Any, basis: dict | None, source: str, on: str | None, asked: dict[str, str | None]
) -> dict:
    """What the gate says where a loaded run has a part in it."""
    from whileai_review import work
    from whileai_review.score.certificate import gate
    from whileai_review.store import NotFoundError

    issued, here = basis is not None, True
    if basis is None:
        basis = work.certificate_of(store, source, **asked)
        work.note_look(store, work.trust(store, source, **asked), "command line")
        kept = work.kept_certificate(store, basis)
        issued = kept is not None
        basis = kept or basis
    else:
        try:  # decided on since the file was written
            basis = basis | {"sign_offs": work.exported(store, basis["hash"])["sign_offs"]}
        except NotFoundError:
            here = False
    said = basis.get("sign_offs") or [None]
    result = work.gate_run(store, basis, on) if on is not None else gate(basis)
    return result | {"issued": issued, "issued_here": issued and here, "sign_off": said[-1]}


def _measured_file(
    source: str,
    file: str | Path,
    maps: Sequence[str],
    gold: str | None,
    grader: str | None,
    criterion: str | None,
) -> dict:
    """What a file's rows say of their judge, as a certificate that is not issued."""
    from whileai_review import judge_trust

    rows, content = _rows_to_measure(file, maps, gold, criterion)
    return _file_certificate(judge_trust(rows), source, content, grader, criterion, len(rows))


def _file_certificate(
    report: Any, source: str, content: str, grader: str | None, criterion: str | None, n_rows: int
) -> dict:
    from whileai_review.score.certificate import make_certificate
    from whileai_review.work.certificates import utc_now

    return make_certificate(
        report,
        {
            "judge": {"name": grader},
            "guideline": {},
            "criterion": criterion or "overall",
            "gold": {"kind": report["gold_kind"]},
            "data": {"run": source, "sha256": content, "n_rows": n_rows},
            "policy": {"sha256": content, "from": "run"},
        },
        utc_now(),
        __version__,
    )


def _target_file(
    source: str, file: str | Path, maps: Sequence[str], basis: dict, grader: str | None
) -> dict:
    """A file of rows that a certificate is to be held against; who judged it is not in it."""
    _, content = _rows_to_measure(file, maps, None)
    judge = basis["judge"] if grader is None else {**basis["judge"], "name": grader}
    return {"run": source, "judge": judge, "policy": {"sha256": content}}


def _rows_to_measure(
    source: str | Path, maps: Sequence[str], gold: str | None, criterion: str | None = None
) -> tuple[list[dict], str]:
    """The rows of a file, verdicts and labels as numbers for judge_trust, and its hash.

    On another criterion than `overall` they are those that the file has on it.
    """
    from whileai_review import load, work

    with _file(source) if isinstance(source, str) else nullcontext(source) as file:
        opened = load.open_source(file)
        sniff = opened.sniff()
        said = load.parse_map(maps)
        gold, kind = _gold_column(gold, sniff.columns)
        if any(q.blocks and q.key not in said.keys for q in sniff.questions):
            raise work.NeedsMappingError(sniff)
        column = gold or ("gold_reward" if "gold_reward" in sniff.columns else None)
        on = "" if criterion in (None, "overall") else f":{criterion}"
        # Columns that the command names as the verdict and the label are of its criterion.
        own = "reward" in said.keys and (gold is not None or "gold_reward" in said.keys)
        own = own and f"reward:{criterion}" not in said.keys
        key = f"gold_reward{on}" if gold is not None and not own else "gold_reward"
        if column is not None and key not in said.keys:
            said = said.merged(load.Mapping({key: column}))
        kept = [record.row for record in opened.records(sniff.mapping.merged(said))]
    if criterion is not None and on:
        kept = _on_criterion(kept, criterion, opened.name, mapped=own)
    for row in kept if kind else ():
        if row.get("gold_reward") is not None:
            row["gold_kind"] = kind
    if column is None and "gold_reward" not in said.keys and sniff.label_columns:
        names = ", ".join(sniff.label_columns)
        click.echo(
            f"looks like gold, not taken: {names} (take one with --gold COLUMN=human|program|model)",
            err=True,
        )
    if opened.refused:
        click.echo(f"{len(opened.refused)} lines refused, see `load`", err=True)
    return kept, opened.content_hash or ""


def _on_criterion(rows: list[dict], criterion: str, name: str, mapped: bool) -> list[dict]:
    """The rows with verdict and label on a criterion in place of the overall ones.

    `mapped`: the command itself said which columns are verdict and label; they are of it.
    """
    keys = {key: f"{key}:{criterion}" for key in ("reward", "gold_reward")}
    if not any(theirs in row for row in rows for theirs in keys.values()):
        if mapped:
            return rows
        raise Unusable(
            f"{name} says nothing of the criterion {criterion!r}. Name its columns: "
            f"--map reward:{criterion}=COLUMN --map gold_reward:{criterion}=COLUMN."
        )
    return [
        {k: v for k, v in row.items() if k not in keys}
        | {ours: row[theirs] for ours, theirs in keys.items() if theirs in row}
        for row in rows
    ]


def _gold_column(text: str | None, columns: Sequence[str]) -> tuple[str | None, str | None]:
    """The label column of a file and, where it is said, who gave its labels."""
    if text is None or text in columns:
        return text, None
    column, equals, kind = text.rpartition("=")
    if equals and kind not in KINDS:
        raise Unusable(f"--gold {text}: labels are by a {', '.join(KINDS)}, not {kind!r}.")
    column, said = (column, kind) if equals else (text, None)
    if column not in columns and column.partition(".")[0] not in columns:
        raise Unusable(f"--gold {text}: no column {column!r}. Columns: {', '.join(columns)}.")
    return column, said


@main.group("label", cls=_Group)
def label_group() -> None:
    """Labels: from a file, to a file, by a rule.

    \b
    Example:
      whileai-review label export before > labels.jsonl
    """


@command(label_group, "import")
@click.argument("run")
@click.argument("source")
@db_option
@map_option
@click.option("--kind", type=click.Choice(KINDS), required=True,
              help="Who gave labels that do not say it.")  # fmt: skip
@click.option("--annotator", help="Name for labels that carry none; else file:<name>.")
@click.option("--criterion", default="overall", show_default=True)
@json_option
def import_command(
    run: str,
    source: str,
    db: Path,
    maps: Sequence[str],
    kind: str,
    annotator: str | None,
    criterion: str,
    as_json: bool,
) -> None:
    """Put the labels of a file (or -) on a run; the same file again changes nothing.

    \b
    Example:
      whileai-review label import before gold.jsonl --kind human --annotator ana
    """
    from whileai_review import load, work

    mapping = load.parse_map(maps) if maps else None
    with _open(db, create=False) as store:
        result = work.import_labels(store, run, source, kind, annotator, criterion, mapping)
    text = (
        f"{result['matched']} of {result['labels']} labels matched, {result['new']} new, "
        f"{result['changed']} changed, {result['unchanged']} unchanged, "
        f"{result['unmatched']} named no row, {result['invalid']} not 0 or 1"
    )
    _say(result, as_json, "\n".join([text, *(f"! {w}" for w in result.get("warnings", []))]))


@command(label_group, "export")
@click.argument("run")
@db_option
@click.option("--for-estimate", is_flag=True,
              help="Rows with the picked judge and gold, as Trust measures them.")  # fmt: skip
@click.option("--history", is_flag=True, help="Every label ever given, undone ones too.")
@click.option("--criterion", help="Labels on it only; of an estimate: what is judged.")
@click.option("--gold", help="Of an estimate: human, program, model, or an import.")
@click.option("--grader", help="Of an estimate: the judge, by name.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="A file instead of standard output."
)
def export_command(
    run: str,
    db: Path,
    for_estimate: bool,
    history: bool,
    criterion: str | None,
    gold: str | None,
    grader: str | None,
    output: Path | None,
) -> None:
    """Write the labels of a run as JSON lines.

    \b
    Example:
      whileai-review label export before --for-estimate --criterion action -o gold.jsonl
    """
    from whileai_review import work

    if output is not None:
        _check_output(output, db)
    with _open(db, create=False) as store:
        lines = work.export_labels(store, run, for_estimate, history, grader, gold, criterion)
        _write_lines(lines, output)


@command(label_group, "program")
@click.argument("run")
@db_option
@click.option("--name", required=True, help="Of the rule; its labels are by rule:NAME.")
@click.option("--pass", "passes", help="The condition for a pass, e.g. 'called(issue_credit)'.")
@click.option("--when", default="", help="The condition for having a label at all.")
@click.option("--rule", "rule_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A file with when: and pass: instead.")  # fmt: skip
@click.option("--criterion", default="overall", show_default=True)
@click.option("--preview", is_flag=True, help="Count and show examples, write nothing.")
@json_option
def program_command(
    run: str,
    db: Path,
    name: str,
    passes: str | None,
    when: str,
    rule_file: Path | None,
    criterion: str,
    preview: bool,
    as_json: bool,
) -> None:
    """Label all rows that a rule applies to; running it again replaces its own labels only.

    \b
    Example:
      whileai-review label program before --name billing --preview \\
        --when 'completed(lookup_invoice)' \\
        --pass 'result(lookup_invoice, amount) <= 200 and called(issue_credit)'
    """
    from whileai_review import work
    from whileai_review.work.rules import parse_rule, read_rule

    if (passes is None) == (rule_file is None):
        raise Unusable("Give the rule: --pass (and --when), or --rule FILE.")
    rule = (
        read_rule(_text_of(rule_file), criterion=criterion, name=name)
        if rule_file is not None
        else parse_rule(when, passes or "", criterion=criterion, name=name)
    )
    with _open(db, create=False) as store:
        result = work.label_by_rule(store, run, rule, name, dry_run=preview)
    _say(result, as_json, _rule_text(result, preview))


@command(main, "backup")
@click.argument("target", type=click.Path(path_type=Path))
@db_option
@json_option
def backup_command(target: Path, db: Path, as_json: bool) -> None:
    """Copy the whole database to TARGET, also while others are writing.

    \b
    Example:
      whileai-review backup review-monday.db
    """
    with _open(db, create=False) as store:
        path = store.backup(target)
    size = path.stat().st_size
    _say({"path": str(path), "bytes": size}, as_json, f"{path}: {size:,} bytes")


@command(main, "demo")
@db_option
@json_option
def demo_command(db: Path, as_json: bool) -> None:
    """Write the demo runs into the database that --db names.

    \b
    Example:
      whileai-review demo --db try.db
    """
    with _open(db) as store:
        _load_demo(store)
        names = [run["name"] for run in store.runs()]
    _say({"db": str(db), "runs": names}, as_json, f"{db}: {', '.join(names)}")


def demo_db() -> Path:
    """The demo's own database, kept between starts so that its labels are not lost."""
    folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    folder = folder / "whileai-review"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="whileai-review-"))
    return folder / "demo.db"


def data_folder() -> Path:
    """Where the demo's files lie: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_app" / "data"
    return inside if inside.is_dir() else package.parent / "data"


def _load_demo(store: Any) -> None:
    from whileai_review import work

    for name in ("recipe", "demo"):
        work.load_demo(store, data_folder() / name)


def _open(db: Path, create: bool = True) -> Any:
    from whileai_review.store import open_store

    return open_store(db, create=create)


@contextmanager
def _file(source: str) -> Iterator[str | Path]:
    """The path; standard input as a file that can be read more than once."""
    if source != "-":
        yield source
        return
    if sys.stdin is None:
        raise Unusable("standard input is closed.")
    with tempfile.TemporaryDirectory(prefix="whileai-review-") as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield path


def _mapping(source: str | Path, maps: Sequence[str], origins: Sequence[str], folder: bool) -> Any:
    """What is recognised, with what the user said on top; None when nothing was said."""
    from whileai_review import load

    said = load.parse_map(maps)
    golds = {}
    for text in origins:
        column = text.partition("=")[0]
        if column not in said.keys and column not in said.keys.values():
            golds[f"gold_reward{':' + column.partition(':')[2] if ':' in column else ''}"] = column
    said = said.merged(load.Mapping(golds)) if golds else said
    if not said.keys and not said.metrics:
        return None
    if folder:
        return said  # on top of what is recognised in each file
    return load.open_source(source).sniff().mapping.merged(said)


def _origins(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    found = {}
    for text in texts:
        column, equals, rest = text.partition("=")
        kind, _, annotator = rest.partition(":")
        if not equals or not kind:
            raise Unusable(f"--gold {text}: say COLUMN=human, COLUMN=program or COLUMN=model.")
        found[column] = {"kind": kind, **({"annotator": annotator} if annotator else {})}
    return found


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no text in UTF-8. Save it as UTF-8.") from error


class _Progress:
    """A progress bar on a terminal, silent when piped."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> Callable[[int], None]:
        return self._step if self.shown else lambda n: None

    def _step(self, n: int) -> None:
        click.echo(f"\r{self.source}: {n:,} rows", nl=False, err=True)

    def __exit__(self, *exc: object) -> None:
        if self.shown:
            click.echo("\r\033[K", nl=False, err=True)


def _say(result: dict, as_json: bool, text: str) -> None:
    click.echo(json.dumps(result, default=str) if as_json else text)


def _loaded_text(result: dict) -> str:
    lines = [line for part in result.get("files", [result]) for line in _part_lines(part)]
    lines += [f"not loaded: {f['reason']}" for f in result.get("failed", [])]
    return "\n".join(lines)


def _part_lines(part: dict) -> list[str]:
    from whileai_review.report import plural

    if part["same_as"]:
        return part["notes"]
    lines = [
        f"{run['name']}: {plural(run['n_rows'], 'row')}, {plural(run['n_tasks'], 'task')}"
        for run in part["runs"]
    ]
    shown = part["refused"][:10]
    lines += [f"  line {line:,} refused: {reason}" for _, line, reason, _ in shown]
    if part["n_refused"] > len(shown):
        lines.append(f"  and {part['n_refused'] - len(shown):,} more refused")
    if part["n_duplicates"]:
        lines.append(
            f"  {part['n_duplicates']:,} rows share an identity with an earlier one "
            f"({part['n_exact']:,} exact copies) and were kept apart "
            "(--duplicates collapse or last)"
        )
    if part["n_dropped"]:
        lines.append(f"  {part['n_dropped']:,} duplicate rows dropped")
    lines += [f"  {note}" for note in part["notes"]]
    lines += [f"  ? {question}" for question in part["questions"]]
    if part["label_columns"]:
        lines.append(
            f"  looks like gold, not taken: {', '.join(part['label_columns'])} "
            "(say who labelled with --gold COLUMN=human|program|model)"
        )
    lines += [
        f"  {o['n']:,} labels of {o['run'] or 'a deleted run'} fit these rollouts (Runs page)"
        for o in part["offers"]
    ]
    return lines


def _joined_text(result: dict, onto: str, grader: str) -> str:
    text = (
        f"{grader} on {onto}: {result['matched']:,} of {result['n_rows']:,} rows matched, "
        f"{result['unmatched']:,} unmatched, {result['conflicting']:,} conflicting, "
        f"{result['no_verdict']:,} without a verdict"
    )
    if result["unmatched_keys"]:
        text += f"\n  unmatched: {', '.join(result['unmatched_keys'])}"
    return text


def _rule_text(result: dict, preview: bool) -> str:
    lines = [
        f"{result['n_pass']:,} pass, {result['n_fail']:,} fail, {result['n_no_label']:,} no label "
        f"of {result['n']:,} rows"
    ]
    for outcome, examples in result["examples"].items():
        if preview and examples:
            lines.append(f"  {outcome}: " + ", ".join(e["row"] for e in examples))
    if not preview:
        lines.append(
            f"  {result['new']:,} new, {result['changed']:,} changed, "
            f"{result['unchanged']:,} unchanged, {result['withdrawn']:,} withdrawn"
        )
    return "\n".join(lines)


def _check_output(output: Path, db: Path, *sources: str) -> None:
    """Refuse to write over what is read."""
    whats = ("the database itself", *["what is read"] * len(sources))
    for each, what in zip((db, *map(Path, sources)), whats, strict=True):
        if output.exists() and each.exists() and output.samefile(each):
            raise Unusable(f"{output} is {what}. Name another file.")


def _write_lines(lines: Iterable[dict], output: Path | None) -> None:
    """Write JSON lines; a file is replaced only when all of them are there."""
    if output is None:
        _write_to(sys.stdout.buffer, _encoded(lines))
    else:
        _write_whole(_encoded(lines), output)


def _write_whole(parts: Iterable[bytes], output: Path) -> None:
    """Write a file that is replaced only when all of it is there."""
    if output.exists() and not output.is_file():  # /dev/stdout, a named pipe
        with output.open("wb") as stream:
            _write_to(stream, parts)
        return
    if not output.parent.is_dir():
        raise Unusable(f"The folder {output.parent} is not there.")
    part = output.with_name(f"{output.name}.part-{os.getpid()}")
    try:
        with part.open("wb") as stream:
            _write_to(stream, parts)
        os.replace(part, output)
    finally:
        part.unlink(missing_ok=True)


def _write_to(stream: IO[bytes], parts: Iterable[bytes]) -> None:
    for part in parts:
        stream.write(part)
    stream.flush()


def _encoded(lines: Iterable[dict]) -> Iterator[bytes]:
    import orjson

    for line in lines:
        try:
            text = orjson.dumps(line)
        except TypeError:  # an integer over 64 bits
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode(
                "utf-8", "surrogatepass"
            )
        yield text + b"\n"
