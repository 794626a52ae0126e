"""Annotation as a service: a page on which people give labels, and the machine-learning backend of Label Studio.

The page (:mod:`rankwise.annotate.rater_app`) builds on the server and the log of :mod:`rankwise.serve`. Items and how
they are shown are in :mod:`~rankwise.annotate.items`, the scale and the model in :mod:`~rankwise.annotate.project`,
questions and answers in :mod:`~rankwise.annotate.desk`. The backend is in :mod:`rankwise.annotate.label_studio`.

This package needs the extra ``serve``: ``pip install 'rankwise[serve]'``.
"""
