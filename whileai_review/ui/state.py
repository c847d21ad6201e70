"""The keys that the app keeps in a session. None of them holds what the store should say."""

ANNOTATOR = "annotator"
"""Who labels in this tab, until the cookie of the next visit says it."""
