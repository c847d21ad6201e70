"""What a gate says: for a terminal, and as Markdown for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whileai_review.score.certificate import (
    WORDS,
    Bound,
    binding_lines,
    bound_lines,
    day,
)
from whileai_review.shown import markdown_text, visible

HEADS = ("check", "value", "95%", "floor", "rows", "tasks")


def format_gate(result: Mapping[str, Any]) -> str:
    """The block that a terminal shows."""
    certificate = result["certificate"]
    lines = [f"{result['word']}. {_sentence(result)}"]
    if result["decision"] != certificate["state"]:
        lines.append(f"measured: {certificate['headline']['bold']}")
    lines += ["", *_table(bound_lines(certificate)), ""]
    lines += [f"{what}: {words}" for what, words in binding_lines(certificate)]
    lines.append(f"certificate: {_certificate_words(result)}")
    signed = sign_off_words(result.get("sign_off"), result["decision"])
    return visible("\n".join(lines + ([signed] if signed else [])))


def format_gate_markdown(result: Mapping[str, Any]) -> str:
    """The same as Markdown; whatever came from a file is drawn letter by letter."""
    certificate, text = result["certificate"], markdown_text
    name = text(certificate["judge"].get("name") or "the judge")
    where = f" on {text(result['on'])}" if result["on"] else ""
    lines = [
        f"### {result['word']}: may {name} be used{where}?",
        "",
        f"**{text(_sentence(result))}**",
    ]
    if result["decision"] != certificate["state"]:
        lines += ["", f"Measured: {text(certificate['headline']['bold'])}"]
    if certificate["headline"]["grey"]:
        lines += ["", text(certificate["headline"]["grey"])]
    lines += ["", _row(HEADS), "| :-- | --: | --: | --: | --: | --: |"]
    lines += [_row(tuple(map(text, line))) for line in bound_lines(certificate)]
    lines.append("")
    lines += [f"- {what}: {text(words)}" for what, words in binding_lines(certificate)]
    lines.append(f"- certificate: {text(_certificate_words(result))}")
    signed = sign_off_words(result.get("sign_off"), result["decision"])
    return "\n".join(lines + ([f"- {text(signed)}"] if signed else [])) + "\n"


def sign_off_words(sign_off: Mapping[str, Any] | None, decision: str) -> str:
    """The last sign-off in a line, and what it does not change."""
    if not sign_off:
        return ""
    done = {"accept": "accepted", "hold": "put on hold"}[sign_off["decision"]]
    said = f"{done} by {sign_off['by']} on {sign_off['at'][:10]}: {sign_off['reason']}"
    words = " ".join(said.split())  # in a line of its own, whatever was typed
    against = (sign_off["decision"] == "accept") != (decision == "passes")
    if against:
        words += f" (the gate goes by the numbers: {WORDS[decision]})"
    return words


def _sentence(result: Mapping[str, Any]) -> str:
    certificate = result["certificate"]
    if result["decision"] == certificate["state"]:
        return certificate["headline"]["bold"]
    reason = result["reason"]
    return f"{reason[:1].upper()}{reason[1:]}."


def _certificate_words(result: Mapping[str, Any]) -> str:
    certificate = result["certificate"]
    if not result.get("issued"):
        return f"none issued; measured now with version {certificate['version']}"
    words = f"sha256 {certificate['hash']}, measured {day(certificate)}"
    words += f", version {certificate['version']}"
    return words if result.get("issued_here", True) else f"{words}, not issued in this database"


def _table(bounds: list[Bound]) -> list[str]:
    lines = [HEADS, *bounds]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADS))]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


__all__ = ["format_gate", "format_gate_markdown", "sign_off_words"]
