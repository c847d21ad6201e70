"""Open a page of the app as a person does, without a browser, and read what stands on it."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parent.parent.parent


def open_page(name, person="Ana", **params):
    """A page of the navigation by name, with these parameters in its address."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.session_state["annotator"] = person  # AppTest has no cookies
    at.run()
    for key, value in params.items():
        at.query_params[key] = value if isinstance(value, list) else str(value)
    at.switch_page(f"pages/{name}.py").run()
    assert not at.exception, at.exception
    return at


def html(at):
    """What stands in st.html blocks."""
    return " ".join(block.proto.body for block in at.get("html"))
