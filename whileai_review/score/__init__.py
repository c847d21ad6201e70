"""Scores: one module for each heading of the API reference, same name.

- Does the judge agree with labels you trust? `agreement`, `judge_trust`
- Who labelled what, and do they agree? `labels`
- What does a reply claim that its steps do not show? `_claims`
"""
