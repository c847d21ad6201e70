"""CSV, TSV and Parquet: text stays text, and only an empty cell is missing."""

from __future__ import annotations

import csv
import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import load
from whileai_review.load import UnreadableError


def named(data: bytes | str, name: str = "rows.csv") -> io.BytesIO:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    file.name = name
    return file


def objects(data: bytes | str, name: str = "rows.csv") -> list[dict]:
    """The rows as they stand in the file, before any mapping."""
    found = load.open_source(named(data, name)).records()
    return [load.parse_line(record.raw) for record in found]


def test_words_that_look_like_nothing_stay_text():
    # pandas-dev/pandas#10647: NA, None, null and nan were read as missing.
    found = objects("task_id,reply\nNA,nan\nNone,null\n007,\n1e5,N/A\n2024-01-02,-\n")
    assert [row["task_id"] for row in found] == ["NA", "None", "007", "1e5", "2024-01-02"]
    assert [row["reply"] for row in found] == ["nan", "null", None, "N/A", "-"]


def test_007_and_7_are_two_rows():
    rows, _ = load.read(named("task_id,reward\n007,1\n7,0\n"))
    assert [row["rollout_id"] for row in rows] == ["007", "7"]


def test_a_label_none_is_an_unknown_value_that_is_counted():
    mapping = load.parse_map(["reward=label:approve=1,reject=0", "task_id=id"])
    source = load.open_source(named("id,label\na,approve\nb,None\nc,reject\n"))
    assert [found.row["reward"] for found in source.records(mapping)] == [1, None, 0]
    assert source.notes == ["unknown value, read as no verdict (reward = 'None'): 1 times"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_and_encodings_of_a_table(end, encoding, packed):
    data = end.join(["id,text", '1,"zwei, drei"', "2,Größe 👩‍👩‍👧", ""]).encode(encoding)
    found = objects(gzip.compress(data) if packed else data)
    assert found == [{"id": "1", "text": "zwei, drei"}, {"id": "2", "text": "Größe 👩‍👩‍👧"}]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a\tb\n1\t2\n", "x.tsv"),
        ("a\tb\n1\t2\n", "x.csv"),
        ("a;b\n1;2\n", "x.csv"),
        ("a,b\n1,2\n", "x"),
        ("a\tb\n1\t2\n", "x"),
    ],
)
def test_the_delimiter_is_found(text, name):
    assert objects(text, name) == [{"a": "1", "b": "2"}]


def test_a_ragged_line_is_refused_with_its_line_number():
    # The quoted cell takes two lines, so the ragged row stands in line 4.
    source = load.open_source(named('a,b\n1,"x\ny"\n1,2,3\n5,6\n'))
    assert len(list(source.records())) == 2
    (refused,) = source.refused
    assert (refused.line, refused.text) == (4, "1,2,3")
    assert refused.reason == "3 fields where the header has 2"


def test_a_cell_above_the_limit_of_the_csv_module_is_read_whole():
    # simonw/sqlite-utils#227: field larger than field limit (131072).
    long = "x" * 1_000_000
    assert objects(f"a,b\n1,{long}\n")[0]["b"] == long


def test_a_broken_quote_is_refused_and_the_next_line_is_read():
    source = load.open_source(named('a,b\n"x"y,2\n3,4\n'))
    assert [found.row["a"] for found in source.records()] == ["3"]
    assert source.refused[0].line == 2
    assert "not CSV" in source.refused[0].reason


def test_a_quote_that_is_never_closed_keeps_nothing():
    with pytest.raises(UnreadableError, match="line 3 is never closed"):
        load.read(named('a,b\n1,2\n3,"4\n5,6\n'))


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n", "no rows"), ("a,a\n1,2\n", "two columns named 'a'"), (",\n,\n", "is empty")],
)
def test_a_table_without_rows_gets_one_clear_line(text, message):
    with pytest.raises(UnreadableError, match=message):
        load.read(named(text))


def test_bytes_that_are_no_utf8_are_refused_with_the_line():
    text = b"a,b\n" + b"1,2\n" * 50_000 + b"Gr\xf6\xdfe,2\n"
    with pytest.raises(UnreadableError, match="not UTF-8"):
        load.read(named(text))


def test_an_embedded_nul_survives():
    assert objects("a,b\nx\x00y,2\n" + "1,2\n" * 50)[0]["a"] == "x\x00y"


def test_verdicts_in_text_are_recognised_and_ids_stay_text():
    rows, report = load.read(named("id,passed\n1,true\n2,False\n3,1\n4,0.0\n5,\n"))
    assert [row["reward"] for row in rows] == [1, 0, 1, 0.0, None]
    assert [row["scenario_id"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert report["questions"] == []


def test_json_in_a_cell_becomes_messages_and_an_ask():
    cell = '[{""role"": ""user"", ""content"": ""Hi""}, {""role"": ""assistant"", ""content"": ""Yes""}]'
    rows, _ = load.read(named(f'task_id,messages\n1,"{cell}"\n'))
    assert rows[0]["prompt"] == "Hi"
    assert rows[0]["final_text"] == "Yes"


def test_numbers_of_a_metric_are_read_from_text():
    rows, report = load.read(named("id,latency\na,0.5\nb,2\nc,\n"))
    assert [row["latency"] for row in rows] == [0.5, 2, None]
    assert '"latency": {"direction": "", "unit": ""}' in report["mapping"]


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_any_text_written_as_csv_comes_back(table, end):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["a", "b"])
    writer.writerows(table)
    found = objects(out.getvalue())
    assert found == [{"a": a or None, "b": b or None} for a, b in table]


def parquet_of(columns: dict) -> io.BytesIO:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return named(out.getvalue(), "rows.parquet")


def test_parquet_gives_plain_values():
    import datetime
    import decimal

    file = parquet_of(
        {
            "task_id": [2**63 - 1, -7],
            "passed": [True, None],
            "cost": [0.5, float("nan")],
            "when": [datetime.datetime(2026, 1, 2, 3, 4), None],
            "price": [decimal.Decimal("1.50"), decimal.Decimal("2.00")],
            "messages": [[{"role": "user", "content": "Hi"}], []],
            "blob": [b"abc", b"\xff"],
        }
    )
    rows, report = load.read(file)
    assert [row["task_id"] for row in rows] == [2**63 - 1, -7]
    assert [row["reward"] for row in rows] == [1, None]
    assert [row["cost"] for row in rows] == [0.5, None]
    assert rows[0]["when"] == "2026-01-02T03:04:00"
    assert [row["price"] for row in rows] == ["1.50", 2]
    assert rows[0]["prompt"] == "Hi"
    assert rows[1]["blob"] == "\\xff"
    assert any("no value" in note for note in report["notes"])


def test_a_packed_parquet_and_a_damaged_one():
    whole = parquet_of({"a": [1, 2]}).getvalue()
    assert len(load.read(named(gzip.compress(whole), "rows.parquet.gz"))[0]) == 2
    with pytest.raises(UnreadableError, match="no readable Parquet"):
        load.read(named(whole[: len(whole) // 2], "rows.parquet"))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_table_without_commas_is_cut_where_its_header_is(tmp_path, mark):
    # Spreadsheets write semicolons where the comma is the decimal sign.
    path = tmp_path / "rows.csv"
    path.write_text(f"prompt{mark}final_text{mark}reward\na{mark}b, c{mark}1\n")
    rows, report = load.read(path)
    assert report["n_refused"] == 0
    assert (rows[0]["prompt"], rows[0]["final_text"], rows[0]["reward"]) == ("a", "b, c", 1)


def test_a_semicolon_in_a_header_with_commas_is_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("prompt,a;b,reward\nx,y,1\n")
    assert load.read(path)[0][0]["a;b"] == "y"
