"""May I use this judge? One sentence, then what it rests on."""

import streamlit as st

from whileai_review.ui import (
    trust_certificate,
    trust_export,
    trust_gold,
    trust_plan,
    trust_slices,
    trust_threshold,
)
from whileai_review.ui import trust_view as view
from whileai_review.ui.cache import measured
from whileai_review.ui.data import page_of_store
from whileai_review.ui.headline import show_headline
from whileai_review.ui.pickers import pick
from whileai_review.ui.tables import inject_css
from whileai_review.work.headlines import has_figures

inject_css()
with page_of_store() as store:
    picked = pick(store)
    report = measured(store, *picked.key)
    said = report["headline"]
    hidden = view.hides_interim(store, report)
    show_headline(said["bold"], "" if hidden else said["grey"], said["word"], said["state"])
    view.show_next_act(store, report)
    view.show_coverage(report)
    view.show_interim(store, report, hidden)
    trust_plan.show_plan(store, report, hidden)
    if not hidden:
        trust_export.show_export(store, picked, report)
        trust_threshold.show_threshold(store, picked, report)
    if not hidden and has_figures(report):
        left, right = st.columns([11, 9], gap="large")
        with right:
            view.show_checks_of(report)
            view.show_pass_rate(report)
        with left:
            view.show_confusion(report)
            view.show_slices(store, picked, report)
        trust_slices.show_found_slices(store, report)
    if not hidden:
        trust_gold.show_gold(store, report)
        if not trust_gold.audit_under_way(store, report):
            view.show_person_against_rule(store, report)
        trust_certificate.show_certificate(store, report)
        view.show_the_rest(report)
