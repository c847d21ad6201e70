"""A database of the test's own, which the app under test opens."""

import pytest


@pytest.fixture
def db(tmp_path, monkeypatch):
    path = tmp_path / "review.db"
    monkeypatch.setenv("WHILEAI_REVIEW_DB", str(path))
    return path
