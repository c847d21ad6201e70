"""The Codes page on a large run: counted anew after a change, and drawn again.

``python tests/bench/bench_codes.py [rows] [notes]`` makes a run of `rows` (100,000) of which
`notes` (5,000) were labelled with a note, gives twenty codes, and prints seconds of the page's
script (no browser, no other process).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

from whileai_review import work
from whileai_review.store import open_store

ROOT = Path(__file__).parent.parent.parent


def make(folder: Path, n_rows: int, n_notes: int) -> Path:
    """A store with a run, labels with notes, and codes."""
    rows = folder / "rows.jsonl"
    with rows.open("w") as file:
        for i in range(n_rows):
            row = {
                "scenario_id": f"t{i // 4}", "rollout_index": i % 4, "prompt": f"ask {i // 4}",
                "final_text": f"reply {i}", "reward": i % 2, "regime": ("BIG", "SMALL")[i % 2],
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    db = folder / "bench.db"
    with open_store(db) as store:
        work.load_file(store, rows)
        ids, identities = store.identities(1)
        about = {"criterion": "overall", "annotator": "ben", "kind": "human", "chosen": "random"}
        store.put_labels(
            1,
            [
                about
                | {"row_id": row, "identity": identity, "verdict": "fail", "note": f"note {row}"}
                for row, identity in zip(ids[:n_notes], identities, strict=False)
            ],
        )
        notes = [each["note"] for each in store.notes(1)]
        for n in range(20):
            store.give_code(1, notes[n::25], f"code {n}", "ben")
    return db


def main() -> None:
    """Make, draw, change, draw."""
    said = [int(each) for each in sys.argv[1:3]]
    n_rows, n_notes = said + [100_000, 5_000][len(said) :]
    with tempfile.TemporaryDirectory() as folder:
        db = make(Path(folder), n_rows, n_notes)
        os.environ["WHILEAI_REVIEW_DB"] = str(db)
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        at.session_state["annotator"] = "Ana"
        at.run()
        with open_store(db) as store:
            for what, params in (
                ("all notes", {}),
                ("a code and its slices", {"code": "1", "by": "regime"}),
                ("without a code, one group", {"code": "none", "field": "regime", "value": "BIG"}),
            ):
                store.give_code(1, [("row", store.tasks_of(1)[0][-1])], f"new {what}", "ben")
                took = []
                for _ in range(2):
                    for name, value in params.items():
                        at.query_params[name] = value
                    began = time.perf_counter()
                    at.switch_page("pages/codes.py").run()
                    took.append(time.perf_counter() - began)
                    assert not at.exception
                print(f"{what}: {took[0]:.2f} s after a change, {took[1]:.2f} s again")


if __name__ == "__main__":
    main()
