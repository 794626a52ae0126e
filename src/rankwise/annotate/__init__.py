"""Annotation as a service: the machine-learning backend of Label Studio.

This package needs Starlette. Without it: ``pip install 'rankwise[serve]'``.
"""

from rankwise.annotate.label_studio import LabelStudioBackend, label_studio_app

__all__ = ["LabelStudioBackend", "label_studio_app"]
