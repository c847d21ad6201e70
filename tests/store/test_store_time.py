"""Instants of elsewhere become UTC, whatever the zone of the server (langfuse/langfuse#11384)."""

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_review.store import utc

# 2023-03-01 12:00 in Nepal (+05:45) is 06:15 UTC; 1677651300 s since 1970 by `date -ud`.
CASES = [
    ("2023-03-01T12:00:00+05:45", "2023-03-01T06:15:00.000+00:00"),
    ("2023-03-01T06:15:00", "2023-03-01T06:15:00.000+00:00"),
    ("2023-03-01 06:15:00Z", "2023-03-01T06:15:00.000+00:00"),
    ("2023-03-01 06:15:00 UTC", "2023-03-01T06:15:00.000+00:00"),
    ("2023-03-01", "2023-03-01T00:00:00.000+00:00"),
    ("20230301", "2023-03-01T00:00:00.000+00:00"),
    (1677651300, "2023-03-01T06:15:00.000+00:00"),
    (1677651300.25, "2023-03-01T06:15:00.250+00:00"),
    (1677651300250, "2023-03-01T06:15:00.250+00:00"),
    (1677651300250000, "2023-03-01T06:15:00.250+00:00"),
    ("1677651300", "2023-03-01T06:15:00.000+00:00"),
    (" 1677651300250 ", "2023-03-01T06:15:00.250+00:00"),
    (None, None),
    ("", None),
]


@pytest.mark.parametrize("given_, expected", CASES, ids=[repr(c[0]) for c in CASES])
def test_an_instant_is_written_in_utc(given_, expected):
    assert utc(given_) == expected


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns"])
def test_the_zone_of_the_server_does_not_matter(zone):
    code = f"from whileai_review.store import utc; print([utc(c) for c, _ in {CASES!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str([expected for _, expected in CASES])


def test_the_hour_that_comes_twice_does_not_reorder():
    """2023-11-05 in St John's: 01:30 at -02:30, an hour later 01:30 at -03:30."""
    first, second = utc("2023-11-05T01:30:00-02:30"), utc("2023-11-05T01:30:00-03:30")
    assert first == "2023-11-05T04:00:00.000+00:00"
    assert second == "2023-11-05T05:00:00.000+00:00"
    assert first < second


MOMENTS = st.datetimes(datetime(1975, 1, 1), datetime(2200, 1, 1)).map(
    lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000)
)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(MOMENTS, MOMENTS, ZONES, ZONES)
def test_text_order_is_the_order_of_the_instants(a, b, zone_a, zone_b):
    a, b = a.replace(tzinfo=zone_a), b.replace(tzinfo=zone_b)
    assert (utc(a.isoformat()) < utc(b.isoformat())) == (a < b)
    assert datetime.fromisoformat(utc(a.isoformat())) == a


@pytest.mark.parametrize("odd", ["yesterday", "2023-13-01", float("nan"), float("inf"), True, 1e30])
def test_what_is_no_time_says_how_to_write_one(odd):
    with pytest.raises(ValueError, match="is no time: write it as"):
        utc(odd)


def test_an_import_keeps_the_original_instant_beside_utc(fresh_db, make):
    run = make.run(fresh_db)
    original = "2023-03-01T12:00:00+05:45"
    label = {
        "row_id": make.ids(fresh_db, run)[0], "identity": "r0", "criterion": "overall",
        "annotator": "file:g.csv", "kind": "human", "verdict": "pass",
        "ts": utc(original), "ts_original": original,
    }  # fmt: skip
    fresh_db.put_labels("base", [label])
    (kept,) = fresh_db.labels("base")
    assert (kept["ts"], kept["ts_original"]) == ("2023-03-01T06:15:00.000+00:00", original)
    assert fresh_db.put_labels("base", [label])["unchanged"] == 1
