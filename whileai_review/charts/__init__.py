"""Reports drawn as figures: marks, labels and nothing computed.

- the confusion of a judge as two bars: :func:`~.confusion.confusion_figure`
- slices by a field as a forest: :func:`~.slices.slices_figure`
- how much of a run is labelled, as a thin bar of HTML: :func:`~.coverage.coverage_bar`

A figure that needs a number gets a key in its report. Nothing here knows Streamlit.
"""
