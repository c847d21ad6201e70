"""JSON lines as bytes: what is a line, what is a row, what is refused."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_review import load
from whileai_review.load import UnreadableError, _jsonl, _parse


def read(data: bytes, name: str = "rows.jsonl", **kwargs):
    return load.read(_named(data, name), **kwargs)


def _named(data: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file


def lines(*objects) -> bytes:
    return "".join(json.dumps(o) + "\n" for o in objects).encode()


ROW = {"task_id": "a", "prompt": "Hi", "final_text": "Yes", "reward": 1}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_any_line_end_gives_the_same_rows(end):
    data = lines(ROW, {**ROW, "prompt": "Ho"}).replace(b"\n", end)
    rows, report = read(data)
    assert [row["prompt"] for row in rows] == ["Hi", "Ho"]
    assert report["n_refused"] == 0


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"]
)
def test_any_marked_encoding_gives_the_same_rows(encoding):
    text = json.dumps({**ROW, "final_text": "Größe 👩‍👩‍👧 \u202e"}, ensure_ascii=False) + "\n"
    if encoding.endswith("-bom"):
        data = ("\ufeff" + text).encode(encoding.removesuffix("-bom"))
    else:
        data = text.encode(encoding)
    rows, _ = read(data)
    assert rows[0]["final_text"] == "Größe 👩‍👩‍👧 \u202e"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows"])
def test_gzip_is_known_by_its_first_bytes(name):
    rows, report = read(gzip.compress(lines(ROW, ROW)), name)
    assert len(rows) == 2
    assert report["format"] == "jsonl"


def test_the_content_hash_is_that_of_the_unpacked_bytes():
    import hashlib

    data = lines(ROW)
    expected = hashlib.sha256(data).hexdigest()
    assert read(data)[1]["content_hash"] == expected
    assert read(gzip.compress(data))[1]["content_hash"] == expected


def test_a_truncated_gzip_ends_early_and_nothing_is_kept():
    packed = gzip.compress(b"".join(lines({**ROW, "n": n}) for n in range(5000)))
    with pytest.raises(UnreadableError, match="ends early"):
        read(packed[: len(packed) // 2])


def test_a_gzip_with_a_wrong_checksum_is_damaged():
    packed = bytearray(gzip.compress(lines(ROW)))
    packed[-6] ^= 0xFF
    with pytest.raises(UnreadableError, match="damaged"):
        read(bytes(packed))


def test_one_bad_line_among_many_is_refused_with_its_number_and_reason():
    data = b"".join(lines({**ROW, "task_id": n}) for n in range(100)).splitlines(keepends=True)
    data[41] = b'{"task_id": 41, "reward": 1,}\n'
    rows, report = read(b"".join(data))
    assert len(rows) == 99
    (refused,) = report["refused"]
    assert refused["line"] == 42
    assert "trailing comma" in refused["reason"]
    assert refused["text"].startswith('{"task_id": 41')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1, 2]", "a list"),
        (b"17", "a number"),
        (b'"text"', "a text"),
        (b"null", "null"),
        (b'{"a": 1', "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"a": "\xe9"}', "not UTF-8: byte 0xe9 at position 8"),
        (b'{"a": "x\x00y"}', "not JSON"),
        (b"[" * 2000 + b"]" * 2000, "nested"),
        (b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}", "nested"),
        (b'{"reward": 1, "reward": 0}', "'reward' is there twice"),
        (b'{"a": {"b": 1, "b": 2}}', "'b' is there twice"),
        (b'{"reward": 1, "reward": 0, "x": "\\u0022\\u0022"}', "'reward' is there twice"),
        (b'{"n": ' + b"9" * 5000 + b"}", "4,300 digits"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_the_reason(line, reason):
    rows, report = read(lines(ROW) + line + b"\n" + lines(ROW))
    assert len(rows) == 2
    (refused,) = report["refused"]
    assert refused["line"] == 2
    assert reason in refused["reason"]
    assert len(refused["text"]) <= 200


def test_blank_lines_are_no_rows_and_count_as_lines():
    rows, report = read(b"\n  \n" + lines(ROW) + b"\r\n\n" + b'{"a":1,}\n')
    assert len(rows) == 1
    assert report["refused"][0]["line"] == 6


@pytest.mark.parametrize(
    "digits", ["9223372036854775808", "9223372036854775809", "36893488147419103232"]
)
def test_integers_over_64_bits_stay_exact(digits):
    rows, _ = read(f'{{"task_id": {digits}, "n": -{digits}}}\n'.encode())
    assert rows[0]["task_id"] == int(digits)
    assert rows[0]["n"] == -int(digits)


def test_two_ids_that_share_a_float_stay_two_rows():
    # float(2**65) == float(2**65 + 1): read as floats, the two ids would be one.
    rows, report = read(lines({"task_id": 2**65}, {"task_id": 2**65 + 1}))
    assert [row["rollout_id"] for row in rows] == [str(2**65), str(2**65 + 1)]
    assert report["duplicates"]["n_conflicting"] == 0


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_what_is_no_finite_number_is_no_value_and_is_counted(value):
    rows, report = read(f'{{"task_id": "a", "reward": {value}}}\n'.encode())
    assert rows[0]["reward"] is None
    assert any("no value" in note for note in report["notes"])


def test_a_mapping_that_refuses_every_row_leaves_no_empty_run():
    source = load.open_source(_named(lines({"v": [1]}, {"v": {}}), "rows.jsonl"))
    with pytest.raises(UnreadableError, match="None of its first 2 lines"):
        list(source.records(load.Mapping({"reward": "v"})))


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**19]
)
def test_integers_at_the_edges_of_64_bits(number):
    rows, _ = read(lines({"task_id": number, "ids": [number, -number], "text": str(number)}))
    assert rows[0]["ids"] == [number, -number]
    assert rows[0]["task_id"] == number


def test_an_escaped_nul_survives():
    rows, _ = read(lines({**ROW, "final_text": "a\x00b"}))
    assert rows[0]["final_text"] == "a\x00b"


def test_half_a_surrogate_pair_is_replaced_and_counted():
    rows, report = read(b'{"prompt": "Hi", "final_text": "cut \\ud83d", "k\\udc00": 1}\n')
    assert rows[0]["final_text"] == "cut \ufffd"
    assert json.dumps(rows[0], ensure_ascii=False).encode()
    assert any("surrogate" in note for note in report["notes"])


def test_a_field_of_50_mb_is_read_whole():
    big = "x" * 50_000_000
    rows, _ = read(lines({**ROW, "final_text": big}, ROW))
    assert len(rows[0]["final_text"]) == 50_000_000
    assert rows[1]["final_text"] == "Yes"


def test_a_row_may_have_40_000_keys():
    wide = {**ROW, **{f"k{n}": n for n in range(40_000)}}
    rows, report = read(lines(wide))
    assert rows[0]["k39999"] == 39_999
    assert report["n_refused"] == 0


def test_nesting_that_can_be_read_is_kept():
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    rows, report = read(lines({**ROW, "deep": deep}))
    assert rows[0]["deep"] == deep
    assert report["n_refused"] == 0


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"", "rows.jsonl", "is empty"),
        (b" \n\n", "rows.jsonl", "is empty"),
        (gzip.compress(b"", mtime=0), "rows.jsonl.gz", "is empty"),
        (bytes(range(256)) * 20, "rows.jsonl", "binary"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "rows.jsonl", "an image"),
        (b"SQLite format 3\x00" + b"\0" * 90, "rows.jsonl", "SQLite"),
        (b"42\n", "rows.json", "JSON scalar"),
        (b'"text"\n', "rows.json", "JSON scalar"),
        (b"42\n", "upload", "JSON scalar"),
        (b"null", "rows.json", "JSON scalar"),
        (b"[0, 1, 1, 0]", "labels.json", "bare list"),
        (b"[0, 1, 1, 0]", "labels.jsonl", "bare list"),
        (b"[]", "rows.json", "empty list"),
        (b'{"a": 1}', "rows.json", "no list of rows"),
        (b'{"a": [{"x": 1}], "b": [{"x": 1}]}', "rows.json", "several lists"),
        (b"not json\nat all\n", "rows.jsonl", "None of its first 2 lines"),
        (b"[1, 2", "rows.json", "not JSON"),
        ("Hi".encode("utf-16-le") * 50, "rows.jsonl", "UTF-16 without"),
        (b"hello\nworld\n", "notes.txt", "no format"),
        (b"name\nGr\xf6\xdfe\n", "rows.csv", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_clear_line(data, name, message):
    with pytest.raises(UnreadableError, match=message) as error:
        read(data, name)
    assert name.split(".")[0] in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_garbage_is_given_up_early():
    source = load.open_source(_named(b"garbage\n" * 50_000, "rows.jsonl"))
    with pytest.raises(UnreadableError):
        list(source.records())
    assert len(source.refused) < 50_000


def test_a_missing_file_and_a_folder_say_so(tmp_path):
    with pytest.raises(UnreadableError, match="no file"):
        load.open_source(tmp_path / "nowhere.jsonl")
    with pytest.raises(UnreadableError, match="is a folder"):
        load.open_source(tmp_path)


def test_a_folder_gives_its_readable_files_in_order(tmp_path):
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(ROW)))
    (tmp_path / "a.CSV").write_text("x\n1\n")
    (tmp_path / "notes.txt").write_text("no")
    (tmp_path / ".hidden.jsonl").write_text("{}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.parquet").write_bytes(b"PAR1")
    found = [str(p.relative_to(tmp_path)) for p in load.find_files(tmp_path)]
    assert found == ["a.CSV", "b.jsonl.gz", "sub/c.parquet"]


def test_a_folder_without_rows_says_so(tmp_path):
    with pytest.raises(UnreadableError, match="no file of rows"):
        load.find_files(tmp_path)


def test_standard_input_is_read(monkeypatch):
    class Pipe(io.RawIOBase):
        """A pipe: readable once, not to be rewound."""

        def __init__(self, data):
            self._inner = io.BytesIO(data)

        def readable(self):
            return True

        def read(self, n=-1):
            return self._inner.read(n)

    class Stdin:
        buffer = Pipe(gzip.compress(lines(ROW)))

    monkeypatch.setattr("sys.stdin", Stdin)
    rows, report = load.read("-")
    assert len(rows) == 1
    assert report["source"] == "standard input"


def test_an_uploaded_file_stays_open_and_can_be_read_twice():
    upload = _named(lines(ROW), "upload.jsonl")
    load.read(upload)
    rows, _ = load.read(upload)
    assert len(rows) == 1
    assert not upload.closed


def test_a_text_file_object_is_read_too():
    assert load.read(io.StringIO(lines(ROW).decode()))[0][0]["prompt"] == "Hi"


def test_the_raw_line_is_kept_and_gives_the_row_again():
    raw = '{"q":  "Hi", "answer":"Yes","n": 36893488147419103232, "x": 1e400}'
    source = load.open_source(_named(raw.encode() + b"\r\n", "rows.jsonl"))
    mapping = source.sniff().mapping
    (found,) = source.records(mapping)
    assert found.raw == raw
    assert mapping.apply(load.parse_line(found.raw)) == found.row


def test_line_batches_tear_no_line_at_a_block_border():
    text = b"one\r\ntwo\rthree\n\nfour\r\n"
    for cut in range(1, len(text)):
        blocks = [text[:cut], text[cut:]]
        found = [line for batch in _jsonl.line_batches(blocks) for line in batch]
        assert found == [b"one", b"two", b"three", b"", b"four"], cut


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(1, 7))
def test_line_batches_equal_splitlines_for_any_blocks(data, size):
    blocks = [data[n : n + size] for n in range(0, len(data), size)]
    found = [line for batch in _jsonl.line_batches(blocks) for line in batch]
    assert found == data.splitlines()


@settings(deadline=None)
@given(
    st.text('ab1:,"- []', max_size=40),
    st.text("0123456789", min_size=12, max_size=30),
    st.text('ab1:,"- []', max_size=40),
)
def test_the_quick_look_for_long_numbers_misses_none(before, digits, after):
    import re

    data = (before + digits + after).encode()
    expected = re.search(rb"[:\[,\s](-[0-9]{19}|[0-9]{20})", data) is not None
    assert _parse.block_has_long_number(data) == expected
    assert _parse.has_long_number(data) == expected


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
json_rows = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8), json_values
)


@settings(deadline=None)
@given(st.lists(json_rows, min_size=1, max_size=5), st.booleans())
def test_rows_written_as_json_lines_come_back_as_they_were(objects, ascii_only):
    text = "".join(json.dumps(o, ensure_ascii=ascii_only) + "\n" for o in objects)
    source = load.open_source(_named(text.encode("utf-8", "surrogatepass"), "rows.jsonl"))
    found = [load.parse_line(record.raw) for record in source.records()]
    assert found == objects


@settings(deadline=None)
@given(st.lists(json_rows, min_size=1, max_size=5))
def test_rows_written_as_a_json_list_come_back_as_they_were(objects):
    source = load.open_source(_named(json.dumps(objects).encode(), "rows.json"))
    found = [load.parse_line(record.raw) for record in source.records()]
    assert found == objects
