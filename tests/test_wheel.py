"""The wheel holds the app, its pages, its config and the demo, and starts from any folder."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
    )
    if built.returncode and "hatchling" in built.stderr:
        pytest.skip("the build backend can't be installed here")
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_app_pages_config_and_demo(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    app = "whileai_review/_app/"
    pages = {f"{app}pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    data = {
        f"{app}data/{path.relative_to(ROOT / 'data').as_posix()}"
        for path in (ROOT / "data").rglob("*")
        if path.is_file() and "screenshots" not in path.parts
    }
    assert pages and data
    assert {f"{app}app.py", f"{app}.streamlit/config.toml"} | pages | data <= names
    assert not [name for name in names if name.startswith(("tests/", "pages/", "data/"))]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("from_wheel", [True, False])
def test_the_demo_is_served_from_an_empty_folder(from_wheel, wheel, tmp_path):
    place = ROOT
    if from_wheel:
        place = tmp_path / "site"
        zipfile.ZipFile(wheel).extractall(place)
    empty = tmp_path / "empty"
    empty.mkdir()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": str(place),
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "PYTHONSAFEPATH": "1",
    }
    environment.pop("WHILEAI_REVIEW_DB", None)
    command = [sys.executable, "-m", "whileai_review", "serve", "--demo", "--port", str(port)]
    with subprocess.Popen(
        command, cwd=empty, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as server:
        try:
            assert _answers(f"http://127.0.0.1:{port}/health", server)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
                assert b"<!doctype html>" in page.read().lower()
        finally:
            server.terminate()
            server.wait(20)
    assert (tmp_path / "share" / "whileai-review" / "demo.db").stat().st_size > 1_000_000
    assert list(empty.iterdir()) == []


def _answers(url, server):
    for _ in range(150):
        if server.poll() is not None:
            raise AssertionError(server.stdout.read().decode())
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return answer.status == 200
        except OSError:
            time.sleep(0.2)
    return False
